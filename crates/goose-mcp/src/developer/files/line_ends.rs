//! Line ends: a model writes `\n`, a file may have `\r\n`, or both.

use std::borrow::Cow;

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    /// How most lines of a text end.
    pub(super) fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let lf = text.matches('\n').count() - crlf;
        if crlf > lf { Self::CrLf } else { Self::Lf }
    }

    /// A text with `\n`, with these line ends.
    pub(super) fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Lf => Cow::Borrowed(text),
            Self::CrLf => Cow::Owned(text.replace('\n', "\r\n")),
        }
    }
}

/// A text with `\n` only.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// A text with `\n` only, and the way back to the places of the one that it was made from.
pub(super) struct Plain<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where the plain text has a `\n` that was `\r\n`.
    returns: Vec<usize>,
}

impl<'a> Plain<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let ends = original.match_indices("\r\n").enumerate();
        Self { text: plain(original), returns: ends.map(|(earlier, (at, _))| at - earlier).collect() }
    }

    /// The place in the original text.
    pub(super) fn original(&self, at: usize) -> usize {
        at + self.returns.partition_point(|&end| end < at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn most_lines_decide() {
        let table = [
            ("", LineEnd::Lf),
            ("a\nb\r\n", LineEnd::Lf),
            ("a\r\nb\r\nc\n", LineEnd::CrLf),
            ("\r", LineEnd::Lf),
        ];
        for (text, expected) in table {
            assert_eq!(LineEnd::of(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_range_is_found_again(text in "[ab\r\n]{0,30}", start in 0_usize..30, end in 0_usize..30) {
            let plain_text = Plain::new(&text);
            let (start, end) = (start.min(plain_text.text.len()), end.min(plain_text.text.len()));
            let (start, end) = (start.min(end), start.max(end));
            let original = &text[plain_text.original(start)..plain_text.original(end)];
            prop_assert_eq!(&*plain(original), &plain_text.text[start..end]);
        }
    }
}
