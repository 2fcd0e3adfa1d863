//! Tool calls of an agent, as it describes them, and the actions that our permissions judge them by.

use std::collections::VecDeque;

use goose::agent_manager::acp_mcp_adapter::{ActionEffect, AgentAction};
use serde_json::{Map, Value};

/// The tool calls that are remembered, and the bytes of their descriptions together. The last one is remembered in any case.
const MAX_CALLS: usize = 256;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The fields of a description that say what a tool call does.
const FIELDS: [&str; 5] = ["title", "kind", "locations", "rawInput", "content"];

/// The names under which agents put a path into the input of their tools.
const PATH_KEYS: [&str; 6] = ["path", "file_path", "filePath", "abs_path", "absPath", "file"];

/// The same for a command line.
const COMMAND_KEYS: [&str; 3] = ["command", "cmd", "script"];

/// The description of a tool call, as far as the agent gave it.
pub(super) type Description = Map<String, Value>;

/// The tool calls of one task. Later messages about a call name only what changed.
#[derive(Default)]
pub(super) struct ToolCalls {
    /// The call that was spoken of last is the last one.
    known: VecDeque<ToolCall>,
}

#[derive(Default)]
struct ToolCall {
    id: String,
    description: Description,
    bytes: usize,
}

impl ToolCalls {
    /// Takes a description into account. Returns all that is known of the call now, and whether it is new.
    pub(super) fn update(&mut self, update: &Value) -> (&Description, bool) {
        let id = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        let at = self.known.iter().position(|call| call.id == id);
        let known = at.and_then(|at| self.known.remove(at));
        let mut call = known.unwrap_or_else(|| ToolCall { id: id.to_owned(), ..ToolCall::default() });
        for field in FIELDS {
            if let Some(value) = update.get(field).filter(|value| !value.is_null()) {
                call.bytes += size(value);
                let replaced = call.description.insert(field.to_owned(), value.clone());
                call.bytes -= replaced.as_ref().map_or(0, size);
            }
        }
        self.make_room(call.bytes);
        self.known.push_back(call);
        // It was pushed just now.
        let call = &self.known[self.known.len() - 1];
        (&call.description, at.is_none())
    }

    /// Forgets the oldest calls for a new one.
    fn make_room(&mut self, bytes: usize) {
        let mut bytes = bytes + self.known.iter().map(|call| call.bytes).sum::<usize>();
        while (self.known.len() >= MAX_CALLS || bytes > MAX_BYTES)
            && let Some(oldest) = self.known.pop_front()
        {
            bytes -= oldest.bytes;
        }
    }
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// The agent's own words for a call.
pub(super) fn title(call: &Description) -> &str {
    call.get("title").and_then(Value::as_str).unwrap_or("a tool")
}

/// The action that a call is judged by.
pub(super) fn action(call: &Description) -> AgentAction {
    let effect = match call.get("kind").and_then(Value::as_str).unwrap_or("other") {
        "read" | "search" => ActionEffect::Reads(paths(call)),
        "edit" | "delete" | "move" => ActionEffect::Writes(files(call)),
        "execute" => ActionEffect::Runs(command(call)),
        kind => ActionEffect::Other(kind.to_owned()),
    };
    AgentAction {
        effect,
        title: title(call).to_owned(),
        input: call.get("rawInput").cloned().unwrap_or_default(),
    }
}

/// The files that a call names: as locations, and in its input.
fn paths(call: &Description) -> Vec<String> {
    let locations = call.get("locations").and_then(Value::as_array).into_iter().flatten();
    let located = locations.filter_map(|location| location.get("path")?.as_str());
    let input = call.get("rawInput").and_then(Value::as_object);
    let given = PATH_KEYS.iter().filter_map(|key| input?.get(*key)?.as_str());
    let mut paths: Vec<String> = Vec::new();
    for path in located.chain(given).filter(|path| !path.is_empty()) {
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// The files that a call changes, with their new content if it shows a diff.
fn files(call: &Description) -> Vec<(String, Option<String>)> {
    let content = call.get("content").and_then(Value::as_array).into_iter().flatten();
    let diffs = content.filter(|block| block.get("type").and_then(Value::as_str) == Some("diff"));
    let text = |block: &Value, field: &str| block.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut files: Vec<(String, Option<String>)> =
        diffs.filter_map(|diff| Some((text(diff, "path")?, text(diff, "newText")))).collect();
    for path in paths(call) {
        if !files.iter().any(|(known, _)| *known == path) {
            files.push((path, None));
        }
    }
    files
}

/// The command line of a call. Words of a list are quoted for the shell.
fn command(call: &Description) -> Option<String> {
    let input = call.get("rawInput")?.as_object()?;
    COMMAND_KEYS.iter().find_map(|key| match input.get(*key)? {
        Value::String(command) if !command.trim().is_empty() => Some(command.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    })
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(update: Value) -> ActionEffect {
        action(ToolCalls::default().update(&update).0).effect
    }

    #[test]
    fn an_edit_is_judged_by_the_files_of_its_diff_and_its_locations() {
        let edit = json!({
            "toolCallId": "1", "title": "Edit", "kind": "edit",
            "content": [{"type": "diff", "path": "/a", "oldText": null, "newText": "new"}],
            "locations": [{"path": "/a"}, {"path": "/b", "line": 3}],
        });
        let files = vec![("/a".to_owned(), Some("new".to_owned())), ("/b".to_owned(), None)];
        assert_eq!(judged(edit), ActionEffect::Writes(files));
        let delete = json!({"kind": "delete", "rawInput": {"file_path": "/c"}});
        assert_eq!(judged(delete), ActionEffect::Writes(vec![("/c".to_owned(), None)]));
    }

    #[test]
    fn a_command_is_judged_as_the_shell_would_read_it() {
        let text = json!({"kind": "execute", "rawInput": {"command": "rm -rf x; ls"}});
        assert_eq!(judged(text), ActionEffect::Runs(Some("rm -rf x; ls".to_owned())));
        let words = json!({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "it's $HOME"]}});
        assert_eq!(judged(words), ActionEffect::Runs(Some(r"bash -lc 'it'\''s $HOME'".to_owned())));
    }

    #[test]
    fn what_is_not_clear_keeps_its_kind() {
        for (update, effect) in [
            (json!({"kind": "edit", "title": "T"}), ActionEffect::Writes(Vec::new())),
            (json!({"kind": "execute", "rawInput": {"command": [1]}}), ActionEffect::Runs(None)),
            (json!({"kind": "read", "rawInput": "x"}), ActionEffect::Reads(Vec::new())),
            (json!({"kind": "fetch", "rawInput": {"path": "/a"}}), ActionEffect::Other("fetch".to_owned())),
            (json!({"title": "T"}), ActionEffect::Other("other".to_owned())),
            (json!({"kind": 7}), ActionEffect::Other("other".to_owned())),
        ] {
            assert_eq!(judged(update.clone()), effect, "{update}");
        }
    }

    #[test]
    fn what_was_said_before_is_remembered_within_limits() {
        let mut calls = ToolCalls::default();
        calls.update(&json!({"toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}}));
        let (call, is_new) = calls.update(&json!({"toolCallId": "1", "title": "List", "kind": null}));
        assert_eq!((action(call).effect, is_new), (ActionEffect::Runs(Some("ls".to_owned())), false));

        // A large call is remembered whole while it is the last one, and drives the others out.
        let long = "x".repeat(MAX_BYTES);
        let diff = json!([{"type": "diff", "path": "/a", "newText": long}]);
        calls.update(&json!({"toolCallId": "2", "kind": "edit", "content": diff}));
        let (call, is_new) = calls.update(&json!({"toolCallId": "2", "title": "Edit"}));
        let effect = ActionEffect::Writes(vec![("/a".to_owned(), Some(long))]);
        assert_eq!((action(call).effect, is_new), (effect, false));
        assert!(calls.update(&json!({"toolCallId": "1"})).1);
        for number in 0..=MAX_CALLS {
            calls.update(&json!({"toolCallId": format!("n{number}"), "kind": "other"}));
        }
        assert_eq!(calls.known.len(), MAX_CALLS);
    }
}
