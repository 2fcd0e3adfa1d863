//! The structure of a YAML document with positions: its nodes, and the outline of its top-level keys.

use std::ops::Range;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, StructureStyle};

/// A node of a document. A block's own end is that of its last leaf.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Where it is written, without its anchor and tag.
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Scalar(ScalarStyle),
    BlockMapping(Vec<Entry>),
    FlowMapping(Vec<Entry>),
    Sequence,
    Alias,
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Entry {
    /// `None` where it is no text.
    pub(super) key: Option<String>,
    pub(super) key_range: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The entries of a mapping.
    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::BlockMapping(entries) | Kind::FlowMapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key.as_deref() == Some(key))
    }

    /// Whether nothing is written where the value would be.
    pub(super) fn is_unwritten(&self) -> bool {
        matches!(self.kind, Kind::Scalar(ScalarStyle::Plain)) && self.range.is_empty()
    }
}

/// The root of a document; `None` where there is none in the text. The error is what is wrong with the text.
pub(super) fn parse(text: &str) -> Result<Option<Node>, String> {
    let options = granit_parser::options! { emit_comments: false };
    let mut events = Events { parser: Parser::new_from_str_with_options(text, options), text };
    loop {
        match events.next()? {
            (Event::DocumentStart(..), _) => break,
            (Event::StreamEnd, _) => return Ok(None),
            _ => {}
        }
    }
    let first = events.next()?;
    let root = events.node(first)?;
    match (events.next()?.0, events.next()?.0) {
        (Event::DocumentEnd, Event::StreamEnd) => Ok(Some(root)),
        _ => Err("there is a second document".to_owned()),
    }
}

struct Events<'t, P> {
    parser: P,
    text: &'t str,
}

impl<'t, P> Events<'t, P>
where
    P: Iterator<Item = Result<(Event<'t>, Span), granit_parser::ScanError>>,
{
    fn next(&mut self) -> Result<(Event<'t>, Range<usize>), String> {
        let (event, span) = match self.parser.next() {
            Some(Ok(next)) => next,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Ok((Event::StreamEnd, self.text.len()..self.text.len())),
        };
        let range = span.byte_range().ok_or("it has no positions")?;
        Ok((event, range))
    }

    fn node(&mut self, (event, range): (Event<'t>, Range<usize>)) -> Result<Node, String> {
        match event {
            Event::Scalar(_, style, ..) => Ok(self.scalar(style, range)),
            Event::MappingStart(style, ..) => self.mapping(style, range),
            Event::SequenceStart(style, ..) => self.sequence(style, range),
            Event::Alias(_) => Ok(Node { kind: Kind::Alias, range }),
            other => Err(format!("there is something else where a value should be: {other:?}")),
        }
    }

    /// A block scalar ends with its last line, without the break.
    fn scalar(&self, style: ScalarStyle, range: Range<usize>) -> Node {
        let written = self.text.get(range.clone()).unwrap_or_default();
        let end = range.start + written.trim_end_matches(['\n', '\r', ' ', '\t']).len();
        Node { kind: Kind::Scalar(style), range: range.start..end }
    }

    fn mapping(&mut self, style: StructureStyle, range: Range<usize>) -> Result<Node, String> {
        let (start, mut end) = (range.start, range.end);
        let mut entries = Vec::new();
        loop {
            let (event, range) = self.next()?;
            if event == Event::MappingEnd {
                end = if style == StructureStyle::Flow { range.end } else { end };
                break;
            }
            let text = event.scalar().map(|(text, _)| text.to_owned());
            let key = self.node((event, range))?;
            let next = self.next()?;
            let value = self.node(next)?;
            end = end.max(value.range.end);
            entries.push(Entry { key: text, key_range: key.range, value });
        }
        let kind = if style == StructureStyle::Flow {
            Kind::FlowMapping(entries)
        } else {
            Kind::BlockMapping(entries)
        };
        Ok(Node { kind, range: start..end })
    }

    fn sequence(&mut self, style: StructureStyle, range: Range<usize>) -> Result<Node, String> {
        let (start, mut end) = (range.start, range.end);
        loop {
            let (event, range) = self.next()?;
            if event == Event::SequenceEnd {
                end = if style == StructureStyle::Flow { range.end } else { end };
                break;
            }
            end = end.max(self.node((event, range))?.range.end);
        }
        Ok(Node { kind: Kind::Sequence, range: start..end })
    }
}

/// One top-level key.
#[derive(Debug, Clone)]
pub(super) struct Outlined {
    pub(super) key: String,
    /// Line and column of the key, from 1.
    pub(super) position: (u64, u64),
    /// Where the value is, if it can be read without the rest of the document.
    pub(super) value: Option<Range<usize>>,
}

/// The keys of a document's mapping, in its order. A document that is no mapping has none, and one that cannot be
/// parsed has those before the error: reading it whole says what is wrong.
pub(super) fn outline(text: &str) -> Vec<Outlined> {
    let options = granit_parser::options! { emit_comments: false };
    let mut keys: Vec<Outlined> = Vec::new();
    let (mut depth, mut is_value) = (0_usize, false);
    for (event, span) in Parser::new_from_str_with_options(text, options).map_while(Result::ok) {
        if depth == 1 && event.is_node() {
            match (is_value, keys.last_mut()) {
                (true, Some(last)) => last.value = standing_alone(text, &event, &span),
                _ => keys.push(outlined(&event, &span)),
            }
            is_value = !is_value;
        }
        match event {
            Event::SequenceStart(..) if depth == 0 => return Vec::new(),
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    keys
}

/// A key that is no text is known by nothing.
fn outlined(event: &Event<'_>, span: &Span) -> Outlined {
    let key = event.scalar().map(|(key, _)| key.to_owned()).unwrap_or_default();
    Outlined { key, position: (span.start.line() as u64, span.start.col() as u64 + 1), value: None }
}

/// Where a scalar is that means the same on its own: on one line, with no anchor and no tag, and nothing that the
/// beginning of a document could mistake.
fn standing_alone(text: &str, event: &Event<'_>, span: &Span) -> Option<Range<usize>> {
    let Event::Scalar(_, style, 0, None) = event else { return None };
    let range = span.byte_range()?;
    let written = text.get(range.clone())?;
    let starts = match style {
        ScalarStyle::Plain => written.starts_with(|c: char| c.is_ascii_alphanumeric() || "/_".contains(c)),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => true,
        _ => false,
    };
    (starts && !written.contains(['\n', '\r'])).then_some(range)
}
