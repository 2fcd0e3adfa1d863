//! Streaming Markdown for a terminal: in linear time, and without redrawing.
//!
//! ```text
//! pieces of text → line_start: what is this line?
//!                    ├ text, items, headings → inline: where may it be cut? → spans: how it looks → layout: lines
//!                    ├ fenced code           → code: colours, a line at a time
//!                    └ tables                → table: gathered, then laid out
//! ```
//!
//! The output depends only on the characters, not on the chunks in which they arrive. A paragraph is shown word by
//! word; only unfinished text is held back: the current word, open emphasis, a line of code, a table. Since nothing is
//! redrawn, underlined (setext) headings and reference links stay as they are written. Line breaks of the source are
//! kept.

mod code;
mod inline;
mod layout;
mod line_start;
mod spans;
mod table;

use anstyle::Style;

use self::{
    code::Painter,
    inline::{Flow, Inline},
    layout::{Layout, Margin},
    line_start::{Extent, Kind, LineStart, run},
    spans::{Span, spans},
    table::Table,
};
use crate::output::{FAINT, NAME};

/// Maximum length of a line of code or of a table; a longer one is written in parts.
const MAX_LINE: usize = 16 * 1024;

/// Maximum number of quote bars.
const MAX_BARS: usize = 8;

/// Maximum width of a rule.
const RULE_WIDTH: usize = 40;

const HEADING: Style = NAME.underline();
const BAR: &str = "│ ";
const BULLET: &str = "• ";

/// A Markdown text that is being shown.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    out: Layout,
    width: usize,
    at: At,
    /// Undecided part of the line.
    line: String,
    inline: Inline,
    /// Style of the line's text.
    style: Style,
    /// Quote marks of the line.
    quotes: usize,
    block: Block,
    /// Pending blank line, written when something follows.
    blank: Option<usize>,
    has_written: bool,
    /// Bytes that were processed again, to test that the work is linear.
    #[cfg(test)]
    work: usize,
}

/// Position of the next character in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    /// The kind of the line is undecided.
    #[default]
    Start,
    /// In text that can be streamed.
    Text,
    /// In a line that is processed when it is complete.
    Whole,
}

/// A block of several lines.
#[derive(Debug, Default)]
enum Block {
    #[default]
    None,
    /// Text with an open mark that the next line may close.
    OpenText,
    Table {
        table: Table,
        margin: Margin,
    },
    Code(Code),
}

#[derive(Debug)]
struct Code {
    mark: char,
    length: usize,
    indent: usize,
    quotes: usize,
    margin: Margin,
    painter: Painter,
    /// True if a part of the line is written.
    is_within_line: bool,
}

impl Markdown {
    /// Creates a renderer for lines of a width.
    pub(crate) fn new(width: usize) -> Self {
        Self { out: Layout::new(width), width, ..Self::default() }
    }

    /// Adds text and returns the output that is ready.
    pub(crate) fn push(&mut self, text: &str) -> String {
        for c in text.chars().filter(|c| *c != '\r') {
            self.take(c);
        }
        self.out.take()
    }

    /// Ends the text and returns the rest of the output, with a final line end. Another text may follow.
    pub(crate) fn finish(&mut self) -> String {
        if self.at != At::Start || !self.line.is_empty() {
            self.take('\n');
        }
        self.close_block();
        let rest = self.out.take();
        *self = Self { has_written: self.has_written, ..Self::new(self.width) };
        rest
    }

    fn take(&mut self, c: char) {
        match (self.at, c) {
            (At::Start, '\n') => self.decide(Extent::Whole),
            (At::Start, c) => {
                self.line.push(c);
                if !matches!(self.block, Block::Code(_)) {
                    self.decide(Extent::Begun);
                } else {
                    self.at = At::Whole;
                }
            }
            (At::Text, '\n') => self.end_text(),
            (At::Text, c) => self.text(c),
            (At::Whole, '\n') => self.whole_line(),
            (At::Whole, c) => {
                self.line.push(c);
                if self.line.len() > MAX_LINE {
                    self.part_of_line();
                }
            }
        }
    }

    /// Classifies the line, if enough of it is known.
    fn decide(&mut self, extent: Extent) {
        if matches!(self.block, Block::Code(_)) {
            return self.whole_line();
        }
        self.worked(self.line.len());
        let Some(start) = LineStart::parse(&self.line, extent) else { return };
        let line = std::mem::take(&mut self.line);
        let rest = line.get(start.used..).unwrap_or_default();
        self.begin(start, rest);
        if self.at == At::Whole {
            self.line.push_str(rest);
        } else {
            rest.chars().for_each(|c| self.text(c));
        }
        if extent == Extent::Whole {
            match self.at {
                At::Text => self.end_text(),
                At::Whole => self.whole_line(),
                At::Start => {}
            }
        }
    }

    /// Starts a line of a known kind.
    fn begin(&mut self, start: LineStart, rest: &str) {
        let goes_on = matches!(self.block, Block::OpenText)
            && (&start.kind, start.quotes) == (&Kind::Text, self.quotes)
            && !rest.is_empty();
        if goes_on {
            self.block = Block::None;
            self.at = At::Text;
            return;
        }
        let is_table = start.kind == Kind::TableRow;
        if !(is_table && matches!(self.block, Block::Table { .. })) {
            self.close_block();
        }
        self.quotes = start.quotes;
        if start.kind == Kind::Blank {
            self.blank = Some(start.quotes);
            return;
        }
        self.write_blank();
        let bars = bars(start.quotes);
        let margin = bars.with(plain(" ".repeat(start.indent)));
        match start.kind {
            Kind::Blank => {}
            Kind::Text => self.begin_text(&margin, margin.clone(), Style::new()),
            Kind::Heading => self.begin_text(&bars, bars.clone(), HEADING),
            Kind::Bullet => self.begin_item(&margin, BULLET),
            Kind::Number(number) => self.begin_item(&margin, &format!("{number} ")),
            Kind::Rule => self.rule(&bars),
            Kind::TableRow => self.begin_row(margin),
            Kind::Fence { mark, length, language } => {
                let painter = Painter::new(&language.to_ascii_lowercase());
                let (indent, quotes) = (start.indent, start.quotes);
                let code = Code { mark, length, indent, quotes, margin, painter, is_within_line: false };
                self.block = Block::Code(code);
            }
        }
    }

    fn begin_text(&mut self, first: &Margin, hanging: Margin, style: Style) {
        self.inline = Inline::default();
        self.style = style;
        self.out.begin(first, hanging);
        self.at = At::Text;
        self.has_written = true;
    }

    fn begin_item(&mut self, margin: &Margin, mark: &str) {
        let first = margin.with(plain(mark));
        let hanging = margin.with(plain(" ".repeat(mark.chars().count())));
        self.begin_text(&first, hanging, Style::new());
    }

    fn rule(&mut self, margin: &Margin) {
        self.out.begin(margin, Margin::default());
        self.out.put(FAINT, &"─".repeat(self.width.min(RULE_WIDTH)));
        self.out.end();
        self.has_written = true;
    }

    fn begin_row(&mut self, margin: Margin) {
        self.at = At::Whole;
        self.has_written = true;
        if !matches!(self.block, Block::Table { .. }) {
            self.block = Block::Table { table: Table::default(), margin };
        }
    }

    /// Adds a character of text.
    fn text(&mut self, c: char) {
        let flow = self.inline.push(c);
        if flow != Flow::Held {
            self.write_held();
        }
        if flow == Flow::CutBeforeSpace {
            self.out.space();
        }
    }

    fn write_held(&mut self) {
        let held = self.inline.take();
        if !held.is_empty() {
            self.worked(held.len());
            self.out.spans(&spans(&held, self.style));
        }
    }

    fn end_text(&mut self) {
        self.at = At::Start;
        if self.style == Style::new() && self.inline.is_open_at_line_end() {
            self.inline.push_line_break();
            self.block = Block::OpenText;
        } else {
            self.write_held();
            self.out.end();
        }
    }

    /// Handles a complete line of code or of a table.
    fn whole_line(&mut self) {
        self.at = At::Start;
        let line = std::mem::take(&mut self.line);
        self.worked(line.len());
        match std::mem::take(&mut self.block) {
            Block::Code(code) => self.code_line(code, &line),
            Block::Table { mut table, margin } => {
                if table.push(&line) {
                    self.block = Block::Table { table, margin };
                } else {
                    table.write(&mut self.out, &margin, self.width);
                }
            }
            block => self.block = block,
        }
    }

    fn code_line(&mut self, mut code: Code, line: &str) {
        let Some(text) = unquoted(line, code.quotes) else {
            // The quote is over, and the code with it.
            for c in line.chars().chain(['\n']) {
                self.take(c);
            }
            return;
        };
        let text = unindented(text, code.indent);
        let trimmed = text.trim();
        let is_end = !code.is_within_line
            && run(trimmed, code.mark) >= code.length
            && trimmed.chars().all(|c| c == code.mark);
        if is_end {
            return;
        }
        self.write_code(&mut code, text);
        self.out.end();
        code.is_within_line = false;
        self.block = Block::Code(code);
    }

    fn write_code(&mut self, code: &mut Code, text: &str) {
        if !code.is_within_line {
            self.out.begin(&code.margin, Margin::default());
        }
        for span in code.painter.line(&text.replace('\t', "    ")) {
            self.out.put(span.style, &crate::escape::line(&span.text));
        }
        self.has_written = true;
    }

    /// Writes a part of a line that is too long to be held back.
    fn part_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.worked(line.len());
        match std::mem::take(&mut self.block) {
            Block::Code(mut code) => {
                self.write_code(&mut code, &line);
                code.is_within_line = true;
                self.block = Block::Code(code);
            }
            block => {
                self.block = block;
                self.close_block();
                self.begin_text(&Margin::default(), Margin::default(), Style::new());
                line.chars().for_each(|c| self.text(c));
            }
        }
    }

    /// Writes held text and ends the block.
    fn close_block(&mut self) {
        match std::mem::take(&mut self.block) {
            Block::None | Block::Code(_) => {}
            Block::OpenText => {
                let held = self.inline.take();
                self.worked(held.len());
                self.out.spans(&spans(held.trim_end_matches('\n'), self.style));
                self.out.end();
            }
            Block::Table { table, margin } => table.write(&mut self.out, &margin, self.width),
        }
    }

    fn write_blank(&mut self) {
        if let Some(quotes) = self.blank.take().filter(|_| self.has_written) {
            self.out.begin(&bars(quotes), Margin::default());
            self.out.end();
        }
    }

    #[cfg(test)]
    fn worked(&mut self, bytes: usize) {
        self.work += bytes;
    }

    #[cfg(not(test))]
    fn worked(&mut self, _bytes: usize) {}
}

fn plain(text: impl Into<String>) -> Span {
    Span::new(Style::new(), text)
}

fn bars(quotes: usize) -> Margin {
    match quotes.min(MAX_BARS) {
        0 => Margin::default(),
        some => Margin::default().with(Span::new(FAINT, BAR.repeat(some))),
    }
}

/// Strips the quote marks of a line; `None` if it has too few.
fn unquoted(line: &str, quotes: usize) -> Option<&str> {
    let mut rest = line;
    for _ in 0..quotes {
        let marked = rest.trim_start().strip_prefix('>')?;
        rest = marked.strip_prefix(' ').unwrap_or(marked);
    }
    Some(rest)
}

/// Strips the indentation of the fence.
fn unindented(line: &str, indent: usize) -> &str {
    let spaces = run(line, ' ').min(indent);
    line.get(spaces..).unwrap_or(line)
}

#[cfg(test)]
mod tests;
