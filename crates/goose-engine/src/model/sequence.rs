//! [`Sequence`]: one conversation, with its tokens and their cached keys and values.

use std::path::Path;
use std::sync::Arc;

use super::forward::Batch;
use super::{Model, saved};
use crate::EngineError;
use crate::compute::{BLOCK, LayerCache};

/// Number of tokens in a batch. A larger one would not make unpacking the weights cheaper.
const BATCH: usize = 256;

/// Tokens and cache of a conversation. It grows by [`Sequence::feed`] and shrinks by [`Sequence::keep`].
pub struct Sequence {
    model: Arc<Model>,
    capacity: usize,
    tokens: Vec<u32>,
    cache: Vec<LayerCache>,
    logits: Vec<f32>,
}

impl Sequence {
    /// Creates an empty sequence with room for `capacity` tokens.
    pub fn new(model: Arc<Model>, capacity: usize) -> Result<Self, EngineError> {
        if capacity == 0 || capacity > model.context {
            return Err(EngineError::ContextFull { needed: capacity, capacity: model.context });
        }
        let config = &model.config;
        let layer = |_| LayerCache::new(config.kv_heads, config.head_width, capacity.next_multiple_of(BLOCK));
        let cache = (0..config.layers).map(layer).collect();
        Ok(Self { model, capacity, tokens: Vec::new(), cache, logits: Vec::new() })
    }

    /// Returns the computed tokens.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Keeps the first `tokens` tokens, and drops the rest.
    pub fn keep(&mut self, tokens: usize) {
        self.tokens.truncate(tokens);
    }

    /// Computes tokens, and returns the logits after the last one.
    ///
    /// The logits are bit-identical however the tokens are split into calls. `is_cancelled` is called
    /// between the steps of each layer. After [`EngineError::Cancelled`], the sequence holds the
    /// completed batches ([`Sequence::tokens`]), and can be continued from there.
    pub fn feed(&mut self, tokens: &[u32], is_cancelled: &dyn Fn() -> bool) -> Result<&[f32], EngineError> {
        self.check(tokens)?;
        let batches = tokens.len().div_ceil(BATCH);
        for (number, tokens) in tokens.chunks(BATCH).enumerate() {
            let batch = Batch { tokens, position: self.tokens.len(), is_cancelled };
            let logits = (number + 1 == batches).then_some(&mut self.logits);
            self.model.worker.lock().read(&self.model, &batch, &mut self.cache, logits)?;
            self.tokens.extend_from_slice(tokens);
        }
        Ok(&self.logits)
    }

    /// Returns the logits after the last token.
    pub(crate) fn logits(&self) -> &[f32] {
        &self.logits
    }

    fn check(&self, tokens: &[u32]) -> Result<(), EngineError> {
        if tokens.is_empty() {
            return Err(EngineError::NothingToRead);
        }
        let needed = self.tokens.len() + tokens.len();
        if needed > self.capacity {
            return Err(EngineError::ContextFull { needed, capacity: self.capacity });
        }
        self.check_known(tokens)
    }

    /// Checks that the model has the tokens.
    fn check_known(&self, tokens: &[u32]) -> Result<(), EngineError> {
        let vocabulary = self.model.config.vocabulary;
        match tokens.iter().find(|token| **token as usize >= vocabulary) {
            Some(&token) => Err(EngineError::UnknownToken { token, vocabulary }),
            None => Ok(()),
        }
    }

    /// Writes the tokens and the cache to a file that only its owner can read. It appears complete or not
    /// at all; meanwhile, a file with the extension `.tmp` is next to it.
    pub fn save(&self, path: &Path) -> Result<(), EngineError> {
        saved::write(path, self.model.identity, &self.tokens, &self.cache)
    }

    /// Returns the size of the file that [`Sequence::save`] would write.
    pub fn saved_bytes(&self) -> u64 {
        saved::size(self.tokens.len(), &self.cache)
    }

    /// Reads a file of [`Sequence::save`]. Refuses a file that is damaged, belongs to another model, or
    /// has more tokens than `capacity`.
    pub fn load(model: Arc<Model>, path: &Path, capacity: usize) -> Result<Self, EngineError> {
        let mut sequence = Self::new(model, capacity)?;
        sequence.tokens = saved::read(path, sequence.model.identity, capacity, &mut sequence.cache)?;
        sequence.check_known(&sequence.tokens)?;
        Ok(sequence)
    }
}
