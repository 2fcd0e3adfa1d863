//! Agents of the user and the project: found by the words of their `when_to_use`, description and capabilities, without training.

use std::collections::HashMap;

use super::{
    lexicon,
    words::{Word, words},
};
use crate::agents::catalog::{AgentCatalog, AgentOrigin};

/// The confidence that a match must have.
pub(crate) const SURE: f32 = 0.5;

/// Matching words of a request weigh up to this much together when one of two more would hardly add.
const ENOUGH: f32 = 3.0;

/// A mode of an agent that does not come with goose, and how well a request matches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnMatch<'a> {
    pub(crate) agent: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) confidence: f32,
    /// The words that matched.
    pub(crate) words: Vec<String>,
}

/// The best match among the agents that do not come with goose.
pub(crate) fn best<'a>(catalog: &'a AgentCatalog, request: &[Word]) -> Option<OwnMatch<'a>> {
    let own = catalog.agents.iter().filter(|entry| entry.origin != AgentOrigin::Builtin);
    let modes = own.flat_map(|entry| entry.manifest.modes.iter().map(move |mode| (entry, mode)));
    let matches = modes.map(|(entry, mode)| {
        let manifest = &entry.manifest;
        let mut about: HashMap<String, f32> = HashMap::new();
        let mut add = |text: &str, weight: f32| {
            for word in words(text) {
                let known = about.entry(word.stem).or_default();
                *known = known.max(weight);
            }
        };
        add(&manifest.name, 1.0);
        add(&mode.slug, 1.0);
        add(&manifest.description, 0.8);
        add(&mode.description, 0.8);
        for capability in &manifest.metadata.capabilities {
            add(&capability.name, 1.0);
            add(&capability.description, 0.8);
        }
        add(&mode.when_to_use, 1.0);
        let mut matched: Vec<String> = Vec::new();
        let mut sum = 0.0;
        for word in request {
            let weight = about.remove(&word.stem).unwrap_or_default() * importance(word);
            if weight > 0.0 {
                sum += weight;
                matched.push(word.shown.clone());
            }
        }
        let confidence = 0.97 * (1.0 - (-sum * ENOUGH / 2.5_f32).exp());
        OwnMatch { agent: &manifest.name, mode: &mode.slug, confidence, words: matched }
    });
    matches.max_by(|one, two| one.confidence.total_cmp(&two.confidence))
}

/// The weight of a word: names and rare words say most, words that stand in every request nothing.
fn importance(word: &Word) -> f32 {
    let frequent = lexicon::bit("polite")
        | lexicon::bit("ask")
        | lexicon::bit("negated")
        | lexicon::bit("do")
        | lexicon::bit("make")
        | lexicon::bit("write")
        | lexicon::bit("change")
        | lexicon::bit("look")
        | lexicon::bit("mine");
    let classes = lexicon::classes(&word.stem);
    if word.stem.starts_with('<') || word.shown.len() < 3 || FILLERS.contains(&word.shown.as_str()) {
        0.0
    } else if classes & frequent != 0 {
        0.05
    } else if classes != 0 {
        0.4
    } else {
        0.7
    }
}

const FILLERS: &[&str] = &[
    "the",
    "and",
    "for",
    "with",
    "that",
    "this",
    "from",
    "into",
    "about",
    "our",
    "your",
    "you",
    "are",
    "any",
    "all",
    "use",
    "used",
    "when",
    "request",
    "requests",
    "user",
    "users",
    "asks",
    "agent",
    "mode",
    "work",
    "works",
    "thing",
    "things",
    "some",
    "its",
    "it's",
    "has",
    "have",
    "out",
    "new",
    "one",
    "more",
    "other",
    "than",
    "then",
    "them",
    "they",
    "there",
    "their",
    "will",
    "was",
    "were",
    "been",
    "being",
    "also",
    "such",
    "like",
    "e.g",
    "etc",
    "questions",
    "question",
    "tasks",
    "task",
];
