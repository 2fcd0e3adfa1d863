//! The calls in flight: finding the one that a message belongs to.

use std::{collections::HashMap, sync::Arc};

use goose_extension::CallContext;
use rmcp::model::{ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use super::{
    asking::Budget,
    clock::{Clock, Held},
    owner::{Ghosts, Owner, Purpose},
    routes::Route,
};
use crate::lines::normal;

/// A call in flight.
pub(super) struct Call {
    token: Option<ProgressToken>,
    pub(super) context: CallContext,
    pub(super) clock: Option<Arc<Clock>>,
    budget: Budget,
    /// How many questions the server has asked on its behalf.
    asked: u32,
    /// Is cancelled when the call ends, however it does.
    over: CancellationToken,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// A question of the server, and whom it goes to. While this lives, nobody's time runs out for it.
pub(super) struct Asked {
    pub(super) context: CallContext,
    /// The same for the same question of the same call, however often the call is made.
    pub(super) key: String,
    pub(super) budget: Budget,
    /// The ends of the calls that it may belong to.
    calls: Vec<CancellationToken>,
    _held: Vec<Held>,
}

impl Asked {
    /// Ends when nobody waits for the answer any more: all calls that may have asked are over.
    pub(super) async fn is_moot(&self) {
        if self.calls.is_empty() {
            return self.context.cancelled().await;
        }
        for call in &self.calls {
            call.cancelled().await;
        }
    }
}

/// The calls in flight, and the ghosts of those that were withdrawn.
#[derive(Default)]
pub(super) struct Calls {
    live: HashMap<RequestId, Call>,
    ghosts: Ghosts,
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
        self.ghosts.settle(&id);
    }

    /// Nobody waits for a call any more. The server may go on with it all the same.
    pub(super) fn withdraw(&mut self, id: &RequestId) {
        if let Some(call) = self.live.remove(id) {
            self.ghosts.add(id.clone(), Owner::of(&call.context));
        }
    }

    pub(super) fn get(&self, id: &RequestId) -> Option<&Call> {
        self.live.get(id)
    }

    pub(super) fn by_token(&self, token: &ProgressToken) -> Option<RequestId> {
        self.live.iter().find(|(_, call)| call.token.as_ref() == Some(token)).map(|(id, _)| id.clone())
    }

    /// All calls, where whatever the server does now is done for the same owner; none where that is not clear.
    pub(super) fn of_only_owner(&self, purpose: Purpose) -> Vec<RequestId> {
        let mut owners = self.live.values().map(|call| Owner::of(&call.context));
        let Some(first) = owners.next() else { return Vec::new() };
        let is_clear =
            owners.all(|other| first.is_one_with(&other, purpose)) && self.ghosts.are_all_of(&first, purpose);
        if is_clear { self.live.keys().cloned().collect() } else { Vec::new() }
    }

    /// A question that belongs to one of these calls, which have one owner. Nothing where all of them are over.
    pub(super) fn ask(&mut self, ids: &[RequestId]) -> Option<Asked> {
        let live = || ids.iter().filter_map(|id| self.live.get(id));
        let (calls, held) =
            (live().map(|call| call.over.clone()).collect(), live().filter_map(Call::hold).collect());
        let call = ids.iter().find(|id| self.live.contains_key(id)).and_then(|id| self.live.get_mut(id))?;
        call.asked += 1;
        Some(Asked {
            context: call.context.clone(),
            key: format!("question-{}", call.asked),
            budget: call.budget.clone(),
            calls,
            _held: held,
        })
    }

    /// A question of which nobody knows the call. It may be any of them, so all of them wait.
    pub(super) fn ask_aside(&self, context: &CallContext, budget: Budget) -> Asked {
        Asked {
            context: context.clone(),
            key: "question".to_owned(),
            budget,
            calls: Vec::new(),
            _held: self.live.values().filter_map(Call::hold).collect(),
        }
    }
}

impl Call {
    fn hold(&self) -> Option<Held> {
        self.clock.as_ref().map(Clock::hold)
    }
}
