//! Classes of words: words of one kind speak for the same mode, also those that no training example has.

use std::{collections::HashMap, sync::LazyLock};

use super::words::stem;

/// The classes, one in each line: its name, then its words.
const TEXT: &str = include_str!("lexicon.txt");

/// Bytes of a line per word, at least: the table need not grow.
const MEAN_BYTES: usize = 6;

/// The classes, read when the first request is routed.
static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::read);

struct Classes {
    names: Vec<&'static str>,
    /// The classes of a word's stem, as bits.
    of_stem: HashMap<String, u64>,
}

impl Classes {
    fn read() -> Self {
        let mut names = Vec::new();
        let mut of_stem: HashMap<String, u64> = HashMap::with_capacity(TEXT.len() / MEAN_BYTES);
        for (name, words) in TEXT.lines().filter_map(|line| line.split_once(':')) {
            let bit = 1 << names.len();
            names.push(name);
            for word in words.split_ascii_whitespace() {
                *of_stem.entry(stem(word)).or_default() |= bit;
            }
        }
        Self { names, of_stem }
    }
}

/// The names of all classes.
pub(crate) fn names() -> &'static [&'static str] {
    &CLASSES.names
}

/// The classes of a stem, each the bit of its place in [`names`].
pub(crate) fn classes(stem: &str) -> u64 {
    CLASSES.of_stem.get(stem).copied().unwrap_or_default()
}

/// The names of classes.
pub(crate) fn names_of(classes: u64) -> impl Iterator<Item = &'static str> + Clone {
    let names = names();
    let places = std::iter::successors(Some(classes), |rest| Some(rest & rest.wrapping_sub(1)));
    let places = places.take_while(|rest| *rest != 0).map(|rest| rest.trailing_zeros() as usize);
    places.filter_map(move |at| names.get(at).copied())
}

/// The bit of a class, or no bit for a name that is not one.
pub(crate) fn bit(class: &str) -> u64 {
    names().iter().position(|name| *name == class).map_or(0, |at| 1 << at)
}

/// The classes of verbs and question words.
static VERBS: LazyLock<u64> =
    LazyLock::new(|| bits(&["change", "make", "write", "look", "do", "plan", "ask"]));

/// The classes of names that are the same in all languages.
static TECHNICAL: LazyLock<u64> =
    LazyLock::new(|| bits(&["front_tech", "back_tech", "lang", "infra", "test_tool", "ops", "git"]));

fn bits(classes: &[&str]) -> u64 {
    classes.iter().fold(0, |bits, class| bits | bit(class))
}

/// Returns true for a verb or question word that requests begin with.
pub(crate) fn is_verb(stem: &str) -> bool {
    classes(stem) & *VERBS != 0
}

/// The classes of names that are the same in all languages.
pub(crate) fn technical() -> u64 {
    *TECHNICAL
}
