//! Whom a call belongs to, and whose calls a server may still be working on after they were withdrawn.

use std::{collections::VecDeque, sync::Arc};

use goose_extension::{CallContext, Caller, Notifier};
use rmcp::model::RequestId;

/// How many withdrawn calls are remembered one by one.
const MAX_GHOSTS: usize = 64;

/// What a message does: two calls may be one's for the one and not for the other.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// It asks the caller.
    Ask,
    /// It tells whoever listens.
    Tell,
}

/// Whom a call belongs to. It keeps the caller, so that nobody else gets its identity.
#[derive(Clone)]
pub(super) struct Owner {
    caller: Option<Arc<dyn Caller>>,
    notifier: Option<Arc<dyn Notifier>>,
    session: Option<String>,
}

impl Owner {
    pub(super) fn of(context: &CallContext) -> Self {
        Self {
            caller: context.caller().cloned(),
            notifier: context.notifier().cloned(),
            session: context.session_id().map(str::to_owned),
        }
    }

    pub(super) fn is_one_with(&self, other: &Self, purpose: Purpose) -> bool {
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
        same_caller && self.session == other.session && (same_listener || matches!(purpose, Purpose::Ask))
    }
}

/// Calls that were withdrawn and not answered: the server may not have heard of it, or not care, and still ask or tell
/// something for them. They stay until their answer comes.
#[derive(Default)]
pub(super) struct Ghosts {
    known: VecDeque<(RequestId, Owner)>,
    forgotten: Forgotten,
}

/// Of the ghosts that were too many, only whose they were is kept.
#[derive(Default)]
enum Forgotten {
    #[default]
    None,
    Of(Owner),
    OfSeveral,
}

impl Ghosts {
    pub(super) fn add(&mut self, id: RequestId, owner: Owner) {
        self.known.push_back((id, owner));
        if self.known.len() > MAX_GHOSTS
            && let Some((_, owner)) = self.known.pop_front()
        {
            self.forgotten = match std::mem::take(&mut self.forgotten) {
                Forgotten::None => Forgotten::Of(owner),
                Forgotten::Of(earlier) if earlier.is_one_with(&owner, Purpose::Tell) => {
                    Forgotten::Of(earlier)
                }
                _ => Forgotten::OfSeveral,
            };
        }
    }

    /// A late answer came.
    pub(super) fn settle(&mut self, id: &RequestId) {
        self.known.retain(|(known, _)| known != id);
    }

    /// Whether whatever comes for them would be this owner's.
    pub(super) fn are_all_of(&self, owner: &Owner, purpose: Purpose) -> bool {
        let is_own = |other: &Owner| owner.is_one_with(other, purpose);
        let forgotten = match &self.forgotten {
            Forgotten::None => true,
            Forgotten::Of(other) => is_own(other),
            Forgotten::OfSeveral => false,
        };
        forgotten && self.known.iter().all(|(_, other)| is_own(other))
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
