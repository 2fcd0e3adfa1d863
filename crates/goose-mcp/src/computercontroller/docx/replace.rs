//! Replaces text. A document holds a sentence in pieces, so a match may begin in one and end in another; the new text
//! gets the style of the first.

use std::ops::Range;

use quick_xml::{
    Writer,
    events::{BytesText, Event},
};

use super::super::{
    archive::{self, Archive, Change, Output},
    xml::{Result, XmlReader, error, name, text_of},
};

/// Maximum number of pieces of one paragraph.
const MAX_PIECES: usize = 100_000;

/// Maximum size of the text of one paragraph.
const MAX_PARAGRAPH_BYTES: usize = 8 * 1024 * 1024;

/// Replaces all of a text; returns the document and the number of places.
pub(super) fn replace(bytes: &[u8], old: &str, new: &str) -> Result<(Vec<u8>, usize)> {
    let mut archive = Archive::open(bytes)?;
    let main = archive.main_part()?;
    let mut count = 0;
    let bytes = archive.rewrite(
        |archive, part, output| {
            if part != main {
                return Ok(Change::Copied);
            }
            archive::start(output, part)?;
            count = replace_in(XmlReader::new(archive.part(part)?), output, old, new)?;
            Ok(Change::Written)
        },
        &[],
    )?;
    match count {
        0 => error(format!("it has no text {old:?}; nothing was changed")),
        count => Ok((bytes, count)),
    }
}

fn replace_in<R: std::io::BufRead>(
    mut reader: XmlReader<R>,
    output: &mut Output,
    old: &str,
    new: &str,
) -> Result<usize> {
    let mut writer = Writer::new(output);
    let (mut paragraph, mut depth, mut count) = (Paragraph::default(), 0_usize, 0);
    loop {
        let event = reader.next()?;
        match &event {
            Event::Eof => return Ok(count),
            Event::Start(element) if name(element) == "p" => depth += 1,
            _ => {}
        }
        if depth == 0 {
            writer.write_event(event.borrow())?;
            continue;
        }
        let is_end = matches!(&event, Event::End(element) if element.local_name().as_ref() == "p");
        paragraph.push(event)?;
        depth -= usize::from(is_end);
        if depth == 0 {
            count += std::mem::take(&mut paragraph).write(&mut writer, old, new)?;
        }
    }
}

/// The events of a paragraph.
#[derive(Default)]
struct Paragraph {
    events: Vec<Event<'static>>,
    /// Pieces of the text: event, and place in the text.
    pieces: Vec<(usize, Range<usize>)>,
    text: String,
    is_text: bool,
}

impl Paragraph {
    fn push(&mut self, event: Event<'_>) -> Result<()> {
        match &event {
            Event::Start(element) if name(element) == "t" => self.is_text = true,
            Event::End(element) if element.local_name().as_ref() == "t" => self.is_text = false,
            event if self.is_text => {
                if let Some(piece) = text_of(event) {
                    let start = self.text.len();
                    self.text.push_str(&piece);
                    self.pieces.push((self.events.len(), start..self.text.len()));
                }
            }
            _ => {}
        }
        self.events.push(event.into_owned());
        match self.events.len() <= MAX_PIECES && self.text.len() <= MAX_PARAGRAPH_BYTES {
            true => Ok(()),
            false => error("a paragraph of it is too large"),
        }
    }

    fn write(mut self, writer: &mut Writer<&mut Output>, old: &str, new: &str) -> Result<usize> {
        let found: Vec<Range<usize>> =
            self.text.match_indices(old).map(|(start, text)| start..start + text.len()).collect();
        if !found.is_empty() {
            for (event, range) in &self.pieces {
                let changed = changed(&self.text, range, &found, new);
                self.events[*event] = Event::Text(BytesText::new(&changed)).into_owned();
            }
        }
        for event in self.events {
            match event {
                // Blanks at the ends would be lost.
                Event::Start(mut element) if !found.is_empty() && name(&element) == "t" => {
                    element.clear_attributes();
                    element.push_attribute(("xml:space", "preserve"));
                    writer.write_event(Event::Start(element))?;
                }
                event => writer.write_event(event)?,
            }
        }
        Ok(found.len())
    }
}

/// Returns a piece of a text with what was found in it replaced. The new text is where a match begins.
fn changed(text: &str, piece: &Range<usize>, found: &[Range<usize>], new: &str) -> String {
    let (mut changed, mut at) = (String::new(), piece.start);
    for matched in found.iter().filter(|matched| matched.start < piece.end && matched.end > piece.start) {
        changed.push_str(&text[at..matched.start.max(at)]);
        if matched.start >= piece.start {
            changed.push_str(new);
        }
        at = matched.end.min(piece.end);
    }
    changed.push_str(&text[at..piece.end]);
    changed
}
