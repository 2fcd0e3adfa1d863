//! [`parse`]: the tree of a YAML document with the position of each node, for [edits](crate::yaml_edit).
//!
//! [`yaml`](crate::yaml) reads values; it does not say where they are written.

use std::ops::Range;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

/// Reason why a text has no tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("{0}")]
    Syntax(#[from] ScanError),
    #[error("there is a second document")]
    SecondDocument,
    #[error("there is something else where a value should be: {0}")]
    NotAValue(String),
    #[error("the parser gives no positions")]
    NoPositions,
}

/// Node of a document. A block ends with its last leaf.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Range in the text, without anchor and tag.
    pub(crate) range: Range<usize>,
}

#[derive(Debug)]
pub(crate) enum NodeKind {
    Scalar(ScalarStyle),
    BlockMapping(Vec<NodeEntry>),
    FlowMapping(Vec<NodeEntry>),
    Sequence(Vec<Node>),
    Alias,
}

/// Key with its value.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    /// Name of the key; `None` if it is not text.
    pub(crate) key: Option<String>,
    pub(crate) key_range: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    /// Returns the entries of a mapping.
    pub(crate) fn entries(&self) -> Option<&[NodeEntry]> {
        match &self.kind {
            NodeKind::BlockMapping(entries) | NodeKind::FlowMapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entry with this key.
    pub(crate) fn entry(&self, key: &str) -> Option<&NodeEntry> {
        self.entries()?.iter().find(|entry| entry.key.as_deref() == Some(key))
    }

    /// Returns whether the value is missing in the text, as in `key:`.
    pub(crate) fn is_unwritten(&self) -> bool {
        matches!(self.kind, NodeKind::Scalar(ScalarStyle::Plain)) && self.range.is_empty()
    }
}

/// Parses a text. Returns the root of its document; `None` if there is none.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, TreeError> {
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
        _ => Err(TreeError::SecondDocument),
    }
}

struct Events<'t, P> {
    parser: P,
    text: &'t str,
}

impl<'t, P> Events<'t, P>
where
    P: Iterator<Item = Result<(Event<'t>, Span), ScanError>>,
{
    fn next(&mut self) -> Result<(Event<'t>, Range<usize>), TreeError> {
        let (event, span) = match self.parser.next() {
            Some(next) => next?,
            None => return Ok((Event::StreamEnd, self.text.len()..self.text.len())),
        };
        let range = span.byte_range().ok_or(TreeError::NoPositions)?;
        Ok((event, range))
    }

    fn node(&mut self, (event, range): (Event<'t>, Range<usize>)) -> Result<Node, TreeError> {
        match event {
            Event::Scalar(_, style, ..) => Ok(self.scalar(style, range)),
            Event::MappingStart(style, ..) => self.mapping(style, range),
            Event::SequenceStart(style, ..) => self.sequence(style, range),
            Event::Alias(_) => Ok(Node { kind: NodeKind::Alias, range }),
            other => Err(TreeError::NotAValue(format!("{other:?}"))),
        }
    }

    /// Creates a scalar. A block scalar ends with its last line, without the line break.
    fn scalar(&self, style: ScalarStyle, range: Range<usize>) -> Node {
        let written = self.text.get(range.clone()).unwrap_or_default();
        let end = range.start + written.trim_end_matches(['\n', '\r', ' ', '\t']).len();
        Node { kind: NodeKind::Scalar(style), range: range.start..end }
    }

    fn mapping(&mut self, style: StructureStyle, range: Range<usize>) -> Result<Node, TreeError> {
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
            entries.push(NodeEntry { key: text, key_range: key.range, value });
        }
        let kind = match style {
            StructureStyle::Flow => NodeKind::FlowMapping(entries),
            _ => NodeKind::BlockMapping(entries),
        };
        Ok(Node { kind, range: start..end })
    }

    fn sequence(&mut self, style: StructureStyle, range: Range<usize>) -> Result<Node, TreeError> {
        let (start, mut end) = (range.start, range.end);
        let mut items = Vec::new();
        loop {
            let (event, range) = self.next()?;
            if event == Event::SequenceEnd {
                end = if style == StructureStyle::Flow { range.end } else { end };
                break;
            }
            let item = self.node((event, range))?;
            end = end.max(item.range.end);
            items.push(item);
        }
        Ok(Node { kind: NodeKind::Sequence(items), range: start..end })
    }
}
