//! A model: its shape, its weights, and the conversations it reads.
//!
//! - `config`: the shape and the facts for people; `weights`: the place of each matrix;
//! - `forward`: the pass of a batch; `jobs`: its products; `rope`: positions;
//! - `sequence`: one conversation's cache; `saved`: the same as a file.

mod config;
mod forward;
mod jobs;
mod rope;
mod saved;
mod sequence;
mod weights;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use self::config::Config;
pub use self::config::ModelFacts;
use self::forward::Worker;
use self::rope::Frequencies;
pub use self::sequence::Sequence;
use self::weights::Weights;
use crate::compute::Instructions;
use crate::gguf::Gguf;
use crate::{EngineError, Tokenizer};

/// The options of [`Model::open`].
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The number of compute threads; all free cores if not given.
    pub threads: Option<usize>,
    /// The most tokens a sequence may hold; what the model was trained for if not given.
    pub context: Option<usize>,
}

/// An opened model. Weights are memory-mapped; sequences share it through `Arc`.
pub struct Model {
    file: Gguf,
    config: Config,
    weights: Weights,
    frequencies: Frequencies,
    tokenizer: Tokenizer,
    facts: ModelFacts,
    context: usize,
    /// A number that other weights, or the same ones in another format, do not share.
    identity: u64,
    worker: Mutex<Worker>,
}

impl Model {
    /// Opens a GGUF file of the Qwen2, Qwen3 or Llama family.
    pub fn open(path: &Path, options: &ModelOptions) -> Result<Arc<Self>, EngineError> {
        Self::open_with(path, options, Instructions::best())
    }

    /// Opens the file as [`Model::open`] does, with instructions that may not be the best of this machine: to compare them.
    pub fn open_with(
        path: &Path,
        options: &ModelOptions,
        instructions: Instructions,
    ) -> Result<Arc<Self>, EngineError> {
        let file = Gguf::open(path)?;
        let (config, weights, tokenizer) = parts(&file)?;
        let factors = weights.rope_factors.as_deref();
        let frequencies = config.rope_scaling.frequencies(config.rope_base, config.rope_width, factors);
        let facts = ModelFacts::read(&file, &config);
        let identity = saved::identity(&file);
        let context = options.context.unwrap_or(config.context).min(config.context);
        let worker = Mutex::new(Worker::new(options.threads, instructions));
        Ok(Arc::new(Self { file, config, weights, frequencies, tokenizer, facts, context, identity, worker }))
    }

    /// Returns the facts of a file that could be opened. Its weights are not read, and no threads are started.
    pub fn inspect(path: &Path) -> Result<ModelFacts, EngineError> {
        let file = Gguf::inspect(path)?;
        let (config, ..) = parts(&file)?;
        Ok(ModelFacts::read(&file, &config))
    }

    /// Returns the facts of a file of which nothing else is checked.
    pub fn facts(path: &Path) -> Result<ModelFacts, EngineError> {
        let file = Gguf::inspect(path)?;
        Ok(ModelFacts::read(&file, &Config::read(&file)?))
    }

    /// Turns text into tokens and back.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Returns what the model says about itself.
    pub fn info(&self) -> &ModelFacts {
        &self.facts
    }

    /// The threads and buffers. Passes of several sequences take turns; a pass that panicked leaves nothing behind
    /// that the next one would read.
    fn worker(&self) -> parking_lot::MutexGuard<'_, Worker> {
        self.worker.lock()
    }
}

/// All that a model is made of, and that it fits together.
fn parts(file: &Gguf) -> Result<(Config, Weights, Tokenizer), EngineError> {
    let config = Config::read(file)?;
    let weights = Weights::find(file, &config)?;
    let tokenizer = Tokenizer::read(file)?;
    if tokenizer.len() > config.vocabulary {
        return Err(EngineError::Malformed("it has more tokens than embeddings".to_owned()));
    }
    Ok((config, weights, tokenizer))
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("facts", &self.facts).finish_non_exhaustive()
    }
}
