//! The plan outlives the messages it was written in.

use std::sync::Arc;

use goose_extension::{Message, MessageContent};

/// How the tool that keeps the plan is called, whatever extension it comes from.
const TOOL: &str = "__plan";
/// The argument that holds it.
const ARGUMENT: &str = "plan";

/// The newest plan in some messages.
pub(super) fn newest<'a>(messages: impl DoubleEndedIterator<Item = &'a Arc<Message>>) -> Option<&'a str> {
    messages.rev().find_map(|message| message.content.iter().rev().find_map(plan))
}

fn plan(part: &MessageContent) -> Option<&str> {
    match part {
        MessageContent::ToolCall { name, arguments, .. } if name.ends_with(TOOL) => {
            arguments.get(ARGUMENT)?.as_str()
        }
        _ => None,
    }
}
