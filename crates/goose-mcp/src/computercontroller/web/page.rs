//! HTML as Markdown, or as plain text.
//!
//! Reads the page once, token by token, and keeps no tree: a page may be nested without end.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Elements whose content is not text.
const SKIPPED: [&str; 9] =
    ["script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas"];

/// Elements that start a paragraph.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "ul",
    "pre",
    "figcaption",
];

/// Maximum nesting of lists.
const MAX_LISTS: usize = 16;

/// Returns a page as Markdown. Links are absolute.
pub(super) fn markdown(html: &str, base: &Url) -> String {
    read(html, Some(base))
}

/// Returns the text of a page.
pub(super) fn text(html: &str) -> String {
    read(html, None)
}

fn read(html: &str, base: Option<&Url>) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer { base, ..Writer::default() };
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&tag),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text.value)),
            _ => {}
        }
    }
    writer.finish()
}

#[derive(Default)]
struct Writer<'a> {
    /// Address that links are relative to. Without one, the page is written as plain text.
    base: Option<&'a Url>,
    out: String,
    title: String,
    is_title: bool,
    /// Skipped element that is open, and how often.
    skipped: Option<(Vec<u8>, usize)>,
    /// Line ends that come before the next text.
    line_ends: usize,
    has_blank: bool,
    is_preformatted: bool,
    /// Numbers of the next items of open lists; none for those with bullets.
    lists: Vec<Option<usize>>,
    link: Option<String>,
    cells: usize,
    row: usize,
}

impl Writer<'_> {
    fn is_markdown(&self) -> bool {
        self.base.is_some()
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if name == "title" && self.title.is_empty() {
            self.is_title = true;
            return;
        }
        if let Some((open, depth)) = &mut self.skipped {
            // A page may leave out the end of its head.
            if name == "body" && open.as_slice() == b"head" {
                self.skipped = None;
            } else if open.as_slice() == tag.name.as_slice() && !tag.self_closing {
                *depth += 1;
            }
            return;
        }
        if SKIPPED.contains(&name.as_str()) && !tag.self_closing {
            self.skipped = Some((tag.name.to_vec(), 1));
            return;
        }
        self.start_block(&name);
        if !self.is_markdown() {
            return;
        }
        let attribute = |name: &[u8]| {
            let value = tag.attributes.iter().find(|(key, _)| key.as_slice() == name).map(|(_, value)| value);
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        match name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(tag.name[1] - b'0');
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "blockquote" => self.mark("> "),
            "hr" => self.mark("---"),
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "code" if !self.is_preformatted => self.mark("`"),
            "pre" => {
                self.mark("```\n");
                self.is_preformatted = true;
            }
            "a" => {
                self.link = attribute(b"href").and_then(|link| self.absolute(&link));
                if self.link.is_some() {
                    self.mark("[");
                }
            }
            "img" => {
                let (alt, source) = (attribute(b"alt").unwrap_or_default(), attribute(b"src"));
                if let Some(source) = source.and_then(|source| self.absolute(&source)) {
                    self.mark(&format!("![{}]({source})", alt.trim()));
                }
            }
            _ => {}
        }
    }

    /// Starts blocks, items and cells, which plain text has as well.
    fn start_block(&mut self, name: &str) {
        match name {
            "br" => self.line_ends += 1,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.paragraph(),
            "li" => {
                self.line();
                let depth = self.lists.len().clamp(1, MAX_LISTS) - 1;
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.mark(&format!("{}{bullet}", "  ".repeat(depth)));
            }
            "tr" => {
                self.line();
                self.cells = 0;
                self.row += 1;
            }
            "td" | "th" => {
                self.mark(if self.cells == 0 && self.is_markdown() {
                    "| "
                } else if self.cells > 0 {
                    " | "
                } else {
                    ""
                });
                self.cells += 1;
            }
            _ if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
        match name {
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(1)),
            "table" => self.row = 0,
            _ => {}
        }
        self.lists.truncate(MAX_LISTS * 4);
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if name == "title" {
            self.is_title = false;
            return;
        }
        if let Some((open, depth)) = &mut self.skipped {
            if open.as_slice() == tag.name.as_slice() {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        if self.is_markdown() {
            match name.as_str() {
                "strong" | "b" => self.close("**"),
                "em" | "i" => self.close("*"),
                "code" if !self.is_preformatted => self.close("`"),
                "pre" if self.is_preformatted => {
                    self.is_preformatted = false;
                    let end = if self.out.ends_with('\n') { "```" } else { "\n```" };
                    self.close(end);
                }
                "a" => {
                    if let Some(link) = self.link.take() {
                        self.close(&format!("]({link})"));
                    }
                }
                "tr" if self.cells > 0 => {
                    self.close(" |");
                    if self.row == 1 {
                        self.close(&format!("\n|{}", " --- |".repeat(self.cells)));
                    }
                }
                _ => {}
            }
        }
        match name.as_str() {
            "ul" | "ol" => {
                self.lists.pop();
                self.paragraph();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.paragraph(),
            _ if BLOCKS.contains(&name.as_str()) => self.paragraph(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_title {
            self.title.push_str(text);
            return;
        }
        if self.skipped.is_some() {
            return;
        }
        if self.is_preformatted {
            self.mark("");
            self.out.push_str(text);
            return;
        }
        self.has_blank |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.mark(word);
            self.has_blank = true;
        }
        self.has_blank = self.has_blank && text.ends_with(char::is_whitespace);
    }

    /// Writes what opens something, or a word, after the pending blank or line ends.
    fn mark(&mut self, text: &str) {
        if self.line_ends > 0 && !self.out.is_empty() {
            self.out.push_str(&"\n".repeat(self.line_ends.min(2)));
        } else if self.has_blank
            && !self.out.is_empty()
            && !self.out.ends_with([' ', '\n'])
            && !text.is_empty()
        {
            self.out.push(' ');
        }
        (self.line_ends, self.has_blank) = (0, false);
        self.out.push_str(text);
    }

    /// Writes what closes something, right after the text.
    fn close(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self) {
        self.line_ends = self.line_ends.max(1);
    }

    fn paragraph(&mut self) {
        self.line_ends = 2;
    }

    /// Returns the address of a link that can be followed.
    fn absolute(&self, link: &str) -> Option<String> {
        let url = self.base?.join(link.trim()).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https" | "mailto");
        (is_web && !link.trim().starts_with('#')).then(|| url.to_string())
    }

    fn finish(self) -> String {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let body = self.out.trim();
        let has_heading = body.starts_with("# ");
        match (title.is_empty(), self.base.is_some()) {
            (false, true) if !has_heading => format!("# {title}\n\n{body}\n"),
            (false, false) => format!("{title}\n\n{body}\n"),
            _ => format!("{body}\n"),
        }
    }
}
