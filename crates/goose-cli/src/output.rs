//! Standard output: the one place that writes there. Colours only where a terminal wants them.

use std::{
    borrow::Cow,
    fmt::{self, Display},
    io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{
    visible,
    wrap::{WIDTH, wrapped},
};

/// Names of things.
pub(crate) const NAME: Style = Style::new().bold();
/// What is as it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves a look.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// What went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Standard output, locked. What is written appears at the end, or when much has gathered.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
    colours: bool,
}

impl Output {
    /// Standard output as it is.
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let colours = AutoStream::choice(&out) != ColorChoice::Never;
        Self { is_terminal: out.is_terminal(), colours, out: BufWriter::new(out.lock()) }
    }

    /// Whether a person reads this.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// A text in a style, where there are styles.
    pub(crate) fn paint<T: Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted { style: self.colours.then_some(style), text }
    }

    /// A text of somebody else: harmless on a terminal, as it is elsewhere.
    pub(crate) fn foreign<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_terminal { visible::text(text) } else { Cow::Borrowed(text) }
    }

    /// Whether a text fits on a line of which so much is used.
    pub(crate) fn has_room(&self, used: usize, text: &str) -> bool {
        !self.is_terminal || used + text.chars().count() <= WIDTH
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Writes a text of somebody else on lines of its own, further right. Long lines are broken for a terminal.
    pub(crate) fn indented(&mut self, indent: usize, style: Style, text: &str) -> io::Result<()> {
        let width = if self.is_terminal { WIDTH.saturating_sub(indent) } else { usize::MAX };
        let text = visible::text(text);
        for line in text.trim_end().lines().flat_map(|line| wrapped(line, width)) {
            let line = self.paint(style, line);
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }

    /// Writes one JSON document.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        self.line(visible::json(&json))
    }

    /// Writes what is still held back. Whoever writes calls this last, to hear of failures.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A text with a style, or without.
pub(crate) struct Painted<T> {
    style: Option<Style>,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => {
                write!(f, "{style}")?;
                self.text.fmt(f)?;
                write!(f, "{style:#}")
            }
            None => self.text.fmt(f),
        }
    }
}
