//! Text in a drawing: its approximate width, and labels that fit into a space.
//!
//! The page does not know which font a browser has, so widths are estimated, rather too wide than too narrow.

use std::borrow::Cow;

use goose_extension::visible_line;
use goose_fs::truncate_chars;

/// Maximum length of a label or title, in characters. Longer ones are cut.
const MAX_LABEL_CHARS: usize = 200;

const ELLIPSIS: char = '…';

/// Returns a text of the data as one line without control characters, cut to a length that can be shown.
pub(super) fn clean(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible_line(&truncate_chars(&line, MAX_LABEL_CHARS)).into_owned()
}

/// Returns the text of HTML without its tags, as one line. The page never contains HTML of the data.
pub(super) fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut is_in_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_in_tag = true,
            '>' if is_in_tag => {
                is_in_tag = false;
                text.push(' ');
            }
            c if !is_in_tag => text.push(c),
            _ => {}
        }
    }
    clean(&text)
}

/// Returns the approximate width of a text in pixels.
pub(super) fn width(text: &str, font_size: f64) -> f64 {
    text.chars().map(char_width).sum::<f64>() * font_size
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')'
        | '[' | ']' | ' ' | '-' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        'A'..='Z' => 0.7,
        '\0'..='\u{24f}' => 0.61,
        '\u{300}'..='\u{36f}' => 0.0,
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' => 1.0,
        '\u{10000}'.. => 1.2,
        _ => 0.7,
    }
}

/// Returns a text that fits into a width, with an ellipsis where it was cut. It is empty where not even two characters fit.
pub(super) fn fit(text: &str, font_size: f64, room: f64) -> Cow<'_, str> {
    if width(text, font_size) <= room {
        return Cow::Borrowed(text);
    }
    let mut left = room - char_width(ELLIPSIS) * font_size;
    let mut kept = String::new();
    for c in text.chars() {
        left -= char_width(c) * font_size;
        if left < 0.0 {
            break;
        }
        kept.push(c);
    }
    let kept = kept.trim_end();
    if kept.chars().count() < 2 { Cow::Borrowed("") } else { Cow::Owned(format!("{kept}{ELLIPSIS}")) }
}

/// Breaks a text into at most `max_lines` lines that fit into a width. What does not fit is cut.
pub(super) fn wrap(text: &str, font_size: f64, room: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut line = word.to_owned();
        let is_last = lines.len() + 1 == max_lines;
        while let Some(next) = words.peek() {
            if !is_last
                && width(&line, font_size) + width(next, font_size) + char_width(' ') * font_size > room
            {
                break;
            }
            line = line + " " + next;
            words.next();
        }
        lines.push(fit(&line, font_size, room).into_owned());
    }
    lines
}

/// Returns a number for people: thousands separated, no more decimals than it needs.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-3..1e15).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = if magnitude >= 1000.0 { 2 } else { 4 };
    let text = format!("{magnitude:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, fraction) =
        text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 && text != "0" { "-" } else { "" };
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// Returns a share as a percentage.
pub(super) fn percent(value: f64, total: f64) -> String {
    let percent = if total > 0.0 { value / total * 100.0 } else { 0.0 };
    if percent >= 10.0 || percent == 0.0 { format!("{percent:.0}%") } else { format!("{percent:.1}%") }
}

/// Returns a count with its noun: `1 node`, `2 nodes`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let table = [
            (0.0, "0"),
            (-0.0, "0"),
            (1234567.0, "1,234,567"),
            (-1234.5, "-1,234.5"),
            (0.125, "0.125"),
            (999.0, "999"),
            (1e-9, "1.000e-9"),
            (1e15, "1.000e15"),
        ];
        for (value, expected) in table {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn labels_fit() {
        assert_eq!(fit("Energy", 12.0, 200.0), "Energy");
        let cut = fit("A rather long label", 12.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 60.0, "{cut}");
        assert_eq!(fit("Energy", 12.0, 10.0), "");
        assert_eq!(wrap("one two three four", 10.0, 60.0, 2), ["one two", "three four"]);
    }

    #[test]
    fn text_of_the_data_is_one_safe_line() {
        assert_eq!(clean("a\n\t b\u{202e}"), "a b\\u{202e}");
        assert_eq!(clean(&"x".repeat(500)).chars().count(), MAX_LABEL_CHARS + 1);
        assert_eq!(without_tags("<b>Ham</b>burg<br>port <script"), "Ham burg port");
    }
}
