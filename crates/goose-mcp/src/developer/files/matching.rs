//! Changing one place of a text: exactly what was named, and only where it is named once.

use std::borrow::Cow;

use super::MAX_FILE_BYTES;

/// A text and its replacement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replacement<'a> {
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

/// The places that may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    One,
    All,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// There is nothing to look for.
    Empty,
    /// It would change nothing.
    Same,
    /// It is not there.
    Missing,
    /// It is there more than once: in these lines, counted from 1.
    Several(Vec<usize>),
    /// The text would be larger than a file may be.
    TooLarge,
}

impl Replacement<'_> {
    /// The text with the replacement made. Line ends do not count when looking, and stay as they are: a new line ends
    /// as the one that it replaces, or as most others.
    ///
    /// # Errors
    ///
    /// Why nothing was replaced.
    pub(super) fn apply(&self, text: &str, places: Places) -> Result<String, Mismatch> {
        let (before, after) = (plain(self.before), plain(self.after));
        if before.is_empty() {
            return Err(Mismatch::Empty);
        }
        if before == after {
            return Err(Mismatch::Same);
        }
        let known = Plain::new(text);
        let found: Vec<usize> = known.text.match_indices(&*before).map(|(at, _)| at).collect();
        match (found.as_slice(), places) {
            ([], _) => return Err(Mismatch::Missing),
            ([_, _, ..], Places::One) => return Err(Mismatch::Several(line_numbers(&known.text, &found))),
            _ => {}
        }
        let usual = LineEnd::most_common(text);
        let mut changed = String::with_capacity(room(text, found.len(), &before, &after)?);
        let mut copied = 0;
        for at in found {
            let (start, end) = (known.original(at), known.original(at + before.len()));
            changed.push_str(&text[copied..start]);
            changed.push_str(&line_end(&text[start..end], usual).apply(&after));
            copied = end;
        }
        changed.push_str(&text[copied..]);
        Ok(changed)
    }
}

/// Returns the maximum size of a text after so many replacements.
fn room(text: &str, places: usize, before: &str, after: &str) -> Result<usize, Mismatch> {
    // Each new line may end with one byte more than it does here.
    let longest = after.len() + after.matches('\n').count();
    let more = places.checked_mul(longest.saturating_sub(before.len()));
    let room = more.and_then(|more| more.checked_add(text.len()));
    room.filter(|room| *room as u64 <= MAX_FILE_BYTES.max(text.len() as u64)).ok_or(Mismatch::TooLarge)
}

/// Returns the line end of new lines: that of the replaced ones, or the usual one.
fn line_end(replaced: &str, usual: LineEnd) -> LineEnd {
    match replaced.find('\n') {
        Some(at) if replaced[..at].ends_with('\r') => LineEnd::CrLf,
        Some(_) => LineEnd::Lf,
        None => usual,
    }
}

/// In which lines, counted from 1, places in a text are.
pub(super) fn line_numbers(text: &str, places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut seen = 0;
    let count = |&at: &usize| {
        line += text[seen..at].matches('\n').count();
        seen = at;
        line
    };
    places.iter().map(count).collect()
}

/// A line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    /// Returns the line end of most lines.
    pub(super) fn most_common(text: &str) -> Self {
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
    /// Places in the plain text of each `\n` that was `\r\n`.
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

    fn apply(text: &str, before: &str, after: &str) -> Result<String, Mismatch> {
        Replacement { before, after }.apply(text, Places::One)
    }

    #[test]
    fn only_what_is_named_once_is_replaced() {
        assert_eq!(apply("a\nb\nc\n", "b\n", "x\ny\n").as_deref(), Ok("a\nx\ny\nc\n"));
        assert_eq!(apply("a\nb\nb\n", "b", "x"), Err(Mismatch::Several(vec![2, 3])));
        assert_eq!(apply("a", "b", "x"), Err(Mismatch::Missing));
        assert_eq!(apply("a", "", "x"), Err(Mismatch::Empty));
        assert_eq!(apply("a", "a", "a"), Err(Mismatch::Same));
        let all = Replacement { before: "b", after: "x" }.apply("a\nb\nb\n", Places::All);
        assert_eq!(all.as_deref(), Ok("a\nx\nx\n"));
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        assert_eq!(apply("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n").as_deref(), Ok("x\r\ny\r\nz\r\nc\r\n"));
        assert_eq!(apply("a\r\nb\r\nc\n", "c", "x\ny").as_deref(), Ok("a\r\nb\r\nx\r\ny\n"));
        assert_eq!(apply("a\r\nb\nc\n", "b\nc\n", "x\n").as_deref(), Ok("a\r\nx\n"));
        assert_eq!(apply("a\nb\n", "a\r\nb", "x\r\ny").as_deref(), Ok("x\ny\n"));
        assert_eq!(apply("a\r\n", "a\n", "a").as_deref(), Ok("a"));
    }

    #[test]
    fn no_text_grows_beyond_what_a_file_may_be() {
        let after = "x".repeat(1024 * 1024);
        let all = |text: &str| Replacement { before: "a", after: &after }.apply(text, Places::All);
        assert_eq!(all(&"a".repeat(17)), Err(Mismatch::TooLarge));
        assert_eq!(all(&"a".repeat(16)).map(|changed| changed.len()), Ok(16 * 1024 * 1024));
    }

    proptest! {
        /// Whatever is around the place stays, byte by byte.
        #[test]
        fn the_rest_stays(start in "[ab\r\n]{0,20}", end in "[ab\r\n]{0,20}", after in "[a-c\n]{0,8}") {
            // A lone return before a line end would be part of one.
            prop_assume!(!start.ends_with('\r') && !end.starts_with('\n'));
            let text = format!("{start}MARK{end}");
            let changed = apply(&text, "MARK", &after).unwrap();
            prop_assert!(changed.starts_with(&start) && changed.ends_with(&end));
            let inside = &changed[start.len()..changed.len() - end.len()];
            prop_assert_eq!(&*plain(inside), &after);
        }
    }

    #[test]
    fn most_lines_decide() {
        let table = [
            ("", LineEnd::Lf),
            ("a\nb\r\n", LineEnd::Lf),
            ("a\r\nb\r\nc\n", LineEnd::CrLf),
            ("\r", LineEnd::Lf),
        ];
        for (text, expected) in table {
            assert_eq!(LineEnd::most_common(text), expected, "{text:?}");
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
