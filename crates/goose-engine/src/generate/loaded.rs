//! [`LoadedModel`]: a model in memory with the conversation it has read. What was computed is reused from question to
//! question and, through the state cache, from run to run.

use std::{path::PathBuf, sync::Arc};

use super::{
    chat::{ChatFormat, Turn},
    grammar::{GenerateError, Grammar, Vocabulary},
    run::{Generated, Writing},
    sample::{Sampler, Sampling},
    state_cache::{StateCache, common_prefix},
};
use crate::{EngineError, Model, ModelOptions, Sequence};

/// The tokens that a saved state must have beyond those in memory to be worth loading.
pub(super) const WORTH_LOADING: usize = 32;

/// The options of [`LoadedModel::open`].
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The GGUF file.
    pub file: PathBuf,
    /// The number of compute threads; all free cores if not given.
    pub threads: Option<usize>,
    /// The most tokens that a conversation may have.
    pub context: usize,
    /// The folder for computed states; without one they are not kept between runs.
    pub cache: Option<PathBuf>,
}

/// The options of one answer.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// The choice among likely tokens.
    pub sampling: Sampling,
    /// The most tokens that the answer may have.
    pub max_tokens: usize,
}

/// A model in memory and its current conversation.
pub struct LoadedModel {
    model: Arc<Model>,
    format: ChatFormat,
    sequence: Sequence,
    vocabulary: Option<Vocabulary>,
    cache: Option<StateCache>,
    capacity: usize,
}

impl LoadedModel {
    /// Opens the model.
    ///
    /// # Errors
    ///
    /// The file cannot be read or run.
    pub fn open(options: &LoadOptions) -> Result<Self, EngineError> {
        let model_options = ModelOptions { threads: options.threads, context: Some(options.context) };
        let model = Model::open(&options.file, &model_options)?;
        let capacity = options.context.min(model.info().context_length);
        let cache = options.cache.clone().map(|folder| StateCache::new(folder, &options.file));
        Ok(Self {
            format: ChatFormat::detect(model.tokenizer(), model.info()),
            sequence: Sequence::new(Arc::clone(&model), capacity)?,
            model,
            vocabulary: None,
            cache,
            capacity,
        })
    }

    /// Returns how many tokens fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the turns as tokens.
    pub fn tokens(&self, turns: &[Turn]) -> Vec<u32> {
        self.format.tokens(self.model.tokenizer(), turns)
    }

    /// Returns whether the turns fit with so many tokens for the answer.
    pub fn fits(&self, turns: &[Turn], answer: usize) -> bool {
        self.tokens(turns).len() + answer <= self.capacity
    }

    /// Prepares the vocabulary for grammars. Done at the first use otherwise.
    ///
    /// # Errors
    ///
    /// The vocabulary does not suit grammars.
    pub fn prepare_grammars(&mut self) -> Result<(), GenerateError> {
        if self.vocabulary.is_none() {
            self.vocabulary = Some(Vocabulary::new(&self.model)?);
        }
        Ok(())
    }

    /// Recalls what is known of the conversation, from memory or from the cache, and returns how many of its tokens that
    /// are. The last is always read anew, for the answer comes out of it.
    pub fn recall(&mut self, tokens: &[u32]) -> usize {
        let in_mind = common_prefix(self.sequence.tokens(), tokens);
        let cache = self.cache.as_ref();
        let better =
            cache.and_then(|cache| cache.best(&self.model, tokens, in_mind + WORTH_LOADING, self.capacity));
        if let Some(better) = better {
            self.sequence = better;
        }
        let known = common_prefix(self.sequence.tokens(), tokens).min(tokens.len().saturating_sub(1));
        self.sequence.keep(known);
        known
    }

    /// Reads what every conversation begins with, and keeps it for other runs, unless that was done before. Returns how
    /// many tokens are known then.
    ///
    /// # Errors
    ///
    /// The engine fails, or the caller cancels.
    pub fn read_base(
        &mut self,
        base: &[u32],
        known: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<usize, EngineError> {
        let Some(cache) = self.cache.as_ref().filter(|_| base.len() > known + WORTH_LOADING) else {
            return Ok(known);
        };
        self.sequence.feed(&base[known..], is_cancelled)?;
        cache.keep_base(&self.sequence);
        Ok(base.len())
    }

    /// Keeps the conversation for another run.
    pub fn remember(&self, conversation: &str) {
        if let Some(cache) = &self.cache {
            cache.keep(conversation, &self.sequence);
        }
    }

    /// Writes the answer to `prompt`, the tokens after those that [`Self::recall`] knew, within a grammar in the notation
    /// of Lark where there is one. Bytes are handed out as they come; a character may come in pieces.
    ///
    /// # Errors
    ///
    /// The engine fails, or the grammar cannot be used.
    pub fn write(
        &mut self,
        prompt: &[u32],
        grammar: Option<String>,
        options: WriteOptions,
        is_cancelled: &dyn Fn() -> bool,
        hand_out: &mut dyn FnMut(&[u8]),
    ) -> Result<Generated, GenerateError> {
        if grammar.is_some() {
            self.prepare_grammars()?;
        }
        let grammar = match (grammar, &self.vocabulary) {
            (Some(grammar), Some(vocabulary)) => Some(Grammar::new(vocabulary, grammar)?),
            _ => None,
        };
        let writing = Writing {
            model: &self.model,
            sequence: &mut self.sequence,
            grammar,
            sampler: Sampler::new(options.sampling),
            max_tokens: options.max_tokens,
        };
        writing.write(prompt, is_cancelled, hand_out)
    }

    /// Answers free text in a conversation of its own. The current conversation stays as it is.
    ///
    /// # Errors
    ///
    /// The engine fails.
    pub fn write_apart(
        &self,
        turns: &[Turn],
        options: WriteOptions,
        is_cancelled: &dyn Fn() -> bool,
        hand_out: &mut dyn FnMut(&[u8]),
    ) -> Result<Generated, GenerateError> {
        let tokens = self.tokens(turns);
        let capacity = (tokens.len() + options.max_tokens).min(self.capacity);
        let mut sequence = Sequence::new(Arc::clone(&self.model), capacity)?;
        let writing = Writing {
            model: &self.model,
            sequence: &mut sequence,
            grammar: None,
            sampler: Sampler::new(options.sampling),
            max_tokens: options.max_tokens,
        };
        writing.write(&tokens, is_cancelled, hand_out)
    }
}
