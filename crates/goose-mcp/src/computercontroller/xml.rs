//! XML of documents: read as a stream, copied with changes, and never trusted.
//!
//! Document type definitions are refused, so there are no entities to expand or to load. Nesting and the size of one
//! token are bounded; the size of a part is bounded by `archive.rs`.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read, Write},
};

use quick_xml::{
    Reader, Writer,
    events::{BytesStart, Event},
};

/// Maximum size of one tag or text.
const MAX_TOKEN_BYTES: usize = 4 * 1024 * 1024;

/// Maximum nesting of elements.
const MAX_DEPTH: usize = 512;

/// Error in a document.
#[derive(Debug, thiserror::Error)]
pub(super) enum FormatError {
    /// The archive is damaged.
    #[error("it is not a readable archive ({0})")]
    Archive(#[from] zip::result::ZipError),
    /// A part of it is not XML.
    #[error("it has damaged XML in it ({0})")]
    Xml(#[from] quick_xml::Error),
    /// A part cannot be read or written.
    #[error("it is damaged ({0})")]
    Io(#[from] io::Error),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

pub(super) type Result<T> = std::result::Result<T, FormatError>;

pub(super) fn error<T>(text: impl Into<String>) -> Result<T> {
    Err(FormatError::Other(text.into()))
}

/// A reader that refuses a token without end.
pub(super) struct Guarded<R> {
    inner: R,
    consumed: usize,
}

impl<R: BufRead> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Guarded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed > MAX_TOKEN_BYTES {
            return Err(io::Error::other(format!("a text in it is longer than {MAX_TOKEN_BYTES} bytes")));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
        self.inner.consume(count);
    }
}

/// A stream of XML.
pub(super) struct XmlReader<R> {
    reader: Reader<Guarded<R>>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<R: BufRead> XmlReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { reader: Reader::from_reader(Guarded { inner, consumed: 0 }), buffer: Vec::new(), depth: 0 }
    }

    /// Returns the next event.
    pub(super) fn next(&mut self) -> Result<Event<'_>> {
        self.buffer.clear();
        self.reader.get_mut().consumed = 0;
        let event = self.reader.read_event_into(&mut self.buffer)?;
        match &event {
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::DocType(_) => {
                return error("it has a document type definition, which documents do not need");
            }
            // A document that ends in the middle of an element was cut off.
            Event::Eof if self.depth > 0 => return error("it is cut off"),
            _ => {}
        }
        if self.depth > MAX_DEPTH {
            return error(format!("its elements are nested more than {MAX_DEPTH} deep"));
        }
        Ok(event)
    }
}

/// Returns the name of an element without its prefix.
pub(super) fn name<'e>(element: &'e BytesStart<'_>) -> &'e str {
    let name = element.name().0;
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the value of an attribute, by its name without prefix.
pub(super) fn attribute(element: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = element.attributes();
    attributes.with_checks(false);
    let found = attributes.flatten().find(|attribute| {
        let name = attribute.key.0;
        name.rsplit_once(':').map_or(name, |(_, local)| local) == wanted
    })?;
    Some(unescape(&found.value))
}

fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Returns the text of an event: text, and the characters that references stand for.
pub(super) fn text_of(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Text(text) => Some(text.xml10_content().into_owned()),
        Event::CData(text) => Some(text.xml10_content().into_owned()),
        Event::GeneralRef(reference) => {
            if let Ok(Some(character)) = reference.resolve_char_ref() {
                return Some(character.to_string());
            }
            Some(unescape(&format!("&{};", reference.xml10_content())))
        }
        _ => None,
    }
}

/// Returns a text as it is written in XML, without the characters that XML does not have.
pub(super) fn escaped(text: &str) -> String {
    let is_allowed = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let text: String = text.chars().filter(is_allowed).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}

/// Copies XML. `change` gets each event with the writer; it writes what it wants to, and returns true to have the
/// event copied.
pub(super) fn copy<R: BufRead, W: Write>(
    input: R,
    output: W,
    mut change: impl FnMut(&Event<'_>, &mut W) -> Result<bool>,
) -> Result<W> {
    let mut reader = XmlReader::new(input);
    let mut writer = Writer::new(output);
    loop {
        let event = reader.next()?;
        if matches!(event, Event::Eof) {
            change(&event, writer.get_mut())?;
            return Ok(writer.into_inner());
        }
        if change(&event, writer.get_mut())? {
            writer.write_event(event.borrow())?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: &str) -> Result<usize> {
        let mut reader = XmlReader::new(xml.as_bytes());
        for count in 0.. {
            if matches!(reader.next()?, Event::Eof) {
                return Ok(count);
            }
        }
        Ok(0)
    }

    #[test]
    fn hostile_xml_is_refused() {
        let entity = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>";
        for bad in [
            entity,
            "<a><b></a>",
            "<a>",
            &"<a>".repeat(MAX_DEPTH + 1),
            &format!("<a>{}", "x".repeat(5 << 20)),
        ] {
            assert!(read(bad).is_err(), "{}", &bad[..bad.len().min(50)]);
        }
        assert_eq!(read("<a><b/>text</a>").unwrap(), 4);
    }

    #[test]
    fn references_are_text() {
        let mut reader = XmlReader::new("<a>x &lt; &#65;&amp;</a>".as_bytes());
        let mut text = String::new();
        loop {
            let event = reader.next().unwrap();
            if matches!(event, Event::Eof) {
                break;
            }
            text.push_str(&text_of(&event).unwrap_or_default());
        }
        assert_eq!(text, "x < A&");
    }
}
