//! Line layout: breaks, indentation and styles.

use std::fmt::Write as _;

use anstyle::{Reset, Style};
use unicode_width::UnicodeWidthStr as _;

use super::spans::Span;
use crate::escape;

/// Lines in the making. `out` has only finished text.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) out: String,
    width: usize,
    /// Used width of the line.
    column: usize,
    /// Margin of the lines after the first of a block.
    hanging: Margin,
    /// True if the line has a word.
    has_word: bool,
    /// Spaces that are written when a word follows on the same line.
    spaces: usize,
    style: Style,
}

/// Start of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Margin {
    pub(super) spans: Vec<Span>,
}

impl Margin {
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the margin with a span appended.
    pub(super) fn with(&self, span: Span) -> Self {
        let mut spans = self.spans.clone();
        spans.push(span);
        Self { spans }
    }
}

impl Layout {
    pub(super) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Starts a line; `hanging` is the margin of its continuation lines.
    pub(super) fn begin(&mut self, first: &Margin, hanging: Margin) {
        self.margin(first);
        self.hanging = hanging;
    }

    fn margin(&mut self, margin: &Margin) {
        for span in &margin.spans {
            self.put(span.style, &span.text);
        }
        self.set(Style::new());
        (self.column, self.has_word, self.spaces) = (margin.width(), false, 0);
    }

    /// Ends the line.
    pub(super) fn end(&mut self) {
        self.set(Style::new());
        self.out.push('\n');
        (self.column, self.has_word, self.spaces) = (0, false, 0);
    }

    /// Writes styled text with spaces and line breaks.
    pub(super) fn spans(&mut self, spans: &[Span]) {
        let mut word: Vec<(Style, String)> = Vec::new();
        for span in spans {
            let text = escape::prose(&span.text);
            for (index, line) in text.split('\n').enumerate() {
                if index > 0 {
                    self.word(&mut word);
                    self.next_line();
                }
                for (index, part) in line.split([' ', '\t']).enumerate() {
                    if index > 0 {
                        self.word(&mut word);
                        self.space();
                    }
                    if !part.is_empty() {
                        word.push((span.style, part.to_owned()));
                    }
                }
            }
        }
        self.word(&mut word);
        self.set(Style::new());
    }

    /// Adds a space between words.
    pub(super) fn space(&mut self) {
        self.spaces += 1;
    }

    fn word(&mut self, word: &mut Vec<(Style, String)>) {
        let width: usize = word.iter().map(|(_, text)| text.width()).sum();
        if width == 0 && word.is_empty() {
            return;
        }
        if self.has_word && self.spaces > 0 && self.column + self.spaces + width > self.width {
            self.next_line();
        }
        if self.spaces > 0 {
            let style = word.first().map(|(style, _)| *style).filter(|style| *style == self.style);
            self.put(style.unwrap_or_default(), &" ".repeat(self.spaces));
        }
        for (style, text) in word.drain(..) {
            self.put(style, &text);
        }
        self.column += self.spaces + width;
        (self.has_word, self.spaces) = (true, 0);
    }

    /// Starts a continuation line.
    fn next_line(&mut self) {
        let hanging = std::mem::take(&mut self.hanging);
        self.end();
        self.margin(&hanging);
        self.hanging = hanging;
    }

    /// Writes text unchanged; it must be trusted or escaped.
    pub(super) fn put(&mut self, style: Style, text: &str) {
        self.set(style);
        self.out.push_str(text);
    }

    fn set(&mut self, style: Style) {
        if style == self.style {
            return;
        }
        // Writing into a string cannot fail.
        if self.style != Style::new() {
            let _ = write!(self.out, "{Reset}");
        }
        let _ = write!(self.out, "{style}");
        self.style = style;
    }

    /// Returns the text written since the last call. All styles in it are closed.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}

/// Breaks styled text into lines of limited width, each with its width.
pub(super) fn lines(spans: &[Span], width: usize) -> Vec<(String, usize)> {
    let mut layout = Layout::new(width);
    layout.spans(spans);
    layout.end();
    let text = layout.take();
    text.lines()
        .map(|line| (line.to_owned(), anstream::adapter::strip_str(line).to_string().width()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_fit_go_to_the_next_line() {
        let mut layout = Layout::new(10);
        let margin = Margin::default().with(Span::new(Style::new(), "- "));
        layout.begin(&margin, Margin::default().with(Span::new(Style::new(), "  ")));
        layout.spans(&[Span::new(Style::new(), "one two three 漢字漢字 averyverylongword x")]);
        layout.end();
        assert_eq!(layout.take(), "- one two\n  three\n  漢字漢字\n  averyverylongword\n  x\n");
    }

    #[test]
    fn what_could_mislead_is_escaped() {
        let mut layout = Layout::new(40);
        layout.spans(&[Span::new(Style::new(), "a\u{1b}[2Jb \u{202e}c")]);
        assert_eq!(layout.take(), "a\\u{1b}[2Jb \\u{202e}c");
    }
}
