//! Marks for the cache of Claude, which keeps only what it is told to: on its own wire, and behind gateways on OpenAI's.

use std::sync::Arc;

use goose_extension::{Message, Role};
use serde::Serialize;

/// Marked messages of the user: the last one, and the one that was last in the previous request.
const MARKED_MESSAGES: usize = 2;

const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// Length of the end of a message that can be marked: of its last block, its content and itself.
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
