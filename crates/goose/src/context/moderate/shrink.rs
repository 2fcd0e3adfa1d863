//! Shortening of tool results. Older results fill most contexts and are needed least: the model has drawn its
//! conclusions and can call the tool again.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, ToolOutput};
use goose_fs::head_tail_chars;

use super::{Goal, units::Units};

/// Part of a result that stays.
#[derive(Clone, Copy)]
struct KeptPart {
    /// Characters kept from the beginning.
    head: usize,
    /// Characters kept from the end.
    tail: usize,
}

/// Part of an older result: enough to recognize it.
const OLDER: KeptPart = KeptPart { head: 160, tail: 0 };
/// Part of a recent result that is too long: enough to continue with.
const RECENT: KeptPart = KeptPart { head: 2_000, tail: 2_000 };

/// Shrinks the oldest results until the goal is met, but never the recent ones. Returns true if any was
/// shrunk.
pub(super) fn older_results(units: &mut Units, goal: &Goal<'_>) -> bool {
    let mut excess = goal.used(&units.messages()).saturating_sub(goal.tokens);
    let mut has_shrunk = false;
    for message in units.older_messages() {
        if excess == 0 {
            break;
        }
        if let Some(shrunk) = shrunk(message, OLDER) {
            excess = excess.saturating_sub(goal.weight(message).saturating_sub(goal.weight(&shrunk)));
            *message = Arc::new(shrunk);
            has_shrunk = true;
        }
    }
    has_shrunk
}

/// Returns the conversation with every long result cut.
pub(super) fn all_results(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let cut = |message: &Arc<Message>| shrunk(message, RECENT).map_or_else(|| Arc::clone(message), Arc::new);
    messages.iter().map(cut).collect()
}

/// Returns the message with its long results cut, if it has any.
fn shrunk(message: &Message, kept: KeptPart) -> Option<Message> {
    let cut: Vec<Option<ToolOutput>> = message.content.iter().map(|part| shortened(part, kept)).collect();
    if cut.iter().all(Option::is_none) {
        return None;
    }
    let parts = message.content.iter().zip(cut).map(|(part, cut)| match (part, cut) {
        (MessageContent::ToolResult { id, .. }, Some(output)) => {
            MessageContent::tool_result(id.clone(), output)
        }
        (other, _) => other.clone(),
    });
    Some(Message::new(message.role.clone(), parts.collect::<Vec<_>>()))
}

/// Returns a shorter result; none if the part is short or not a result.
fn shortened(part: &MessageContent, kept: KeptPart) -> Option<ToolOutput> {
    let MessageContent::ToolResult { output, .. } = part else { return None };
    let text = output.as_text();
    let has_more = output.content.iter().any(|block| block.as_text().is_none());
    if text.len() <= 2 * (kept.head + kept.tail) && !has_more {
        return None;
    }
    let (head, tail) = head_tail_chars(&text, kept.head, kept.tail)
        .map_or((text.as_str(), ""), |parts| (parts.head, parts.tail));
    let words = format!(
        "{head}\n[Shortened to make room: this was {} bytes. Call the tool again if you need the rest.]\n{tail}",
        text.len()
    );
    let words = words.trim_end();
    Some(if output.is_error { ToolOutput::error(words) } else { ToolOutput::text(words) })
}
