//! Line breaks for terminals.

use unicode_width::UnicodeWidthChar as _;

/// Marks of list items. Further lines of an item are indented by the width of its mark.
const BULLETS: [&str; 3] = ["- ", "• ", "* "];

/// Breaks a line at spaces, but not within backquotes or before a percent sign. A word that is too long is not broken.
/// Escape sequences have no width.
pub(crate) fn wrapped(line: &str, width: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), line.trim_end());
    while let Some(at) = first_break(rest, width) {
        lines.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    lines.push(rest);
    lines
}

/// Breaks the lines of a text. Further lines of a line have its indent.
pub(crate) fn wrapped_text(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let content = line.trim_start_matches(' ');
        let bullet = BULLETS.iter().find(|bullet| content.starts_with(**bullet));
        let indent = line.len() - content.len() + bullet.map_or(0, |bullet| bullet.chars().count());
        let parts = wrapped(line, width);
        // The first part may use the whole width, so the others are broken again without their indent.
        let first = parts.first().copied().unwrap_or_default();
        lines.push(first.to_owned());
        let rest = line.get(first.len()..).unwrap_or_default().trim_start();
        if parts.len() > 1 {
            let rest = wrapped(rest, width.saturating_sub(indent));
            lines.extend(rest.iter().map(|part| format!("{:indent$}{part}", "")));
        }
    }
    lines.join("\n")
}

/// Returns the place of the first line break; none if the line fits or has no place for one.
fn first_break(line: &str, width: usize) -> Option<usize> {
    let has_code = line.matches('`').count().is_multiple_of(2);
    let (mut used, mut is_escape, mut is_code, mut has_text) = (0, false, false, false);
    let mut space = None;
    for (at, c) in line.char_indices() {
        match c {
            '\u{1b}' => is_escape = true,
            _ if is_escape => is_escape = !c.is_ascii_alphabetic(),
            ' ' => {
                let is_before_unit = line[at..].starts_with(" %");
                space = Some(at).filter(|_| has_text && !is_code && !is_before_unit).or(space);
                used += 1;
            }
            _ => {
                is_code ^= has_code && c == '`';
                has_text = true;
                used += c.width().unwrap_or_default();
            }
        }
        if used > width && space.is_some() {
            return space;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("a-very-long-word and more", 8), ["a-very-long-word", "and more"]);
        assert_eq!(wrapped("  keeps its indent when short", 99), ["  keeps its indent when short"]);
        assert_eq!(wrapped("ümläut ümläut", 6), ["ümläut", "ümläut"]);
        assert_eq!(wrapped("漢字 漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrapped("\u{1b}[33mone two\u{1b}[0m", 7), ["\u{1b}[33mone two\u{1b}[0m"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn commands_in_backquotes_stay_on_one_line() {
        assert_eq!(wrapped("Run `goose configure` now", 16), ["Run", "`goose configure`", "now"]);
        assert_eq!(wrapped("`a b c d e f` g", 5), ["`a b c d e f`", "g"]);
        assert_eq!(wrapped("used (9 %) here", 8), ["used", "(9 %)", "here"]);
    }

    #[test]
    fn further_lines_have_the_indent_of_the_first() {
        assert_eq!(wrapped_text("  one two\nthree", 7), "  one\n  two\nthree");
        assert_eq!(wrapped_text("- one two three", 9), "- one two\n  three");
    }
}
