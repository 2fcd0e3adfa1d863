//! [`Facts`] about a reply, collected from its events.

use goose_extension::{EXIT_CODE, RichRenderable};
use serde_json::Value;

use super::event::{Event, ToolEnd};
use crate::session::Facts;

/// Language of commands that are shown.
const SHELL: &str = "sh";

/// Start of the names of tools for files and commands.
const DEVELOPER: &str = "developer__";

impl Event {
    /// Adds the facts in this event to `facts`.
    pub fn add_to(&self, facts: &mut Facts) {
        match self {
            Self::ToolFinished { end: ToolEnd::Denied, .. } => {
                facts.calls_refused = facts.calls_refused.saturating_add(1);
            }
            // Commands are recognized when they are shown: their result has an exit code only if they failed.
            Self::Log { content: RichRenderable::Code { language, .. }, .. } if language == SHELL => {
                facts.exit_code = None;
                facts.commands_run = facts.commands_run.saturating_add(1);
            }
            Self::ToolFinished { name, output, end: ToolEnd::Ran, .. } => {
                let is_known = name.starts_with(DEVELOPER);
                let count = if is_known { &mut facts.calls_run } else { &mut facts.other_calls_run };
                *count = count.saturating_add(1);
                let code = output.structured.as_ref().and_then(|fields| fields.get(EXIT_CODE));
                facts.exit_code = code.and_then(Value::as_i64).or(facts.exit_code);
            }
            Self::Log { content: RichRenderable::Diff { path, .. }, .. } => facts.changed(path),
            Self::FilesWritten { paths, .. } => paths.iter().for_each(|path| facts.changed(path)),
            Self::TaskFinished(finished) => facts.add(&finished.facts),
            _ => {}
        }
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
        Event::ToolFinished { id: "1".into(), name: "developer__shell".into(), output, end }
    }

    fn begun() -> Event {
        let content = RichRenderable::Code { language: SHELL.to_owned(), text: "true".to_owned() };
        Event::Log { call: None, content }
    }

    fn changed(path: &str) -> Event {
        let content = RichRenderable::Diff { path: path.into(), unified: String::new() };
        Event::Log { call: None, content }
    }

    #[test]
    fn the_last_command_counts() {
        let mut facts = Facts::default();
        begun().add_to(&mut facts);
        command(1, ToolEnd::Ran).add_to(&mut facts);
        assert_eq!(facts.summary().as_deref(), Some("The last command ended with exit code 1."));
        command(2, ToolEnd::Denied).add_to(&mut facts);
        begun().add_to(&mut facts);
        assert_eq!((facts.failure(), facts.summary().as_deref()), (None, Some("1 call was not allowed.")));
    }

    /// A model may say that it ran something.
    #[test]
    fn it_is_said_that_nothing_was_run() {
        let mut facts = Facts::default();
        command(0, ToolEnd::Ran).add_to(&mut facts);
        assert_eq!(facts.summary().as_deref(), Some("No command was run."));
        assert_eq!(facts.nothing_was_run(), None, "a question about a file needs no command");
        changed("a.py").add_to(&mut facts);
        assert_eq!(facts.summary().as_deref(), Some("Changed: a.py. No command was run."));
        assert_eq!(facts.nothing_was_run().as_deref(), Some("No command was run."));
        let mut foreign = facts.clone();
        let other = Event::ToolFinished {
            id: "2".into(),
            name: "server__make".into(),
            output: ToolOutput::text("made"),
            end: ToolEnd::Ran,
        };
        other.add_to(&mut foreign);
        assert_eq!(foreign.summary().as_deref(), Some("Changed: a.py."), "it may have run something");
        begun().add_to(&mut facts);
        assert_eq!(facts.summary().as_deref(), Some("Changed: a.py."));
    }

    #[test]
    fn everything_is_said_on_one_line_and_nothing_where_there_is_nothing() {
        let mut facts = Facts::default();
        assert!(facts.is_empty() && facts.summary().is_none());
        begun().add_to(&mut facts);
        command(101, ToolEnd::Ran).add_to(&mut facts);
        (0..12).chain([0, 1]).for_each(|number| changed(&format!("{number}.rs")).add_to(&mut facts));
        let expected = "The last command ended with exit code 101. Changed: 0.rs, 1.rs, 2.rs, 3.rs, 4.rs, 5.rs, \
                        6.rs, 7.rs, 8.rs, 9.rs and 2 more.";
        assert_eq!(facts.summary().as_deref(), Some(expected));
    }
}
