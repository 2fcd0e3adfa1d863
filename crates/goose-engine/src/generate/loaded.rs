//! [`LoadedModel`]: a model in memory with the conversation that it has read. Computed states are reused
//! from question to question and, through the state cache, from run to run.

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

/// Minimum number of additional tokens that make a saved state worth loading.
pub(super) const WORTH_LOADING: usize = 32;

/// Number of tokens between two progress reports.
pub(super) const PROGRESS_TOKENS: usize = 128;

/// Options of [`LoadedModel::open`].
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Path of the GGUF file.
    pub file: PathBuf,
    /// Number of compute threads. By default, one for each available core.
    pub threads: Option<usize>,
    /// Maximum number of tokens of a conversation.
    pub context: usize,
    /// Folder for computed states. Without one, they are not saved.
    pub cache: Option<PathBuf>,
}

/// Conversation before the answer.
#[derive(Debug, Clone)]
pub enum Text {
    /// Turns in the format of the model's family, and the number of leading turns that all prompts of
    /// this kind share. The computed state of those turns is saved for other runs.
    Turns(Vec<Turn>, usize),
    /// Messages and tools in the form of the chat completions API, for the file's template.
    Messages(Vec<Value>, Vec<Value>),
}

/// Prompt, and how to continue it.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// True for a prompt that does not change the current conversation.
    pub is_detached: bool,
    /// Text to continue.
    pub text: Text,
    /// Grammar of the answer, in Lark notation; none for free text.
    pub grammar: Option<String>,
    /// Preferred beginning of the answer, and the bonus on the logit of its first token.
    pub favoured: Option<(&'static str, f32)>,
    /// Choice among likely tokens.
    pub sampling: Sampling,
    /// Maximum number of tokens of the answer.
    pub max_tokens: usize,
}

/// Receiver of an answer.
pub trait Listener {
    /// Returns true to stop. Called between the steps of each layer.
    fn is_cancelled(&self) -> bool;

    /// Reports that `_read` of `_all` tokens of the prompt are computed.
    fn progress(&self, _read: usize, _all: usize) {}

    /// Takes the next text, in whole characters.
    fn text(&mut self, text: &str);
}

/// Model in memory, and its current conversation.
pub struct LoadedModel {
    model: Arc<Model>,
    format: ChatFormat,
    sequence: Sequence,
    /// Last prompt outside of the conversation.
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

    /// Returns the maximum number of tokens of a conversation.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the turns as tokens.
    pub fn tokens(&self, turns: &[Turn]) -> Vec<u32> {
        self.format.tokens(self.model.tokenizer(), turns)
    }

    /// Prepares the vocabulary for grammars, which otherwise happens at the first use.
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

    /// Writes an answer.
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

    /// Reuses the longest known prefix of the conversation, then computes the rest of the opening and
    /// saves its state. Returns the number of reused tokens, and of computed and reused tokens together.
    fn read_opening(
        &mut self,
        opening: &[u32],
        tokens: &[u32],
        listener: &mut dyn Listener,
    ) -> Result<(usize, usize), EngineError> {
        let known = self.recall(tokens);
        let shared = common_prefix(opening, tokens);
        let Some(cache) = self.cache.as_ref().filter(|_| shared > known + WORTH_LOADING) else {
            return Ok((known, known));
        };
        for at in (known..shared).step_by(PROGRESS_TOKENS) {
            listener.progress(at, tokens.len());
            self.sequence.feed(&tokens[at..shared.min(at + PROGRESS_TOKENS)], &|| listener.is_cancelled())?;
        }
        cache.keep_opening(&self.sequence);
        Ok((known, shared))
    }

    /// Reuses the longest known prefix of the conversation, from memory or from the cache, and returns
    /// its length. The last token is always computed again, because its logits start the answer.
    fn recall(&mut self, tokens: &[u32]) -> usize {
        let in_memory = common_prefix(self.sequence.tokens(), tokens);
        let cache = self.cache.as_ref();
        let better =
            cache.and_then(|cache| cache.best(&self.model, tokens, in_memory + WORTH_LOADING, self.capacity));
        if let Some(better) = better {
            self.sequence = better;
        }
        let known = common_prefix(self.sequence.tokens(), tokens).min(tokens.len().saturating_sub(1));
        self.sequence.keep(known);
        known
    }

    /// Saves the state of the conversation for other runs.
    pub fn remember(&self, conversation: &str) {
        if let Some(cache) = &self.cache {
            cache.keep(conversation, &self.sequence);
        }
    }
}
