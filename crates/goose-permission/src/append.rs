//! Adds a rule to the text of `permission.yaml` without changing anything else in it.

use super::rule::Rule;

/// Indentation of a new list.
const INDENT: &str = "  ";

/// Returns the text with a rule added at the end of `rules:`, or `None` if the list is not in block style.
/// The caller parses the result and checks it.
pub(super) fn rule(text: &str, rule: &Rule) -> Option<String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push('\n');
    }
    let newline = if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let Some(key) = lines.iter().position(|line| line.starts_with("rules:")) else {
        lines.push(format!("rules:{newline}{}", item(rule, INDENT, newline)));
        return Some(lines.concat());
    };
    lines[key] = opened(&lines[key])?;
    let end = lines[key + 1..]
        .iter()
        .position(|line| !belongs_to_list(line))
        .map_or(lines.len(), |at| key + 1 + at);
    let list = &lines[key + 1..end];
    let indent = list.iter().find_map(|line| {
        let item = line.trim_start_matches(' ');
        item.starts_with('-').then(|| line[..line.len() - item.len()].to_owned())
    });
    let last = list.iter().rposition(|line| !is_blank_or_comment(line)).map_or(key + 1, |at| key + 2 + at);
    lines.insert(last, item(rule, indent.as_deref().unwrap_or(INDENT), newline));
    Some(lines.concat())
}

/// Returns the line of the key, ready for a list below it.
fn opened(line: &str) -> Option<String> {
    let value = line.strip_prefix("rules:")?;
    let (value, rest) = value.split_at(value.find(" #").unwrap_or(value.trim_end().len()));
    match value.trim() {
        "" => Some(line.to_owned()),
        empty @ ("[]" | "~" | "null") => {
            Some(format!("rules:{}{rest}", value.trim_start().strip_prefix(empty)?))
        }
        _ => None,
    }
}

/// Returns true for items, their continuation lines, and the blank lines and comments between them.
fn belongs_to_list(line: &str) -> bool {
    line.starts_with([' ', '-']) && !line.starts_with("---") || is_blank_or_comment(line)
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn item(rule: &Rule, indent: &str, newline: &str) -> String {
    let effect = rule.effect().as_str();
    let mut item = format!("{indent}- {effect}: {}{newline}", scalar(rule.text()));
    if let Some(fingerprint) = rule.fingerprint() {
        item.push_str(&format!("{indent}  tool: {}{newline}", scalar(fingerprint)));
    }
    item
}

/// Formats a text as a YAML scalar, quoted where necessary.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./*~=+@".contains(c);
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    match starts_well && text.chars().all(is_plain) && text.trim() == text {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}
