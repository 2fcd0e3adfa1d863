//! The classes of characters that pre-tokenizers cut at.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// What a pre-tokenizer cares about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`, other than a line's end
    Space,
    /// `\r` or `\n`
    Newline,
    Other,
}

impl Kind {
    pub(super) fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Number,
            '\r' | '\n' => Self::Newline,
            _ if c.is_whitespace() => Self::Space,
            _ if c.is_ascii() => Self::Other,
            _ if is_letter(c) => Self::Letter,
            _ if c.is_numeric() => Self::Number,
            _ => Self::Other,
        }
    }

    pub(super) fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::Newline)
    }
}

/// The ranges of `\p{L}`, sorted.
static LETTERS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| match regex_syntax::parse(r"\p{L}") {
    Ok(hir) => match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => Vec::new(),
    },
    Err(_) => Vec::new(),
});

fn is_letter(c: char) -> bool {
    let after = LETTERS.partition_point(|(start, _)| *start <= c);
    after > 0 && LETTERS[after - 1].1 >= c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_unicode() {
        for (c, kind) in [
            ('é', Kind::Letter),
            ('漢', Kind::Letter),
            ('ª', Kind::Letter),
            ('\u{0301}', Kind::Other),
            ('Ⅷ', Kind::Number),
            ('²', Kind::Number),
            ('٣', Kind::Number),
            ('\u{a0}', Kind::Space),
            ('\u{3000}', Kind::Space),
            ('\u{200b}', Kind::Other),
            ('😀', Kind::Other),
            ('_', Kind::Other),
        ] {
            assert_eq!(Kind::of(c), kind, "{c:?}");
        }
    }
}
