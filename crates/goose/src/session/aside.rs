//! Asides: what goose itself says in the user's place, for the model alone. MCP's mark for "not for the user" tells them
//! from what a person said.

use goose_extension::{ContentBlock, Message, MessageContent, Role};

/// A text for the model that no person has said.
pub(crate) fn aside(text: impl Into<String>) -> MessageContent {
    let mut block = ContentBlock::text(text);
    if let ContentBlock::Text(text) = &mut block {
        text.annotations.get_or_insert_default().audience = Some(vec![Role::Assistant]);
    }
    MessageContent::Block(block)
}

/// The same as a message.
pub(crate) fn aside_message(text: impl Into<String>) -> Message {
    Message::new(Role::User, [aside(text)])
}
