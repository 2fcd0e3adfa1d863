//! Snippets: the part of a text around the words of a query.

/// Divisor for the part of a snippet before the word: a third.
const BEFORE: usize = 3;

/// Returns about `max_chars` characters around the first word that begins with one of these, or the beginning
/// of the text. The words are in lower case, the most important first.
pub(super) fn snippet(text: &str, words: &[&str], max_chars: usize) -> String {
    let at = words.iter().find_map(|word| position(text, word)).unwrap_or(0);
    let start = back(text, at, max_chars / BEFORE);
    let end = text[start..].char_indices().nth(max_chars).map_or(text.len(), |(more, _)| start + more);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", text[start..end].trim())
}

/// Returns the position of the first word that begins like this.
fn position(text: &str, beginning: &str) -> Option<usize> {
    let mut start = 0;
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let mut letters = word.chars().flat_map(char::to_lowercase);
        if beginning.chars().all(|letter| letters.next() == Some(letter)) {
            return Some(start);
        }
        start += word.len();
    }
    None
}

/// Returns the position this many characters before, moved to the beginning of a word.
fn back(text: &str, at: usize, chars: usize) -> usize {
    let start = text[..at].char_indices().rev().nth(chars).map_or(0, |(start, _)| start);
    if start == 0 {
        return 0;
    }
    text[start..at].find(char::is_whitespace).map_or(start, |space| start + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_shows_the_word_in_its_context() {
        let long = format!("{}needle {}", "hay ".repeat(50), "straw ".repeat(50));
        let found = snippet(&long, &["needle"], 30);
        assert_eq!(found, "…hay hay needle straw straw st…");
        assert_eq!(snippet("A Needle, found", &["nee"], 100), "A Needle, found");
        assert_eq!(snippet("Ärger über Öl", &["öl"], 100), "Ärger über Öl");
        assert_eq!(snippet(&"ä".repeat(500), &["needle"], 10), format!("{}…", "ä".repeat(10)));
        assert_eq!(snippet("", &["needle"], 10), "");
    }
}
