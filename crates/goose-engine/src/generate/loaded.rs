//! [`LoadedModel`]: a model in memory with the conversation it has read. What was computed is reused from question to
//! question and, through the state cache, from run to run.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use super::{
    chat::{ChatFormat, Turn},
    grammar::{GenerateError, Grammar, Vocabulary},
    run::{Generation, Generator},
    sample::{Sampler, Sampling},
    state_cache::{StateCache, common_prefix},
    template,
};
use crate::{EngineError, Model, ModelOptions, Sequence};

/// The tokens that a saved state must have beyond those in memory to be worth loading.
pub(super) const WORTH_LOADING: usize = 32;

/// The number of tokens after which progress is reported.
pub(super) const PROGRESS_TOKENS: usize = 128;

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

/// The conversation before the answer.
#[derive(Debug, Clone)]
pub enum Text {
    /// Turns in the format of the model's family. What was computed for the first ones, with which every such prompt begins, is
    /// kept between runs.
    Turns(Vec<Turn>, usize),
    /// Messages and tools as in the API of chat completions, for the file's own template.
    Messages(Vec<Value>, Vec<Value>),
}

/// A prompt, and how it is to be continued.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// True for a prompt that leaves the current conversation as it is.
    pub is_detached: bool,
    /// The text to continue.
    pub text: Text,
    /// The grammar of the answer, in the notation of Lark; none for free text.
    pub grammar: Option<String>,
    /// A text whose first token is made likelier as the beginning of the answer, by so much in its logit.
    pub favoured: Option<(&'static str, f32)>,
    /// The choice among likely tokens.
    pub sampling: Sampling,
    /// The most tokens that the answer may have.
    pub max_tokens: usize,
}

/// The receiver of an answer.
pub trait Listener {
    /// Returns whether the answer is not wanted any more. Asked before each token.
    fn is_cancelled(&self) -> bool;

    /// So many of all tokens of the prompt are read.
    fn progress(&self, _read: usize, _all: usize) {}

    /// More text, in whole characters.
    fn text(&mut self, text: &str);
}

/// A model in memory and its current conversation.
pub struct LoadedModel {
    model: Arc<Model>,
    format: ChatFormat,
    sequence: Sequence,
    /// The prompt that was last read apart from the conversation.
    detached: Sequence,
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
            detached: Sequence::new(Arc::clone(&model), capacity)?,
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

    /// Answers.
    ///
    /// # Errors
    ///
    /// The engine fails, or the grammar cannot be used.
    pub fn answer(
        &mut self,
        prompt: Prompt,
        listener: &mut dyn Listener,
    ) -> Result<Generation, GenerateError> {
        let is_detached = prompt.is_detached;
        if is_detached {
            std::mem::swap(&mut self.sequence, &mut self.detached);
        }
        let generated = self.write(prompt, listener);
        if is_detached {
            std::mem::swap(&mut self.sequence, &mut self.detached);
        }
        generated
    }

    fn write(&mut self, prompt: Prompt, listener: &mut dyn Listener) -> Result<Generation, GenerateError> {
        if prompt.grammar.is_some() {
            self.prepare_grammars()?;
        }
        let grammar = match (prompt.grammar, &self.vocabulary) {
            (Some(grammar), Some(vocabulary)) => Some(Grammar::new(vocabulary, grammar)?),
            _ => None,
        };
        let (tokens, opening) = match &prompt.text {
            Text::Turns(turns, opening) => (self.tokens(turns), self.tokens(&turns[..*opening])),
            Text::Messages(messages, tools) => {
                let template = self.model.info().chat_template.as_deref().unwrap_or_default();
                (template::tokens(template, self.model.tokenizer(), messages, tools)?, Vec::new())
            }
        };
        let (cached, read) = self.read_opening(&opening, &tokens, listener)?;
        let first = |text: &str| self.model.tokenizer().encode_continuation(text).first().copied();
        let generator = Generator {
            model: &self.model,
            sequence: &mut self.sequence,
            grammar,
            sampler: Sampler::new(prompt.sampling),
            favoured: prompt.favoured.and_then(|(text, by)| Some((first(text)?, by))),
            max_tokens: prompt.max_tokens.min(self.capacity.saturating_sub(tokens.len())),
            partial: Vec::new(),
        };
        let (end, output) = generator.write(&tokens, read, listener)?;
        Ok(Generation { end, input: tokens.len(), cached, output })
    }

    /// Recalls what is known of the conversation, from memory or from the cache, and reads the opening, which is kept for
    /// other runs. Returns how many tokens were known, and how many are read.
    fn read_opening(
        &mut self,
        opening: &[u32],
        tokens: &[u32],
        listener: &mut dyn Listener,
    ) -> Result<(usize, usize), EngineError> {
        let known = self.recall(tokens);
        let base = common_prefix(opening, tokens);
        let Some(cache) = self.cache.as_ref().filter(|_| base > known + WORTH_LOADING) else {
            return Ok((known, known));
        };
        for at in (known..base).step_by(PROGRESS_TOKENS) {
            listener.progress(at, tokens.len());
            self.sequence.feed(&tokens[at..base.min(at + PROGRESS_TOKENS)], &|| listener.is_cancelled())?;
        }
        cache.keep_base(&self.sequence);
        Ok((known, base))
    }

    /// Recalls what is known of the conversation, and returns how many of its tokens that are. The last is always read
    /// anew, for the answer comes out of it.
    fn recall(&mut self, tokens: &[u32]) -> usize {
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

    /// Keeps the conversation for another run.
    pub fn remember(&self, conversation: &str) {
        if let Some(cache) = &self.cache {
            cache.keep(conversation, &self.sequence);
        }
    }
}
