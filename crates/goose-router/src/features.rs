//! Features of a request: what the classifier sees of it.

use std::collections::HashSet;

use crate::{
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

/// A feature of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Feature {
    pub(crate) hash: u32,
    pub(crate) value: f32,
    /// The word that it comes from.
    pub(crate) word: usize,
}

/// The features of a request, each once. Their values are scaled so that the length of a request does not matter.
pub(crate) fn features(words: &[Word]) -> Vec<Feature> {
    let mut adder = Adder::default();
    let classes: Vec<u64> = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
    for (at, word) in words.iter().enumerate() {
        adder.add(&["w", &word.stem], 1.0, at);
        if let Some(beginning) = word.stem.get(..BEGINNING).filter(|_| word.stem.len() > BEGINNING) {
            adder.add(&["x", beginning], 0.5, at);
        }
        if let Some(next) = words.get(at + 1) {
            adder.add(&["b", &word.stem, &next.stem], 1.0, at);
        }
        for class in names_of(classes[at]) {
            adder.add(&["c", class], 1.0, at);
            if word.begins {
                adder.add(&["^", class], 1.0, at);
            }
        }
        if word.begins {
            adder.add(&["^", &word.stem], 1.0, at);
        }
        for after in classes.iter().skip(at + 1).take(PAIR_WINDOW) {
            for one in names_of(classes[at]) {
                for two in names_of(*after) {
                    adder.add(&["p", one, two], 0.5, at);
                }
            }
        }
    }
    let first = words.first().map_or("", |word| word.stem.as_str());
    adder.add(&["first", first], 1.0, 0);
    adder.add(&["length", size(words.len())], 1.0, 0);
    let mut found = adder.found;
    let squares: f32 = found.iter().map(|feature| feature.value * feature.value).sum();
    let scale = 1.0 / squares.sqrt();
    found.iter_mut().for_each(|feature| feature.value *= scale);
    found
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
    known: HashSet<u32>,
    found: Vec<Feature>,
}

impl Adder {
    fn add(&mut self, parts: &[&str], value: f32, word: usize) {
        let hash = hash(parts);
        if self.found.len() < MAX_FEATURES && self.known.insert(hash) {
            self.found.push(Feature { hash, value, word });
        }
    }
}

/// The hash of a word's own feature.
pub(crate) fn word_hash(stem: &str) -> u32 {
    hash(&["w", stem])
}
