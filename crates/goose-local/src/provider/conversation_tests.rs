//! Conversations for tests.

use std::sync::Arc;

use goose_extension::{ContentBlock, JsonObject, Message, MessageContent, Role, Tool, ToolOutput};
use serde_json::{Value, json};

use super::tools::Tools;

/// Call with its result.
pub(super) type CallRecord = (&'static str, Value, ToolOutput);

/// Returns the tools of `developer`.
pub(super) fn tools() -> Tools {
    let names = ["read", "search", "tree", "edit", "write", "shell"].map(|name| format!("developer__{name}"));
    Tools::new(&names.map(|name| Tool::new(name, "", JsonObject::new())), &[])
}

/// Returns a request in a folder with these files, and the calls since then, with the ids 0, 1, ….
pub(super) fn conversation(files: &[&str], task: &str, calls: &[CallRecord]) -> Vec<Arc<Message>> {
    let mut listing = ContentBlock::text(format!("Files here: {}", files.join(", ")));
    if let ContentBlock::Text(text) = &mut listing {
        text.annotations.get_or_insert_default().audience = Some(vec![Role::Assistant]);
        text.meta.get_or_insert_default().insert("files".to_owned(), json!(files));
    }
    let asked = [MessageContent::Block(listing), MessageContent::Block(ContentBlock::text(task))];
    let mut messages = vec![Arc::new(Message::new(Role::User, asked))];
    for (index, (name, arguments, output)) in calls.iter().enumerate() {
        let (id, name, arguments) = (index.to_string(), (*name).to_owned(), arguments.clone());
        let call = MessageContent::ToolCall { id: id.clone(), name, arguments, opaque: None };
        messages.push(Arc::new(Message::new(Role::Assistant, [call])));
        messages.push(Arc::new(Message::new(Role::User, [MessageContent::tool_result(id, output.clone())])));
    }
    messages
}

/// Returns a call of `read` with the lines and fields of its result.
pub(super) fn read(path: &str, text: &str) -> CallRecord {
    let lines = text.lines().enumerate().map(|(index, line)| format!("{}\t{line}", index + 1));
    let mut output = ToolOutput::text(lines.collect::<Vec<_>>().join("\n"));
    let total = text.lines().count();
    output.structured = Some(json!({ "first_line": 1, "last_line": total, "total_lines": total }));
    ("developer__read", json!({ "path": path }), output)
}

pub(super) fn shell(command: &str, output: ToolOutput) -> CallRecord {
    ("developer__shell", json!({ "command": command }), output)
}

pub(super) fn search(pattern: &str, matches: usize) -> CallRecord {
    let mut output = ToolOutput::text("what was found");
    output.structured = Some(json!({ "matches": matches }));
    ("developer__search", json!({ "pattern": pattern }), output)
}

pub(super) fn edit(path: &str, before: &str, after: &str) -> CallRecord {
    let arguments = json!({ "path": path, "before": before, "after": after });
    ("developer__edit", arguments, ToolOutput::text("Edited"))
}
