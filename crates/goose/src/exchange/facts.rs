//! [`Facts`] of a reply, and of the tasks that it consists of.

use std::fmt::Write as _;

use goose_extension::RichRenderable;
use serde_json::Value;

use super::event::{Event, ToolEnd};
use crate::session::Facts;

/// The tool that runs commands, and the field of its result.
const COMMANDS: &str = "developer__shell";
const EXIT_CODE: &str = "exit_code";

/// The files that are counted, and those that are named.
const MAX_FILES: usize = 1_000;
const MAX_NAMED: usize = 10;

impl Facts {
    /// Takes an event of the reply into account.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::ToolFinished { end: ToolEnd::Denied, .. } => {
                self.calls_refused = self.calls_refused.saturating_add(1);
            }
            Event::ToolFinished { name, output, end: ToolEnd::Ran, .. } if name == COMMANDS => {
                let code = output.structured.as_ref().and_then(|fields| fields.get(EXIT_CODE));
                self.exit_code = code.and_then(Value::as_i64).filter(|code| *code != 0);
            }
            Event::Log { content: RichRenderable::Diff { path, .. }, .. } => self.changed(path),
            Event::TaskFinished(finished) => self.add(&finished.facts),
            _ => {}
        }
    }

    /// Adds those of other work. A failed command stays the last one whatever ran beside it.
    pub(crate) fn add(&mut self, other: &Self) {
        self.exit_code = other.exit_code.or(self.exit_code);
        self.calls_refused = self.calls_refused.saturating_add(other.calls_refused);
        other.files_changed.iter().for_each(|path| self.changed(path));
    }

    fn changed(&mut self, path: &str) {
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

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::*;

    fn command(code: i64, end: ToolEnd) -> Event {
        let mut output = ToolOutput::error("it failed");
        output.structured = (code != 0).then(|| json!({ "exit_code": code }));
        Event::ToolFinished { id: "1".into(), name: COMMANDS.into(), output, end }
    }

    fn changed(path: &str) -> Event {
        let content = RichRenderable::Diff { path: path.into(), unified: String::new() };
        Event::Log { call: None, content }
    }

    #[test]
    fn the_last_command_counts() {
        let mut facts = Facts::default();
        facts.note(&command(1, ToolEnd::Ran));
        assert_eq!(facts.summary().as_deref(), Some("The last command ended with exit code 1."));
        facts.note(&command(2, ToolEnd::Denied));
        facts.note(&command(0, ToolEnd::Ran));
        assert_eq!((facts.failure(), facts.summary().as_deref()), (None, Some("1 call was not allowed.")));
    }

    #[test]
    fn everything_is_said_on_one_line_and_nothing_where_there_is_nothing() {
        let mut facts = Facts::default();
        assert!(facts.is_empty() && facts.summary().is_none());
        facts.note(&command(101, ToolEnd::Ran));
        (0..12).chain([0, 1]).for_each(|number| facts.note(&changed(&format!("{number}.rs"))));
        let expected = "The last command ended with exit code 101. Changed: 0.rs, 1.rs, 2.rs, 3.rs, 4.rs, 5.rs, \
                        6.rs, 7.rs, 8.rs, 9.rs and 2 more.";
        assert_eq!(facts.summary().as_deref(), Some(expected));
    }
}
