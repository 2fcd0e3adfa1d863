//! Dependencies between the tasks of a request, from the words of both and from their modes.

use super::{
    features::hash,
    lattice::{BACK, Values, size, slug},
    pieces::Request,
    splitter::Part,
    table::Column,
    words::Word,
};

/// The most words of a task that are features.
const MAX_WORDS: usize = 25;

/// The longest word that may be one of grammar: "it", "those".
const SHORT: usize = 5;

/// The places of the tasks that each task needs. A task may need a later one: "release it, but first fix the tests".
pub(crate) fn needs(request: &Request, parts: &[Part], weights: Column<'_>) -> Vec<Vec<usize>> {
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    for task in 1..parts.len() {
        for other in (0..task).rev() {
            if weights.sum(&features(request, parts, other, task, &needs)) > 0.0 {
                needs[task].insert(0, other);
            }
        }
        let before = task - 1;
        if !needs[task].contains(&before) && weights.sum(&reverse_features(request, parts, task)) > 0.0 {
            needs[before].push(task);
        }
    }
    needs
}

/// The features that speak for a task needing an earlier one. `needs` has what the tasks before need, and which tasks between the two
/// this one needs.
pub(crate) fn features(
    request: &Request,
    parts: &[Part],
    other: usize,
    task: usize,
    needs: &[Vec<usize>],
) -> Values {
    let (from, to) = (slug(parts[other].label), slug(parts[task].label));
    let distance = if task - other == 1 { "next" } else { "far" };
    let (earlier, words) = (words_of(request, parts[other]), words_of(request, parts[task]));
    let signs = request.pieces[parts[task].start].signs.as_str();
    let shown = |at: usize| words.get(at).map_or("", |word| word.shown.as_str());
    let mut found = Values::new();
    let mut add = |parts: &[&str]| found.push((hash(parts), 1.0));
    for distance in ["", distance] {
        add(&["any", distance]);
        add(&["signs", distance, signs]);
        add(&["pair", distance, from, to]);
        add(&["one", distance, shown(0)]);
        add(&["two", distance, shown(0), shown(1)]);
        add(&["three", distance, shown(0), shown(1), shown(2)]);
        add(&["second", distance, shown(1)]);
    }
    add(&["from", distance, from]);
    add(&["to", distance, to]);
    add(&["signs one", signs, shown(0)]);
    for (at, word) in words.iter().enumerate().take(MAX_WORDS) {
        add(&["word", distance, &word.shown]);
        add(&["stem", distance, &word.stem]);
        add(&["words", distance, &word.shown, shown(at + 1)]);
        if word.shown.len() <= SHORT {
            add(&["short", &word.shown, shown(at + 1), shown(at + 2)]);
            add(&["short at", if at < 3 { "begin" } else { "later" }, &word.shown]);
            add(&["short end", &word.shown, if at + 1 == words.len() { "end" } else { "" }]);
        }
    }
    let back = if words.iter().any(|word| BACK.contains(&word.shown.as_str())) { "back" } else { "" };
    let length = size(words.len());
    add(&["back", distance, back]);
    add(&["back to", to, back]);
    add(&["back from", from, back]);
    add(&["back signs", signs, back]);
    add(&["length", length]);
    add(&["length", length, back]);
    add(&["signs to", signs, to]);
    add(&["signs pair", signs, from, to]);
    for word in earlier.iter().take(MAX_WORDS) {
        add(&["earlier", distance, &word.stem]);
    }
    let names = |word: &Word| word.shown.len() > 3 && !word.stem.starts_with('<');
    let is_shared = |word: &Word| names(word) && earlier.iter().any(|other| other.stem == word.stem);
    let mut shared = 0;
    for (at, _) in words.iter().enumerate().filter(|(_, word)| is_shared(word)) {
        shared += 1;
        add(&["before shared", at.checked_sub(1).map_or("", shown)]);
    }
    add(&["shared", distance, ["0", "1", "more"][shared.min(2)]]);
    add(&["tasks", distance, if parts.len() > 2 { "many" } else { "two" }]);
    if distance == "far" {
        let is_between = needs[other + 1..task].iter().any(|needs| needs.contains(&other));
        let between = if is_between { "needs" } else { "" };
        let near = if needs[task].contains(&(task - 1)) { "needs" } else { "" };
        add(&["between", between]);
        add(&["near", near]);
        add(&["near", near, between]);
        add(&["between", slug(parts[task - 1].label), from, to]);
    }
    if task > 1 {
        add(&["before", distance, if needs[task - 1].is_empty() { "" } else { "needs" }]);
    }
    found
}

/// The features that speak for a task being needed by the one before it.
pub(crate) fn reverse_features(request: &Request, parts: &[Part], task: usize) -> Values {
    let words = words_of(request, parts[task]);
    let shown = |at: usize| words.get(at).map_or("", |word| word.shown.as_str());
    let mut found = Values::new();
    let mut add = |parts: &[&str]| found.push((hash(&[&["reverse"], parts].concat()), 1.0));
    add(&["any"]);
    add(&["one", shown(0)]);
    add(&["two", shown(0), shown(1)]);
    add(&["three", shown(0), shown(1), shown(2)]);
    for word in words.iter().take(MAX_WORDS) {
        add(&["word", &word.shown]);
    }
    found
}

fn words_of(request: &Request, part: Part) -> &[Word] {
    let words = request.pieces[part.start].words.start..request.pieces[part.end - 1].words.end;
    request.words.get(words).unwrap_or_default()
}
