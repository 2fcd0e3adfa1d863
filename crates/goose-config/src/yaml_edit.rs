//! Edits of YAML text: one path of keys is set or removed, and everything else, including comments, stays
//! byte for byte. The result is parsed again, so an edit either has the intended meaning or is refused.

use std::{marker::PhantomData, ops::Range};

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::ScalarStyle;

use crate::{
    yaml,
    yaml_tree::{self, Node, NodeEntry, NodeKind, TreeError},
    yaml_write::{STEP, block, block_entries, flow, is_large, text, text_like},
};

/// Maximum length of a path.
const MAX_KEYS: usize = 64;

/// Reason why an edit is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditError {
    /// The text cannot be parsed. The fields are the position and the problem.
    Malformed(Option<(u64, u64)>, String),
    /// The text can be parsed, but the edit would change something else. The field says why.
    Refused(String),
}

/// Reason why a change cannot be made in place.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("there is no such key")]
    NoKey,
    #[error("there is a value where '{0}' needs a mapping")]
    NoMapping(String),
    #[error("its key is written in an unusual way")]
    UnusualKey,
    #[error("it shares its line with something else")]
    SharedLine,
    #[error("the way it is written does not allow it")]
    OtherMeaning,
}

/// Sets the value at a path of keys. If both the old and the new value are mappings, only the differences are
/// written.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let mut expected = values(text)?;
    match (at(&expected, path), value) {
        (Some(old), new) if old == new => return Ok(text.to_owned()),
        (Some(Value::Object(old)), Value::Object(new))
            if !old.is_empty() && !new.is_empty() && path.len() < MAX_KEYS =>
        {
            return set_each(text, path, old, new);
        }
        _ => {}
    }
    put(&mut expected, path, value).map_err(|why| refused(path, &why))?;
    let after = splice_set(text, path, value).map_err(|why| refused(path, &why))?;
    checked(after, &expected, path)
}

/// Removes the key at a path, if it exists.
pub(crate) fn remove(text: &str, path: &[&str]) -> Result<String, EditError> {
    let mut expected = values(text)?;
    if at(&expected, path).is_none() {
        return Ok(text.to_owned());
    }
    if let Some((last, before)) = path.split_last()
        && let Some(Value::Object(entries)) = at_mut(&mut expected, before)
    {
        entries.remove(*last);
    }
    let after = splice_remove(text, path).map_err(|why| refused(path, &why))?;
    checked(after, &expected, path)
}

fn set_each(
    text: &str,
    path: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for (key, value) in new {
        text = set(&text, &[path, &[key.as_str()]].concat(), value)?;
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        text = remove(&text, &[path, &[key.as_str()]].concat())?;
    }
    Ok(text)
}

/// Returns the new text if it has the expected meaning.
fn checked(after: String, expected: &Value, path: &[&str]) -> Result<String, EditError> {
    match values(&after) {
        Ok(found) if normal(&found) == normal(expected) => Ok(after),
        _ => Err(refused(path, &Obstacle::OtherMeaning)),
    }
}

fn refused(path: &[&str], why: &Obstacle) -> EditError {
    EditError::Refused(format!(
        "'{}' cannot be changed without affecting the rest ({why}); change it by hand",
        path.join(".")
    ))
}

/// Returns the values of a document. An empty one is an empty mapping.
fn values(text: &str) -> Result<Value, EditError> {
    let read = yaml::read(text, PhantomData::<Option<Value>>);
    match read.map_err(|error| EditError::Malformed(yaml::position(&error), yaml::message(&error)))? {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(mapping @ Value::Object(_)) => Ok(mapping),
        Some(_) => {
            Err(EditError::Malformed(Some((1, 1)), "expected a mapping ('name: value' lines)".to_owned()))
        }
    }
}

/// Replaces empty mappings by null: a block whose last entry is removed becomes null.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(entries) if entries.is_empty() => Value::Null,
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), normal(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        scalar => scalar.clone(),
    }
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(*key))
}

/// Puts a value at a path, and creates the mappings on the way.
fn put(root: &mut Value, path: &[&str], value: &Value) -> Result<(), Obstacle> {
    let mut place = root;
    for key in path {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(entries) = place else {
            return Err(Obstacle::NoMapping((*key).to_owned()));
        };
        place = entries.entry((*key).to_owned()).or_insert(Value::Null);
    }
    *place = value.clone();
    Ok(())
}

/// Returns the mapping at a path, if there is one.
pub(crate) fn mapping(text: &str, path: &[&str]) -> Result<Option<Map<String, Value>>, EditError> {
    Ok(at(&values(text)?, path).and_then(Value::as_object).cloned())
}

/// Returns the text with a value at a path of keys. Missing mappings on the way are created.
fn splice_set(text: &str, path: &[&str], value: &Value) -> Result<String, Obstacle> {
    let Some(root) = yaml_tree::parse(text)?.filter(|root| !root.is_unwritten()) else {
        return Ok(Splice::new(text).append(&nested(path, value)));
    };
    let splice = Splice::new(text);
    let (mut node, mut rest) = (&root, path);
    while let Some((key, deeper)) = rest.split_first() {
        let Some(entry) = node.entry(key) else {
            return splice.insert(node, key, &within(deeper, value));
        };
        match (deeper.is_empty(), splice.is_nothing(&entry.value)) {
            (true, _) => return splice.replace(node, entry, value),
            (false, true) => return splice.replace(node, entry, &within(deeper, value)),
            (false, false) => (node, rest) = (&entry.value, deeper),
        }
    }
    Err(Obstacle::NoKey)
}

/// Returns the text without the key at a path, which must exist.
fn splice_remove(text: &str, path: &[&str]) -> Result<String, Obstacle> {
    let root = yaml_tree::parse(text)?.ok_or(Obstacle::NoKey)?;
    let (last, before) = path.split_last().ok_or(Obstacle::NoKey)?;
    let mut node = &root;
    for key in before {
        node = &node.entry(key).ok_or(Obstacle::NoKey)?.value;
    }
    let entries = node.entries().ok_or(Obstacle::NoKey)?;
    let index = entries.iter().position(|entry| entry.key.as_deref() == Some(last));
    Splice::new(text).remove(node, entries, index.ok_or(Obstacle::NoKey)?)
}

/// Wraps a value in mappings with one key each.
fn nested(path: &[&str], value: &Value) -> Map<String, Value> {
    match path.split_first() {
        Some((key, deeper)) => Map::from_iter([((*key).to_owned(), within(deeper, value))]),
        None => Map::new(),
    }
}

fn within(path: &[&str], value: &Value) -> Value {
    if path.is_empty() { value.clone() } else { Value::Object(nested(path, value)) }
}

struct Splice<'t> {
    text: &'t str,
    line_end: &'static str,
}

impl<'t> Splice<'t> {
    fn new(text: &'t str) -> Self {
        let first = text.find('\n').and_then(|at| text.get(..at));
        let line_end = if first.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" };
        Self { text, line_end }
    }

    /// Returns whether a value is missing, null or an empty mapping.
    fn is_nothing(&self, node: &Node) -> bool {
        let is_word = || {
            let written = self.text.get(node.range.clone()).unwrap_or_default();
            matches!(node.kind, NodeKind::Scalar(ScalarStyle::Plain))
                && matches!(written, "~" | "null" | "Null" | "NULL")
        };
        node.is_unwritten()
            || is_word()
            || matches!(&node.kind, NodeKind::FlowMapping(entries) if entries.is_empty())
    }

    fn append(&self, entries: &Map<String, Value>) -> String {
        let lines = block_entries(entries, 0, self.line_end);
        self.put_line(self.text.len(), &lines)
    }

    fn insert(&self, mapping: &Node, key: &str, value: &Value) -> Result<String, Obstacle> {
        match &mapping.kind {
            NodeKind::BlockMapping(entries) => {
                let first = entries.first().ok_or_else(|| Obstacle::NoMapping(key.to_owned()))?;
                let indent = self.indent_of(first.key_range.start)?;
                let lines = block(key, value, indent, self.line_end);
                let end = self.past_comments(self.line_end_after(mapping.range.end), indent);
                Ok(self.put_line(end, &lines))
            }
            NodeKind::FlowMapping(entries) => {
                let (at, comma) = match entries.last() {
                    Some(last) => (last.value.range.end.max(last.key_range.end), ", "),
                    None => (mapping.range.start + 1, ""),
                };
                Ok(self.put(at..at, &format!("{comma}{}: {}", text(key), flow(value))))
            }
            _ => Err(Obstacle::NoMapping(key.to_owned())),
        }
    }

    /// Replaces a value.
    fn replace(&self, mapping: &Node, entry: &NodeEntry, value: &Value) -> Result<String, Obstacle> {
        let old = &entry.value;
        let is_block = matches!(mapping.kind, NodeKind::BlockMapping(_));
        if is_block && is_large(value) {
            return self.replace_by_block(entry, value);
        }
        let behind_colon = || self.colon_after(entry).map(|at| at..at.max(old.range.end));
        match (&old.kind, value) {
            (_, _) if old.is_unwritten() => {
                let at = self.colon_after(entry)?;
                Ok(self.put(at..at, &format!(" {}", flow(value))))
            }
            (NodeKind::Scalar(ScalarStyle::Literal | ScalarStyle::Folded) | NodeKind::BlockMapping(_), _) => {
                Ok(self.put(behind_colon()?, &format!(" {}", flow(value))))
            }
            (NodeKind::Sequence(_), _) if !self.is_flow(old) => {
                Ok(self.put(behind_colon()?, &format!(" {}", flow(value))))
            }
            (NodeKind::Scalar(style), Value::String(string)) => {
                Ok(self.put(old.range.clone(), &text_like(*style, string)))
            }
            _ => Ok(self.put(old.range.clone(), &flow(value))),
        }
    }

    /// Replaces a value by lines below its key. A comment behind the old value stays.
    fn replace_by_block(&self, entry: &NodeEntry, value: &Value) -> Result<String, Obstacle> {
        let indent = self.indent_of(entry.key_range.start)?;
        let colon = self.colon_after(entry)?;
        let lines = match value {
            Value::Object(entries) => block_entries(entries, indent + STEP, self.line_end),
            list => {
                let lines = block("x", list, indent, self.line_end);
                lines.split_once(self.line_end).map(|(_, items)| items.to_owned()).unwrap_or_default()
            }
        };
        let old = colon..colon.max(entry.value.range.end);
        let without = self.put(old, "");
        let below = Splice { text: &without, line_end: self.line_end };
        Ok(below.put_line(below.line_end_after(colon), &lines))
    }

    fn remove(&self, mapping: &Node, entries: &[NodeEntry], index: usize) -> Result<String, Obstacle> {
        let entry = entries.get(index).ok_or(Obstacle::NoKey)?;
        let end_of = |entry: &NodeEntry| entry.value.range.end.max(entry.key_range.end);
        if matches!(mapping.kind, NodeKind::BlockMapping(_)) {
            let indent = self.indent_of(entry.key_range.start)?;
            let start = self.line_start(entry.key_range.start);
            let end = self.past_comments(self.line_end_after(end_of(entry)), indent + 1);
            return Ok(self.put(start..end, ""));
        }
        let before = index.checked_sub(1).and_then(|index| entries.get(index));
        let range = match (entries.get(index + 1), before) {
            (Some(next), _) => entry.key_range.start..next.key_range.start,
            (None, Some(before)) => end_of(before)..end_of(entry),
            (None, None) => entry.key_range.start..end_of(entry),
        };
        Ok(self.put(range, ""))
    }

    fn is_flow(&self, node: &Node) -> bool {
        self.text.get(node.range.clone()).is_some_and(|written| written.starts_with('['))
    }

    /// Returns the position behind the colon of an entry.
    fn colon_after(&self, entry: &NodeEntry) -> Result<usize, Obstacle> {
        let rest = self.text.get(entry.key_range.end..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest.get(spaces..).is_some_and(|rest| rest.starts_with(':')) {
            return Ok(entry.key_range.end + spaces + 1);
        }
        Err(Obstacle::UnusualKey)
    }

    /// Returns the column of a position that only spaces precede on its line.
    fn indent_of(&self, at: usize) -> Result<usize, Obstacle> {
        let before = self.text.get(self.line_start(at)..at).unwrap_or_default();
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        if before.bytes().all(|byte| byte == b' ') {
            return Ok(before.len());
        }
        Err(Obstacle::SharedLine)
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
    }

    /// Returns the start of the next line, or the end of the text.
    fn line_end_after(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|rest| rest.find('\n')).map_or(self.text.len(), |found| at + found + 1)
    }

    /// Returns the position behind the following comment lines that are indented at least this far: they
    /// belong to the lines before them.
    fn past_comments(&self, at: usize, indent: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let belongs = |line: &&str| {
            let comment = line.trim_start_matches(' ');
            comment.starts_with('#') && line.len() - comment.len() >= indent
        };
        at + rest.split_inclusive('\n').take_while(belongs).map(str::len).sum::<usize>()
    }

    fn put(&self, range: Range<usize>, new: &str) -> String {
        let (before, after) = (self.text.get(..range.start), self.text.get(range.end..));
        [before.unwrap_or_default(), new, after.unwrap_or_default()].concat()
    }

    /// Inserts lines at the start of a line.
    fn put_line(&self, at: usize, lines: &str) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let is_open = !before.is_empty() && !before.ends_with('\n') && before != "\u{feff}";
        let break_before = if is_open { self.line_end } else { "" };
        self.put(at..at, &format!("{break_before}{lines}{}", self.line_end))
    }
}
