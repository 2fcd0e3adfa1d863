//! The way Mistral's later vocabularies cut: words are also cut where capitals begin.
//!
//! ```text
//! X = letters but a-z, Y = letters but A-Z
//! [^\r\n\p{L}\p{N}]?X*Y+|[^\r\n\p{L}\p{N}]?X+Y*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```

use super::classes::Kind;
use super::split::{first_kind, lines_or_blanks, run};

/// How long the next piece is.
pub(super) fn tekken_len(text: &str) -> usize {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let rest = chars.as_str();
    match Kind::of(first) {
        Kind::Letter => word(text),
        Kind::Space | Kind::Other if first_kind(rest) == Some(Kind::Letter) => first.len_utf8() + word(rest),
        Kind::Number => first.len_utf8(),
        Kind::Other => symbols(text),
        Kind::Space if first == ' ' && first_kind(rest) == Some(Kind::Other) => 1 + symbols(rest),
        Kind::Space | Kind::Newline => lines_or_blanks(text),
    }
}

/// `X*Y+|X+Y*`: as many `X` as there are, then `Y`; where no `Y` follows, the last `X` that is one too ends the word.
fn word(text: &str) -> usize {
    let letters = &text[..run(text, |kind| kind == Kind::Letter)];
    let upper = letters.find(|c: char| c.is_ascii_lowercase()).unwrap_or(letters.len());
    if upper < letters.len() {
        let lower = letters[upper..].find(|c: char| c.is_ascii_uppercase());
        return lower.map_or(letters.len(), |len| upper + len);
    }
    let both = letters.char_indices().rfind(|(_, c)| !c.is_ascii_uppercase());
    both.map_or(letters.len(), |(at, c)| at + c.len_utf8())
}

fn symbols(text: &str) -> usize {
    let len = run(text, |kind| kind == Kind::Other);
    let after = text[len..].find(|c| !matches!(c, '\r' | '\n' | '/'));
    after.map_or(text.len(), |after| len + after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_capitals_and_digits_stand_alone() {
        let cut = |mut text: &'static str| {
            let mut pieces = Vec::new();
            while !text.is_empty() {
                let (piece, rest) = text.split_at(tekken_len(text));
                pieces.push(piece);
                text = rest;
            }
            pieces
        };
        assert_eq!(cut("HTTPServer getName"), ["HTTPServer", " get", "Name"]);
        assert_eq!(cut("fooBarBAZ 42"), ["foo", "Bar", "BAZ", " ", "4", "2"]);
        assert_eq!(cut("ÀBC éA"), ["À", "BC", " é", "A"]);
        assert_eq!(cut("a://b\n\n x//\n"), ["a", "://", "b", "\n\n", " x", "//\n"]);
        assert_eq!(cut("it's  ok  "), ["it", "'s", " ", " ok", "  "]);
    }
}
