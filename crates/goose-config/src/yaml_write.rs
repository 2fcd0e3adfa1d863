//! Values as YAML text, in the style of the lines around them.

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::ScalarStyle;

use crate::serde_repr::FIELDS;

/// Indentation of a mapping below its key.
pub(crate) const STEP: usize = 2;

/// Returns whether a value is written as a block of lines.
pub(crate) fn is_large(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Words that YAML does not read as text.
const SPECIAL_WORDS: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"];

/// Writes a text as a scalar: plain if YAML cannot read it as anything else, or else quoted.
pub(crate) fn text(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_-./@+".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(inside)
        && !SPECIAL_WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a value on one line.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", text(key), flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// Writes `key: value` as lines of a block, without the last line break.
pub(crate) fn block(key: &str, value: &Value, indent: usize, line_end: &str) -> String {
    let start = format!("{:indent$}{}:", "", text(key));
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            format!("{start}{line_end}{}", block_entries(entries, indent + STEP, line_end))
        }
        Value::Array(items) if !items.is_empty() => {
            let lines = items.iter().map(|item| format!("{:indent$}- {}", "", flow(item)));
            let lines: Vec<String> = lines.collect();
            format!("{start}{line_end}{}", lines.join(line_end))
        }
        other => format!("{start} {}", flow(other)),
    }
}

/// Writes the entries of a mapping as lines of a block, without the last line break. The fields of an
/// extension come in their usual order.
pub(crate) fn block_entries(entries: &Map<String, Value>, indent: usize, line_end: &str) -> String {
    let mut sorted: Vec<_> = entries.iter().collect();
    let rank = |key: &str| FIELDS.iter().position(|field| *field == key).unwrap_or(FIELDS.len());
    sorted.sort_by_key(|(key, _)| (rank(key), *key));
    let lines: Vec<String> =
        sorted.into_iter().map(|(key, value)| block(key, value, indent, line_end)).collect();
    lines.join(line_end)
}

/// Writes a text in the quotes of the text that it replaces.
pub(crate) fn text_like(style: ScalarStyle, string: &str) -> String {
    match style {
        ScalarStyle::SingleQuoted if !string.contains(char::is_control) => {
            format!("'{}'", string.replace('\'', "''"))
        }
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => quoted(string),
        _ => text(string),
    }
}
