//! Standard error: errors, status lines and questions.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
};

use anstyle::{AnsiColor, Style};
use parking_lot::{Mutex, MutexGuard};

use crate::{escape, terminal::size, wrap::wrapped_text};

/// Maximum width of a status line, so that it is not wrapped.
const STATUS_WIDTH: usize = 78;

/// Moves to the start of the line and clears it.
const ERASE_LINE: &str = "\r\x1b[2K";

/// Clears everything after the cursor.
const ERASE_BELOW: &str = "\x1b[J";

/// Moves to the start of the line above and clears it.
const ERASE_LINE_ABOVE: &str = "\x1b[1A\x1b[2K";

/// Label of errors, and its style.
const LABEL: &str = "error:";
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Style of questions.
const QUESTION: Style = Style::new().bold();

/// Transient content of the screen.
static SHOWN: Mutex<Shown> = Mutex::new(Shown { status: 0, is_below: false, question: false });

struct Shown {
    /// Number of status lines.
    status: usize,
    /// True while there is a status below the cursor.
    is_below: bool,
    /// True while a question is open on the last line, which no status may replace.
    question: bool,
}

/// Returns true if standard error is a terminal.
pub(crate) fn is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if standard error and standard input are terminals.
pub(crate) fn can_ask() -> bool {
    is_seen() && io::stdin().is_terminal()
}

/// Writes an error.
pub(crate) fn error(text: &str) {
    let text = format!("{LABEL} {}", escape::text(text.trim_end()));
    let text = if is_seen() { wrapped_text(&text, size::text_width()) } else { text };
    line(format_args!("{ERROR}{LABEL}{ERROR:#}{}", text.strip_prefix(LABEL).unwrap_or(&text)));
}

/// Writes a line, wrapped on a terminal. Failures are ignored: there is no other place to report them.
pub(crate) fn line(line: impl Display) {
    let line = line.to_string();
    let line = if is_seen() { wrapped_text(&line, size::columns()) } else { line };
    let mut shown = clear();
    let line_end = if std::mem::take(&mut shown.question) { "\n" } else { "" };
    let _ = writeln!(anstream::stderr(), "{line_end}{line}");
    drop(shown);
}

/// Writes a prompt without a line end.
pub(crate) fn prompt(text: impl Display) {
    let shown = clear();
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    drop(shown);
}

/// Writes a question. The line belongs to the user until [`end_question`].
pub(crate) fn question(text: impl Display) {
    let mut shown = clear();
    shown.question = true;
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{QUESTION}{text}{QUESTION:#}").and_then(|()| stderr.flush());
}

/// Closes the question. `line_end` is written if the question is still the last line.
pub(crate) fn end_question(line_end: &str) {
    let mut shown = clear();
    if std::mem::take(&mut shown.question) {
        let _ = write!(io::stderr(), "{line_end}");
    }
}

/// Replaces the status line. For terminals only.
pub(crate) fn status(text: &str) {
    status_lines(&[text], STATUS_WIDTH);
}

/// Replaces the status by several lines, each truncated to a width.
pub(crate) fn status_lines<L: AsRef<str>>(lines: &[L], width: usize) {
    let mut shown = clear();
    if shown.question || lines.is_empty() {
        return;
    }
    let text = cut(lines, width);
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    shown.status = lines.len();
}

/// Shows a status below an incomplete line, whose end is at a column. The cursor stays there.
pub(crate) fn status_below<L: AsRef<str>>(lines: &[L], width: usize, column: usize) {
    let mut shown = clear();
    if shown.question || lines.is_empty() {
        return;
    }
    // The lines may scroll the screen, so the way back is counted from below.
    let (text, back) = (cut(lines, width), lines.len());
    let mut stderr = io::stderr();
    let _ = write!(stderr, "\n{text}\x1b[{back}A\x1b[{}G", column + 1).and_then(|()| stderr.flush());
    shown.is_below = true;
}

/// Joins the lines of a status, each truncated to a width.
fn cut<L: AsRef<str>>(lines: &[L], width: usize) -> String {
    let cut = |line: &L| escape::line(line.as_ref()).chars().take(width).collect::<String>();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// Sends a control sequence, which changes nothing that is shown.
pub(crate) fn send(sequence: &str) {
    let shown = SHOWN.lock();
    let mut stderr = io::stderr();
    let _ = stderr.write_all(sequence.as_bytes()).and_then(|()| stderr.flush());
    drop(shown);
}

/// Clears the status.
pub(crate) fn end_status() {
    drop(clear());
}

fn clear() -> MutexGuard<'static, Shown> {
    let mut shown = SHOWN.lock();
    let lines = std::mem::take(&mut shown.status);
    if lines > 0 {
        let _ = write!(io::stderr(), "{ERASE_LINE}{}", ERASE_LINE_ABOVE.repeat(lines - 1));
    }
    if std::mem::take(&mut shown.is_below) {
        let _ = write!(io::stderr(), "{ERASE_BELOW}");
    }
    shown
}
