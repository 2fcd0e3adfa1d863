//! Values that must not change the structure of a document.
//!
//! A recipe is rendered as text and then read as YAML or JSON. A value with a line break, a quote or a colon
//! would end its field and could begin another one, so it is written as a marker, and the value takes the
//! marker's place once the document is read.

use std::{collections::BTreeMap, sync::Mutex};

use serde_json::Value;

const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Maximum length of a text whose markers are replaced, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// Values that markers stand for.
#[derive(Debug, Default)]
pub(super) struct Markers(Mutex<Vec<String>>);

impl Markers {
    /// Returns the text to write for a value: the value itself if it is the same in any place, or a marker.
    pub(super) fn written(&self, value: &str) -> String {
        if is_plain(value) {
            return value.to_owned();
        }
        let mut values = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        values.push(value.to_owned());
        format!("{OPEN}{}{CLOSE}", values.len() - 1)
    }

    /// Returns a text with the values in place of its markers; `None` if there are none, or too much text.
    pub(super) fn in_text(&self, text: &str) -> Option<String> {
        let values = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let resolver = Resolver { values, indents: BTreeMap::new() };
        Some(resolver).filter(|resolver| !resolver.values.is_empty())?.text(text).ok()
    }

    /// Puts the values in place of the markers in all texts of a document that was read from `rendered`.
    pub(super) fn resolve(self, document: &mut Value, rendered: &str) -> Result<(), String> {
        let values = self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if values.is_empty() {
            return Ok(());
        }
        let indents = indents(rendered);
        resolve(document, &Resolver { values, indents })
    }
}

/// Returns true for a value that YAML and JSON read in the same way everywhere: words with single blanks.
fn is_plain(value: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.'))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-'))
    };
    // Three dots could end a document, and YAML reads `null` as nothing.
    value.split(' ').all(is_word) && !value.starts_with("...") && !value.eq_ignore_ascii_case("null")
}

/// Returns the indentation of the line of each marker.
fn indents(rendered: &str) -> BTreeMap<usize, usize> {
    let mut indents = BTreeMap::new();
    for line in rendered.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        for (index, _) in markers(line) {
            indents.insert(index, indent);
        }
    }
    indents
}

/// Returns the markers of a text, with the ranges that they take.
fn markers(text: &str) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    text.match_indices(OPEN).filter_map(|(begin, _)| {
        let digits = begin + OPEN.len_utf8();
        let end = digits + text[digits..].find(CLOSE)?;
        Some((text[digits..end].parse().ok()?, begin..end + CLOSE.len_utf8()))
    })
}

fn resolve(document: &mut Value, resolver: &Resolver) -> Result<(), String> {
    match document {
        Value::String(text) if text.contains(OPEN) => *text = resolver.text(text)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| resolve(item, resolver))?,
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains(OPEN)) {
                let entries = std::mem::take(fields).into_iter();
                *fields = entries
                    .map(|(key, value)| Ok((resolver.text(&key)?, value)))
                    .collect::<Result<_, String>>()?;
            }
            fields.values_mut().try_for_each(|value| resolve(value, resolver))?;
        }
        _ => {}
    }
    Ok(())
}

struct Resolver {
    values: Vec<String>,
    indents: BTreeMap<usize, usize>,
}

impl Resolver {
    fn text(&self, text: &str) -> Result<String, String> {
        let mut resolved = String::new();
        self.append(text, usize::MAX, &mut resolved)?;
        Ok(resolved)
    }

    /// Appends a text with the values of its markers. A value may contain only markers below `limit`, those
    /// that were written before it: the text of a block that was captured.
    fn append(&self, text: &str, limit: usize, resolved: &mut String) -> Result<(), String> {
        let mut at = 0;
        for (index, range) in markers(text) {
            let Some(value) = self.values.get(index).filter(|_| index < limit) else { continue };
            resolved.push_str(&text[at..range.start]);
            self.append(&dedented(value, self.indents.get(&index).copied()), index, resolved)?;
            at = range.end;
        }
        resolved.push_str(&text[at..]);
        if resolved.len() > MAX_TEXT {
            return Err(format!("a text is longer than {MAX_TEXT} bytes with its values; give shorter ones"));
        }
        Ok(())
    }
}

/// Removes the indentation that a template gave to the lines of a value, as `indent(4)` does, so that they
/// are as deep as the line of the marker.
fn dedented(value: &str, indent: Option<usize>) -> String {
    let prefix = " ".repeat(indent.unwrap_or_default());
    let mut more = value.lines().skip(1).filter(|line| !line.trim().is_empty()).peekable();
    if prefix.is_empty() || more.peek().is_none() || !more.all(|line| line.starts_with(&prefix)) {
        return value.to_owned();
    }
    let lines = value.split('\n').enumerate().map(|(number, line)| match number {
        0 => line,
        _ => line.strip_prefix(&prefix).unwrap_or(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_values_are_written_as_they_are() {
        for plain in ["v1.0", "two words", "/tmp/a_b-c"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "", "null", "- x", "a: b", "a  b", " a", "a\nb", "\"", "#", "[a, b]", "---", "...", "-1", "a,b",
            "{x}",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }

    #[test]
    fn markers_are_replaced_in_texts_and_keys_once() {
        let markers = Markers::default();
        let inner = markers.written("a: b");
        let outer = markers.written(&format!("<{inner}>"));
        let mut document =
            serde_json::json!({"text": format!("x {outer}"), format!("k{inner}"): [inner.clone()]});
        markers.resolve(&mut document, "").unwrap();
        assert_eq!(document, serde_json::json!({"text": "x <a: b>", "ka: b": ["a: b"]}));
    }

    #[test]
    fn a_marker_in_a_value_never_loops() {
        let markers = Markers::default();
        let value = format!("{OPEN}0{CLOSE}{OPEN}1{CLOSE}");
        let mut document = serde_json::json!([markers.written(&value)]);
        markers.resolve(&mut document, "").unwrap();
        assert_eq!(document, serde_json::json!([value]));
    }

    #[test]
    fn indented_lines_of_a_value_are_as_deep_as_its_own_line() {
        assert_eq!(dedented("a\n    b\n\n      c", Some(4)), "a\nb\n\n  c");
        assert_eq!(dedented("a\n  b", Some(4)), "a\n  b");
    }
}
