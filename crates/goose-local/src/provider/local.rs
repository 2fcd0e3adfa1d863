//! [`LocalProvider`]: from a request to a stream of events.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use async_trait::async_trait;
use goose_engine::{LoadOptions, Model};
use goose_providers::{ModelInfo, PromptStyle, Provider, ProviderResult, ReplyStream, Request};
use tokio::sync::mpsc;

use super::{
    answer::{Question, answer},
    engine::{Engine, refused},
};

/// The name by which users choose the model on their own machine.
pub const PROVIDER_NAME: &str = "local";

/// The default context, in tokens.
const DEFAULT_CONTEXT: usize = 8_192;

/// The most tokens that are kept in mind, whatever is wished: a wish may be meant for another model. What is kept takes
/// memory only as it is used, but the addresses for it are taken at once.
const MAX_CONTEXT: usize = 32 * 1024;

/// How many tokens the tools that the model is shown take at most.
const MAX_TOOL_TOKENS: u64 = 1_500;

/// The capacity of the event channel.
const EVENTS_AHEAD: usize = 64;

/// The model and its options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LocalOptions {
    /// The GGUF file.
    pub file: PathBuf,
    /// The name of the model.
    pub name: String,
    /// The number of compute threads; all free cores if not given.
    pub threads: Option<usize>,
    /// The context, in tokens.
    pub context: usize,
    /// The folder in which what was computed is kept between runs; without one it is not.
    pub cache: Option<PathBuf>,
}

impl LocalOptions {
    /// The model in this file.
    pub fn new(name: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), name: name.into(), threads: None, context: DEFAULT_CONTEXT, cache: None }
    }

    /// With this many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// With room for this many tokens, as far as the model was trained for so many.
    #[must_use]
    pub fn with_context(mut self, context: Option<usize>) -> Self {
        self.context = context.unwrap_or(self.context);
        self
    }

    /// With what was computed kept in this folder.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }
}

/// A small model on this machine. Nothing is loaded before it is first asked, or got ready.
pub struct LocalProvider {
    info: ModelInfo,
    engine: Engine,
}

impl LocalProvider {
    /// The model that the options say. Of the file, only its beginning is looked at; what is wrong with it is said when
    /// the model is asked.
    pub fn new(options: LocalOptions) -> Self {
        let LocalOptions { file, name, threads, context, cache } = options;
        let trained = Model::trained_context(&file).unwrap_or(context);
        let context = context.min(trained).clamp(1, MAX_CONTEXT);
        let mut info = ModelInfo::new(name, context as u64);
        info.sees_images = false;
        info.prompt_style = PromptStyle::Brief;
        info.max_tool_tokens = Some(MAX_TOOL_TOKENS);
        Self { info, engine: Engine::new(LoadOptions { file, threads, context, cache }) }
    }
}

impl std::fmt::Debug for LocalProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalProvider").field("model", &self.info.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for LocalProvider {
    fn name(&self) -> &str {
        PROVIDER_NAME
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn prepare(&self) {
        self.engine.warm();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let mut question = Question::of(request, next_id());
        let mut guard = self.engine.enter().await;
        // Loading and fitting come first, so that what is wrong with them is known before anything is streamed.
        let fitted = tokio::task::spawn_blocking(move || {
            let prompt = question.fit(guard.loaded()?)?;
            Ok((guard, question, prompt))
        });
        let (mut guard, question, prompt) = fitted.await.unwrap_or_else(|error| Err(refused(&error)))?;
        let (events, mut incoming) = mpsc::channel(EVENTS_AHEAD);
        tokio::task::spawn_blocking(move || match guard.loaded() {
            Ok(loaded) => answer(loaded, &question, &prompt, &events),
            // Whoever asked may be gone.
            Err(error) => drop(events.blocking_send(Err(error))),
        });
        Ok(Box::pin(futures::stream::poll_fn(move |context| incoming.poll_recv(context))))
    }
}

/// An id that no other call has, in this run or another.
fn next_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("local-{:x}-{:x}", now.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed))
}
