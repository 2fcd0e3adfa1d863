//! Lists of words and phrases that join the tasks of a request or say nothing about them.

use std::{collections::HashMap, sync::LazyLock};

/// The lists, one in each line: its name, then its phrases.
const TEXT: &str = include_str!("phrases.txt");

/// The lists, read when the first request is routed.
static LISTS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let lines = TEXT.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(name, phrases)| (name, phrases.split(" | ").collect())).collect()
});

/// The phrases of a list; none for a name that there is not.
pub(crate) fn list(name: &str) -> &'static [&'static str] {
    LISTS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, phrases)| phrases)
}

/// The lists that hold a word, each the bit of its place.
static HOLDING: LazyLock<HashMap<&str, u64>> = LazyLock::new(|| {
    let mut holding: HashMap<&str, u64> = HashMap::new();
    for (at, (_, phrases)) in LISTS.iter().enumerate() {
        for phrase in phrases {
            *holding.entry(phrase).or_default() |= 1 << at;
        }
    }
    holding
});

/// Returns true if a list holds a word.
pub(crate) fn has(name: &str, word: &str) -> bool {
    let holding = HOLDING.get(word).copied().unwrap_or_default();
    holding != 0
        && LISTS.iter().position(|(known, _)| *known == name).is_some_and(|at| holding >> at & 1 == 1)
}

/// The longest phrase of a list that a text in lower case begins with.
pub(crate) fn beginning(name: &str, lower: &str) -> Option<&'static str> {
    let begun = list(name).iter().filter(|phrase| begins_with(lower, phrase));
    begun.max_by_key(|phrase| phrase.len()).copied()
}

/// Returns true if a text in lower case begins with a phrase, and a word ends there.
fn begins_with(lower: &str, phrase: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '_' | '-');
    lower.strip_prefix(phrase).is_some_and(|rest| !rest.starts_with(goes_on))
}
