//! Pre-tokenizers: split a text into words before pairs are merged.
//!
//! Each implements a published pattern directly: at each position, the first alternative that matches gives
//! the length of the next piece.
//!
//! ```text
//! gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//! llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
//!         |\s*[\r\n]+|\s+(?!\S)|\s+
//! qwen2   llama3, with single digits
//! smollm  single digits first, the text between them as gpt2
//! tekken  [^\r\n\p{L}\p{N}]?X*Y+|[^\r\n\p{L}\p{N}]?X+Y*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*
//!         |\s*[\r\n]+|\s+(?!\S)|\s+
//!         (X = letters except a-z, Y = letters except A-Z: words are also split before capitals)
//! ```
//!
//! An unknown name counts as gpt2. Every byte-level vocabulary can encode every text, however it is split.
//! Unfamiliar splits cost some quality, but a refusal would make the model unusable.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind};

/// Method of splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitter {
    Gpt2,
    DigitsThenGpt2,
    /// Numbers are split into groups of up to `digits` digits.
    Modern {
        digits: usize,
    },
    Tekken,
}

impl Splitter {
    /// Returns the splitter with this name in a file.
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

    /// Returns true if a word that is a token needs no merges.
    pub(super) fn takes_whole_words(self) -> bool {
        matches!(self, Self::Modern { digits: 3 } | Self::Tekken)
    }

    /// Calls `piece` with each piece in turn. Together they are the text.
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
    Kind::from_char(c) == Kind::Number
}

fn split_by<'a>(text: &'a str, piece: &mut dyn FnMut(&'a str), len: impl Fn(&str) -> usize) {
    let mut rest = text;
    while !rest.is_empty() {
        let (next, after) = rest.split_at(len(rest));
        piece(next);
        rest = after;
    }
}

/// Returns the length of the leading run of characters for which `wanted` holds.
fn run(text: &str, wanted: impl Fn(Kind) -> bool) -> usize {
    text.char_indices().find(|(_, c)| !wanted(Kind::from_char(*c))).map_or(text.len(), |(at, _)| at)
}

fn first_kind(text: &str) -> Option<Kind> {
    text.chars().next().map(Kind::from_char)
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

/// `\s+(?!\S)|\s+`: all blanks at the end of the text; elsewhere all but the last, which belongs to the
/// next piece. At least one.
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
    piece_len(text, digits, |text| run(text, |kind| kind == Kind::Letter), symbols)
}

/// Returns the length of the next piece, with the lengths of leading letters and of leading symbols.
fn piece_len(
    text: &str,
    digits: usize,
    letters: impl Fn(&str) -> usize,
    symbols: impl Fn(&str) -> usize,
) -> usize {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let rest = chars.as_str();
    match Kind::from_char(first) {
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

/// `\s*[\r\n]+`, or else blanks.
fn lines_or_blanks(text: &str) -> usize {
    let all = run(text, Kind::is_blank);
    match text[..all].rfind(['\r', '\n']) {
        Some(last) => last + 1,
        None => blanks(text),
    }
}

/// Returns the length of the next piece in later vocabularies of Mistral.
fn tekken_len(text: &str) -> usize {
    piece_len(text, 1, word, symbols_and_slashes)
}

/// `X*Y+|X+Y*`: all `X`, then all `Y`. If no `Y` follows, the word ends after the last `X` that is also a
/// `Y`.
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

fn symbols_and_slashes(text: &str) -> usize {
    let len = run(text, |kind| kind == Kind::Other);
    let after = text[len..].find(|c| !matches!(c, '\r' | '\n' | '/'));
    after.map_or(text.len(), |after| len + after)
}

/// Character classes at which text is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`, except line breaks
    Space,
    /// `\r` or `\n`
    Newline,
    Other,
}

impl Kind {
    fn from_char(c: char) -> Self {
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

    fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::Newline)
    }
}

/// Sorted ranges of `\p{L}`.
static LETTERS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let letters = regex_syntax::parse(r"\p{L}").map(Hir::into_kind);
    let Ok(HirKind::Class(Class::Unicode(class))) = letters else { return Vec::new() };
    class.iter().map(|range| (range.start(), range.end())).collect()
});

fn is_letter(c: char) -> bool {
    let after = LETTERS.partition_point(|(start, _)| *start <= c);
    after > 0 && LETTERS[after - 1].1 >= c
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
    fn qwen_splits_digits_contractions_blanks_and_lines() {
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
    fn an_unknown_name_splits_as_gpt2() {
        assert_eq!(Splitter::named("of-next-year"), Splitter::Gpt2);
        assert_eq!(pieces(Splitter::named("default"), "It's 42 x"), ["It", "'s", " 42", " x"]);
    }

    #[test]
    fn smollm_splits_off_digits_first() {
        let cut = |text| pieces(Splitter::DigitsThenGpt2, text);
        assert_eq!(cut("ab12  3 c"), ["ab", "1", "2", "  ", "3", " c"]);
        assert_eq!(cut("don't\n\nstop"), ["don", "'t", "\n", "\n", "stop"]);
    }

    proptest::proptest! {
        #[test]
        fn pieces_add_up_to_the_text(text in "\\PC{0,40}|[ a-z0-9'\\r\\n\\t.,é漢]{0,40}") {
            let modern = Splitter::Modern { digits: 3 };
            for splitter in [Splitter::Gpt2, Splitter::DigitsThenGpt2, modern, Splitter::Tekken] {
                let all = pieces(splitter, &text);
                proptest::prop_assert!(all.iter().all(|piece| !piece.is_empty()));
                proptest::prop_assert_eq!(all.concat(), text.clone());
            }
        }
    }

    #[test]
    fn tekken_splits_at_capitals_and_digits() {
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

    #[test]
    fn character_classes_follow_unicode() {
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
            assert_eq!(Kind::from_char(c), kind, "{c:?}");
        }
    }
}
