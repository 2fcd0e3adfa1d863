//! The text of a document as Markdown: headings, lists, tables.

use quick_xml::events::Event;

use super::super::{
    archive::Archive,
    xml::{Result, XmlReader, attribute, name, text_of},
};

/// Maximum length of the text in an answer.
const MAX_SHOWN_BYTES: usize = 100 * 1024;

/// Returns the text, cut if it is long.
pub(super) fn text(bytes: &[u8]) -> Result<String> {
    let mut archive = Archive::open(bytes)?;
    let part = archive.main_part()?;
    let mut reader = XmlReader::new(archive.part(&part)?);
    let mut writer = Text::default();
    loop {
        let event = reader.next()?;
        if matches!(event, Event::Eof) {
            break;
        }
        writer.event(&event);
        if writer.out.len() > MAX_SHOWN_BYTES {
            writer.out.push_str("\n[… the rest is left out …]");
            break;
        }
    }
    let text = writer.out.trim_end();
    Ok(if text.is_empty() { "The document has no text.".to_owned() } else { text.to_owned() })
}

#[derive(Default)]
struct Text {
    out: String,
    paragraph: String,
    prefix: String,
    is_text: bool,
    /// Nesting of tables, and of the copies of drawings for older programs.
    tables: usize,
    fallbacks: usize,
    cell: String,
    row: Vec<String>,
    rows: usize,
}

impl Text {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(element) if name(element) == "Fallback" => self.fallbacks += 1,
            Event::End(element) if element.local_name().as_ref() == "Fallback" => {
                self.fallbacks = self.fallbacks.saturating_sub(1);
            }
            _ if self.fallbacks > 0 => {}
            Event::Start(element) | Event::Empty(element) => {
                let is_open = matches!(event, Event::Start(_));
                match name(element) {
                    "t" => self.is_text = is_open,
                    "tab" if !self.paragraph.is_empty() => self.paragraph.push('\t'),
                    "br" | "cr" => self.paragraph.push('\n'),
                    "noBreakHyphen" => self.paragraph.push('-'),
                    "pStyle" => self.prefix = prefix(&attribute(element, "val").unwrap_or_default()),
                    "numPr" if self.prefix.is_empty() => "- ".clone_into(&mut self.prefix),
                    "tbl" if is_open => {
                        self.tables += 1;
                        self.rows = 0;
                    }
                    "tr" if self.tables == 1 => self.row.clear(),
                    "tc" if self.tables == 1 => self.cell.clear(),
                    _ => {}
                }
            }
            Event::End(element) => self.end(element.local_name().as_ref()),
            event if self.is_text => self.paragraph.push_str(&text_of(event).unwrap_or_default()),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.is_text = false,
            "p" => {
                let text = std::mem::take(&mut self.paragraph);
                let prefix = std::mem::take(&mut self.prefix);
                if self.tables > 0 {
                    self.cell.push_str(if self.cell.is_empty() || text.is_empty() { "" } else { " " });
                    self.cell.push_str(&text.replace('\n', " "));
                } else if !text.trim().is_empty() {
                    let end = if prefix == "- " { "\n" } else { "\n\n" };
                    self.out.push_str(&format!("{prefix}{text}{end}"));
                }
            }
            "tc" if self.tables == 1 => self.row.push(std::mem::take(&mut self.cell)),
            "tr" if self.tables == 1 => {
                self.rows += 1;
                self.out.push_str(&format!("| {} |\n", self.row.join(" | ")));
                if self.rows == 1 {
                    self.out.push_str(&format!("|{}\n", " --- |".repeat(self.row.len())));
                }
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.out.push_str(if self.tables == 0 { "\n" } else { "" });
            }
            _ => {}
        }
    }
}

/// Returns the Markdown of a style.
fn prefix(style: &str) -> String {
    let style = style.to_ascii_lowercase();
    if style == "title" {
        return "# ".to_owned();
    }
    if style.starts_with("list") {
        return "- ".to_owned();
    }
    let level = style.strip_prefix("heading").and_then(|level| level.trim().parse::<usize>().ok());
    level
        .filter(|level| (1..=9).contains(level))
        .map(|level| format!("{} ", "#".repeat(level.min(6))))
        .unwrap_or_default()
}
