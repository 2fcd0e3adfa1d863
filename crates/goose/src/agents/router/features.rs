//! Features of a request: what the classifier sees of it.

use std::collections::HashSet;

use super::{lexicon, words::Word};

/// The words after a word with which it forms a pair of classes.
const PAIR_WINDOW: usize = 5;

/// The letters of a long word that stand for its family.
const BEGINNING: usize = 5;

/// The most features of one request.
const MAX_FEATURES: usize = 3_000;

/// A feature: a hash, and the word of the request that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Feature {
    pub(crate) hash: u32,
    /// Its weight among the features of the request.
    pub(crate) value: f32,
    pub(crate) word: Option<usize>,
}

/// The features of a request, each once.
pub(crate) fn features(words: &[Word]) -> Vec<Feature> {
    let mut found = Found::default();
    let classes: Vec<u64> = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
    for (at, word) in words.iter().enumerate() {
        found.add(&["w", &word.stem], Some(at));
        if let Some(beginning) = word.stem.get(..BEGINNING).filter(|_| word.stem.len() > BEGINNING) {
            found.add(&["x", beginning], Some(at));
        }
        if let Some(next) = words.get(at + 1) {
            found.add(&["b", &word.stem, &next.stem], Some(at));
        }
        for class in bits(classes[at]) {
            found.add(&["c", class], Some(at));
            if word.begins {
                found.add(&["^", class], Some(at));
            }
        }
        if word.begins {
            found.add(&["^", &word.stem], Some(at));
        }
    }
    for (at, class) in classes.iter().enumerate() {
        let after = classes.iter().skip(at + 1).take(PAIR_WINDOW);
        for other in after {
            for (one, two) in bits(*class).flat_map(|one| bits(*other).map(move |two| (one, two))) {
                found.add(&["p", one, two], Some(at));
            }
        }
    }
    found.add(&["first", words.first().map_or("", |word| &word.stem)], Some(0));
    let length = words.len();
    let size = ["1", "3", "6", "12", "25", "60"];
    let of_size = [1, 3, 6, 12, 25, 60].iter().filter(|most| length > **most).count();
    found.add(&["length", size.get(of_size).copied().unwrap_or("more")], None);
    found.list
}

fn bits(classes: u64) -> impl Iterator<Item = &'static str> + Clone {
    let names = lexicon::names();
    let places = std::iter::successors(Some(classes), |rest| Some(rest & rest.wrapping_sub(1)));
    let places = places.take_while(|rest| *rest != 0).map(|rest| rest.trailing_zeros() as usize);
    places.filter_map(move |at| names.get(at).copied())
}

#[derive(Default)]
struct Found {
    seen: HashSet<u32>,
    list: Vec<Feature>,
}

impl Found {
    fn add(&mut self, parts: &[&str], word: Option<usize>) {
        let hash = hash(parts);
        if self.list.len() < MAX_FEATURES && self.seen.insert(hash) {
            let value = match parts.first() {
                Some(&"x" | &"p") => 0.5,
                _ => 1.0,
            };
            self.list.push(Feature { hash, value, word });
        }
    }
}

/// The hash of a word's own feature.
pub(crate) fn word_hash(stem: &str) -> u32 {
    hash(&["w", stem])
}

/// FNV-1a, which stays the same between programs and versions, unlike the standard library's.
fn hash(parts: &[&str]) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

/// The factor that gives all requests the same length, whatever the number of their features.
pub(crate) fn scale(features: &[Feature]) -> f32 {
    let squares: f32 = features.iter().map(|feature| feature.value * feature.value).sum();
    1.0 / squares.max(1.0).sqrt()
}
