//! Results that stay small: a text is cut at the end of a line, a line after so many characters, and each says so.

use std::borrow::Cow;

/// The text, or as many of its first lines as fit, with a remark about it.
pub(super) fn cut(mut text: String, max_bytes: usize, remark: &str) -> String {
    if text.len() > max_bytes {
        let end = text.floor_char_boundary(max_bytes);
        let end = text[..end].rfind('\n').unwrap_or(end);
        text.truncate(end);
        text.push('\n');
        text.push_str(remark);
    }
    text
}

/// The line, or its start and a sign that it goes on.
pub(super) fn cut_line(line: &str, max_chars: usize) -> Cow<'_, str> {
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &line[..end])),
        None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_says_that_it_goes_on() {
        assert_eq!(cut_line("äöü", 3), "äöü");
        assert_eq!(cut_line("äöü", 2), "äö…");
    }

    #[test]
    fn whole_lines_stay() {
        assert_eq!(cut("a\nb\n".to_owned(), 4, "[cut]"), "a\nb\n");
        assert_eq!(cut("a\nbcd\n".to_owned(), 4, "[cut]"), "a\n[cut]");
        assert_eq!(cut("ääää".to_owned(), 3, "[cut]"), "ä\n[cut]");
    }
}
