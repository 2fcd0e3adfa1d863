//! Escaping of untrusted text: characters that move the cursor, hide or reorder text are shown as escapes.

use std::{borrow::Cow, fmt::Write as _};

/// Escapes misleading characters, except line breaks and tabs.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_misleading(c) && c != '\n' && c != '\t')
}

/// Escapes prose, in which joiners are legitimate: between letters of Persian or Hindi, or parts of an emoji. Must not be
/// used for text that the user compares or approves.
pub(crate) fn prose(text: &str) -> Cow<'_, str> {
    if !text.contains(is_joiner) {
        return self::text(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins =
            is_joiner(c) && before.is_some_and(can_join) && chars.peek().copied().is_some_and(can_join);
        if is_misleading(c) && c != '\n' && c != '\t' && !joins {
            safe.extend(escape(c));
        } else {
            safe.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(safe)
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns true if a joiner next to this character can be legitimate.
fn can_join(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !is_misleading(c)
}

/// Escapes text for a single line, including line breaks and tabs.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_misleading)
}

/// Escapes JSON text with JSON escapes, so that its value is unchanged.
pub(crate) fn json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' || !is_misleading(c) {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

fn escaped(text: &str, is_unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unwanted(c) {
            safe.extend(escape(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Escapes `\n`, `\t` and `\r` by name, and everything else by its code point.
fn escape(c: char) -> Box<dyn Iterator<Item = char>> {
    match c {
        '\n' | '\t' | '\r' => Box::new(c.escape_default()),
        other => Box::new(other.escape_unicode()),
    }
}

/// Returns true for characters that are invisible or change how other text is shown.
fn is_misleading(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, and letters that are blank.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            // Direction of writing.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Without width, and invisible operators.
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{feff}'
            // Other line breaks, and annotations.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
            // Tags, and variations of nothing.
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joiners_stay_where_they_belong_to_the_writing() {
        let cases = [
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧"),
            ("pass\u{200d}word", "pass\\u{200d}word"),
            ("👨\u{200d}\u{200d}👩 \u{200c}\u{1b}[2J", "👨\\u{200d}\\u{200d}👩 \\u{200c}\\u{1b}[2J"),
        ];
        for (given, shown) in cases {
            assert_eq!(prose(given), shown);
        }
    }

    #[test]
    fn what_could_mislead_is_escaped() {
        let cases = [
            ("plain text, ümläute, 漢字, 🪿", "plain text, ümläute, 漢字, 🪿"),
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("over\rwritten", "over\\rwritten"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}txt.exe", "abc\\u{202e}txt.exe"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
        ];
        for (given, shown) in cases {
            assert_eq!(text(given), shown);
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn json_keeps_its_value() -> serde_json::Result<()> {
        let value = serde_json::json!({ "text": "\u{1b}[2J\u{7f}\u{202e}\u{e0041}é\n" });
        let shown = json(&serde_json::to_string_pretty(&value)?);
        assert!(shown.chars().all(|c| c == '\n' || !is_misleading(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown)?, value);
        Ok(())
    }
}
