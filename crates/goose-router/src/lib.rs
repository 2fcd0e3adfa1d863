//! Finds the agent for a request without a model: text in, choice out.
//!
//! - [`Request`]: a text, read once into `words`, for all of the following.
//! - [`Router::specialist`]: the mode whose kind of work a first request clearly is. `features` is what the linear
//!   `classifier` sees of it, with the word classes of `lexicon`; `own_agents` compares it with agents that do not come
//!   with goose.
//! - [`Router::named`]: the agent that a request names in its own words.
//! - [`Request::needs`]: what a request needs an agent to be able to do, estimated cautiously. No choice falls on a
//!   mode that cannot do it.
//! - [`Request::jobs`]: the items of a request that is an explicit list of independent jobs.
//!
//! `data/` has the training examples, the word lists and the weights; `examples/train_router` makes the weights.

mod announced_jobs;
mod classifier;
mod features;
mod jobs;
mod language;
mod lexicon;
mod means;
mod names;
mod needs;
mod own_agents;
mod request;
mod table;
mod words;

#[cfg(test)]
mod tests;

use self::{
    classifier::{Classifier, LABELS, Weights},
    own_agents::OwnWords,
    words::Word,
};
pub use self::{means::Means, request::Request};

/// The probability from which a request is clearly for a specialist.
const SURE: f32 = 0.5;

/// The probability below which the choice of the default agent is a guess.
const SURE_OF_DEFAULT: f32 = 0.7;

/// The fewest words that can be clear: `Again` and `Try it` are not.
const MIN_WORDS: usize = 3;

/// The most words that a reason names.
const MAX_REASON_WORDS: usize = 4;

/// The weights of the classifier.
const WEIGHTS: &[u8] = include_bytes!("../data/weights.bin");

/// A mode that requests can go to.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The slug of its mode.
    pub mode: &'a str,
    /// Its means.
    pub means: Means,
    /// Texts about its purpose, each with a weight, if it does not come with goose; the classifier knows the others.
    pub about: Vec<(&'a str, f32)>,
}

/// The specialist for a request, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess<'a> {
    /// Agent and mode; none for the default agent.
    pub specialist: Option<(&'a str, &'a str)>,
    /// The probability that this is right.
    pub confidence: f32,
    /// False if a fast model should be asked.
    pub is_clear: bool,
    /// The reason, for the user.
    pub reason: String,
}

impl Guess<'_> {
    fn default_agent(confidence: f32, reason: impl Into<String>) -> Self {
        Self { specialist: None, confidence, is_clear: confidence >= SURE_OF_DEFAULT, reason: reason.into() }
    }
}

/// Finds agents for requests. It depends on the agents only, so one serves any number of requests.
#[derive(Debug)]
pub struct Router {
    modes: Vec<RoutedMode>,
}

/// A candidate, with the words about its purpose.
#[derive(Debug)]
struct RoutedMode {
    agent: String,
    mode: String,
    means: Means,
    /// Words with their weights, if the mode does not come with goose.
    own_words: Option<OwnWords>,
}

impl RoutedMode {
    fn new(candidate: &Candidate<'_>) -> Self {
        Self {
            agent: candidate.agent.to_owned(),
            mode: candidate.mode.to_owned(),
            means: candidate.means,
            own_words: (!candidate.about.is_empty()).then(|| OwnWords::new(candidate)),
        }
    }

    fn name(&self) -> (&str, &str) {
        (&self.agent, &self.mode)
    }
}

impl Router {
    /// A router to these modes.
    pub fn new<'a>(candidates: impl IntoIterator<Item = Candidate<'a>>) -> Self {
        Self { modes: candidates.into_iter().map(|candidate| RoutedMode::new(&candidate)).collect() }
    }

    /// The specialist that a first request is clearly for, among those that can do all of it.
    pub fn specialist(&self, request: &Request<'_>) -> Guess<'_> {
        let (words, is_foreign) = (&request.words, request.is_foreign);
        if words.len() < MIN_WORDS && !is_foreign {
            return Guess::default_agent(1.0, "the request is too short to point to a specialist");
        }
        let needed = request.needs();
        if let Some(own) = self.own_agent(words, needed) {
            return own;
        }
        if is_foreign {
            return Guess {
                is_clear: false,
                ..Guess::default_agent(1.0, "the request does not seem to be in English")
            };
        }
        let classifier = Classifier::new(Weights::new(WEIGHTS), words);
        let found = classifier.probabilities();
        let best = (1..LABELS.len()).max_by(|one, two| found[*one].total_cmp(&found[*two])).unwrap_or(1);
        let (agent, mode) = LABELS[best];
        let is_best = |known: &&RoutedMode| known.name() == (agent, mode) && known.own_words.is_none();
        let candidate = self.modes.iter().find(is_best);
        let confidence = found[best];
        if confidence < SURE {
            return Guess::default_agent(1.0 - confidence, "it is not clearly the work of one specialist");
        }
        match candidate {
            Some(candidate) if candidate.means.covers(needed) => {
                let words = quoted(&classifier.words_for(best, MAX_REASON_WORDS));
                let reason = format!("words that point to {agent}/{mode}: {words}");
                Guess { specialist: Some(candidate.name()), confidence, is_clear: true, reason }
            }
            Some(candidate) => {
                let missing = candidate.means.missing(needed);
                Guess::default_agent(1.0, format!("it may need to {missing}, which {agent}/{mode} cannot"))
            }
            None => Guess::default_agent(1.0, "the mode that it is for does not exist"),
        }
    }

    /// The mode that a request names in its own words, among those that can do all of it.
    pub fn named(&self, request: &Request<'_>) -> Option<(&str, &str)> {
        names::named(&request.words, request.needs_of_words, &self.modes).map(RoutedMode::name)
    }

    fn own_agent(&self, words: &[Word], needed: Means) -> Option<Guess<'_>> {
        let able = self.modes.iter().filter(|mode| mode.means.covers(needed));
        let matches = able.filter_map(|mode| Some((mode, mode.own_words.as_ref()?.compare(words)?)));
        let (mode, found) = matches.max_by(|(_, one), (_, two)| one.confidence.total_cmp(&two.confidence))?;
        let reason = format!("{} matches the purpose of {}", quoted(&found.words), mode.agent);
        Some(Guess { specialist: Some(mode.name()), confidence: found.confidence, is_clear: true, reason })
    }
}

/// Returns true for the name of a file with a known ending.
pub fn is_file_name(word: &str) -> bool {
    words::is_file_name(word)
}

/// Words in quotes, for a reason.
fn quoted(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect::<Vec<_>>().join(", ")
}
