//! Shape of a model, from the metadata of its file.

use std::collections::BTreeMap;

use super::rope::Scaling;
use crate::EngineError;
use crate::compute::BlockType;
use crate::gguf::{Gguf, Tensor};

/// Maximum number of layers, above that of any model of these families.
const MAX_LAYERS: usize = 512;
/// Maximum of any other size (columns, heads, positions), above that of any model.
const MAX_SIZE: usize = 1 << 24;
const DEFAULT_ROPE_BASE: f64 = 10_000.0;
const DEFAULT_EPSILON: f64 = 1e-5;

/// Supported model families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    Qwen2,
    Qwen3,
    Llama,
}

/// Sizes and constants for the forward pass.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) architecture: Architecture,
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_width: usize,
    pub(crate) epsilon: f32,
    pub(crate) rope_base: f64,
    pub(crate) rope_width: usize,
    pub(crate) rope_scaling: Scaling,
    pub(crate) context: usize,
    pub(crate) vocabulary: usize,
}

impl Architecture {
    fn named(name: &str) -> Option<Self> {
        match name {
            "qwen2" => Some(Self::Qwen2),
            "qwen3" => Some(Self::Qwen3),
            "llama" => Some(Self::Llama),
            _ => None,
        }
    }
}

impl Config {
    /// Reads and checks the shape.
    pub(crate) fn read(file: &Gguf) -> Result<Self, EngineError> {
        let name = file.text("general.architecture").unwrap_or("");
        let architecture = Architecture::named(name)
            .ok_or_else(|| EngineError::Unsupported(format!("its architecture is `{name}`")))?;
        let key = |rest: &str| format!("{name}.{rest}");
        let size = |rest: &str| read_size(file, &key(rest));
        if file.unsigned(&key("expert_count")).unwrap_or(0) > 0 {
            return Err(EngineError::Unsupported("mixtures of experts are not supported".to_owned()));
        }
        let (width, heads) = (size("embedding_length")?, size("attention.head_count")?);
        let optional = |rest: &str, default: usize| match file.has(&key(rest)) {
            true => size(rest),
            false => Ok(default),
        };
        let context = size("context_length")?;
        let head_width = optional("attention.key_length", width / heads)?;
        if optional("attention.value_length", head_width)? != head_width {
            return Err(EngineError::Unsupported("its keys and values differ in width".to_owned()));
        }
        let config = Self {
            architecture,
            layers: size("block_count")?,
            width,
            hidden: size("feed_forward_length")?,
            heads,
            kv_heads: optional("attention.head_count_kv", heads)?,
            head_width,
            epsilon: file.float(&key("attention.layer_norm_rms_epsilon")).unwrap_or(DEFAULT_EPSILON) as f32,
            rope_base: file.float(&key("rope.freq_base")).unwrap_or(DEFAULT_ROPE_BASE),
            rope_width: optional("rope.dimension_count", head_width)?,
            rope_scaling: Scaling::read(file, name, context)?,
            context,
            vocabulary: file.tensor("token_embd.weight").map_or(0, |embedding| embedding.rows),
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), EngineError> {
        let wrong = |what: &str| Err(EngineError::Unsupported(what.to_owned()));
        if self.layers > MAX_LAYERS {
            return wrong("it has too many layers");
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return wrong("its heads are not a multiple of its key/value heads");
        }
        if !self.head_width.is_multiple_of(16)
            || self.rope_width > self.head_width
            || !self.rope_width.is_multiple_of(2)
        {
            return wrong("the width of its heads is not a multiple of 16");
        }
        if !(self.rope_base.is_finite() && self.rope_base > 0.0 && self.epsilon.is_finite()) {
            return wrong("its constants are not finite numbers");
        }
        if self.vocabulary == 0 {
            return wrong("it has no embeddings");
        }
        Ok(())
    }

    pub(crate) fn query_width(&self) -> usize {
        self.heads * self.head_width
    }

    pub(crate) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_width
    }
}

fn read_size(file: &Gguf, key: &str) -> Result<usize, EngineError> {
    match file.unsigned(key).and_then(|value| usize::try_from(value).ok()) {
        Some(value) if (1..=MAX_SIZE).contains(&value) => Ok(value),
        Some(value) => Err(EngineError::Malformed(format!("`{key}` is {value}"))),
        None if file.is_list(key) => {
            Err(EngineError::Unsupported(format!("`{key}` differs from layer to layer")))
        }
        None => Err(EngineError::Malformed(format!("`{key}` is missing or not a size"))),
    }
}

/// Facts that a model's file states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Name in the file, or else the architecture.
    pub name: String,
    /// `qwen2`, `qwen3` or `llama`.
    pub architecture: String,
    /// Context length that the model was trained for, in tokens.
    pub context_length: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Jinja template of conversations, if the file has one.
    pub chat_template: Option<String>,
    /// Number of weights.
    pub parameters: u64,
    /// Format of most weights, such as `Q4_K`.
    pub quantization: String,
    /// Bytes of memory for each token of a conversation.
    pub token_bytes: u64,
}

impl ModelFacts {
    pub(crate) fn read(file: &Gguf, config: &Config) -> Self {
        let architecture = file.text("general.architecture").unwrap_or_default().to_owned();
        let size = |tensor: &Tensor| tensor.rows as u64 * tensor.columns as u64;
        let mut by_type: BTreeMap<BlockType, u64> = BTreeMap::new();
        for tensor in file.tensors().filter(|tensor| tensor.rows > 1) {
            *by_type.entry(tensor.kind).or_default() += size(tensor);
        }
        let most = by_type.iter().max_by_key(|(_, count)| **count);
        Self {
            name: file.text("general.name").unwrap_or(&architecture).to_owned(),
            architecture,
            context_length: config.context,
            vocabulary: config.vocabulary,
            chat_template: file.text("tokenizer.chat_template").map(str::to_owned),
            parameters: file.tensors().map(size).sum(),
            quantization: most.map_or("F32", |(kind, _)| kind.name()).to_owned(),
            // Keys and values, as half floats.
            token_bytes: 2 * (config.layers * config.kv_heads * config.head_width * size_of::<u16>()) as u64,
        }
    }
}
