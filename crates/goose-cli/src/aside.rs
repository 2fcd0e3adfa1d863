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

/// What errors begin with, and how it looks.
const LABEL: &str = "error:";
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Whether a status line is on the screen.
static STATUS_SHOWN: Mutex<bool> = Mutex::new(false);

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
    let shown = clear();
    let _ = writeln!(anstream::stderr(), "{line}");
    drop(shown);
}

/// Writes the begin of a line, which the person goes on with.
pub(crate) fn prompt(text: impl Display) {
    let shown = clear();
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    drop(shown);
}

/// Shows what is going on, in place of what was shown before. For terminals only.
pub(crate) fn status(text: &str) {
    let mut shown = clear();
    let line: String = visible::line(text).chars().take(STATUS_WIDTH).collect();
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{line}").and_then(|()| stderr.flush());
    *shown = true;
}

/// Takes the status line away.
pub(crate) fn end_status() {
    drop(clear());
}

fn clear() -> MutexGuard<'static, bool> {
    let mut shown = STATUS_SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *shown) {
        let _ = write!(io::stderr(), "{ERASE_LINE}");
    }
    shown
}
