//! The answer on standard output: formatted for a terminal, unchanged for everything else.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use unicode_width::UnicodeWidthStr as _;

use super::{markdown::Markdown, size};
use crate::{escape, stderr};

/// Output of the answer.
#[derive(Debug)]
pub(crate) struct Answer {
    form: Form,
    /// True if the last line has no line end yet.
    is_within_line: bool,
    /// Width of the last line.
    column: usize,
}

#[derive(Debug)]
enum Form {
    /// A terminal with colours.
    Set(Box<Markdown>),
    /// A terminal without.
    Escaped,
    /// A file or a program.
    AsItIs,
}

impl Answer {
    /// Selects the form that fits standard output.
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let form = match (out.is_terminal(), AutoStream::choice(&out)) {
            (false, _) => Form::AsItIs,
            (true, ColorChoice::Never) => Form::Escaped,
            (true, _) => Form::Set(Box::new(Markdown::new(size::text_width()))),
        };
        Self { form, is_within_line: false, column: 0 }
    }

    /// Returns true if standard output is a terminal. Otherwise the content of the screen is unknown.
    pub(crate) fn is_at_terminal(&self) -> bool {
        !matches!(self.form, Form::AsItIs)
    }

    /// Returns true if output to standard error would now interrupt a line of the answer.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.is_within_line && !matches!(self.form, Form::AsItIs)
    }

    /// Returns the column after an incomplete line; `None` if there is none, or its width is not known.
    pub(crate) fn column(&self) -> Option<usize> {
        let is_known = self.is_within_line && matches!(self.form, Form::Set(_));
        is_known.then_some(self.column).filter(|column| *column < size::columns())
    }

    /// Writes more of the answer.
    pub(crate) fn push(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Set(markdown) => {
                let text = markdown.push(text);
                self.write(&text)
            }
            Form::Escaped => self.write(&escape::prose(text)),
            Form::AsItIs => self.write(text),
        }
    }

    /// Ends a part of the answer and its last line.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if let Form::Set(markdown) = &mut self.form {
            let rest = markdown.finish();
            self.write(&rest)?;
        }
        if self.is_within_line { self.write("\n") } else { Ok(()) }
    }

    /// Writes trusted text unchanged, on separate lines.
    pub(crate) fn write_plainly(&mut self, text: &str) -> io::Result<()> {
        self.end()?;
        self.write(text)?;
        self.end()
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if !matches!(self.form, Form::AsItIs) {
            stderr::end_status();
        }
        self.is_within_line = !text.ends_with('\n');
        let (begun, last) = text.rsplit_once('\n').map_or((self.column, text), |(_, last)| (0, last));
        self.column = begun + strip_str(last).to_string().width();
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
