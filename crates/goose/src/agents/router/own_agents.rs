//! Agents of the user and the project: found by the words of their `when_to_use`, description and capabilities, without training.

use std::collections::HashMap;

use super::{
    lexicon,
    words::{Word, words},
};
use crate::agents::{
    catalog::{AgentCatalog, AgentOrigin},
    manifest::{AgentManifest, AgentMode},
};

/// The confidence that a match must have.
const SURE: f32 = 0.5;

/// The highest confidence of a match: words alone do not make certain.
const MOST: f32 = 0.95;

/// Weight of words from a description; those from a name, a capability and `when_to_use` weigh 1.
const OF_DESCRIPTION: f32 = 0.8;

/// The most words of an agent's texts that are compared.
const MAX_WORDS: usize = 400;

/// A mode of an agent that does not come with goose, for a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnMatch<'a> {
    pub(crate) agent: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) confidence: f32,
    /// The words that matched.
    pub(crate) words: Vec<String>,
}

/// The modes of agents that do not come with goose, with the words that say what they are for.
pub(crate) struct OwnModes<'a> {
    modes: Vec<(&'a AgentManifest, &'a AgentMode, HashMap<String, f32>)>,
}

impl<'a> OwnModes<'a> {
    pub(crate) fn new(catalog: &'a AgentCatalog) -> Self {
        let own = catalog.agents.iter().filter(|entry| entry.origin != AgentOrigin::Builtin);
        let modes = own.flat_map(|entry| entry.manifest.modes.iter().map(|mode| (&*entry.manifest, mode)));
        let about = |(manifest, mode): (&'a AgentManifest, &'a AgentMode)| {
            (manifest, mode, about(texts(manifest, mode)))
        };
        Self { modes: modes.map(about).collect() }
    }

    /// The best match for a request, if it is sure enough, among the modes that it is not beyond.
    pub(crate) fn best(
        &self,
        request: &[Word],
        is_beyond: impl Fn(&AgentMode) -> bool,
    ) -> Option<OwnMatch<'a>> {
        let matches = self.modes.iter().filter_map(|(manifest, mode, about)| {
            let (confidence, words) = compare(about, request);
            let own = OwnMatch { agent: &manifest.name, mode: &mode.slug, confidence, words };
            (confidence >= SURE && !is_beyond(mode)).then_some(own)
        });
        matches.max_by(|one, two| one.confidence.total_cmp(&two.confidence))
    }
}

/// The texts that say what a mode is for, each with its weight.
fn texts<'a>(manifest: &'a AgentManifest, mode: &'a AgentMode) -> Vec<(&'a str, f32)> {
    let mut texts = vec![
        (mode.when_to_use.as_str(), 1.0),
        (manifest.name.as_str(), 1.0),
        (mode.slug.as_str(), 1.0),
        (manifest.description.as_str(), OF_DESCRIPTION),
        (mode.description.as_str(), OF_DESCRIPTION),
    ];
    for capability in &manifest.metadata.capabilities {
        texts.extend([(capability.name.as_str(), 1.0), (capability.description.as_str(), OF_DESCRIPTION)]);
    }
    texts
}

/// The words of texts, each with its largest weight.
fn about(texts: Vec<(&str, f32)>) -> HashMap<String, f32> {
    let mut about: HashMap<String, f32> = HashMap::new();
    for (text, weight) in texts {
        for word in words(text).into_iter().take(MAX_WORDS) {
            let known = about.entry(word.stem).or_default();
            *known = known.max(weight);
        }
    }
    about
}

/// The confidence that a request is for a mode, and the words that both have.
fn compare(about: &HashMap<String, f32>, request: &[Word]) -> (f32, Vec<String>) {
    let (mut sum, mut shared) = (0.0, Vec::new());
    for (at, word) in request.iter().enumerate() {
        let is_again = request.iter().take(at).any(|earlier| earlier.stem == word.stem);
        let weight = about.get(&word.stem).copied().unwrap_or_default() * importance(word);
        if weight > 0.0 && !is_again {
            sum += weight;
            shared.push(word.shown.clone());
        }
    }
    (MOST * (1.0 - (-sum).exp()), shared)
}

/// The weight of a word: two words that few requests have are enough, words that many requests have say little.
fn importance(word: &Word) -> f32 {
    const COMMON: [&str; 9] = ["polite", "ask", "negated", "do", "make", "write", "change", "look", "mine"];
    let classes = lexicon::classes(&word.stem);
    let common = COMMON.iter().fold(0, |bits, class| bits | lexicon::bit(class));
    if word.stem.starts_with('<') || word.shown.len() < 3 || FILLERS.contains(&word.shown.as_str()) {
        0.0
    } else if classes & common != 0 {
        0.05
    } else if classes != 0 {
        0.4
    } else {
        0.85
    }
}

/// Words that say nothing about what an agent is for.
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
    "main",
    "his",
    "her",
    "very",
    "only",
    "each",
    "every",
    "between",
    "over",
    "under",
    "after",
    "before",
    "just",
    "now",
    "main",
    "anything",
    "everything",
    "something",
    "people",
    "person",
    "time",
    "way",
    "good",
];
