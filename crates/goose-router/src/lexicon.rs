//! Classes of words: words of one kind speak for the same mode, also those that no training example has.

use std::sync::LazyLock;

use crate::table::{Table, hash};

/// The names of all classes, in the order of `data/lexicon.txt`.
const NAMES: &[&str] = include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));

/// The table of `data/lexicon.txt`, by stems.
const CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lexicon.bin"));

/// The classes of a stem, each the bit of its place in [`NAMES`].
pub(crate) fn classes(stem: &str) -> u64 {
    lookup(CLASSES, stem)
}

/// The classes of a word in a table that the build script has made, as bits; 0 for an unknown one.
pub(crate) fn lookup(table: &[u8], word: &str) -> u64 {
    let table = Table::<8>::new(table);
    let bits = table.get(hash(&[word])).and_then(|bits| bits.first_chunk());
    bits.map_or(0, |bits| u64::from_le_bytes(*bits))
}

/// The names of classes.
pub(crate) fn names_of(classes: u64) -> impl Iterator<Item = &'static str> + Clone {
    let places = std::iter::successors(Some(classes), |rest| Some(rest & rest.wrapping_sub(1)));
    let places = places.take_while(|rest| *rest != 0).map(|rest| rest.trailing_zeros() as usize);
    places.filter_map(|at| NAMES.get(at).copied())
}

/// The classes of verbs and question words.
static VERBS: LazyLock<u64> =
    LazyLock::new(|| bits(&["change", "make", "write", "look", "do", "plan", "ask"]));

/// The classes of names that are the same in all languages.
pub(crate) static TECHNICAL: LazyLock<u64> =
    LazyLock::new(|| bits(&["front_tech", "back_tech", "lang", "infra", "test_tool", "ops", "git"]));

/// The bits of classes. A name that is not one has no bit.
pub(crate) fn bits(classes: &[&str]) -> u64 {
    let places = NAMES.iter().enumerate().filter(|(_, name)| classes.contains(name));
    places.fold(0, |bits, (at, _)| bits | 1 << at)
}

/// Returns true for a verb or question word that requests begin with.
pub(crate) fn is_verb(stem: &str) -> bool {
    classes(stem) & *VERBS != 0
}
