//! [`Hook`]: a command for an event, as `hooks:` in a configuration or a `settings.json` has it.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use fancy_regex::Regex;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Default time limit of a hook.
const DEFAULT_SECONDS: f64 = 60.0;

/// Maximum time limit of a hook.
const MAX_SECONDS: f64 = 3600.0;

/// Maximum number of hooks in one file.
const MAX_HOOKS: usize = 500;

/// Maximum length of a matcher.
const MAX_MATCHER_BYTES: usize = 4 * 1024;

/// Point of a session at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before the first message of a session.
    SessionStart,
    /// After the session is closed.
    SessionEnd,
    /// Before a message of the user goes to the model.
    UserPromptSubmit,
    /// Before a tool runs, after the permissions have not denied it.
    PreToolUse,
    /// After a tool succeeded.
    PostToolUse,
    /// Before a reply ends.
    Stop,
}

impl HookEvent {
    /// All events, in the order in which they happen.
    pub const ALL: [Self; 6] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
        }
    }

    /// Returns the event with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Returns true if the event is about a tool.
    pub fn is_about_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Command that runs at an event.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Hook {
    /// Event that it runs at.
    pub event: HookEvent,
    /// Tools or reasons that it runs for.
    pub matcher: Matcher,
    /// Command line for `sh`.
    pub command: String,
    /// Time limit in seconds.
    #[serde(rename = "timeout_seconds", serialize_with = "as_seconds")]
    pub time_limit: Duration,
    /// File that contains it.
    pub file: Arc<PathBuf>,
}

fn as_seconds<S: Serializer>(limit: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(limit.as_secs_f64())
}

impl Hook {
    /// Returns a text that names the hook: its event, its command and its file.
    pub(crate) fn origin(&self) -> String {
        format!("the hook `{}` ({}, {})", self.shown_command(), self.event, self.file.display())
    }

    /// Returns the beginning of the command on one line.
    fn shown_command(&self) -> String {
        const MAX_CHARS: usize = 80;
        let line = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        goose_fs::truncate_chars(&line, MAX_CHARS).into_owned()
    }
}

/// Condition on the name of a tool, or on the reason of an event.
#[derive(Debug, Clone)]
pub struct Matcher {
    text: String,
    /// `None` matches everything.
    pattern: Option<Regex>,
}

impl Matcher {
    /// Parses a matcher: a regular expression for the whole name; empty or `*` for everything.
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_MATCHER_BYTES {
            return Err(format!("the matcher is longer than {MAX_MATCHER_BYTES} bytes"));
        }
        let pattern = match text {
            "" | "*" => None,
            text => Some(
                Regex::new(&format!("^(?:{text})$"))
                    .map_err(|error| format!("the matcher '{text}' is not a regular expression: {error}"))?,
            ),
        };
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// Returns true if one of the names matches. A pattern that takes too long to match counts as a match.
    pub(super) fn matches(&self, names: &[&str]) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        names.iter().any(|name| pattern.is_match(name).unwrap_or(true))
    }

    /// Returns the matcher as written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Serialize for Matcher {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Entry of an event: a matcher and its commands.
#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Option<String>,
    hooks: Vec<Value>,
}

/// One command of an entry.
#[derive(Deserialize)]
struct Command {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

/// Hooks of a file, and the entries that cannot be used.
#[derive(Debug, Default)]
pub(super) struct ParsedHooks {
    pub(super) hooks: Vec<Hook>,
    pub(super) problems: Vec<String>,
    /// Events that this program does not have. A file may be written for another one as well.
    pub(super) unsupported: Vec<String>,
}

/// Reads the value of the key `hooks`. Each entry that cannot be used is a problem; the others are used.
pub(super) fn parse(value: &Value, file: &Arc<PathBuf>) -> ParsedHooks {
    let mut parsed = ParsedHooks::default();
    if !value.is_object() && !value.is_null() {
        parsed.problems.push("'hooks' must be a mapping of events to lists".to_owned());
    }
    for (name, groups) in value.as_object().into_iter().flatten() {
        match (HookEvent::named(name), groups.as_array()) {
            (None, _) => parsed.unsupported.push(name.clone()),
            (Some(_), None) => parsed.problems.push(format!("'hooks.{name}' must be a list")),
            (Some(event), Some(groups)) => {
                for (index, group) in groups.iter().enumerate() {
                    let place = format!("hooks.{name}[{index}]");
                    parsed.add_group(event, group, &place, file);
                }
            }
        }
    }
    if parsed.hooks.len() > MAX_HOOKS {
        parsed.hooks.truncate(MAX_HOOKS);
        parsed.problems.push(format!("only the first {MAX_HOOKS} hooks are used"));
    }
    parsed
}

impl ParsedHooks {
    fn add_group(&mut self, event: HookEvent, group: &Value, place: &str, file: &Arc<PathBuf>) {
        let read = Group::deserialize(group).map_err(|error| error.to_string());
        let read = read.and_then(|group| {
            Ok((Matcher::parse(group.matcher.as_deref().unwrap_or_default())?, group.hooks))
        });
        let (matcher, commands) = match read {
            Ok(read) => read,
            Err(error) => return self.problems.push(format!("'{place}': {error}")),
        };
        for (index, command) in commands.iter().enumerate() {
            match read_command(command) {
                Ok((command, time_limit)) => self.hooks.push(Hook {
                    event,
                    matcher: matcher.clone(),
                    command,
                    time_limit,
                    file: Arc::clone(file),
                }),
                Err(error) => self.problems.push(format!("'{place}.hooks[{index}]': {error}")),
            }
        }
    }
}

fn read_command(value: &Value) -> Result<(String, Duration), String> {
    let Command { kind, command, timeout } =
        Command::deserialize(value).map_err(|error| error.to_string())?;
    if kind != "command" {
        return Err(format!("the type '{kind}' is not supported; only 'command' is"));
    }
    let command = command.filter(|command| !command.trim().is_empty());
    let command = command.ok_or_else(|| "'command' is missing".to_owned())?;
    if command.contains('\0') {
        return Err("'command' has a NUL character in it".to_owned());
    }
    let seconds = timeout.filter(|seconds| *seconds > 0.0).unwrap_or(DEFAULT_SECONDS).min(MAX_SECONDS);
    Ok((command, Duration::from_secs_f64(seconds)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hooks_of(value: &Value) -> ParsedHooks {
        parse(value, &Arc::new(PathBuf::from("settings.json")))
    }

    #[test]
    fn a_broken_entry_does_not_disable_the_others() {
        let parsed = hooks_of(&json!({
            "PreToolUse": [
                { "matcher": "Bash(", "hooks": [{ "type": "command", "command": "a" }] },
                { "matcher": 5, "hooks": [] },
                { "hooks": [
                    { "type": "prompt", "prompt": "x" },
                    { "type": "command" },
                    { "type": "command", "command": "b", "timeout": 1e9 },
                    { "type": "command", "command": "c", "timeout": -1 },
                ] },
            ],
            "Stop": {},
            "Notification": [],
        }));
        let commands: Vec<_> =
            parsed.hooks.iter().map(|hook| (hook.command.as_str(), hook.time_limit.as_secs())).collect();
        assert_eq!(commands, [("b", 3600), ("c", 60)]);
        assert_eq!(parsed.problems.len(), 5, "{:?}", parsed.problems);
        assert!(parsed.problems.iter().any(|it| it.contains("hooks.PreToolUse[0]")), "{:?}", parsed.problems);
        assert_eq!(parsed.unsupported, ["Notification"]);
        for value in [json!([]), json!("x"), json!(3)] {
            assert_eq!(hooks_of(&value).problems.len(), 1);
        }
        assert!(hooks_of(&Value::Null).problems.is_empty());
    }

    #[test]
    fn a_matcher_is_for_the_whole_name() {
        let matches = |text: &str, name| Matcher::parse(text).unwrap().matches(&[name]);
        for (text, name, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "NotebookEdit", false),
            ("mcp__memory__.*", "mcp__memory__remember", true),
            ("bash", "Bash", false),
        ] {
            assert_eq!(matches(text, name), expected, "{text} {name}");
        }
    }
}
