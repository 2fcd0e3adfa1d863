//! Tool calls of an agent, as it describes them, and the actions that our permissions judge them by.

use std::collections::{HashMap, VecDeque};

use goose::agent_manager::acp_mcp_adapter::AgentAction;
use serde_json::{Map, Value};

/// The tool calls that are remembered, and the largest description of one, in bytes.
const MAX_CALLS: usize = 256;
const MAX_CALL_BYTES: usize = 64 * 1024;

/// The files of one tool call that are looked at. A call with more is judged as a whole.
const MAX_PATHS: usize = 64;

/// The fields of a description that say what a tool call does.
const FIELDS: [&str; 5] = ["title", "kind", "locations", "rawInput", "content"];

/// The names under which agents put a path into the input of their tools.
const PATH_KEYS: [&str; 6] = ["path", "file_path", "filePath", "abs_path", "absPath", "file"];

/// The same for a command line.
const COMMAND_KEYS: [&str; 3] = ["command", "cmd", "script"];

/// The tool calls of one task, by id. Later messages about a call name only what changed.
#[derive(Default)]
pub(super) struct ToolCalls {
    known: HashMap<String, Map<String, Value>>,
    order: VecDeque<String>,
}

impl ToolCalls {
    /// Takes a description into account. Returns all that is known of the call now, and whether it is new.
    pub(super) fn update(&mut self, update: &Value) -> (Map<String, Value>, bool) {
        let id = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut call = self.known.get(&id).cloned().unwrap_or_default();
        let is_new = call.is_empty();
        for field in FIELDS {
            if let Some(value) = update.get(field).filter(|value| !value.is_null()) {
                call.insert(field.to_owned(), value.clone());
            }
        }
        self.remember(id, &call);
        (call, is_new)
    }

    fn remember(&mut self, id: String, call: &Map<String, Value>) {
        let mut call = call.clone();
        if serde_json::to_string(&call).map_or(usize::MAX, |text| text.len()) > MAX_CALL_BYTES {
            call.retain(|field, _| field == "kind");
        }
        if self.known.insert(id.clone(), call).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > MAX_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// The agent's own words for a call.
pub(super) fn title(call: &Map<String, Value>) -> &str {
    call.get("title").and_then(Value::as_str).unwrap_or("a tool")
}

/// The action that a call is judged by. One whose files or command are not clear is judged as the tool of a server would be.
pub(super) fn action(call: &Map<String, Value>) -> AgentAction {
    let kind = call.get("kind").and_then(Value::as_str).unwrap_or("other");
    let known = match kind {
        "read" | "search" => {
            Some(paths(call)).filter(|paths| !paths.is_empty()).map(|paths| AgentAction::Read { paths })
        }
        "edit" | "delete" | "move" => {
            Some(files(call)).filter(|files| !files.is_empty()).map(|files| AgentAction::Write { files })
        }
        "execute" => command(call).map(|command| AgentAction::Run { command }),
        _ => None,
    };
    let is_judged_whole = match &known {
        Some(AgentAction::Read { paths }) => paths.len() > MAX_PATHS,
        Some(AgentAction::Write { files }) => files.len() > MAX_PATHS,
        _ => false,
    };
    known.filter(|_| !is_judged_whole).unwrap_or_else(|| AgentAction::Other {
        kind: kind.to_owned(),
        title: title(call).to_owned(),
        input: call.get("rawInput").cloned().unwrap_or_default(),
    })
}

/// The files that a call names: as locations, and in its input.
fn paths(call: &Map<String, Value>) -> Vec<String> {
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
fn files(call: &Map<String, Value>) -> Vec<(String, Option<String>)> {
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
fn command(call: &Map<String, Value>) -> Option<String> {
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

    fn judged(update: Value) -> AgentAction {
        action(&ToolCalls::default().update(&update).0)
    }

    #[test]
    fn an_edit_is_judged_by_the_files_of_its_diff_and_its_locations() {
        let edit = json!({
            "toolCallId": "1", "title": "Edit", "kind": "edit",
            "content": [{"type": "diff", "path": "/a", "oldText": null, "newText": "new"}],
            "locations": [{"path": "/a"}, {"path": "/b", "line": 3}],
        });
        let files = vec![("/a".to_owned(), Some("new".to_owned())), ("/b".to_owned(), None)];
        assert_eq!(judged(edit), AgentAction::Write { files });
        let delete = json!({"kind": "delete", "rawInput": {"file_path": "/c"}});
        assert_eq!(judged(delete), AgentAction::Write { files: vec![("/c".to_owned(), None)] });
    }

    #[test]
    fn a_command_is_judged_as_the_shell_would_read_it() {
        let text = json!({"kind": "execute", "rawInput": {"command": "rm -rf x; ls"}});
        assert_eq!(judged(text), AgentAction::Run { command: "rm -rf x; ls".to_owned() });
        let words = json!({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "it's $HOME"]}});
        assert_eq!(judged(words), AgentAction::Run { command: r"bash -lc 'it'\''s $HOME'".to_owned() });
    }

    #[test]
    fn what_is_not_clear_is_judged_as_something_of_a_server() {
        for update in [
            json!({"kind": "edit", "title": "T"}),
            json!({"kind": "execute", "title": "T", "rawInput": {"command": [1]}}),
            json!({"kind": "read", "title": "T", "rawInput": "x"}),
            json!({"kind": "fetch", "title": "T", "rawInput": {"path": "/a"}}),
            json!({"title": "T"}),
            json!({"kind": 7, "title": "T"}),
        ] {
            let AgentAction::Other { title, .. } = judged(update.clone()) else { panic!("{update}") };
            assert_eq!(title, "T");
        }
        let many: Vec<Value> = (0..=MAX_PATHS).map(|number| json!({"path": format!("/{number}")})).collect();
        let many = judged(json!({"kind": "read", "locations": many}));
        assert!(matches!(many, AgentAction::Other { .. }), "{many:?}");
    }

    #[test]
    fn what_was_said_before_is_remembered_within_limits() {
        let mut calls = ToolCalls::default();
        calls.update(&json!({"toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}}));
        let (call, is_new) = calls.update(&json!({"toolCallId": "1", "title": "List", "kind": null}));
        assert_eq!((action(&call), is_new), (AgentAction::Run { command: "ls".to_owned() }, false));
        calls.update(&json!({"toolCallId": "2", "kind": "edit", "title": "x".repeat(MAX_CALL_BYTES)}));
        assert!(!calls.known["2"].contains_key("title"));
        for number in 0..=MAX_CALLS {
            calls.update(&json!({"toolCallId": format!("n{number}"), "kind": "other"}));
        }
        assert_eq!((calls.known.len(), calls.order.len()), (MAX_CALLS, MAX_CALLS));
        assert!(!calls.known.contains_key("1"));
    }
}
