//! Inline formatting: splits the text of a block into styled spans for emphasis, code and links.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::output::FAINT;

/// Style of inline code.
const CODE: Style = AnsiColor::Cyan.on_default();

/// Prefix of each parsed text, so that none is taken for a list or a heading.
const LEAD: &str = "x ";

/// Text without any of these characters needs no parsing.
const MARKS: &[char] = &['*', '_', '`', '[', ']', '<', '>', '&', '\\', '~', '!'];

/// A piece of text in one style. A line break is a separate span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) style: Style,
    pub(super) text: String,
}

impl Span {
    pub(super) fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }
}

/// Parses a text; `base` is the style of its plain parts.
pub(super) fn spans(text: &str, base: Style) -> Vec<Span> {
    if !text.contains(MARKS) {
        return vec![Span::new(base, text)];
    }
    let source = format!("{LEAD}{text}");
    let mut reader = Reader { spans: Vec::new(), styles: vec![base], links: Vec::new(), lead: LEAD };
    for event in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH) {
        reader.read(event);
    }
    reader.spans
}

struct Reader {
    spans: Vec<Span>,
    /// Current styles, innermost last.
    styles: Vec<Style>,
    /// Targets of open links, and the first span of each.
    links: Vec<(String, usize)>,
    /// Prefix that is still to be removed.
    lead: &'static str,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => self.put(CODE.effects(self.style().get_effects()), &code),
            Event::SoftBreak | Event::HardBreak => self.put(Style::new(), "\n"),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn put(&mut self, style: Style, text: &str) {
        self.spans.push(Span::new(style, text));
    }

    fn text(&mut self, text: &str) {
        let text = text.strip_prefix(self.lead).unwrap_or(text);
        self.lead = "";
        if !text.is_empty() {
            self.put(self.style(), text);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        match tag {
            Tag::Emphasis => self.styles.push(style.italic()),
            Tag::Strong => self.styles.push(style.bold()),
            Tag::Strikethrough => self.styles.push(style.strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.start_link(&dest_url),
            _ => {}
        }
    }

    fn start_link(&mut self, target: &CowStr<'_>) {
        self.links.push((target.to_string(), self.spans.len()));
        self.styles.push(self.style().underline());
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    /// Appends the link's target, which must always be visible.
    fn end_link(&mut self) {
        let Some((target, first)) = self.links.pop() else { return };
        let shown: String = self.spans.iter().skip(first).map(|span| span.text.as_str()).collect();
        if shown != target && !target.is_empty() {
            self.put(FAINT, &format!(" ({target})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        spans(text, Style::new()).into_iter().map(|span| span.text).collect()
    }

    #[test]
    fn marks_become_looks() {
        let read = spans("**bold _both_**", Style::new());
        let bold = Style::new().bold();
        assert_eq!(read, [Span::new(bold, "bold "), Span::new(bold.italic(), "both")]);
        assert_eq!(spans("`a  b`", Style::new()), [Span::new(CODE, "a  b")]);
    }

    #[test]
    fn nothing_is_taken_for_a_block() {
        for text in ["#", "-", "1.", "```", "> x", "<b>x</b>", "[a]: b", "***", "* x"] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn where_a_link_goes_is_seen() {
        assert_eq!(plain("[docs](https://example.com)"), "docs (https://example.com)");
        assert_eq!(plain("<https://example.com>"), "https://example.com");
    }
}
