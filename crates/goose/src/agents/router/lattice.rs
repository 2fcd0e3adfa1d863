//! All ways to split a request into tasks, with the features that speak for each.
//!
//! A split is a choice of cuts between pieces, and a mode for each segment between two cuts. Its score is the sum of the weights of
//! the features of its cuts, of its segments, and of the modes of neighbours; neighbours have different modes, because two tasks for
//! one mode are one. `splitter` finds the best split, `examples/train_router` the weights.

use std::ops::Range;

use super::{
    classifier::{COUNT, LABELS},
    lexicon,
    pieces::{Piece, Request},
    table::{Column, hash},
    words::Word,
};

/// The number of modes that a task can have: those with a label, and any mode of an agent that does not come with goose.
pub(crate) const MODES: usize = COUNT + 1;

/// The place of the latter.
pub(crate) const OWN: usize = COUNT;

/// Hashes of features, each with its value.
pub(crate) type Values = Vec<(u32, f32)>;

/// The least probability of a mode that counts.
const LEAST: f32 = 0.0005;

/// The longest piece, in words, that may only lead to the next one: "when that is done,".
const LEAD_WORDS: usize = 6;

/// The most words of a piece that are features of a cut.
const MAX_WORDS: usize = 12;

/// Words that point back to something.
pub(crate) const BACK: [&str; 10] =
    ["it", "them", "that", "this", "those", "these", "its", "their", "each", "both"];

/// Some neighbouring pieces, as a task.
pub(crate) struct Segment {
    /// The logarithm of the probability of each mode.
    pub(crate) log: [f32; MODES],
    /// Features of it as one task among others; none if it is the whole request.
    pub(crate) features: Values,
}

/// The pieces of a request, the cuts between them and the segments that they form.
pub(crate) struct Lattice {
    /// The features of a cut before each piece; none for the first one.
    pub(crate) cuts: Vec<Values>,
    /// The segments by the place of their first piece, then by their length.
    segments: Vec<Vec<Segment>>,
}

impl Lattice {
    /// `probabilities` has the probability of each mode for a part of the words.
    pub(crate) fn new(
        request: &Request,
        starts: Column<'_>,
        probabilities: impl Fn(&Range<usize>) -> [f32; MODES],
    ) -> Self {
        let view = View { request, starts };
        let count = request.pieces.len();
        let segment = |start: usize, end: usize| {
            let found = probabilities(&request.words_of(start, end));
            let is_whole = start == 0 && end == count;
            let features = if is_whole { Vec::new() } else { view.segment(start, end, &found) };
            Segment { log: found.map(|probability| probability.max(LEAST).ln()), features }
        };
        let row = |start: usize| (start + 1..=count).map(|end| segment(start, end)).collect();
        let segments: Vec<Vec<Segment>> = (0..count).map(row).collect();
        let cut = |at: usize| if at == 0 { Vec::new() } else { view.cut(at, &segments) };
        Self { cuts: (0..count).map(cut).collect(), segments }
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }

    /// The segment of the pieces from `start` up to `end`.
    pub(crate) fn segment(&self, start: usize, end: usize) -> &Segment {
        &self.segments[start][end - start - 1]
    }
}

/// The key of a word among the words that requests begin with.
pub(crate) fn start_hash(stem: &str) -> u32 {
    hash(&["start", stem])
}

/// The feature whose value is the logarithm of a mode's probability.
pub(crate) fn log_feature() -> u32 {
    hash(&["log"])
}

/// The features of a cut between tasks for two modes.
pub(crate) fn pair_features(left: usize, right: usize) -> [u32; 3] {
    let (left, right) = (slug(left), slug(right));
    [hash(&["from", left]), hash(&["to", right]), hash(&["pair", left, right])]
}

/// The name of a mode in features.
pub(crate) fn slug(mode: usize) -> &'static str {
    LABELS.get(mode).map_or("own", |(_, slug)| slug)
}

/// A request, as far as the features look at it.
struct View<'a> {
    request: &'a Request,
    starts: Column<'a>,
}

impl View<'_> {
    fn words(&self, piece: &Piece) -> &[Word] {
        self.request.words.get(piece.words.clone()).unwrap_or_default()
    }

    /// A word of a piece in the form of the user, after its head; empty where there is none.
    fn shown(&self, piece: &Piece, after: usize) -> &str {
        let words = self.words(piece);
        words.get(piece.head - piece.words.start + after).map_or("", |word| word.shown.as_str())
    }

    /// Log odds that the head of a piece begins a request.
    fn start_of(&self, piece: &Piece) -> &'static str {
        let Some(word) = self.request.words.get(piece.head) else { return "none" };
        match self.starts.find(start_hash(&word.stem)) {
            None => "unknown",
            Some(odds) if odds < -1.5 => "never",
            Some(odds) if odds < -0.3 => "rarely",
            Some(odds) if odds < 0.5 => "maybe",
            Some(odds) if odds < 1.5 => "often",
            Some(_) => "mostly",
        }
    }

    fn is_verb(&self, piece: &Piece) -> bool {
        self.request.words.get(piece.head).is_some_and(|word| lexicon::is_verb(&word.stem))
    }

    fn segment(&self, start: usize, end: usize, probabilities: &[f32; MODES]) -> Values {
        let pieces = &self.request.pieces;
        let inner = &pieces[start..end];
        let signs = if start == 0 { "start" } else { inner[0].signs.as_str() };
        let next = pieces.get(end).map_or("end", |next| next.signs.as_str());
        let length = size(self.request.words_of(start, end).len());
        let verb = if inner.iter().any(|piece| self.is_verb(piece)) { "verb" } else { "" };
        let most = probabilities.iter().copied().fold(0.0, f32::max);
        let default = if probabilities[0] >= most { "default" } else { "" };
        let mut found = Values::new();
        for parts in [
            &["length", length][..],
            &["length", length, signs],
            &["length", length, verb],
            &["length", length, default],
            &["verb", signs, verb],
            &["start", signs, self.start_of(&inner[0])],
            &["between", signs, next],
            &["pieces", size(end - start)],
        ] {
            found.push((hash(&[&["task"], parts].concat()), 1.0));
        }
        for parts in [&["most"][..], &["most", signs], &["most", default, ""], &["most", "", verb]] {
            found.push((hash(&[&["task"], parts].concat()), most));
        }
        found
    }

    fn cut(&self, at: usize, segments: &[Vec<Segment>]) -> Values {
        let pieces = &self.request.pieces;
        let (left, right) = (&pieces[at - 1], &pieces[at]);
        let signs = right.signs.as_str();
        let word = |piece: &Piece, place: usize| {
            self.words(piece).get(place).map_or("", |word| word.shown.as_str()).to_owned()
        };
        let (one, two, three) = (word(right, 0), word(right, 1), word(right, 2));
        let (left_one, left_two) = (word(left, 0), word(left, 1));
        let last = self.words(left).last().map_or("", |word| word.shown.as_str());
        let (head, after) = (self.shown(right, 0), self.shown(right, 1));
        let start = self.start_of(right);
        let (left_size, right_size) = (size(left.words.len()), size(right.words.len()));
        let back = self.words(right).iter().position(|word| BACK.contains(&word.shown.as_str()));
        let mut found = Values::new();
        let mut add = |parts: &[&str]| found.push((hash(parts), 1.0));
        add(&["cut"]);
        add(&["signs", signs]);
        add(&["one", &one]);
        add(&["one", &one, signs]);
        add(&["two", &one, &two]);
        add(&["three", &one, &two, &three]);
        add(&["head", head]);
        add(&["head", head, signs]);
        add(&["head after", head, after]);
        add(&["after", after]);
        add(&["after", after, signs]);
        add(&["start", start]);
        add(&["start", start, signs]);
        add(&["start after", start, after]);
        add(&["left", &left_one]);
        add(&["left", &left_one, signs]);
        add(&["left two", &left_one, &left_two]);
        add(&["last", last]);
        add(&["last", last, signs]);
        add(&["left size", left_size]);
        add(&["left size", left_size, signs]);
        add(&["right size", right_size]);
        add(&["right size", right_size, signs]);
        add(&["back", signs, back.map_or("none", size)]);
        add(&["pieces", size(pieces.len())]);
        if at == 1 {
            add(&["first", signs]);
        }
        if self.is_verb(right) {
            add(&["verb", signs]);
        }
        if self.is_verb(left) {
            add(&["left verb", signs]);
        }
        match pieces.get(at + 1) {
            None => add(&["end", signs]),
            Some(next) => {
                add(&["next", &word(next, 0)]);
                if right.words.len() <= LEAD_WORDS {
                    add(&["lead start", &next.signs, self.start_of(next)]);
                    add(&["lead head", self.shown(next, 0)]);
                    add(&["lead", &one, &next.signs]);
                    add(&["lead", &one, &two, &next.signs]);
                }
            }
        }
        for word in self.words(right).iter().take(MAX_WORDS) {
            add(&["in right", &word.stem]);
        }
        for word in self.words(left).iter().rev().take(MAX_WORDS) {
            add(&["in left", &word.stem]);
        }
        let (before, behind) = (&segments[at - 1][0], &segments[at][0]);
        if best(before) == best(behind) {
            add(&["same mode", signs]);
        }
        let shared = before.log.iter().zip(&behind.log).map(|(one, two)| one.min(*two).exp()).sum();
        found.push((hash(&["overlap"]), shared));
        found.push((hash(&["overlap", signs]), shared));
        // The same for all that is before the cut and all that is after it.
        let (before, behind) = (&segments[0][at - 1], &segments[at][pieces.len() - at - 1]);
        let shared: f32 = before.log.iter().zip(&behind.log).map(|(one, two)| one.min(*two).exp()).sum();
        let points = if back.is_some() { "back" } else { "" };
        let same = if best(before) == best(behind) { "same" } else { "other" };
        found.push((hash(&["halves", same]), 1.0));
        found.push((hash(&["halves", same, signs]), 1.0));
        found.push((hash(&["halves", same, points]), 1.0));
        for parts in [&["apart"][..], &["apart", signs], &["apart", "", points]] {
            found.push((hash(parts), 1.0 - shared));
        }
        found
    }
}

fn best(segment: &Segment) -> Option<usize> {
    (0..MODES).max_by(|one, two| segment.log[*one].total_cmp(&segment.log[*two]))
}

/// A class of counts.
pub(crate) fn size(count: usize) -> &'static str {
    match count {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        4 | 5 => "5",
        6..=9 => "9",
        10..=16 => "16",
        _ => "more",
    }
}
