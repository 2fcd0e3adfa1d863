//! Dependencies between the tasks of a request: the words that say that a task needs the result of an earlier one.

use super::{
    pieces::Join,
    words::{Word, words},
};

/// Words that stand for something said before.
const REFERS: &[&str] = &[
    "it",
    "its",
    "them",
    "their",
    "that",
    "this",
    "those",
    "these",
    "both",
    "result",
    "results",
    "accordingly",
    "there",
    "same",
];

/// Phrases that stand for the result of something said before.
const RESULTS: &[&str] = &[
    "whatever you",
    "what you found",
    "what you find",
    "what was found",
    "the findings",
    "you found",
    "you find",
    "you picked",
    "the winner",
    "the outcome",
    "the output",
    "the fix",
    "the change",
    "the changes",
    "based on",
    "from the",
    "using the",
    "with the result",
    "the numbers",
    "the new",
    "on top of",
];

/// The numbers of the earlier tasks that a task needs. `texts` are the tasks up to and with this one.
pub(crate) fn needs(texts: &[&str], join: Join) -> Vec<usize> {
    let Some((text, earlier)) = texts.split_last() else { return Vec::new() };
    let Some(previous) = earlier.len().checked_sub(1) else { return Vec::new() };
    let found = words(text);
    let lower = text.to_ascii_lowercase();
    if found.iter().any(|word| word.stem == "both") && earlier.len() > 1 {
        return vec![previous - 1, previous];
    }
    let refers = refers(&found)
        || RESULTS.iter().any(|phrase| lower.contains(phrase))
        || shares_object(&found, earlier.last().copied().unwrap_or_default());
    match join {
        Join::Then => vec![previous],
        Join::Also => Vec::new(),
        _ if refers => vec![previous],
        _ => Vec::new(),
    }
}

fn refers(found: &[Word]) -> bool {
    found.iter().any(|word| REFERS.contains(&word.shown.as_str()))
}

/// Returns true if "the …" names something that the earlier task is about.
fn shares_object(found: &[Word], earlier: &str) -> bool {
    let earlier = words(earlier);
    found.windows(2).any(|pair| match pair {
        [article, noun] => {
            article.shown == "the"
                && noun.shown.len() > 3
                && earlier.iter().any(|word| word.stem == noun.stem)
        }
        _ => false,
    })
}
