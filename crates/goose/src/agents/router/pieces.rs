//! Pieces of a request: where it could be cut into tasks, and what joins each piece to the one before it.

use std::ops::Range;

/// The longest request that is cut, in bytes. In a longer one most is pasted.
const MAX_TEXT_BYTES: usize = 4_000;

/// The most pieces that are looked at.
const MAX_PIECES: usize = 40;

/// The link between a piece and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// It is the first one.
    First,
    /// It is an item of a list.
    Item,
    /// Words say that it comes after: "then", "once that is done".
    Then,
    /// Words say that it is separate: "also", "meanwhile".
    Also,
    /// A sentence or a line ended.
    Sentence,
    /// A comma, "and" or "plus".
    Clause,
}

/// A piece of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its place in the request, with the words that join it.
    pub(crate) whole: Range<usize>,
    /// Its place without them.
    pub(crate) core: Range<usize>,
    /// The link to the piece before.
    pub(crate) join: Join,
}

/// Words that begin a piece and say that it comes after the one before. Longer ones first.
const THEN: &[&str] = &[
    "and after that's done",
    "and once that's done",
    "and when that's done",
    "once that's done",
    "once that is done",
    "once it's done",
    "once it is done",
    "when that's done",
    "when that is done",
    "when it's done",
    "when you're done",
    "when done",
    "once done",
    "once you're done",
    "once you have that",
    "once that's in",
    "once that works",
    "once it works",
    "once finished",
    "when finished",
    "when that works",
    "after that's done",
    "and after that",
    "after that",
    "and afterwards",
    "afterwards",
    "afterward",
    "and then",
    "then",
    "and finally",
    "finally",
    "lastly",
    "and lastly",
    "next",
    "and next",
    "subsequently",
    "and subsequently",
    "after which",
    "followed by",
    "based on that",
    "based on this",
    "based on the result",
    "based on the results",
    "with that",
    "from that",
    "using that",
    "and based on that",
    "and once you know",
    "and after you know",
    "and when you have it",
    "and based on this",
    "following that",
    "thereafter",
    "second",
    "third",
    "and last",
    "as a last step",
    "to finish",
    "as a next step",
    "after this",
    "and after this",
    "if so",
    "and if so",
    "step two",
    "step three",
];

/// Words that begin a piece and say that it is separate.
const ALSO: &[&str] = &[
    "and separately",
    "separately",
    "and also",
    "also",
    "and meanwhile",
    "meanwhile",
    "in the meantime",
    "and in the meantime",
    "and in parallel",
    "in parallel",
    "at the same time",
    "and at the same time",
    "unrelated",
    "unrelatedly",
    "on another note",
    "on a different note",
    "on a separate note",
    "independently",
    "and independently",
    "independent of that",
    "independently of that",
    "besides",
    "besides that",
    "apart from that",
    "additionally",
    "and additionally",
    "in addition",
    "another thing",
    "one more thing",
    "oh and",
    "oh, and",
    "btw",
    "and btw",
    "by the way",
    "and by the way",
    "plus",
    "and plus",
    "while you're at it",
    "while you are at it",
    "as a separate task",
    "as a separate thing",
    "other thing",
    "the other thing",
    "secondly",
    "thirdly",
    "furthermore",
    "moreover",
    "too",
    "while that runs",
    "while that's running",
    "on the side",
    "and on the side",
    "aside from that",
    "different topic",
    "new topic",
    "different thing",
    "something else",
    "and one more thing",
    "two",
    "three",
    "and, separately",
    "and unrelated",
    "completely unrelated",
    "not related",
];

/// Words that begin the first piece and say that more follows.
const FIRST: &[&str] = &["first of all", "firstly", "first", "to start", "to begin", "step one", "one"];

/// Cuts a text at every place where a task could end.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    if text.len() > MAX_TEXT_BYTES {
        return vec![whole(text)];
    }
    let cuts = cuts(text);
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut join = Join::First;
    let ends = cuts.iter().copied().chain([Cut { end: text.len(), start: text.len(), join: Join::First }]);
    for cut in ends {
        if let Some(piece) = piece(text, start..cut.end, join) {
            pieces.push(piece);
        }
        start = cut.start;
        join = cut.join;
    }
    pieces.truncate(MAX_PIECES);
    if let Some(first) = pieces.first_mut() {
        first.join = if first.join == Join::Item { Join::Item } else { Join::First };
    }
    if let Some(last) = pieces.last_mut() {
        let end = text.trim_end().len();
        last.whole.end = end.max(last.whole.start);
        last.core.end = end.max(last.core.start);
    }
    if pieces.is_empty() { vec![whole(text)] } else { pieces }
}

fn whole(text: &str) -> Piece {
    Piece { whole: 0..text.len(), core: 0..text.len(), join: Join::First }
}

/// A place where a text could be cut: the end of a piece, and the start of the next.
#[derive(Debug, Clone, Copy)]
struct Cut {
    end: usize,
    start: usize,
    join: Join,
}

fn piece(text: &str, range: Range<usize>, join: Join) -> Option<Piece> {
    let whole = trimmed(text, range);
    let inner = text.get(whole.clone())?;
    if !inner.contains(char::is_alphanumeric) {
        return None;
    }
    let (join, skipped) = leading_words(inner, join);
    let core = trimmed(text, whole.start + skipped..whole.end);
    Some(Piece { whole, core, join })
}

/// The join that the first words of a piece speak for, and the length of these words.
fn leading_words(piece: &str, join: Join) -> (Join, usize) {
    let lower = piece.to_ascii_lowercase();
    for (words, spoken) in [(THEN, Join::Then), (ALSO, Join::Also), (FIRST, join)] {
        let longest =
            words.iter().filter(|words| begins_with_words(&lower, words)).max_by_key(|words| words.len());
        if let Some(words) = longest {
            let rest = piece.get(words.len()..).unwrap_or_default();
            let skipped =
                rest.len() - rest.trim_start_matches([',', ':', ' ', '-', '.', '—', '–', ')']).len();
            if words.len() + skipped < piece.len() {
                // An item of a list says with its words in which order it is done.
                return (spoken, words.len() + skipped);
            }
        }
    }
    let skipped =
        ["and ", "& ", "+ "].iter().find(|word| lower.starts_with(**word)).map_or(0, |word| word.len());
    (join, skipped)
}

/// Returns true if a text in lower case begins with words, and a word ends there.
pub(crate) fn begins_with_words(lower: &str, words: &str) -> bool {
    lower.strip_prefix(words).is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '_' | '-'))
    })
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(inner) = text.get(range.clone()) else { return range };
    let start = range.start
        + (inner.len()
            - inner.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).len());
    let end =
        range.start + inner.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).len();
    start.min(end)..end
}

/// All places where the text could be cut, in order.
fn cuts(text: &str) -> Vec<Cut> {
    let shielded = shielded(text);
    let mut cuts = Vec::new();
    let mut lists = Lists::default();
    for (at, c) in text.char_indices() {
        if shielded.get(at).copied().unwrap_or(false) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        let at_line_start = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        if let Some(length) = lists.item(rest, before, at_line_start) {
            cuts.push(Cut { end: at, start: at + length, join: Join::Item });
            continue;
        }
        let after = at + c.len_utf8();
        let next = text.get(after..).unwrap_or_default();
        match c {
            '\n' => cuts.push(Cut { end: at, start: after, join: Join::Sentence }),
            ';' => cuts.push(Cut { end: at, start: after, join: Join::Sentence }),
            '.' | '!' | '?' if next.starts_with(char::is_whitespace) && !is_abbreviation(before) => {
                cuts.push(Cut { end: after, start: after, join: Join::Sentence });
            }
            ',' if next.starts_with(' ') => cuts.push(Cut { end: at, start: after, join: Join::Clause }),
            ' ' if [" and ", " & ", " + ", " plus ", " then ", " while ", " but "]
                .iter()
                .any(|word| starts_with_ignoring_case(rest, word)) =>
            {
                cuts.push(Cut { end: at, start: after, join: Join::Clause });
            }
            ' ' if [" - ", " – ", " — "].iter().any(|dash| rest.starts_with(dash)) => {
                cuts.push(Cut {
                    end: at,
                    start: at + rest.chars().take(3).map(char::len_utf8).sum::<usize>(),
                    join: Join::Clause,
                });
            }
            _ => {}
        }
    }
    if lists.count < 2 {
        for cut in &mut cuts {
            if cut.join == Join::Item {
                cut.join = Join::Sentence;
            }
        }
    }
    cuts
}

fn starts_with_ignoring_case(text: &str, lower: &str) -> bool {
    text.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches('(').to_ascii_lowercase();
    matches!(
        word.as_str(),
        "e.g"
            | "i.e"
            | "vs"
            | "etc"
            | "approx"
            | "no"
            | "nr"
            | "dr"
            | "mr"
            | "mrs"
            | "ms"
            | "st"
            | "resp"
            | "incl"
    ) || word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Items of lists: each begins with the number or letter after the one before, or with the same bullet.
#[derive(Default)]
struct Lists {
    count: usize,
}

impl Lists {
    /// The length of the sign that begins an item here.
    fn item(&mut self, rest: &str, before: &str, at_line_start: bool) -> Option<usize> {
        if !(before.is_empty() || before.ends_with(char::is_whitespace)) {
            return None;
        }
        let length = match at_line_start {
            true => bullet(rest).or_else(|| numbered(rest, None)),
            false => numbered(rest, Some(self.count + 1)),
        }?;
        self.count += 1;
        Some(length)
    }
}

fn bullet(rest: &str) -> Option<usize> {
    let sign =
        ["- [ ] ", "* [ ] ", "- ", "* ", "• ", "– ", "+ "].iter().find(|sign| rest.starts_with(**sign))?;
    Some(sign.len())
}

/// The length of a number or letter with a sign after it, such as `2.`, `(2)`, `b)`. Inside of a line, it must be the expected one.
fn numbered(rest: &str, expected: Option<usize>) -> Option<usize> {
    let opened = usize::from(rest.starts_with('('));
    let rest = rest.get(opened..)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (value, length) = match digits {
        0 => {
            let letter = rest.bytes().next().filter(u8::is_ascii_lowercase)?;
            (usize::from(letter - b'a') + 1, 1)
        }
        1 | 2 => (rest.get(..digits)?.parse().ok()?, digits),
        _ => return None,
    };
    let sign = rest.get(length..)?.chars().next()?;
    let is_sign =
        sign == ')' || (sign == '.' && digits > 0) || (sign == ':' && digits > 0 && expected.is_none());
    let has_space = rest.get(length + 1..)?.starts_with(' ');
    let fits = expected.is_none_or(|expected| expected == value);
    (is_sign && has_space && fits && value > 0).then_some(opened + length + 1)
}

/// Places that are never cut: in quotes, in brackets, in code.
fn shielded(text: &str) -> Vec<bool> {
    let mut shielded = vec![false; text.len()];
    let mut open: Option<(usize, char)> = None;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match open {
            Some((start, close)) if c == close => {
                shielded.get_mut(start..at).into_iter().flatten().for_each(|place| *place = true);
                open = None;
            }
            Some((start, _)) if at - start > 1_500 => open = None,
            Some(_) => {}
            None => {
                let begins = !last.is_alphanumeric();
                open = match c {
                    '"' => Some((at, '"')),
                    '“' => Some((at, '”')),
                    '`' => Some((at, '`')),
                    '(' if begins && is_long_bracket(text, at) => Some((at, ')')),
                    '[' => Some((at, ']')),
                    '{' => Some((at, '}')),
                    '\'' if begins => Some((at, '\'')),
                    _ => None,
                };
            }
        }
        last = c;
    }
    shielded
}

/// Returns true for a bracket that holds words, not the number of an item.
fn is_long_bracket(text: &str, at: usize) -> bool {
    text.get(at + 1..).and_then(|rest| rest.find(')')).is_some_and(|length| length > 2)
}
