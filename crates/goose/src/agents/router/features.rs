//! Features of a request: what the classifier sees of it, or of a part of it.

use std::{collections::HashMap, ops::Range};

use super::{
    lexicon::{self, names_of},
    table::hash,
    words::Word,
};

/// The words after a word with which it forms a pair of classes.
const PAIR_WINDOW: usize = 5;

/// The letters of a long word that stand for its family.
const BEGINNING: usize = 5;

/// The most features of one request.
const MAX_FEATURES: usize = 3_000;

/// Features of all words of a request. They are hashed once, however many parts of the request are looked at.
pub(crate) struct Features {
    /// The hashes, each once.
    hashes: Vec<u32>,
    /// The features in the order of their first words.
    list: Vec<Feature>,
    /// The place in the list where the features of each word begin.
    of_word: Vec<usize>,
}

/// A feature of some neighbouring words.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Feature {
    /// Its place among the hashes.
    id: usize,
    /// Its weight among the features of a request.
    value: f32,
    first: usize,
    last: usize,
}

/// A feature of a part of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    pub(crate) hash: u32,
    /// Its place among the hashes of the request, if it does not depend on the part.
    pub(crate) id: Option<usize>,
    pub(crate) value: f32,
    /// The word that it comes from.
    pub(crate) word: usize,
}

impl Features {
    pub(crate) fn new(words: &[Word]) -> Self {
        let mut adder = Adder::default();
        let classes: Vec<u64> = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
        let mut of_word = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            of_word.push(adder.list.len());
            adder.add(&["w", &word.stem], 1.0, at..at);
            if let Some(beginning) = word.stem.get(..BEGINNING).filter(|_| word.stem.len() > BEGINNING) {
                adder.add(&["x", beginning], 0.5, at..at);
            }
            if let Some(next) = words.get(at + 1) {
                adder.add(&["b", &word.stem, &next.stem], 1.0, at..at + 1);
            }
            for class in names_of(classes[at]) {
                adder.add(&["c", class], 1.0, at..at);
                if word.begins {
                    adder.add(&["^", class], 1.0, at..at);
                }
            }
            if word.begins {
                adder.add(&["^", &word.stem], 1.0, at..at);
            }
            for (other, after) in classes.iter().enumerate().skip(at + 1).take(PAIR_WINDOW) {
                for one in names_of(classes[at]) {
                    for two in names_of(*after) {
                        adder.add(&["p", one, two], 0.5, at..other);
                    }
                }
            }
        }
        Self { hashes: adder.hashes, list: adder.list, of_word }
    }

    /// The hashes of the features that do not depend on the part.
    pub(crate) fn hashes(&self) -> &[u32] {
        &self.hashes
    }

    /// The features of a part of the words, each once, with the factor that gives all parts the same length.
    pub(crate) fn in_part(&self, words: &[Word], part: &Range<usize>) -> (Vec<Found>, f32) {
        let start = self.of_word.get(part.start).copied().unwrap_or(self.list.len());
        let mut seen = vec![false; self.hashes.len()];
        let mut found = Vec::new();
        for feature in self.list.iter().skip(start).take_while(|feature| feature.first < part.end) {
            if feature.last < part.end && !std::mem::replace(&mut seen[feature.id], true) {
                let (id, word) = (feature.id, feature.first);
                found.push(Found { hash: self.hashes[id], id: Some(id), value: feature.value, word });
            }
        }
        let first = words.get(part.start).map_or("", |word| word.stem.as_str());
        for hash in [hash(&["first", first]), hash(&["length", size(part.len())])] {
            found.push(Found { hash, id: None, value: 1.0, word: part.start });
        }
        let squares: f32 = found.iter().map(|feature| feature.value * feature.value).sum();
        (found, 1.0 / squares.sqrt())
    }
}

fn size(words: usize) -> &'static str {
    match words {
        0 | 1 => "1",
        2 | 3 => "3",
        4..=6 => "6",
        7..=12 => "12",
        13..=25 => "25",
        26..=60 => "60",
        _ => "more",
    }
}

#[derive(Default)]
struct Adder {
    ids: HashMap<u32, usize>,
    hashes: Vec<u32>,
    list: Vec<Feature>,
}

impl Adder {
    fn add(&mut self, parts: &[&str], value: f32, words: Range<usize>) {
        if self.list.len() < MAX_FEATURES {
            let hash = hash(parts);
            let id = *self.ids.entry(hash).or_insert_with(|| {
                self.hashes.push(hash);
                self.hashes.len() - 1
            });
            self.list.push(Feature { id, value, first: words.start, last: words.end });
        }
    }
}

/// The hash of a word's own feature.
pub(crate) fn word_hash(stem: &str) -> u32 {
    hash(&["w", stem])
}
