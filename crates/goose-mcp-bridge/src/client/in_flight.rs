//! Calls in flight on a connection, their owners, and cancelled calls that the server may still be working on.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use goose_extension::{CallContext, Caller, Notifier};
use rmcp::model::{ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use super::{
    clock::{Clock, Paused},
    questions::Budget,
};
use crate::stdio_transport::normal;

/// Marks an outgoing request with the context of its call. It never reaches the wire.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) context: CallContext,
    /// Restarted by each sign of progress, if the call has a time limit.
    pub(super) clock: Option<Arc<Clock>>,
    pub(super) budget: Budget,
}

/// A call in flight.
pub(super) struct Call {
    token: Option<ProgressToken>,
    pub(super) context: CallContext,
    pub(super) clock: Option<Arc<Clock>>,
    budget: Budget,
    /// Questions that the server has asked on its behalf.
    asked: u32,
    /// Is cancelled when the call ends, however it does.
    over: CancellationToken,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// A question of the server, and the caller that it goes to. While this lives, no call times out because of it.
pub(super) struct Asked {
    pub(super) context: CallContext,
    /// The same for the same question of the same call, however often the call is made.
    pub(super) key: String,
    pub(super) budget: Budget,
    /// The ends of the calls that it may belong to.
    calls: Vec<CancellationToken>,
    _paused: Vec<Paused>,
}

impl Asked {
    /// Ends when the caller no longer waits for the answer any more: all calls that may have asked are over.
    pub(super) async fn all_calls_ended(&self) {
        if self.calls.is_empty() {
            return self.context.cancelled().await;
        }
        for call in &self.calls {
            call.cancelled().await;
        }
    }
}

/// The calls in flight, and the cancelled of those that were withdrawn.
#[derive(Default)]
pub(super) struct Calls {
    live: HashMap<RequestId, Call>,
    cancelled: CancelledCalls,
}

impl Calls {
    pub(super) fn begin(&mut self, id: RequestId, token: Option<ProgressToken>, route: Route) {
        let Route { context, clock, budget } = route;
        let call = Call { token, context, clock, budget, asked: 0, over: CancellationToken::new() };
        self.live.insert(id, call);
    }

    /// The answer came, in time or late.
    pub(super) fn answered(&mut self, id: &RequestId) {
        let id = normal(id);
        self.live.remove(&id);
        self.cancelled.settle(&id);
    }

    /// Removes a cancelled call. The server may go on with it all the same.
    pub(super) fn withdraw(&mut self, id: &RequestId) {
        if let Some(call) = self.live.remove(id) {
            self.cancelled.add(id.clone(), Owner::from_context(&call.context));
        }
    }

    pub(super) fn get(&self, id: &RequestId) -> Option<&Call> {
        self.live.get(id)
    }

    pub(super) fn by_token(&self, token: &ProgressToken) -> Option<RequestId> {
        self.live.iter().find(|(_, call)| call.token.as_ref() == Some(token)).map(|(id, _)| id.clone())
    }

    /// All calls, where whatever the server does now is done for the same owner; none if that is not clear.
    pub(super) fn of_only_owner(&self, kind: MessageKind) -> Vec<RequestId> {
        let mut owners = self.live.values().map(|call| Owner::from_context(&call.context));
        let Some(first) = owners.next() else { return Vec::new() };
        let is_clear =
            owners.all(|other| first.is_one_with(&other, kind)) && self.cancelled.are_all_of(&first, kind);
        if is_clear { self.live.keys().cloned().collect() } else { Vec::new() }
    }

    /// A question that belongs to one of these calls, which have one owner. Nothing where all of them are over.
    pub(super) fn ask(&mut self, ids: &[RequestId]) -> Option<Asked> {
        let live = || ids.iter().filter_map(|id| self.live.get(id));
        let (calls, paused) =
            (live().map(|call| call.over.clone()).collect(), live().filter_map(Call::pause).collect());
        let call = ids.iter().find(|id| self.live.contains_key(id)).and_then(|id| self.live.get_mut(id))?;
        call.asked += 1;
        Some(Asked {
            context: call.context.clone(),
            key: format!("question-{}", call.asked),
            budget: call.budget.clone(),
            calls,
            _paused: paused,
        })
    }

    /// A question whose call is unknown. It may be any of them, so all of them wait.
    pub(super) fn ask_aside(&self, context: &CallContext, budget: Budget) -> Asked {
        Asked {
            context: context.clone(),
            key: "question".to_owned(),
            budget,
            calls: Vec::new(),
            _paused: self.live.values().filter_map(Call::pause).collect(),
        }
    }
}

impl Call {
    fn pause(&self) -> Option<Paused> {
        self.clock.as_ref().map(Clock::pause)
    }
}

/// Cancelled calls that are remembered one by one.
const MAX_CANCELLED: usize = 64;

/// The kind of a message: two calls may share an owner for one kind and not for the other.
#[derive(Clone, Copy)]
pub(super) enum MessageKind {
    /// It asks the caller.
    Ask,
    /// It informs the caller.
    Tell,
}

/// The owner of a call. It keeps the caller alive, because the caller's id may be its address.
#[derive(Clone)]
pub(super) struct Owner {
    caller: Option<Arc<dyn Caller>>,
    notifier: Option<Arc<dyn Notifier>>,
    session: Option<String>,
}

impl Owner {
    pub(super) fn from_context(context: &CallContext) -> Self {
        Self {
            caller: context.caller().cloned(),
            notifier: context.notifier().cloned(),
            session: context.session_id().map(str::to_owned),
        }
    }

    pub(super) fn is_one_with(&self, other: &Self, kind: MessageKind) -> bool {
        let same_caller = match (&self.caller, &other.caller) {
            (Some(one), Some(other)) => one.id() == other.id(),
            (None, None) => true,
            _ => false,
        };
        let same_listener = match (&self.notifier, &other.notifier) {
            (Some(one), Some(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
            (None, None) => true,
            _ => false,
        };
        same_caller && self.session == other.session && (same_listener || matches!(kind, MessageKind::Ask))
    }
}

/// Calls that were withdrawn and not answered: the server may not have heard of it, or not care, and still ask or tell
/// something for them. They stay until their answer comes.
#[derive(Default)]
pub(super) struct CancelledCalls {
    known: VecDeque<(RequestId, Owner)>,
    evicted: EvictedOwners,
}

/// Of the cancelled that were too many, only whose they were is kept.
#[derive(Default)]
enum EvictedOwners {
    #[default]
    None,
    Of(Owner),
    OfSeveral,
}

impl CancelledCalls {
    pub(super) fn add(&mut self, id: RequestId, owner: Owner) {
        self.known.push_back((id, owner));
        if self.known.len() > MAX_CANCELLED
            && let Some((_, owner)) = self.known.pop_front()
        {
            self.evicted = match std::mem::take(&mut self.evicted) {
                EvictedOwners::None => EvictedOwners::Of(owner),
                EvictedOwners::Of(earlier) if earlier.is_one_with(&owner, MessageKind::Tell) => {
                    EvictedOwners::Of(earlier)
                }
                _ => EvictedOwners::OfSeveral,
            };
        }
    }

    /// A late answer came.
    pub(super) fn settle(&mut self, id: &RequestId) {
        self.known.retain(|(known, _)| known != id);
    }

    /// Returns whether any message for them would be this owner's.
    pub(super) fn are_all_of(&self, owner: &Owner, kind: MessageKind) -> bool {
        let is_own = |other: &Owner| owner.is_one_with(other, kind);
        let evicted = match &self.evicted {
            EvictedOwners::None => true,
            EvictedOwners::Of(other) => is_own(other),
            EvictedOwners::OfSeveral => false,
        };
        evicted && self.known.iter().all(|(_, other)| is_own(other))
    }
}

#[cfg(test)]
#[path = "in_flight_tests.rs"]
mod tests;
