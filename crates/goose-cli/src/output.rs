//! Standard output. Colours are used only on terminals that support them.

use std::{
    borrow::Cow,
    fmt::{self, Display},
    io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _},
    process::ExitCode,
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{args::JsonArgs, escape, terminal::size, wrap::wrapped};

/// Names of things.
pub(crate) const NAME: Style = Style::new().bold();
/// Success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Secondary text.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Indentation of details below a line.
pub(crate) const INDENT: usize = 4;

/// Standard output, locked and buffered.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
    colours: bool,
}

impl Output {
    /// Locks standard output.
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let colours = AutoStream::choice(&out) != ColorChoice::Never;
        Self { is_terminal: out.is_terminal(), colours, out: BufWriter::new(out.lock()) }
    }

    /// Returns true if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Applies a style, if the output has colours.
    pub(crate) fn paint<T: Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted { style: if self.colours { style } else { Style::new() }, text }
    }

    /// Escapes untrusted text on a terminal; elsewhere it is unchanged.
    pub(crate) fn foreign<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_terminal { escape::text(text) } else { Cow::Borrowed(text) }
    }

    /// Returns true if a text fits on a line with `used` columns taken.
    pub(crate) fn has_room(&self, used: usize, text: &str) -> bool {
        used + text.chars().count() <= self.width()
    }

    /// Returns the width of text. A file or pipe has no limit.
    pub(crate) fn width(&self) -> usize {
        if self.is_terminal { size::text_width() } else { usize::MAX }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Writes untrusted text on indented lines, wrapped on a terminal.
    pub(crate) fn indented(&mut self, indent: usize, style: Style, text: &str) -> io::Result<()> {
        let width = self.width().saturating_sub(indent);
        let text = escape::text(text);
        for line in text.trim_end().lines().flat_map(|line| wrapped(line, width)) {
            let line = self.paint(style, line);
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }

    /// Writes one JSON document.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        self.line(escape::json(&json))
    }

    /// Flushes the buffer. Must be called last: dropping the output would hide errors.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A text with its style.
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style)?;
        self.text.fmt(f)?;
        write!(f, "{:#}", self.style)
    }
}

/// Prints what a function writes.
pub(crate) fn write(lines: impl FnOnce(&mut Output) -> io::Result<()>) -> anyhow::Result<ExitCode> {
    let mut out = Output::new();
    lines(&mut out)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints one JSON document if the flags ask for it, otherwise lines.
pub(crate) fn print<T: Serialize>(
    form: &JsonArgs,
    document: impl FnOnce() -> T,
    lines: impl FnOnce(&mut Output) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    write(|out| if form.json { out.json(&document()) } else { lines(out) })
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &impl Serialize) -> anyhow::Result<ExitCode> {
    write(|out| out.json(document))
}

/// Prints a line, escaped on a terminal.
pub(crate) fn say(line: &str) -> anyhow::Result<ExitCode> {
    write(|out| out.line(out.foreign(line)))
}

/// Formats a number of things, such as `1 file` or `2 files`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Formats a number of bytes, such as `1.1 GB`.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub(crate) fn byte_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (bytes as f64 / 1000.0, "kB");
    for larger in UNITS.iter().skip(1) {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, larger);
    }
    format!("{size:.1} {unit}")
}
