//! Tools and their arguments in the form that hooks know: the names of Claude Code.

use std::path::{Path, PathBuf};

use goose_extension::{JsonObject, ToolOutput};
use serde_json::{Value, json};

/// Call of a tool, as hooks see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapedCall {
    /// Names that matchers may have. The first one is sent to the hook.
    pub(super) names: Vec<String>,
    /// Arguments under the names that hooks know.
    pub(super) input: Value,
}

/// Folders that relative paths start from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folders<'a> {
    pub(super) working_dir: &'a Path,
    pub(super) home: Option<&'a Path>,
}

/// Fields of a tool: our name, and the name that hooks know.
type Fields = &'static [(&'static str, &'static str)];

const READ: Fields = &[("path", "file_path"), ("offset", "offset"), ("limit", "limit")];
const WRITE: Fields = &[("path", "file_path"), ("content", "content")];
const EDIT: Fields = &[
    ("path", "file_path"),
    ("before", "old_string"),
    ("after", "new_string"),
    ("replace_all", "replace_all"),
    ("edits", "edits"),
];
const SEARCH: Fields = &[
    ("pattern", "pattern"),
    ("path", "path"),
    ("glob", "glob"),
    ("ignore_case", "-i"),
    ("context_lines", "-C"),
    ("limit", "head_limit"),
];

/// Milliseconds of a second: hooks know the time limit of a command in milliseconds.
const MILLISECONDS: u64 = 1000;

impl ShapedCall {
    /// Translates a call of one of our tools.
    pub(super) fn new(tool: &str, arguments: &JsonObject, folders: Folders<'_>) -> Self {
        let bare = tool.strip_prefix("developer__");
        let (names, mut input): (&[&str], JsonObject) = match bare {
            Some("shell") => (&["Bash"], shell(arguments)),
            Some("read") => (&["Read"], renamed(arguments, READ)),
            Some("write") => (&["Write"], renamed(arguments, WRITE)),
            Some("edit") => (&["Edit", "MultiEdit"], edit(arguments)),
            Some("search") => (&["Grep"], renamed(arguments, SEARCH)),
            _ => (&[], arguments.clone()),
        };
        for field in ["file_path", "path"] {
            if let Some(Value::String(path)) = input.get_mut(field).filter(|_| !names.is_empty()) {
                *path = folders.absolute(path).to_string_lossy().into_owned();
            }
        }
        // Any other tool of an extension has the name of a tool of an MCP server.
        let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
        if names.is_empty() && tool.contains("__") {
            names.push(format!("mcp__{tool}"));
        }
        names.push(tool.to_owned());
        Self { names, input: Value::Object(input) }
    }

    /// Returns the name that is sent to hooks.
    pub(super) fn name(&self) -> &str {
        self.names.first().map(String::as_str).unwrap_or_default()
    }

    /// Translates the result of the call.
    pub(super) fn response(&self, output: &ToolOutput) -> Value {
        let text = output.as_text();
        match self.name() {
            "Bash" => json!({ "stdout": text, "stderr": "", "interrupted": false, "isImage": false }),
            "Write" | "Edit" => {
                json!({ "filePath": self.input.get("file_path"), "success": !output.is_error, "content": text })
            }
            _ => json!({ "content": text, "success": !output.is_error }),
        }
    }
}

impl Folders<'_> {
    fn absolute(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.working_dir.join(path),
        }
    }
}

fn renamed(arguments: &JsonObject, fields: Fields) -> JsonObject {
    let found =
        fields.iter().filter_map(|(own, known)| Some(((*known).to_owned(), arguments.get(*own)?.clone())));
    found.collect()
}

fn shell(arguments: &JsonObject) -> JsonObject {
    let mut input = renamed(arguments, &[("command", "command")]);
    if let Some(seconds) = arguments.get("timeout_secs").and_then(Value::as_u64) {
        input.insert("timeout".to_owned(), seconds.saturating_mul(MILLISECONDS).into());
    }
    input
}

/// Translates an edit. Several edits in one call also stand together in `old_string` and `new_string`: a hook
/// that only knows single edits must not overlook them.
fn edit(arguments: &JsonObject) -> JsonObject {
    let mut input = renamed(arguments, EDIT);
    let Some(Value::Array(edits)) = input.get_mut("edits") else { return input };
    for edit in &mut *edits {
        if let Value::Object(fields) = edit {
            *fields = renamed(fields, EDIT);
        }
    }
    let joined = |field: &str| {
        let texts: Vec<&str> = edits.iter().filter_map(|edit| edit.get(field)?.as_str()).collect();
        texts.join("\n")
    };
    let (old, new) = (joined("old_string"), joined("new_string"));
    input.entry("old_string").or_insert_with(|| old.into());
    input.entry("new_string").or_insert_with(|| new.into());
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(tool: &str, arguments: Value) -> (String, Value) {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let folders = Folders { working_dir: Path::new("/w"), home: Some(Path::new("/h")) };
        let call = ShapedCall::new(tool, &arguments, folders);
        (call.names.join(" "), call.input)
    }

    #[test]
    fn own_tools_have_the_names_and_fields_that_hooks_know() {
        for (tool, arguments, names, input) in [
            (
                "developer__shell",
                json!({"command": "ls", "timeout_secs": 5}),
                "Bash developer__shell",
                json!({"command": "ls", "timeout": 5000}),
            ),
            (
                "developer__read",
                json!({"path": "a", "offset": 3}),
                "Read developer__read",
                json!({"file_path": "/w/a", "offset": 3}),
            ),
            (
                "developer__write",
                json!({"path": "~/a", "content": "x", "overwrite": true}),
                "Write developer__write",
                json!({"file_path": "/h/a", "content": "x"}),
            ),
            (
                "developer__edit",
                json!({"path": "/a", "before": "x", "after": "y"}),
                "Edit MultiEdit developer__edit",
                json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
            ),
            (
                "developer__edit",
                json!({"path": "a", "edits": [{"before": "x", "after": "y"}, {"before": "z", "after": ""}]}),
                "Edit MultiEdit developer__edit",
                json!({"file_path": "/w/a", "old_string": "x\nz", "new_string": "y\n",
                       "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}]}),
            ),
            (
                "developer__search",
                json!({"pattern": "x", "path": "src", "ignore_case": true}),
                "Grep developer__search",
                json!({"pattern": "x", "path": "/w/src", "-i": true}),
            ),
            (
                "memory__remember_memory",
                json!({"path": "a"}),
                "mcp__memory__remember_memory memory__remember_memory",
                json!({"path": "a"}),
            ),
        ] {
            assert_eq!(shaped(tool, arguments), (names.to_owned(), input));
        }
    }
}
