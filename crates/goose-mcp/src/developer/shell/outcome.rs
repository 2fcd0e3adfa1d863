//! The result of a command for the model: its output first, then remarks in brackets.

use std::{io, os::unix::process::ExitStatusExt as _, path::Path, process::ExitStatus, time::Duration};

use goose_extension::{EXIT_CODE, ToolError, ToolOutput, ToolResult};
use serde_json::json;

use super::{
    clean::clean,
    head_tail_buffer::{Cut, HeadTailBuffer, Shown},
    spill::Spill,
};

/// The signals that commands end by, by name.
const SIGNALS: [(i32, &str); 11] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (11, "SEGV"),
    (13, "PIPE"),
    (15, "TERM"),
];

/// The exit codes of a shell that found a command but could not execute it, and that found none.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The end of a command.
pub(super) enum Ending {
    /// By itself, or by a signal from outside.
    Exited(ExitStatus),
    /// By us, after this time; or not, and why.
    TimedOut(Duration, io::Result<()>),
    /// The system cannot tell.
    Unknown(io::Error),
}

/// The result of a command.
pub(super) struct Outcome {
    ending: Ending,
    text: String,
}

impl Outcome {
    pub(super) fn new(ending: Ending, kept: &HeadTailBuffer, spill: Option<&Spill>, is_open: bool) -> Self {
        let mut text = shown(kept, spill);
        if is_open {
            note(&mut text, &still_running(spill));
        }
        Self { ending, text }
    }

    /// Adds a remark about variables that the command names, or its output if it failed, and that it was not given.
    pub(super) fn with_withheld(mut self, command: &str, withheld: &[String]) -> Self {
        let has_failed = !matches!(&self.ending, Ending::Exited(status) if status.success());
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        let has_name = |text: &str, name: &str| text.split(|c: char| !is_letter(c)).any(|word| word == name);
        let is_used = |name: &&String| has_name(command, name) || (has_failed && has_name(&self.text, name));
        let used: Vec<&str> = withheld.iter().filter(is_used).map(String::as_str).collect();
        if !used.is_empty() {
            let names = used.join(", ");
            let note_text = format!(
                "goose does not give {names} to commands, because it looks like a secret. If the command needs it, ask the person \
                 to add it to GOOSE_SHELL_ENV in the environment or config.yaml"
            );
            note(&mut self.text, &note_text);
        }
        self
    }

    /// The result of the call. A command that failed is one, too.
    ///
    /// # Errors
    ///
    /// Fails if the command took too long.
    pub(super) fn into_result(mut self, command: &str, folder: &Path) -> ToolResult<ToolOutput> {
        match self.ending {
            Ending::TimedOut(limit, stopped) => {
                note(&mut self.text, &out_of_time(limit, stopped));
                Err(ToolError::Timeout(self.text))
            }
            Ending::Unknown(error) => {
                note(
                    &mut self.text,
                    &format!("it is not known how the command ended, or whether it has: {error}"),
                );
                Ok(ToolOutput::error(self.text))
            }
            Ending::Exited(status) if status.success() => {
                let text = if self.text.is_empty() { "(no output)".to_owned() } else { self.text };
                Ok(ToolOutput::text(text))
            }
            Ending::Exited(status) if status.code() == Some(1) && ends_with_comparison(command) => {
                note(&mut self.text, "exit code 1");
                Ok(ToolOutput::text(self.text))
            }
            Ending::Exited(status) => {
                note(&mut self.text, &describe(status, command, folder));
                let mut output = ToolOutput::error(self.text);
                output.structured = exit_code(status).map(|code| json!({ EXIT_CODE: code }));
                Ok(output)
            }
        }
    }
}

/// Programs whose exit code 1 is an answer: no match, or a difference.
const COMPARISONS: [&str; 10] =
    ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[[", "git grep"];

/// Returns true if the last command of a command line compares or searches. Quotes are not read: the text of
/// a result is the same in both cases.
fn ends_with_comparison(command: &str) -> bool {
    let command = command.trim_end().replace(">&", ">");
    let last = command.rsplit([';', '|', '&', '\n']).next().unwrap_or_default().trim_start();
    let is_first_word = |name: &&str| {
        last.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    COMPARISONS.iter().any(is_first_word)
}

fn out_of_time(limit: Duration, stopped: io::Result<()>) -> String {
    let seconds = limit.as_secs();
    let advice =
        "Give it more time with timeout_secs, or let it run in the background: `command >log 2>&1 &`";
    match stopped {
        Ok(()) => format!(
            "stopped, with everything it had started, because it was not done after {seconds} s. {advice}"
        ),
        Err(error) => format!(
            "not done after {seconds} s, and it could not be stopped ({error}): it may still run. Look with `ps` before \
             you start it again"
        ),
    }
}

fn shown(kept: &HeadTailBuffer, spill: Option<&Spill>) -> String {
    let hint = spill.map(|spill| format!("; {}", spill.hint())).unwrap_or_default();
    let text = match kept.shown() {
        Shown::Whole(head, tail) => clean(&[head, tail].concat()).map(|text| text.trim_end().to_owned()),
        Shown::Cut(Cut { head, tail, missing_bytes, missing_lines }) => {
            clean(head).zip(clean(tail)).map(|(head, tail)| {
                let marker = format!("… {missing_bytes} bytes, {missing_lines} lines left out here{hint} …");
                format!("{}\n[{marker}]\n{}", head.trim_end(), tail.trim_end())
            })
        }
    };
    let total = kept.total();
    text.unwrap_or_else(|| {
        format!("[{total} bytes of binary output{hint}. To look at them, use `| xxd | head`]")
    })
}

fn still_running(spill: Option<&Spill>) -> String {
    let later = spill.and_then(Spill::path).map(|path| format!("; later output goes to {}", path.display()));
    format!(
        "something that the command started still runs and holds its output open, so this may be incomplete{}",
        later.unwrap_or_default()
    )
}

/// The exit code as shells have it: that of a command that a signal ended is 128 and the signal's number.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

/// Describes how a command ended. A script is looked for in the folder only if no command was found.
fn describe(status: ExitStatus, command: &str, folder: &Path) -> String {
    let is_script = || command.split_whitespace().next().is_some_and(|file| folder.join(file).is_file());
    match (status.code(), status.signal()) {
        (Some(code @ (NOT_EXECUTABLE | NOT_FOUND)), _) => {
            let (problem, has_script) = match code {
                NOT_FOUND => ("a command was not found", is_script()),
                _ => ("a file could not be executed", true),
            };
            let advice =
                if has_script { ". Run a script with its interpreter, such as `sh FILE`" } else { "" };
            format!("exit code {code}: {problem}{advice}")
        }
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name);
            format!("killed by signal {signal}{}", name.map(|name| format!(" ({name})")).unwrap_or_default())
        }
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn note(text: &mut String, note: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push('[');
    text.push_str(note);
    text.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(ending: Ending) -> Outcome {
        let mut kept = HeadTailBuffer::default();
        kept.push(b"what it wrote\n");
        Outcome::new(ending, &kept, None, false)
    }

    #[test]
    fn what_was_written_is_there_whatever_goes_wrong() {
        let limit = Duration::from_secs(5);
        let stuck = outcome(Ending::TimedOut(limit, Err(io::Error::other("it is stuck"))));
        let Err(ToolError::Timeout(stuck)) = stuck.into_result("", Path::new("/")) else {
            panic!("it was not in time")
        };
        assert!(
            stuck
                .starts_with("what it wrote\n[not done after 5 s, and it could not be stopped (it is stuck)")
        );
        let Err(ToolError::Timeout(stopped)) =
            outcome(Ending::TimedOut(limit, Ok(()))).into_result("", Path::new("/"))
        else {
            panic!("it was not in time")
        };
        assert!(stopped.starts_with("what it wrote\n[stopped, with everything"), "{stopped}");
        let lost =
            outcome(Ending::Unknown(io::Error::other("no child"))).into_result("", Path::new("/")).unwrap();
        assert!(lost.is_error && lost.as_text().starts_with("what it wrote\n[it is not known"));
    }
}
