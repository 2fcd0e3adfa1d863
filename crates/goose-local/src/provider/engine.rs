//! [`Engine`]: the one model of a process and the conversation that it has in mind. Loaded when it is first needed; one
//! question at a time.

use std::{path::PathBuf, sync::Arc};

use goose_providers::{ProviderError, ProviderResult};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    chat::ChatFormat,
    history::Turn,
    saved::{Saved, common},
};
use crate::{
    EngineError, Model, ModelOptions, Sequence,
    generate::{GenerateError, Vocabulary},
};

/// How much more a saved conversation must have in common with a question than the one in mind, to be worth loading.
pub(super) const WORTH_LOADING: usize = 32;

/// What the engine is made from.
#[derive(Debug, Clone)]
pub(super) struct EngineOptions {
    pub(super) file: PathBuf,
    pub(super) threads: Option<usize>,
    pub(super) context: usize,
    /// Where what was computed is kept between runs; nowhere where there is none.
    pub(super) cache: Option<PathBuf>,
    /// Whether that includes conversations.
    pub(super) keeps_conversations: bool,
}

/// The model, whether it is loaded yet or not.
#[derive(Clone)]
pub(super) struct Engine {
    options: Arc<EngineOptions>,
    loaded: Arc<Mutex<Option<Loaded>>>,
}

/// The engine for the time of one question.
pub(super) struct Turnstile {
    options: Arc<EngineOptions>,
    guard: OwnedMutexGuard<Option<Loaded>>,
}

/// A model that is in memory.
pub(super) struct Loaded {
    pub(super) model: Arc<Model>,
    pub(super) format: ChatFormat,
    pub(super) sequence: Sequence,
    vocabulary: Option<Vocabulary>,
    saved: Option<Saved>,
    keeps_conversations: bool,
    /// How many tokens fit.
    pub(super) capacity: usize,
}

impl Engine {
    pub(super) fn new(options: EngineOptions) -> Self {
        Self { options: Arc::new(options), loaded: Arc::default() }
    }

    /// Waits until nobody else asks.
    pub(super) async fn enter(&self) -> Turnstile {
        let guard = Arc::clone(&self.loaded).lock_owned().await;
        Turnstile { options: Arc::clone(&self.options), guard }
    }

    /// Loads the model on a thread of its own, unless somebody does already.
    pub(super) fn warm(&self) {
        let Ok(guard) = Arc::clone(&self.loaded).try_lock_owned() else { return };
        let mut turnstile = Turnstile { options: Arc::clone(&self.options), guard };
        let loading = move || {
            // What goes wrong is said when the model is asked.
            if let Ok(loaded) = turnstile.loaded() {
                let _ = loaded.vocabulary();
            }
        };
        let _ = std::thread::Builder::new().name("goose-local-load".to_owned()).spawn(loading);
    }
}

impl Turnstile {
    /// The model, loaded now if it was not before. Blocks.
    pub(super) fn loaded(&mut self) -> ProviderResult<&mut Loaded> {
        if self.guard.is_none() {
            *self.guard = Some(Loaded::open(&self.options).map_err(|error| refused(&error))?);
        }
        self.guard.as_mut().ok_or_else(|| refused(&"the model is not there"))
    }
}

impl Loaded {
    fn open(options: &EngineOptions) -> Result<Self, EngineError> {
        let model_options = ModelOptions { threads: options.threads, context: Some(options.context) };
        let model = Model::open(&options.file, &model_options)?;
        let capacity = options.context.min(model.info().context_length);
        let format = ChatFormat::of(model.tokenizer(), model.info());
        let sequence = Sequence::new(Arc::clone(&model), capacity)?;
        let saved = options.cache.clone().map(|folder| Saved::in_folder(folder, &options.file));
        let keeps_conversations = options.keeps_conversations;
        Ok(Self { model, format, sequence, vocabulary: None, saved, keeps_conversations, capacity })
    }

    /// The tokens, ready for grammars.
    pub(super) fn vocabulary(&mut self) -> Result<&Vocabulary, GenerateError> {
        if self.vocabulary.is_none() {
            self.vocabulary = Some(Vocabulary::of(&self.model)?);
        }
        self.vocabulary.as_ref().ok_or_else(|| GenerateError::Grammar("there is no vocabulary".to_owned()))
    }

    /// The turns as tokens.
    pub(super) fn tokens(&self, turns: &[Turn]) -> Vec<u32> {
        self.format.tokens(self.model.tokenizer(), turns)
    }

    /// Brings to mind what is known of the conversation, and says how many of its tokens that are. The last is always
    /// read anew, for the answer comes out of it.
    pub(super) fn recall(&mut self, tokens: &[u32]) -> usize {
        let in_mind = common(self.sequence.tokens(), tokens);
        let saved = self.saved.as_ref();
        let better =
            saved.and_then(|saved| saved.best(&self.model, tokens, in_mind + WORTH_LOADING, self.capacity));
        if let Some(better) = better {
            self.sequence = better;
        }
        let known = common(self.sequence.tokens(), tokens).min(tokens.len().saturating_sub(1));
        self.sequence.keep(known);
        known
    }

    /// Reads what every conversation begins with, and keeps it for other runs, unless that was done before. Gives how many
    /// tokens are known then.
    pub(super) fn read_base(
        &mut self,
        base: &[u32],
        known: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<usize, EngineError> {
        let Some(saved) = self.saved.as_ref().filter(|_| base.len() > known + WORTH_LOADING) else {
            return Ok(known);
        };
        self.sequence.feed(&base[known..], is_cancelled)?;
        saved.keep_base(&self.sequence);
        Ok(base.len())
    }

    /// Keeps the conversation for another run, where that may be.
    pub(super) fn remember(&self, conversation: &str) {
        if let Some(saved) = self.saved.as_ref().filter(|_| self.keeps_conversations) {
            saved.keep(conversation, &self.sequence);
        }
    }
}

/// A model that cannot be used, however often it is asked.
pub(super) fn refused(error: &dyn std::fmt::Display) -> ProviderError {
    ProviderError::Refused { status: None, message: error.to_string() }
}
