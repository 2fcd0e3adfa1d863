//! [`Engine`]: the model of this process. It is loaded at the first use, and answers one request at a
//! time.

use std::sync::Arc;

use async_trait::async_trait;
use goose_engine::{
    EngineError, GenerateError, Listener, LoadOptions, LoadedModel, Sampling, Speaker, Text, Turn,
};
use goose_providers::{ProviderError, ProviderResult, Usage};
use tokio::sync::{
    Mutex, OwnedMutexGuard,
    mpsc::{self, Sender},
};

use super::{Backend, Completion, Prompt, Report, TextSink};
use crate::provider::Form;

/// Minimum room for an answer, in tokens.
const MIN_ANSWER_TOKENS: usize = 256;

/// Maximum number of pieces of text between the computing thread and their reader.
const MAX_PIECES: usize = 64;

/// Model of this process, loaded or not.
#[derive(Clone)]
pub(crate) struct Engine {
    options: Arc<LoadOptions>,
    loaded: Arc<Mutex<Option<LoadedModel>>>,
}

/// Exclusive access to the engine during one request.
pub(crate) struct EngineGuard {
    options: Arc<LoadOptions>,
    report: Option<Report>,
    /// Lock on the model; none while a blocking thread holds it.
    guard: Option<OwnedMutexGuard<Option<LoadedModel>>>,
}

impl Engine {
    pub(crate) fn new(options: LoadOptions) -> Self {
        Self { options: Arc::new(options), loaded: Arc::default() }
    }

    /// Waits until no other request is being answered.
    pub(crate) async fn enter(&self) -> EngineGuard {
        let guard = Arc::clone(&self.loaded).lock_owned().await;
        EngineGuard { options: Arc::clone(&self.options), report: None, guard: Some(guard) }
    }

    /// Loads the model in a separate thread, unless that has already started.
    pub(crate) fn warm(&self) {
        let Ok(mut guard) = Arc::clone(&self.loaded).try_lock_owned() else { return };
        let options = Arc::clone(&self.options);
        let loading = move || {
            // A failure is reported by the first request.
            if let Ok(loaded) = load(&mut guard, &options) {
                let _ = loaded.prepare_grammars();
            }
        };
        let _ = std::thread::Builder::new().name("goose-local-load".to_owned()).spawn(loading);
    }
}

impl EngineGuard {
    /// Sends status messages to `report` from now on.
    pub(crate) fn report_to(&mut self, report: Report) {
        if self.guard.as_ref().is_some_and(|loaded| loaded.is_none()) {
            report("loading the model".to_owned());
        }
        self.report = Some(report);
    }

    /// Runs `work` with the model in a thread that may block.
    async fn blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut LoadedModel) -> ProviderResult<T> + Send + 'static,
    ) -> ProviderResult<T> {
        let Some(mut guard) = self.guard.take() else { return Err(refused(&"the model is busy")) };
        let options = Arc::clone(&self.options);
        let done = tokio::task::spawn_blocking(move || {
            let result = load(&mut guard, &options).and_then(work);
            (guard, result)
        });
        let (guard, result) = done.await.map_err(|error| refused(&error))?;
        self.guard = Some(guard);
        result
    }
}

#[async_trait]
impl Backend for EngineGuard {
    async fn prepare(&mut self, prompt: Prompt<'_>, report: &Report) -> ProviderResult<()> {
        self.report_to(Arc::clone(report));
        let turns = [prompt.opening, prompt.turns].concat();
        let (opening, max_tokens) = (prompt.opening.len(), prompt.max_tokens);
        self.blocking(move |loaded| fit(loaded, opening, &turns, max_tokens)).await
    }

    async fn write(&mut self, prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion> {
        let text = Text::Turns([prompt.opening, prompt.turns].concat(), prompt.opening.len());
        let prompt = goose_engine::Prompt {
            is_detached: prompt.is_detached,
            text,
            grammar: prompt.form.map(Form::grammar),
            favoured: prompt.favoured,
            sampling: sampling(prompt.temperature),
            max_tokens: prompt.max_tokens,
        };
        self.generate(prompt, sink).await
    }

    fn remember(&mut self, conversation: &str) {
        if let Some(loaded) = self.guard.as_deref().and_then(Option::as_ref) {
            loaded.remember(conversation);
        }
    }
}

impl EngineGuard {
    /// Continues a prompt, and passes the text to `sink`.
    pub(crate) async fn generate(
        &mut self,
        prompt: goose_engine::Prompt,
        sink: &mut dyn TextSink,
    ) -> ProviderResult<Completion> {
        let (text, mut pieces) = mpsc::channel(MAX_PIECES);
        let mut listener = TextSender { text, report: self.report.clone() };
        let writing = self.blocking(move |loaded| loaded.answer(prompt, &mut listener).map_err(failed));
        let reading = async move {
            // Leaving the loop closes the channel, which ends the computation.
            while let Some(text) = pieces.recv().await {
                if sink.push(&text).await.is_break() {
                    break;
                }
            }
        };
        let generated = tokio::join!(writing, reading).0?;
        let [input, cached_input, output] =
            [generated.input, generated.cached, generated.output].map(|tokens| tokens as u64);
        Ok(Completion { end: generated.end, usage: Usage { input, output, cached_input, cache_write: 0 } })
    }
}

pub(crate) fn sampling(temperature: f32) -> Sampling {
    Sampling { temperature, ..Sampling::default() }
}

/// Sender of text from the computing thread.
struct TextSender {
    text: Sender<String>,
    report: Option<Report>,
}

impl Listener for TextSender {
    fn is_cancelled(&self) -> bool {
        self.text.is_closed()
    }

    fn progress(&self, read: usize, all: usize) {
        if let Some(report) = &self.report {
            report(format!("reading the conversation ({} %)", read * 100 / all.max(1)));
        }
    }

    fn text(&mut self, text: &str) {
        // Waits while the channel is full. If it is closed, `is_cancelled` ends the computation.
        let _ = self.text.blocking_send(text.to_owned());
    }
}

/// Returns the model, and loads it first if necessary. Blocks.
fn load<'a>(
    loaded: &'a mut Option<LoadedModel>,
    options: &LoadOptions,
) -> ProviderResult<&'a mut LoadedModel> {
    if loaded.is_none() {
        *loaded = Some(LoadedModel::open(options).map_err(|error| refused(&error))?);
    }
    loaded.as_mut().ok_or_else(|| refused(&"the model is not loaded"))
}

/// Checks that the conversation fits. `ContextLength` asks the caller for a shorter conversation; if the
/// last message alone is too long, the request is refused.
fn fit(loaded: &LoadedModel, opening: usize, turns: &[Turn], max_tokens: usize) -> ProviderResult<()> {
    let (tokens, capacity) = (loaded.tokens(turns).len(), loaded.capacity());
    if tokens + MIN_ANSWER_TOKENS.min(max_tokens) <= capacity {
        return Ok(());
    }
    let last = turns[opening..].iter().rev().find(|turn| turn.speaker == Speaker::User);
    let least: Vec<Turn> = turns[..opening].iter().chain(last).cloned().collect();
    let alone = loaded.tokens(&least).len();
    if alone + MIN_ANSWER_TOKENS > capacity {
        return Err(refused(&format!(
            "the last message with the instructions has {alone} tokens, and the context of this local model \
             has {capacity}. Ask about a part of it, name the file instead of pasting it, or use a larger \
             model."
        )));
    }
    Err(ProviderError::ContextLength {
        message: format!("it has {tokens} tokens, and the context of this local model has {capacity}"),
    })
}

/// Returns an error that a retry cannot fix.
fn refused(error: &dyn std::fmt::Display) -> ProviderError {
    ProviderError::Refused { status: None, message: error.to_string() }
}

fn failed(error: GenerateError) -> ProviderError {
    match error {
        GenerateError::Engine(error @ EngineError::ContextFull { .. }) => {
            ProviderError::ContextLength { message: error.to_string() }
        }
        other => refused(&other),
    }
}
