//! Pre-tokenizers: how a text is cut into words before pairs are merged.
//!
//! Each is written as what its pattern means: from a place in the text, the first alternative that matches decides how
//! long the next piece is. Patterns, as their makers publish them:
//!
//! ```text
//! gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//! llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! qwen2   llama3, with single digits
//! smollm  digits first, each alone; what is between them as gpt2
//! tekken  see `tekken.rs`
//! ```
//!
//! A name that is not known is cut as gpt2 does: every byte-level vocabulary can write every text whatever the cuts are,
//! and cuts that the model has not often seen cost some quality, where a refusal would cost the model.

use super::classes::Kind;
use super::tekken::tekken_len;

/// A way to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitter {
    Gpt2,
    DigitsThenGpt2,
    /// With so many digits together.
    Modern {
        digits: usize,
    },
    Tekken,
}

impl Splitter {
    /// The one that a file calls `name`.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "qwen2" | "deepseek-r1-qwen" | "megrez" | "stablelm2" => Self::Modern { digits: 1 },
            "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "pixtral" | "smaug-bpe" | "dbrx" => {
                Self::Modern { digits: 3 }
            }
            "smollm" | "starcoder" | "refact" | "codeshell" | "command-r" => Self::DigitsThenGpt2,
            "tekken" => Self::Tekken,
            _ => Self::Gpt2,
        }
    }

    /// Whether a word that is a token is taken as a whole, without looking at the merges.
    pub(super) fn takes_whole_words(self) -> bool {
        matches!(self, Self::Modern { digits: 3 } | Self::Tekken)
    }

    /// Calls `piece` with each piece in turn; together they are the text.
    pub(super) fn split<'a>(self, text: &'a str, piece: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Gpt2 => split_by(text, piece, gpt2_len),
            Self::Tekken => split_by(text, piece, tekken_len),
            Self::Modern { digits } => split_by(text, piece, |rest| modern_len(rest, digits)),
            Self::DigitsThenGpt2 => {
                for part in text.split_inclusive(is_number) {
                    let digit = part.chars().next_back().filter(|c| is_number(*c)).map_or(0, char::len_utf8);
                    let (before, digit) = part.split_at(part.len() - digit);
                    split_by(before, piece, gpt2_len);
                    if !digit.is_empty() {
                        piece(digit);
                    }
                }
            }
        }
    }
}

fn is_number(c: char) -> bool {
    Kind::of(c) == Kind::Number
}

fn split_by<'a>(text: &'a str, piece: &mut dyn FnMut(&'a str), len: impl Fn(&str) -> usize) {
    let mut rest = text;
    while !rest.is_empty() {
        let (next, after) = rest.split_at(len(rest));
        piece(next);
        rest = after;
    }
}

/// How long the run of characters of which `wanted` holds is, at the beginning.
pub(super) fn run(text: &str, wanted: impl Fn(Kind) -> bool) -> usize {
    text.char_indices().find(|(_, c)| !wanted(Kind::of(*c))).map_or(text.len(), |(at, _)| at)
}

pub(super) fn first_kind(text: &str) -> Option<Kind> {
    text.chars().next().map(Kind::of)
}

/// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`
fn contraction(text: &str, same: impl Fn(&str, &str) -> bool) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let endings = ["s", "t", "re", "ve", "m", "ll", "d"];
    endings
        .iter()
        .find(|end| rest.get(..end.len()).is_some_and(|got| same(got, end)))
        .map(|end| 1 + end.len())
}

/// `\s+(?!\S)|\s+`: all blanks at the text's end, otherwise all but the last, which belongs to what follows; at least one.
fn blanks(text: &str) -> usize {
    let all = run(text, Kind::is_blank);
    if all == text.len() {
        return all;
    }
    let last = text[..all].chars().next_back().map_or(0, char::len_utf8);
    if all == last { all } else { all - last }
}

fn gpt2_len(text: &str) -> usize {
    if let Some(len) = contraction(text, |got, wanted| got == wanted) {
        return len;
    }
    let spaced = usize::from(text.starts_with(' '));
    let rest = &text[spaced..];
    match first_kind(rest) {
        Some(kind) if !kind.is_blank() => spaced + run(rest, |other| other == kind),
        _ => blanks(text),
    }
}

fn modern_len(text: &str, digits: usize) -> usize {
    if let Some(len) = contraction(text, str::eq_ignore_ascii_case) {
        return len;
    }
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let rest = chars.as_str();
    let letters = |text: &str| run(text, |kind| kind == Kind::Letter);
    match Kind::of(first) {
        Kind::Letter => letters(text),
        Kind::Space | Kind::Other if first_kind(rest) == Some(Kind::Letter) => {
            first.len_utf8() + letters(rest)
        }
        Kind::Number => text.chars().take(digits).take_while(|c| is_number(*c)).map(char::len_utf8).sum(),
        Kind::Other => symbols(text),
        Kind::Space if first == ' ' && first_kind(rest) == Some(Kind::Other) => 1 + symbols(rest),
        Kind::Space | Kind::Newline => lines_or_blanks(text),
    }
}

/// `[^\s\p{L}\p{N}]+[\r\n]*`
fn symbols(text: &str) -> usize {
    let len = run(text, |kind| kind == Kind::Other);
    len + run(&text[len..], |kind| kind == Kind::Newline)
}

/// `\s*[\r\n]+`, or else plain blanks.
pub(super) fn lines_or_blanks(text: &str) -> usize {
    let all = run(text, Kind::is_blank);
    match text[..all].rfind(['\r', '\n']) {
        Some(last) => last + 1,
        None => blanks(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(splitter: Splitter, text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        splitter.split(text, &mut |piece| all.push(piece));
        all
    }

    #[test]
    fn qwen_cuts_digits_contractions_blanks_and_lines() {
        let cut = |text| pieces(Splitter::Modern { digits: 1 }, text);
        assert_eq!(cut("I'm 42, WE'LL go"), ["I", "'m", " ", "4", "2", ",", " WE", "'LL", " go"]);
        assert_eq!(cut("a  b\n\n  c"), ["a", " ", " b", "\n\n", " ", " c"]);
        assert_eq!(cut("x += 1;\r\n\tfoo()"), ["x", " +=", " ", "1", ";\r\n", "\tfoo", "()"]);
        assert_eq!(cut("end  "), ["end", "  "]);
        assert_eq!(cut("日本語です。"), ["日本語です", "。"]);
        assert_eq!(cut(" \n x"), [" \n", " x"]);
    }

    #[test]
    fn llama3_keeps_up_to_three_digits_together() {
        assert_eq!(pieces(Splitter::Modern { digits: 3 }, "1234567"), ["123", "456", "7"]);
    }

    #[test]
    fn a_name_that_is_not_known_cuts_as_gpt2() {
        assert_eq!(Splitter::named("of-next-year"), Splitter::Gpt2);
        assert_eq!(pieces(Splitter::named("default"), "It's 42 x"), ["It", "'s", " 42", " x"]);
    }

    #[test]
    fn smollm_takes_digits_out_first() {
        let cut = |text| pieces(Splitter::DigitsThenGpt2, text);
        assert_eq!(cut("ab12  3 c"), ["ab", "1", "2", "  ", "3", " c"]);
        assert_eq!(cut("don't\n\nstop"), ["don", "'t", "\n", "\n", "stop"]);
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_the_text(text in "\\PC{0,40}|[ a-z0-9'\\r\\n\\t.,é漢]{0,40}") {
            let modern = Splitter::Modern { digits: 3 };
            for splitter in [Splitter::Gpt2, Splitter::DigitsThenGpt2, modern, Splitter::Tekken] {
                let all = pieces(splitter, &text);
                proptest::prop_assert!(all.iter().all(|piece| !piece.is_empty()));
                proptest::prop_assert_eq!(all.concat(), text.clone());
            }
        }
    }
}
