//! Conversations and calls, as tests need them.

use std::sync::Arc;

use goose_extension::{ContentBlock, Message, MessageContent, Role, ToolOutput};
use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

/// A tool, what was passed, and what came of it.
pub(super) type Done<'a> = (&'a str, Value, ToolOutput);

/// What a person asked, and the calls that were made since.
pub(super) fn conversation(task: &str, done: &[Done<'_>]) -> Vec<Arc<Message>> {
    after(Message::user(task), done)
}

/// The same in a folder whose files the loop has listed.
pub(super) fn in_folder(list: &str, task: &str, done: &[Done<'_>]) -> Vec<Arc<Message>> {
    let mut list = ContentBlock::text(list);
    if let ContentBlock::Text(text) = &mut list {
        text.annotations.get_or_insert_default().audience = Some(vec![Role::Assistant]);
    }
    let said = [MessageContent::Block(list), MessageContent::text(task)];
    after(Message::new(Role::User, said), done)
}

fn after(asked: Message, done: &[Done<'_>]) -> Vec<Arc<Message>> {
    let mut messages = vec![Arc::new(asked)];
    for (number, (tool, arguments, output)) in done.iter().enumerate() {
        let (id, name, arguments) = (number.to_string(), (*tool).to_owned(), arguments.clone());
        let result = MessageContent::tool_result(id.clone(), output.clone());
        let call = MessageContent::ToolCall { id, name, arguments, opaque: None };
        messages.push(Arc::new(Message::new(Role::Assistant, [call])));
        messages.push(Arc::new(Message::new(Role::User, [result])));
    }
    messages
}

/// A call that the model has made.
pub(super) fn call(tool: &str, arguments: &Value) -> ToolCall {
    let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
    ToolCall { id: "1".to_owned(), name: tool.to_owned(), arguments, opaque: None }
}

/// What is passed in a call; null where it is not made.
pub(super) fn passed(call: ToolCall, argument: &str) -> Value {
    match call.arguments {
        Arguments::Object(mut arguments) => arguments.remove(argument).unwrap_or_default(),
        Arguments::Malformed { .. } => Value::Null,
    }
}

/// Whether a call is not made.
pub(super) fn is_refused(call: &ToolCall) -> bool {
    matches!(call.arguments, Arguments::Malformed { .. })
}
