//! [`Request`]: a text, read once for everything that the router is asked about it.

use std::ops::Range;

use crate::{
    Means, WEIGHTS, announced_jobs,
    classifier::{self, Weights},
    jobs, language, needs,
    words::{Word, words},
};

/// A request of the user.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    text: &'a str,
    pub(crate) words: Vec<Word>,
    pub(crate) is_foreign: bool,
    /// The means that its words ask for, also if it is not in English.
    pub(crate) needs_of_words: Means,
}

impl<'a> Request<'a> {
    /// Reads a text.
    pub fn new(text: &'a str) -> Self {
        let words = words(text);
        let weights = Weights::new(WEIGHTS);
        let is_foreign = language::is_foreign(text, &words, |word| classifier::knows(weights, word));
        let needs_of_words = needs::needs(text, &words);
        Self { text, words, is_foreign, needs_of_words }
    }

    /// Returns the means that it needs. Everything, if it is not clear or not in English.
    pub fn needs(&self) -> Means {
        if self.is_foreign { Means::ALL } else { self.needs_of_words }
    }

    /// Returns the jobs of an explicit list of independent jobs, as places in the text. Empty if it is one request.
    pub fn jobs(&self) -> Vec<Range<usize>> {
        if self.is_foreign { announced_jobs::announced_jobs(self.text) } else { jobs::jobs(self.text) }
    }
}
