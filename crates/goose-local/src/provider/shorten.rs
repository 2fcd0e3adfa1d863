//! Long texts, with their beginning and their end.

/// The text, cut to about `most` characters: two thirds from its beginning, one from its end, with a note in between.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let Some(parts) = goose_fs::head_tail_chars(text, most - most / 3, most / 3) else {
        return text.to_owned();
    };
    let (start, end) = (parts.head, parts.tail);
    // Whole lines are easier to read, where there are any.
    let start = start.rfind('\n').filter(|at| *at > start.len() / 2).map_or(start, |at| &start[..at]);
    let end = end.find('\n').filter(|at| *at < end.len() / 2).map_or(end, |at| &end[at + 1..]);
    let left_out = text.chars().count() - start.chars().count() - end.chars().count();
    format!("{start}\n[… {left_out} characters left out …]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_keep_both_ends() {
        assert_eq!(shortened("héllo", 5), "héllo");
        let lines: String = (1..=100).map(|line| format!("line {line} ä\n")).collect();
        let short = shortened(&lines, 200);
        assert!(short.starts_with("line 1 ä\n") && short.ends_with("line 100 ä\n"), "{short}");
        assert!(short.contains("characters left out") && short.chars().count() < 260, "{short}");
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        let short = shortened(&"é".repeat(1000), 90);
        assert!(short.contains("[… 910 characters left out …]"), "{short}");
    }
}
