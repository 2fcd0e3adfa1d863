//! Calls in flight on a connection, their owners, and cancelled calls that the server may still work on.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use goose_extension::{CallContext, Caller, Notifier};
use rmcp::model::{ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use super::{
    clock::{CallClock, ClockPause},
    questions::Budget,
};
use crate::stdio_transport::normalize_id;

/// Context of a call, attached to its outgoing request. It is not serialized.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) context: CallContext,
    /// Restarted by progress; `None` if the call has no time limit.
    pub(super) clock: Option<Arc<CallClock>>,
    pub(super) budget: Budget,
}

/// A call in flight.
pub(super) struct Call {
    token: Option<ProgressToken>,
    pub(super) context: CallContext,
    pub(super) clock: Option<Arc<CallClock>>,
    budget: Budget,
    /// Number of questions that the server has asked in this call.
    asked: u32,
    /// Cancelled when the call ends in any way.
    ended: CancellationToken,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// A question of the server, and the caller that it goes to. Stops the clocks of its calls until it is
/// dropped.
pub(super) struct OpenQuestion {
    pub(super) context: CallContext,
    /// Stable name of the question: the same if the call is repeated.
    pub(super) key: String,
    pub(super) budget: Budget,
    /// End tokens of the calls that the question may belong to.
    calls: Vec<CancellationToken>,
    _paused: Vec<ClockPause>,
}

impl OpenQuestion {
    /// Waits until no caller needs the answer: all calls that may have asked have ended.
    pub(super) async fn all_calls_ended(&self) {
        if self.calls.is_empty() {
            return self.context.cancelled().await;
        }
        for call in &self.calls {
            call.cancelled().await;
        }
    }
}

/// Calls in flight, and cancelled calls.
#[derive(Default)]
pub(super) struct Calls {
    live: HashMap<RequestId, Call>,
    cancelled: CancelledCalls,
}

impl Calls {
    pub(super) fn begin(&mut self, id: RequestId, token: Option<ProgressToken>, route: Route) {
        let Route { context, clock, budget } = route;
        let call = Call { token, context, clock, budget, asked: 0, ended: CancellationToken::new() };
        self.live.insert(id, call);
    }

    /// Removes a call whose response has arrived, in time or late.
    pub(super) fn remove_answered(&mut self, id: &RequestId) {
        let id = normalize_id(id);
        self.live.remove(&id);
        self.cancelled.remove(&id);
    }

    /// Removes a cancelled call. It is remembered, because the server may continue it.
    pub(super) fn cancel(&mut self, id: &RequestId) {
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

    /// Returns all calls if a message can only be for one owner, including cancelled calls; otherwise none.
    pub(super) fn of_single_owner(&self, kind: MessageKind) -> Vec<RequestId> {
        let mut owners = self.live.values().map(|call| Owner::from_context(&call.context));
        let Some(first) = owners.next() else { return Vec::new() };
        let is_clear =
            owners.all(|other| first.is_same(&other, kind)) && self.cancelled.all_belong_to(&first, kind);
        if is_clear { self.live.keys().cloned().collect() } else { Vec::new() }
    }

    /// Opens a question of one of these calls, which have the same owner. Returns `None` if all of them have
    /// ended.
    pub(super) fn open_question(&mut self, ids: &[RequestId]) -> Option<OpenQuestion> {
        let live = || ids.iter().filter_map(|id| self.live.get(id));
        let (calls, paused) =
            (live().map(|call| call.ended.clone()).collect(), live().filter_map(Call::pause).collect());
        let call = ids.iter().find(|id| self.live.contains_key(id)).and_then(|id| self.live.get_mut(id))?;
        call.asked += 1;
        Some(OpenQuestion {
            context: call.context.clone(),
            key: format!("question-{}", call.asked),
            budget: call.budget.clone(),
            calls,
            _paused: paused,
        })
    }

    /// Opens a question whose call is unknown. It stops the clocks of all calls, because it may belong to
    /// any.
    pub(super) fn open_unassigned_question(&self, context: &CallContext, budget: Budget) -> OpenQuestion {
        OpenQuestion {
            context: context.clone(),
            key: "question".to_owned(),
            budget,
            calls: Vec::new(),
            _paused: self.live.values().filter_map(Call::pause).collect(),
        }
    }
}

impl Call {
    fn pause(&self) -> Option<ClockPause> {
        self.clock.as_ref().map(CallClock::pause)
    }
}

/// Cancelled calls that are remembered individually.
const MAX_CANCELLED: usize = 64;

/// Direction of a message. Two calls may share an owner for one direction only.
#[derive(Clone, Copy)]
pub(super) enum MessageKind {
    /// The message asks the caller.
    Ask,
    /// The message informs the caller.
    Tell,
}

/// Owner of a call. Keeps the caller alive, because the caller's id may be its address.
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

    pub(super) fn is_same(&self, other: &Self, kind: MessageKind) -> bool {
        let same_caller = match (&self.caller, &other.caller) {
            (Some(one), Some(other)) => {
                Arc::ptr_eq(one, other) || one.id().is_some_and(|id| other.id() == Some(id))
            }
            (None, None) => true,
            _ => false,
        };
        let same_listener = match (&self.notifier, &other.notifier) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        same_caller && self.session == other.session && (same_listener || matches!(kind, MessageKind::Ask))
    }
}

/// Cancelled calls without a response: the server may not have seen the cancellation, or ignore it, and still
/// send messages for them. They are kept until the response arrives.
#[derive(Default)]
pub(super) struct CancelledCalls {
    known: VecDeque<(RequestId, Owner)>,
    evicted: EvictedOwners,
}

/// Owners of cancelled calls that exceeded [`MAX_CANCELLED`].
#[derive(Default)]
enum EvictedOwners {
    #[default]
    None,
    One(Owner),
    Several,
}

impl CancelledCalls {
    pub(super) fn add(&mut self, id: RequestId, owner: Owner) {
        self.known.push_back((id, owner));
        if self.known.len() > MAX_CANCELLED
            && let Some((_, owner)) = self.known.pop_front()
        {
            self.evicted = match std::mem::take(&mut self.evicted) {
                EvictedOwners::None => EvictedOwners::One(owner),
                EvictedOwners::One(earlier) if earlier.is_same(&owner, MessageKind::Tell) => {
                    EvictedOwners::One(earlier)
                }
                _ => EvictedOwners::Several,
            };
        }
    }

    /// Removes a call whose late response has arrived.
    pub(super) fn remove(&mut self, id: &RequestId) {
        self.known.retain(|(known, _)| known != id);
    }

    /// Returns whether all cancelled calls belong to this owner.
    pub(super) fn all_belong_to(&self, owner: &Owner, kind: MessageKind) -> bool {
        let is_own = |other: &Owner| owner.is_same(other, kind);
        let evicted = match &self.evicted {
            EvictedOwners::None => true,
            EvictedOwners::One(other) => is_own(other),
            EvictedOwners::Several => false,
        };
        evicted && self.known.iter().all(|(_, other)| is_own(other))
    }
}

#[cfg(test)]
#[path = "in_flight_tests.rs"]
mod tests;
