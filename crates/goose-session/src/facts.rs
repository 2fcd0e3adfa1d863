//! [`Facts`]: the facts of a reply or a task, such as changed files.

use serde::{Deserialize, Serialize};

/// Maximum number of changed files that are stored.
const MAX_FILES: usize = 1_000;

/// Maximum number of changed files that the summary names.
const MAX_NAMED: usize = 10;

const NO_COMMAND: &str = "No command was run.";

/// Facts of a reply or a task, from the fields of its events. They do not depend on what the model says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Facts {
    /// Exit code of the last command, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Files that tools changed, and those that commands name and changed. Commands may have changed others.
    pub files_changed: Vec<String>,
    /// Number of calls that a rule or the user did not allow.
    pub calls_refused: u32,
    /// Number of commands that were run.
    pub commands_run: u32,
    /// Number of calls that ran of tools for files and commands.
    pub calls_run: u32,
    /// Number of calls that ran of other tools, which may run commands by themselves.
    pub other_calls_run: u32,
}

impl Facts {
    /// Adds the facts of other work. The exit code stays if the other work has none.
    pub fn add(&mut self, other: &Self) {
        self.exit_code = other.exit_code.or(self.exit_code);
        self.calls_refused = self.calls_refused.saturating_add(other.calls_refused);
        self.commands_run = self.commands_run.saturating_add(other.commands_run);
        self.calls_run = self.calls_run.saturating_add(other.calls_run);
        self.other_calls_run = self.other_calls_run.saturating_add(other.other_calls_run);
        other.files_changed.iter().for_each(|path| self.changed(path));
    }

    /// Adds a changed file.
    pub fn changed(&mut self, path: &str) {
        let is_known = self.files_changed.iter().any(|known| known == path);
        if self.files_changed.len() < MAX_FILES && !is_known {
            self.files_changed.push(path.to_owned());
        }
    }

    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a sentence about the failure of the last command, if it failed.
    pub fn failure(&self) -> Option<String> {
        self.exit_code.map(|code| format!("The last command ended with exit code {code}."))
    }

    /// Returns a sentence about commands if files were changed and nothing was run, whatever the model says.
    pub fn nothing_was_run(&self) -> Option<String> {
        (self.ran_nothing() && !self.files_changed.is_empty()).then(|| NO_COMMAND.to_owned())
    }

    /// Returns true if tools were used, and certainly no command was run.
    fn ran_nothing(&self) -> bool {
        self.commands_run == 0 && self.other_calls_run == 0 && self.calls_run > 0
    }

    /// Returns all facts on one line; `None` if there are none. Names of files are not escaped.
    pub fn summary(&self) -> Option<String> {
        let mut line = self.failure().unwrap_or_default();
        if !self.files_changed.is_empty() {
            let named: Vec<&str> = self.files_changed.iter().take(MAX_NAMED).map(String::as_str).collect();
            line.push_str(&format!(" Changed: {}", named.join(", ")));
            match self.files_changed.len() - named.len() {
                0 => line.push('.'),
                more => line.push_str(&format!(" and {more} more.")),
            }
        }
        if self.ran_nothing() {
            line.push_str(&format!(" {NO_COMMAND}"));
        }
        match self.calls_refused {
            0 => {}
            1 => line.push_str(" 1 call was not allowed."),
            count => line.push_str(&format!(" {count} calls were not allowed.")),
        }
        Some(line.trim_start().to_owned()).filter(|line| !line.is_empty())
    }
}
