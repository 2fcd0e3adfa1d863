//! [`Glob`]: a pattern with `*`, the only wildcard within a word of a rule.

/// A pattern in which `*` matches any characters, including none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Glob {
    /// Texts between the `*`s; a single piece means no `*`.
    pieces: Vec<String>,
}

impl Glob {
    pub(super) fn new(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_owned).collect() }
    }

    /// Creates a pattern in which `*` is an ordinary character.
    pub(super) fn from_literal(text: &str) -> Self {
        Self { pieces: vec![text.to_owned()] }
    }

    /// Creates a pattern from the texts between its `*`s.
    pub(super) fn from_pieces(pieces: Vec<String>) -> Self {
        Self { pieces }
    }

    /// Returns true for `*` alone.
    pub(super) fn is_any(&self) -> bool {
        self.pieces.len() == 2 && self.pieces.iter().all(String::is_empty)
    }

    /// Returns the text of a pattern without `*`.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns true if the pattern starts with this character and not with `*`.
    pub(super) fn starts_with(&self, letter: char) -> bool {
        self.pieces.first().is_some_and(|piece| piece.starts_with(letter))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return text.is_empty() };
        let Some((last, middle)) = rest.split_last() else { return text == first };
        // Fast path: nearly all texts differ in the first or the last byte.
        let differs = |piece: Option<&u8>, text: Option<&u8>| piece.is_some() && piece != text;
        let bytes = text.as_bytes();
        if differs(first.as_bytes().first(), bytes.first())
            || differs(last.as_bytes().last(), bytes.last())
            || bytes.len() < first.len() + last.len()
        {
            return false;
        }
        let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            let Some(at) = text.find(piece.as_str()) else { return false };
            text = &text[at + piece.len()..];
        }
        text.ends_with(last.as_str())
    }

    /// Like [`matches`](Self::matches), but ignores case.
    pub(super) fn matches_any_case(&self, text: &str) -> bool {
        match self.literal() {
            Some(literal) if literal.is_ascii() && text.is_ascii() => literal.eq_ignore_ascii_case(text),
            _ => self.to_lowercase().matches(&text.to_lowercase()),
        }
    }

    pub(super) fn to_lowercase(&self) -> Self {
        Self { pieces: self.pieces.iter().map(|piece| piece.to_lowercase()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_characters() {
        for (glob, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("ab*ba", "aba", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("*.rs", "größe.rs", true),
        ] {
            assert_eq!(Glob::new(glob).matches(text), expected, "{glob} {text}");
        }
    }
}
