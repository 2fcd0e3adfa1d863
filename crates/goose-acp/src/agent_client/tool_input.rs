//! [`ToolInput`]: the files and commands in the input of an agent's tool. Agents name their fields as they like, so a
//! field counts as harmless only if its name is known. Everything else makes the action unclear.

use std::path::Path;

use serde_json::Value;

/// Fields with a command line.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];

/// Fields with further words of a command.
const WORDS: [&str; 2] = ["args", "arguments"];

/// Fields with the folder that a command runs in.
const FOLDERS: [&str; 9] = [
    "cwd",
    "workdir",
    "working_dir",
    "workingDir",
    "working_directory",
    "workingDirectory",
    "directory",
    "dir",
    "dir_path",
];

/// Fields beside a command that do not change what it does. A proposed rule takes effect only if an agent is allowed
/// something for ever, which goose never does.
#[rustfmt::skip]
const NOTES: [&str; 19] = [
    "description", "explanation", "reason", "title", "timeout", "timeout_ms", "timeoutMs", "timeout_seconds",
    "run_in_background", "is_background", "call_id", "callId", "turn_id", "turnId", "approval_id", "parsed_cmd",
    "started_at_ms", "proposed_execpolicy_amendment", "available_decisions",
];

/// Fields with the path of a file or folder.
#[rustfmt::skip]
const PATHS: [&str; 36] = [
    "path", "paths", "file", "files", "file_path", "filePath", "file_paths", "filePaths", "abs_path", "absPath",
    "absolute_path", "absolutePath", "filename", "file_name", "target_file", "targetFile", "notebook_path",
    "directory", "dir", "dir_path", "directory_path", "folder", "source", "src", "from", "to", "target",
    "destination", "dest", "old_path", "oldPath", "new_path", "newPath", "move_path", "movePath", "relative_path",
];

/// Fields with words to look for, which may be patterns of paths.
const TERMS: [&str; 7] = ["pattern", "query", "glob", "include", "exclude", "ignore", "regex"];

/// Fields with content of a file, or with a detail of reading or editing it.
#[rustfmt::skip]
const DETAILS: [&str; 60] = [
    "content", "contents", "text", "file_text", "old_string", "new_string", "oldString", "newString", "old_str",
    "new_str", "oldText", "newText", "old_text", "new_text", "new_source", "insert_text", "unified_diff",
    "instruction", "ai_proposed_content", "modified_by_user", "description", "explanation", "reason", "title",
    "replace_all", "replaceAll", "expected_replacements", "allow_multiple", "insert_line", "view_range", "cell_id",
    "cell_type", "edit_mode", "offset", "limit", "line", "lines", "start_line", "end_line", "startLine", "endLine",
    "output_mode", "head_limit", "multiline", "case_sensitive", "recursive", "depth", "type", "respect_git_ignore",
    "respect_gemini_ignore", "call_id", "callId", "turn_id", "turnId", "-A", "-B", "-C", "-n", "-i", "started_at_ms",
];

/// Fields with new content of a file.
const CONTENT: [&str; 8] =
    ["content", "contents", "file_text", "new_string", "newString", "new_str", "newText", "new_text"];

/// Fields with a list of such fields.
const GROUPS: [&str; 4] = ["edits", "changes", "operations", "file_filtering_options"];

/// Parts of names of fields whose text is a path, in tools of any kind.
const PATH_WORDS: [&str; 4] = ["path", "file", "folder", "director"];

/// The purpose of a tool, by which its fields are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads or changes files.
    Files,
    /// Runs a command.
    Command,
    /// Anything else that needs neither files nor commands.
    Other,
    /// Not known.
    Unknown,
}

/// Findings in an input.
#[derive(Debug, Default)]
pub(super) struct ToolInput {
    pub(super) paths: Vec<String>,
    pub(super) commands: Vec<String>,
    /// True if the input may mean more than the paths or the command.
    pub(super) is_unclear: bool,
}

impl ToolInput {
    /// Reads an input. `folder` is the folder that the agent works in.
    pub(super) fn read(input: &Value, purpose: Purpose, folder: &Path) -> Self {
        let mut found = Self { is_unclear: purpose == Purpose::Unknown, ..Self::default() };
        match input {
            Value::Object(fields) if purpose == Purpose::Command => {
                for (name, value) in fields {
                    found.beside_command(name, value, folder);
                }
            }
            Value::Object(_) | Value::Null => found.field("", input, purpose),
            _ => {
                found.is_unclear = true;
                found.field("", input, Purpose::Unknown);
            }
        }
        found.commands.extend(command(input));
        found.is_unclear |= match purpose {
            Purpose::Command => found.commands.len() != 1,
            Purpose::Other => !found.paths.is_empty() || !found.commands.is_empty(),
            Purpose::Files | Purpose::Unknown => !found.commands.is_empty(),
        };
        found
    }

    /// Returns true if an input is new content for files, and nothing else.
    pub(super) fn is_edit(input: &Value, folder: &Path) -> bool {
        let has_content = CONTENT.iter().any(|name| input.get(name).is_some());
        let found = Self::read(input, Purpose::Files, folder);
        has_content && !found.is_unclear && !found.paths.is_empty()
    }

    pub(super) fn add_path(&mut self, path: &str) {
        if !path.is_empty() && !self.paths.iter().any(|known| known == path) {
            self.paths.push(path.to_owned());
        }
    }

    /// Reads a field of a tool that runs a command.
    fn beside_command(&mut self, name: &str, value: &Value, folder: &Path) {
        let is_harmless = is_empty(value)
            || NOTES.contains(&name)
            || FOLDERS.contains(&name) && is_folder(value, folder)
            || COMMANDS.contains(&name)
            || WORDS.contains(&name) && words(value).is_some();
        if !is_harmless {
            self.is_unclear = true;
            self.field(name, value, Purpose::Unknown);
        }
    }

    /// Reads a field of any other tool, and the fields in it.
    fn field(&mut self, name: &str, value: &Value, purpose: Purpose) {
        if is_empty(value) {
            return;
        }
        match value {
            Value::Object(fields) => {
                self.is_unclear |= purpose == Purpose::Files && !is_known(name);
                // The fields of the input itself are read by `command`.
                if !name.is_empty() {
                    self.commands.extend(command(value));
                }
                for (inner, value) in fields {
                    // Some tools have an object with a field for each file.
                    let is_file = looks_like_path(inner);
                    if is_file {
                        self.add_path(inner);
                    }
                    self.field(if is_file { "changes" } else { inner }, value, purpose);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.field(name, item, purpose)),
            Value::String(text) => self.text(name, text, purpose),
            _ => self.is_unclear |= purpose == Purpose::Files && !is_known(name),
        }
    }

    fn text(&mut self, name: &str, text: &str, purpose: Purpose) {
        let is_path = match purpose {
            Purpose::Files if PATHS.contains(&name) => true,
            Purpose::Files if DETAILS.contains(&name) => false,
            Purpose::Files => looks_like_path(text),
            _ => {
                let name = name.to_ascii_lowercase();
                looks_like_path(text) || PATH_WORDS.iter().any(|word| name.contains(word))
            }
        };
        self.is_unclear |= purpose == Purpose::Files && !is_known(name);
        if is_path {
            self.add_path(text.strip_prefix("file://").unwrap_or(text));
        }
    }
}

/// Returns whether a field of a tool for files is harmless. The empty name is that of the input itself.
fn is_known(name: &str) -> bool {
    name.is_empty()
        || PATHS.contains(&name)
        || TERMS.contains(&name)
        || DETAILS.contains(&name)
        || GROUPS.contains(&name)
}

/// Returns whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_folder(value: &Value, folder: &Path) -> bool {
    value.as_str().is_some_and(|path| folder.join(path).components().eq(folder.components()))
}

/// Returns whether a whole text is a path. Sentences and addresses are not.
fn looks_like_path(text: &str) -> bool {
    let has_space = text.contains(char::is_whitespace);
    let is_hidden_name = text.len() > 1 && text.starts_with('.') && !has_space;
    let is_below = text.contains('/') && !text.contains("://") && !has_space;
    !text.contains('\n')
        && (text.starts_with(['/', '~']) || text.starts_with("file:") || is_hidden_name || is_below)
}

/// Returns the command lines in an object, with their further words.
fn command(input: &Value) -> Vec<String> {
    let Value::Object(fields) = input else { return Vec::new() };
    let line = |value: &Value| match value {
        Value::String(line) if !line.trim().is_empty() => Some(line.clone()),
        other => words(other),
    };
    let mut lines: Vec<String> = COMMANDS.iter().filter_map(|name| line(fields.get(*name)?)).collect();
    let more: Vec<String> = WORDS.iter().filter_map(|name| line(fields.get(*name)?)).collect();
    match lines.first_mut() {
        Some(first) => more.iter().for_each(|words| *first = format!("{first} {words}")),
        None => lines = more,
    }
    lines
}

/// Returns the words of a list, quoted for the shell.
fn words(value: &Value) -> Option<String> {
    let words = value.as_array().filter(|words| !words.is_empty())?;
    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
    Some(words?.join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
