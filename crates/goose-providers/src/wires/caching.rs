//! Marks for the cache of Claude, which keeps only what it is told to: on its own wire, and behind gateways on OpenAI's.

use std::sync::Arc;

use goose_extension::{Message, Role};
use serde::Serialize;

/// How many messages of the user, from the end, are marked: the last, and the one that was the last before.
const MARKED_MESSAGES: usize = 2;

const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// What every message ends with that can be marked: the end of its last block, of its content, and its own.
const MESSAGE_END: usize = "}]}".len();

/// A mark where something is written with it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

impl CacheControl {
    pub(super) const MARK: Self = Self { r#type: "ephemeral" };
}

/// Conversations as they were written: where the first message begins, and where each of them ends.
pub(super) struct Places<'a> {
    pub(super) messages: &'a [Arc<Message>],
    pub(super) start: usize,
    pub(super) ends: &'a [usize],
}

/// Marks the last block of the last messages of the user that can be marked, last one first, so that the places before
/// stay where they are.
pub(super) fn mark(places: &Places<'_>, can_be_marked: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
    let Places { messages, start, ends } = *places;
    let begin_of = |at: usize| at.checked_sub(1).and_then(|at| ends.get(at)).copied().unwrap_or(start);
    let is_fit =
        |begin: usize, end: usize| out.get(begin..end).is_some_and(|it| !it.is_empty() && can_be_marked(it));
    let marked: Vec<usize> = (0..messages.len())
        .rev()
        .filter(|at| messages.get(*at).is_some_and(|message| message.role == Role::User))
        .filter_map(|at| ends.get(at).copied().filter(|end| is_fit(begin_of(at), *end)))
        .take(MARKED_MESSAGES)
        .collect();
    for end in marked {
        let at = end.saturating_sub(MESSAGE_END);
        out.splice(at..at, MARK.iter().copied());
    }
}
