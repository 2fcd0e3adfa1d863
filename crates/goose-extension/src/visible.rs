//! Text of others with what cannot be seen made visible: control characters, changes of the direction of writing, and
//! the invisible copies of letters ("tags") in which instructions can be hidden from people but not from models.
//!
//! Each such character is written as its code, `\u{202e}`. Line ends and tabs stay, and so do joiners and marks where a
//! script needs them: in an emoji, between letters of Persian or Hindi, beside Arabic or Hebrew.

use std::{borrow::Cow, fmt::Write as _};

/// Returns a text with its invisible and misleading characters made visible. Not for text that is used as it is, such
/// as the content of a file that is to be edited.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, belongs)
}

/// As [`visible`], and without joiners and marks: for text that people compare or approve, character by character.
pub fn visible_exactly(text: &str) -> Cow<'_, str> {
    escaped(text, |c, _, _| matches!(c, '\n' | '\t'))
}

/// As [`visible_exactly`], and without line ends and tabs: for a single line.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_, _, _| false)
}

/// Escapes the misleading characters that are not kept, given the characters before and after them.
fn escaped(text: &str, is_kept: impl Fn(char, Option<char>, Option<char>) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| is_misleading(c) && !is_kept(c, None, None)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_misleading(c) && !is_kept(c, before, chars.peek().copied()) {
            escape(c, &mut safe);
        } else {
            safe.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(safe)
}

/// Writes `\n`, `\t` and `\r` by name, and everything else by its code point.
fn escape(c: char, safe: &mut String) {
    // Writing into a string cannot fail.
    let _ = match c {
        '\n' | '\t' | '\r' => write!(safe, "{}", c.escape_default()),
        other => write!(safe, "{}", other.escape_unicode()),
    };
}

/// Returns true if a character between these two is a part of the writing.
fn belongs(c: char, before: Option<char>, after: Option<char>) -> bool {
    let all = |is_fit: fn(char) -> bool| before.is_some_and(is_fit) && after.is_some_and(is_fit);
    let any = |is_fit: fn(char) -> bool| before.is_some_and(is_fit) || after.is_some_and(is_fit);
    match c {
        '\n' | '\t' => true,
        '\r' => after == Some('\n'),
        '\u{200c}' | '\u{200d}' => all(can_join),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => any(is_right_to_left),
        _ => false,
    }
}

/// Returns true if a joiner next to this character can be legitimate.
fn can_join(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !is_misleading(c)
}

/// Returns true for letters that are written from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Returns true for characters that are invisible or change how other text is shown.
pub fn is_misleading(c: char) -> bool {
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
    fn what_could_mislead_is_shown_as_its_code() {
        let cases = [
            ("plain text, ümläute, 漢字, 🪿", "plain text, ümläute, 漢字, 🪿"),
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("two\r\nlines", "two\r\nlines"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("over\rwritten", "over\\rwritten"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}txt.exe", "abc\\u{202e}txt.exe"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
        ];
        for (given, shown) in cases {
            assert_eq!(visible(given), shown);
            assert_eq!(visible(shown), shown, "twice is as once");
        }
    }

    #[test]
    fn joiners_and_marks_stay_where_they_belong_to_the_writing() {
        let cases = [
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("שלום\u{200f}!", "שלום\u{200f}!"),
            ("مرحبا بالعالم", "مرحبا بالعالم"),
            ("pass\u{200d}word", "pass\\u{200d}word"),
            ("left\u{200f}right", "left\\u{200f}right"),
            ("👨\u{200d}\u{200d}👩 \u{200c}\u{1b}[2J", "👨\\u{200d}\\u{200d}👩 \\u{200c}\\u{1b}[2J"),
        ];
        for (given, shown) in cases {
            assert_eq!(visible(given), shown);
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(visible_line("a\nb\tc\r\n"), "a\\nb\\tc\\r\\n");
        assert_eq!(visible_exactly("a\nb 👨\u{200d}👩"), "a\nb 👨\\u{200d}👩");
    }
}
