//! Standard error: errors, what a person sees while something is under way, and what they are asked.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anstyle::{AnsiColor, Style};

use crate::{
    visible,
    wrap::{WIDTH, wrapped},
};

/// How much of a status line is shown, so that it stays one line.
const STATUS_WIDTH: usize = 78;

/// Goes to the begin of the line and empties it.
const ERASE_LINE: &str = "\r\x1b[2K";

/// Goes to the begin of the line above and empties it.
const ERASE_LINE_ABOVE: &str = "\x1b[1A\x1b[2K";

/// What errors begin with, and how it looks.
const LABEL: &str = "error:";
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// How questions look.
const QUESTION: Style = Style::new().bold();

/// What is on the screen besides lines.
static SHOWN: Mutex<Shown> = Mutex::new(Shown { status: 0, question: false });

struct Shown {
    /// How many lines of status there are.
    status: usize,
    /// Whether the person is at a question, on the last line. No status takes its place.
    question: bool,
}

/// Whether a person sees standard error.
pub(crate) fn is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person sees standard error and can answer.
pub(crate) fn can_ask() -> bool {
    is_seen() && io::stdin().is_terminal()
}

/// Says what went wrong.
pub(crate) fn error(text: &str) {
    let (text, width) = (visible::text(text.trim_end()), if is_seen() { WIDTH } else { usize::MAX });
    let text = format!("{LABEL} {text}");
    let lines: Vec<&str> = text.lines().flat_map(|line| wrapped(line, width)).collect();
    let text = lines.join("\n");
    line(format_args!("{ERROR}{LABEL}{ERROR:#}{}", text.strip_prefix(LABEL).unwrap_or(&text)));
}

/// Writes a line. Where standard error cannot be written to, nobody can be told either.
pub(crate) fn line(line: impl Display) {
    let mut shown = clear();
    let line_end = if std::mem::take(&mut shown.question) { "\n" } else { "" };
    let _ = writeln!(anstream::stderr(), "{line_end}{line}");
    drop(shown);
}

/// Writes the begin of a line, which the person goes on with.
pub(crate) fn prompt(text: impl Display) {
    let shown = clear();
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    drop(shown);
}

/// Writes a question, which the person goes on with. Until [`end_question`] the line is theirs.
pub(crate) fn question(text: impl Display) {
    let mut shown = clear();
    shown.question = true;
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{QUESTION}{text}{QUESTION:#}").and_then(|()| stderr.flush());
}

/// The person is no longer at a question. What ends it is written where it is still the last line.
pub(crate) fn end_question(line_end: &str) {
    let mut shown = clear();
    if std::mem::take(&mut shown.question) {
        let _ = write!(io::stderr(), "{line_end}");
    }
}

/// Shows what is going on, in place of what was shown before. For terminals only.
pub(crate) fn status(text: &str) {
    status_lines(&[text], STATUS_WIDTH);
}

/// The same with several lines, each cut at a width.
pub(crate) fn status_lines(lines: &[&str], width: usize) {
    let mut shown = clear();
    if shown.question {
        return;
    }
    let cut = |line: &&str| visible::line(line).chars().take(width).collect::<String>();
    let text = lines.iter().map(cut).collect::<Vec<_>>().join("\n");
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    shown.status = lines.len();
}

/// Takes the status away.
pub(crate) fn end_status() {
    drop(clear());
}

fn clear() -> MutexGuard<'static, Shown> {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = std::mem::take(&mut shown.status);
    if lines > 0 {
        let _ = write!(io::stderr(), "{ERASE_LINE}{}", ERASE_LINE_ABOVE.repeat(lines - 1));
    }
    shown
}
