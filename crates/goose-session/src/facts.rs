//! [`Facts`] of a reply, and of the tasks that it consists of.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Maximum number of files that are counted.
const MAX_FILES: usize = 1_000;

/// Maximum number of files that are named.
const MAX_NAMED: usize = 10;

/// Facts of a piece of work, from the fields of its events, whatever the model says about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Facts {
    /// The exit code of the last command, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The files that tools changed, as they were named. Commands may have changed others.
    pub files_changed: Vec<String>,
    /// The calls that a rule or the user did not allow.
    pub calls_refused: u32,
}

impl Facts {
    /// Adds those of other work. A failed command stays the last one whatever ran beside it.
    pub fn add(&mut self, other: &Self) {
        self.exit_code = other.exit_code.or(self.exit_code);
        self.calls_refused = self.calls_refused.saturating_add(other.calls_refused);
        other.files_changed.iter().for_each(|path| self.changed(path));
    }

    /// Adds a file that was changed.
    pub fn changed(&mut self, path: &str) {
        let is_known = self.files_changed.iter().any(|known| known == path);
        if self.files_changed.len() < MAX_FILES && !is_known {
            self.files_changed.push(path.to_owned());
        }
    }

    /// Returns true if there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The failure of the last command in a sentence, if it failed.
    pub fn failure(&self) -> Option<String> {
        self.exit_code.map(|code| format!("The last command ended with exit code {code}."))
    }

    /// All of them on one line; none if there is nothing to tell. Names of files are not escaped.
    pub fn summary(&self) -> Option<String> {
        let mut line = self.failure().unwrap_or_default();
        if !self.files_changed.is_empty() {
            let named: Vec<&str> = self.files_changed.iter().take(MAX_NAMED).map(String::as_str).collect();
            // Writing to a string cannot fail.
            let _ = write!(line, " Changed: {}", named.join(", "));
            match self.files_changed.len() - named.len() {
                0 => line.push('.'),
                more => {
                    let _ = write!(line, " and {more} more.");
                }
            }
        }
        match self.calls_refused {
            0 => {}
            1 => line.push_str(" 1 call was not allowed."),
            count => {
                let _ = write!(line, " {count} calls were not allowed.");
            }
        }
        Some(line.trim_start().to_owned()).filter(|line| !line.is_empty())
    }
}
