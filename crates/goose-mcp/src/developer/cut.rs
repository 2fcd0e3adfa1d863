//! Results that stay small: a text is cut at the end of a line, and says so.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_stay() {
        assert_eq!(cut("a\nb\n".to_owned(), 4, "[cut]"), "a\nb\n");
        assert_eq!(cut("a\nbcd\n".to_owned(), 4, "[cut]"), "a\n[cut]");
        assert_eq!(cut("ääää".to_owned(), 3, "[cut]"), "ä\n[cut]");
    }
}
