//! Tool calls of an agent, as it describes them, and the actions that our permissions judge them by.

use std::{collections::VecDeque, path::Path};

use goose::agent_manager::acp_mcp_adapter::{ActionEffect, AgentAction, Mentions};
use serde_json::{Map, Value};

use super::tool_input::{Purpose, ToolInput};

/// The tool calls that are remembered, and the bytes of their descriptions together. The last one is remembered in any
/// case.
const MAX_CALLS: usize = 256;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The fields of a description that say what a tool call does.
const FIELDS: [&str; 5] = ["title", "kind", "locations", "rawInput", "content"];

/// The other fields of the protocol, which say how far a call has come.
const PROGRESS_FIELDS: [&str; 5] = ["toolCallId", "sessionUpdate", "status", "rawOutput", "_meta"];

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
        let fields = update.as_object().into_iter().flatten();
        // Fields that the protocol does not have are kept: they make an action unclear.
        let is_kept = |(field, value): &(&String, &Value)| {
            !value.is_null() && !PROGRESS_FIELDS.contains(&field.as_str())
        };
        for (field, value) in fields.filter(is_kept) {
            call.bytes += size(value);
            let replaced = call.description.insert(field.clone(), value.clone());
            call.bytes -= replaced.as_ref().map_or(0, size);
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

/// The action that a call is judged by. `folder` is the folder that the agent works in.
pub(super) fn action(call: &Description, folder: &Path) -> AgentAction {
    let input = call.get("rawInput").cloned().unwrap_or_default();
    let kind = match call.get("kind").and_then(Value::as_str).unwrap_or_default() {
        // Some agents give no kind. New content for known files is a change of these files.
        "" | "other" if ToolInput::is_edit(&input, folder) => "edit",
        kind => kind,
    };
    let purpose = match kind {
        "read" | "search" | "edit" | "delete" | "move" => Purpose::Files,
        "execute" => Purpose::Command,
        "think" | "fetch" | "switch_mode" | "other" => Purpose::Other,
        _ => Purpose::Unknown,
    };
    let mut found = ToolInput::read(&input, purpose, folder);
    let (diffs, locations) = (diffs(call), locations(call));
    let changes_files = matches!(kind, "edit" | "delete" | "move");
    found.is_unclear |= call.keys().any(|field| !FIELDS.contains(&field.as_str()))
        || !diffs.is_empty() && !changes_files
        || !locations.is_empty() && purpose == Purpose::Other;
    locations.iter().for_each(|path| found.add_path(path));
    let effect = match kind {
        "read" | "search" => ActionEffect::Reads(found.paths.clone()),
        "edit" | "delete" | "move" => ActionEffect::Writes(files(diffs.clone(), &found.paths)),
        "execute" => ActionEffect::Runs(found.commands.first().cloned()),
        kind => ActionEffect::Other(if kind.is_empty() { "other" } else { kind }.to_owned()),
    };
    let unclear = found.is_unclear.then(|| {
        diffs.iter().for_each(|(path, _)| found.add_path(path));
        Mentions { paths: found.paths, commands: found.commands }
    });
    AgentAction { effect, unclear, title: title(call).to_owned(), input }
}

/// The files that a call names as its locations.
fn locations(call: &Description) -> Vec<&str> {
    let locations = call.get("locations").and_then(Value::as_array).into_iter().flatten();
    locations.filter_map(|location| location.get("path")?.as_str()).collect()
}

/// The files of which a call shows a change, with their new content.
fn diffs(call: &Description) -> Vec<(String, Option<String>)> {
    let content = call.get("content").and_then(Value::as_array).into_iter().flatten();
    let diffs = content.filter(|block| block.get("type").and_then(Value::as_str) == Some("diff"));
    let text = |block: &Value, field: &str| block.get(field).and_then(Value::as_str).map(str::to_owned);
    diffs.filter_map(|diff| Some((text(diff, "path")?, text(diff, "newText")))).collect()
}

/// The files that a call changes.
fn files(mut files: Vec<(String, Option<String>)>, paths: &[String]) -> Vec<(String, Option<String>)> {
    for path in paths {
        if !files.iter().any(|(known, _)| known == path) {
            files.push((path.clone(), None));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(update: Value) -> ActionEffect {
        action(ToolCalls::default().update(&update).0, Path::new("/work")).effect
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
            (json!({"kind": "read", "rawInput": 7}), ActionEffect::Reads(Vec::new())),
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
        assert_eq!(
            (action(call, Path::new("/work")).effect, is_new),
            (ActionEffect::Runs(Some("ls".to_owned())), false)
        );

        // A large call is remembered whole while it is the last one, and drives the others out.
        let long = "x".repeat(MAX_BYTES);
        let diff = json!([{"type": "diff", "path": "/a", "newText": long}]);
        calls.update(&json!({"toolCallId": "2", "kind": "edit", "content": diff}));
        let (call, is_new) = calls.update(&json!({"toolCallId": "2", "title": "Edit"}));
        let effect = ActionEffect::Writes(vec![("/a".to_owned(), Some(long))]);
        assert_eq!((action(call, Path::new("/work")).effect, is_new), (effect, false));
        assert!(calls.update(&json!({"toolCallId": "1"})).1);
        for number in 0..=MAX_CALLS {
            calls.update(&json!({"toolCallId": format!("n{number}"), "kind": "other"}));
        }
        assert_eq!(calls.known.len(), MAX_CALLS);
    }
}
