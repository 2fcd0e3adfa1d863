//! Agents of the user and the project: found by the words of their `when_to_use`, description and capabilities, without
//! training.

use std::collections::HashMap;

use crate::{
    Candidate, lexicon,
    words::{Word, WordList, words},
};

/// The confidence that a match must have.
const SURE: f32 = 0.5;

/// The highest confidence of a match: words alone do not make certain.
const MOST: f32 = 0.95;

/// The most words of an agent's texts that are compared.
const MAX_WORDS: usize = 400;

/// The confidence that a request is for an agent that does not come with goose, and the words that speak for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnMatch {
    pub(crate) confidence: f32,
    pub(crate) words: Vec<String>,
}

/// The words of the texts about an agent, each with its largest weight. Its name is not one of them: who says it asks
/// for the agent, or talks about it, which `names` tells apart.
#[derive(Debug)]
pub(crate) struct OwnWords(HashMap<String, f32>);

impl OwnWords {
    pub(crate) fn new(candidate: &Candidate<'_>) -> Self {
        let names: Vec<Word> = [candidate.agent, candidate.mode].into_iter().flat_map(words).collect();
        let mut about: HashMap<String, f32> = HashMap::new();
        for (text, weight) in &candidate.about {
            for word in words(text).into_iter().take(MAX_WORDS) {
                if names.iter().all(|name| name.stem != word.stem) {
                    let known = about.entry(word.stem).or_default();
                    *known = known.max(*weight);
                }
            }
        }
        Self(about)
    }

    /// Compares a request with what the agent is for. `None` if the match is not sure enough.
    pub(crate) fn compare(&self, request: &[Word]) -> Option<OwnMatch> {
        let (mut sum, mut words) = (0.0, Vec::new());
        for (at, word) in request.iter().enumerate() {
            let is_again = || request.iter().take(at).any(|earlier| earlier.stem == word.stem);
            let weight = self.0.get(&word.stem).map_or(0.0, |weight| weight * importance(word));
            if weight > 0.0 && !is_again() {
                sum += weight;
                words.push(word.shown.clone());
            }
        }
        let confidence = MOST * (1.0 - (-sum).exp());
        (confidence >= SURE).then_some(OwnMatch { confidence, words })
    }
}

/// The weight of a word: two words that few requests have are enough, words that many requests have say little.
fn importance(word: &Word) -> f32 {
    const COMMON: [&str; 9] = ["polite", "ask", "negated", "do", "make", "write", "change", "look", "mine"];
    let classes = lexicon::classes(&word.stem);
    if word.stem.starts_with('<') || word.shown.len() < 3 || FILLERS.has(&word.shown) {
        0.0
    } else if classes & lexicon::bits(&COMMON) != 0 {
        0.05
    } else if classes != 0 {
        0.4
    } else {
        0.85
    }
}

/// Words that say nothing about what an agent is for.
const FILLERS: WordList = WordList(
    "the and for with that this from into about our your you are any all use used when request requests user users asks \
     agent mode work works thing things some its it's has have out new one more other than then them they there their will \
     was were been being also such like e.g etc questions question tasks task main his her very only each every between \
     over under after before just now main anything everything something people person time way good",
);
