//! The top-level keys of a document, found in one pass: what is there, where, and where its value is.

use std::ops::Range;

use serde_saphyr::{
    granit_parser,
    granit_parser::{Event, Parser, ScalarStyle, Span},
};

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
