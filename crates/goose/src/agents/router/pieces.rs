//! Pieces of a request: where it could be cut into tasks, and what joins each piece to the one before it.

use std::ops::Range;

use super::{
    cuts::cuts,
    words::{Word, words},
};

/// The longest request that is cut, in bytes. In a longer one most is pasted.
const MAX_TEXT_BYTES: usize = 2_500;

/// The most pieces of a request. The number of ways to split grows with its square.
const MAX_PIECES: usize = 10;

/// A request as words, with the pieces that a task could consist of.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) words: Vec<Word>,
    /// The pieces in their order; none where there are no words.
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The signs between it and the piece before.
    pub(crate) signs: String,
    /// Its place in the text, from its head.
    pub(crate) text: Range<usize>,
    /// The places of its words.
    pub(crate) words: Range<usize>,
    /// The place of its first word after words that only join, such as "and then".
    pub(crate) head: usize,
}

impl Request {
    /// Reads a text and cuts it at every place where a task could end.
    pub(crate) fn new(text: &str) -> Self {
        let mut request = Self { words: Vec::new(), pieces: Vec::new() };
        if text.len() > MAX_TEXT_BYTES {
            request.push(text, 0..text.len(), String::new());
            return request;
        }
        let (mut start, mut signs) = (0, String::new());
        for cut in cuts(text) {
            if request.push(text, start..cut.end, signs.clone()) {
                signs.clear();
            }
            start = cut.start;
            signs.push_str(cut.sign);
        }
        while request.pieces.len() > MAX_PIECES {
            request.join_shortest();
        }
        request
    }

    /// The words of the pieces from `start` up to `end`, without those that only join them to the piece before.
    pub(crate) fn words_of(&self, start: usize, end: usize) -> Range<usize> {
        match self.pieces.get(start..end).unwrap_or_default() {
            [] => 0..0,
            pieces @ [first, ..] => first.head..pieces.last().map_or(first.head, |last| last.words.end),
        }
    }

    /// Adds a piece. Returns false if there are no words in it.
    fn push(&mut self, text: &str, range: Range<usize>, signs: String) -> bool {
        let inner = text.get(range.clone()).unwrap_or_default();
        let found = words(inner);
        let first = self.words.len();
        self.words.extend(found);
        if self.words.len() == first {
            return false;
        }
        let (joining, length) = joining_words(inner);
        let is_more = first + joining < self.words.len();
        let (head, start) =
            if is_more { (first + joining, range.start + length) } else { (first, range.start) };
        if let Some(word) = self.words.get_mut(head) {
            word.begins = true;
        }
        let text = trimmed(text, start..range.end);
        self.pieces.push(Piece { signs, text, words: first..self.words.len(), head });
        true
    }

    /// Joins the two neighbours that have the fewest words together.
    fn join_shortest(&mut self) {
        let length = |at: usize| self.pieces[at].words.end - self.pieces[at - 1].words.start;
        let Some(at) = (1..self.pieces.len()).min_by_key(|at| length(*at)) else { return };
        let piece = self.pieces.remove(at);
        let left = &mut self.pieces[at - 1];
        left.text.end = piece.text.end;
        left.words.end = piece.words.end;
    }
}

/// The number and length of the words at the beginning that only join or order what follows them.
fn joining_words(piece: &str) -> (usize, usize) {
    let (mut count, mut length) = (0, 0);
    for chunk in piece.split_inclusive(char::is_whitespace) {
        let word = chunk.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        let joins = matches!(
            word.as_str(),
            "" | "and" | "then" | "also" | "plus" | "please" | "finally" | "afterwards" | "first"
        );
        if !joins {
            break;
        }
        count += usize::from(!word.is_empty());
        length += chunk.len();
    }
    (count, length)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(inner) = text.get(range.clone()) else { return range };
    let is_edge = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let start = range.start + (inner.len() - inner.trim_start_matches(is_edge).len());
    let end = range.start + inner.trim_end_matches(is_edge).len();
    start.min(end)..end
}
