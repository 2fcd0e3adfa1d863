//! Dependencies between the tasks of a request: the words that say that a task needs the result of an earlier one.

use super::{
    classifier::LABELS,
    lexicon, phrases,
    pieces::Join,
    words::{Word, words},
};

/// A task, as far as the order matters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ordered<'t> {
    pub(crate) text: &'t str,
    pub(crate) join: Join,
    /// The label of its mode, see [`LABELS`](super::classifier::LABELS).
    pub(crate) label: usize,
}

/// The number of facts that speak for or against an order.
const EVIDENCE: usize = 15;

/// Weights of the facts, fitted to compound requests; the one of the workflow is raised, because few of them had one.
const WEIGHTS: [f32; EVIDENCE] =
    [-2.12, 4.18, -2.90, -1.09, -0.05, 4.12, 4.55, 0.19, 0.16, 2.70, 3.74, -0.56, -1.43, 1.62, -0.16];

/// The places of the earlier tasks that a task needs.
pub(crate) fn needs(earlier: &[Ordered<'_>], task: Ordered<'_>) -> Vec<usize> {
    let Some(previous) = earlier.last() else { return Vec::new() };
    let last = earlier.len() - 1;
    if last > 0 && words(task.text).iter().any(|word| word.shown == "both") {
        return vec![last - 1, last];
    }
    let evidence = evidence(*previous, task);
    let sum: f32 = evidence.iter().zip(WEIGHTS).map(|(value, weight)| value * weight).sum();
    if sum > 0.0 { vec![last] } else { Vec::new() }
}

/// The facts that speak for or against an order of two tasks, in the order of the weights.
fn evidence(previous: Ordered<'_>, task: Ordered<'_>) -> [f32; EVIDENCE] {
    let flag = |is: bool| f32::from(u8::from(is));
    let (before, found) = (words(previous.text), words(task.text));
    let lower = task.text.to_ascii_lowercase();
    let mode = |label: usize| LABELS.get(label).map_or("", |(_, mode)| *mode);
    let (from, to) = (mode(previous.label), mode(task.label));
    let refers = flag(refers(&found));
    let result = flag(phrases::list("results").iter().any(|phrase| contains_words(&lower, phrase)));
    let names = flag(names_the_same(&found, &before));
    let shares = flag(shares_noun(&found, &before));
    let is_joined = |join: Join| flag(task.join == join);
    [
        1.0,
        is_joined(Join::Then),
        is_joined(Join::Also),
        is_joined(Join::Item),
        is_joined(Join::Sentence),
        refers,
        result,
        names,
        shares,
        flag(is_workflow(from, to) && matches!(task.join, Join::Clause | Join::Item)),
        flag(matches!(from, "backend" | "frontend") && to == "qa" && task.join != Join::Sentence),
        flag(to == "recipe_maker"),
        flag(to == "assistant" || from == "assistant"),
        flag(matches!(from, "pm" | "architect" | "planner") && matches!(to, "architect" | "pm" | "qa")),
        is_joined(Join::Then) * flag(!is_workflow(from, to)) * (1.0 - refers.max(result).max(shares)),
    ]
}

/// Returns true for the order in which a team works: what is found out, decided or described comes before what is made of it.
fn is_workflow(from: &str, to: &str) -> bool {
    match from {
        "pm" => matches!(to, "architect" | "backend" | "frontend"),
        "architect" | "planner" => matches!(to, "backend" | "frontend" | "devsecops"),
        "qa" | "security" => matches!(to, "backend" | "frontend"),
        "sre" => matches!(to, "backend" | "frontend" | "pm"),
        "judge" => matches!(to, "assistant" | "backend"),
        _ => false,
    }
}

/// Returns true if a pronoun stands for something outside of the task.
fn refers(found: &[Word]) -> bool {
    // "the alert is too noisy, tune it": the task itself says what "it" is.
    let first = found.iter().find(|word| !phrases::has("polite", &word.shown));
    let states = found.iter().skip(1).take(6).any(|word| phrases::has("states", &word.shown));
    let names_subject = states || first.is_some_and(|word| !lexicon::is_verb(&word.stem));
    found.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| found.get(at)).map_or("", |word| word.shown.as_str());
        match word.shown.as_str() {
            "it" | "them" => {
                let is_own = names_subject && at > 2 && before != "use";
                let is_subject = found.get(at + 1).is_some_and(|word| phrases::has("after_it", &word.shown));
                !is_own && !is_subject && !phrases::has("subject", before)
            }
            "its" => at < 3,
            "that" | "this" | "those" | "these" if names_subject => false,
            "this" | "those" | "these" => true,
            "that" => at + 1 == found.len() || phrases::has("before_that", before),
            _ => false,
        }
    })
}

/// Returns true if "the …" names something that the earlier task names.
fn names_the_same(found: &[Word], earlier: &[Word]) -> bool {
    let is_article = |word: &Word| matches!(word.shown.as_str(), "the" | "your");
    let after_article =
        |at: usize| [1, 2].iter().any(|back| found.get(at.wrapping_sub(*back)).is_some_and(is_article));
    let mut named = found.iter().enumerate().filter(|(at, word)| word.shown.len() > 3 && after_article(*at));
    named.any(|(_, noun)| earlier.iter().any(|word| word.stem == noun.stem))
}

/// Returns true if both name a thing.
fn shares_noun(found: &[Word], earlier: &[Word]) -> bool {
    let is_noun = |word: &&Word| {
        word.shown.len() > 3 && !lexicon::is_verb(&word.stem) && !phrases::has("polite", &word.shown)
    };
    found.iter().filter(is_noun).any(|noun| earlier.iter().any(|word| word.stem == noun.stem))
}

fn contains_words(lower: &str, phrase: &str) -> bool {
    lower.match_indices(phrase).any(|(at, _)| {
        let starts = lower.get(..at).is_some_and(|before| !before.ends_with(char::is_alphanumeric));
        starts
            && lower.get(at + phrase.len()..).is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}
