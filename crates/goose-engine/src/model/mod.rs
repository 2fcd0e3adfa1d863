//! Model: its shape, its weights, and the conversations that it computes.
//!
//! - `config`: the shape, and facts for users; `weights`: the position of each matrix;
//! - `forward`: the pass of a batch; `jobs`: its products; `rope`: rotary positions;
//! - `sequence`: the cache of one conversation; `saved`: the cache as a file.

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

/// Options of [`Model::open`].
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// Number of compute threads. By default, one for each available core.
    pub threads: Option<usize>,
    /// Maximum number of tokens of a sequence. By default, the context length of the model.
    pub context: Option<usize>,
}

/// Opened model. Weights are memory-mapped; sequences share the model through `Arc`.
pub struct Model {
    file: Gguf,
    config: Config,
    weights: Weights,
    frequencies: Frequencies,
    tokenizer: Tokenizer,
    facts: ModelFacts,
    context: usize,
    /// Number that differs for other weights, and for the same weights in another format.
    identity: u64,
    /// Threads and buffers. Passes of several sequences take turns. A pass that panicked leaves nothing
    /// behind that the next one would read.
    worker: Mutex<Worker>,
}

impl Model {
    /// Opens a GGUF file of the Qwen2, Qwen3 or Llama family.
    pub fn open(path: &Path, options: &ModelOptions) -> Result<Arc<Self>, EngineError> {
        Self::open_with(path, options, Instructions::best())
    }

    /// Opens the file with a given instruction set, to compare instruction sets.
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

    /// Checks that the file can be opened, and returns its facts. Reads no weights and starts no threads.
    pub fn inspect(path: &Path) -> Result<ModelFacts, EngineError> {
        let file = Gguf::inspect(path)?;
        let (config, ..) = parts(&file)?;
        Ok(ModelFacts::read(&file, &config))
    }

    /// Returns the facts of a file, without checking its tensors and tokenizer.
    pub fn facts(path: &Path) -> Result<ModelFacts, EngineError> {
        let file = Gguf::inspect(path)?;
        Ok(ModelFacts::read(&file, &Config::read(&file)?))
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Returns the facts of the model.
    pub fn info(&self) -> &ModelFacts {
        &self.facts
    }
}

/// Reads the parts of a model, and checks that they fit together.
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
