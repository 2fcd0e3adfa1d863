//! What a model says about itself, for people.

use super::config::Config;
use crate::compute::BlockType;
use crate::gguf::Gguf;

/// What a model says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// The name in the file, or that of the architecture.
    pub name: String,
    /// `qwen2`, `qwen3` or `llama`.
    pub architecture: String,
    /// How many tokens the model was trained to hold.
    pub context_length: usize,
    /// How many different tokens there are.
    pub vocabulary: usize,
    /// The Jinja template of a conversation, if the file has one.
    pub chat_template: Option<String>,
    /// How many weights there are.
    pub parameters: u64,
    /// The format of most weights, such as `Q4_K`.
    pub quantization: String,
}

impl ModelFacts {
    pub(crate) fn read(file: &Gguf, config: &Config) -> Self {
        let architecture = file.text("general.architecture").unwrap_or_default().to_owned();
        let size = |tensor: &crate::gguf::Tensor| tensor.rows as u64 * tensor.columns as u64;
        let mut by_type: Vec<(BlockType, u64)> = Vec::new();
        for tensor in file.tensors().filter(|tensor| tensor.rows > 1) {
            match by_type.iter_mut().find(|(kind, _)| *kind == tensor.kind) {
                Some((_, count)) => *count += size(tensor),
                None => by_type.push((tensor.kind, size(tensor))),
            }
        }
        let most = by_type.iter().max_by_key(|(_, count)| *count);
        Self {
            name: file.text("general.name").unwrap_or(&architecture).to_owned(),
            architecture,
            context_length: config.context,
            vocabulary: config.vocabulary,
            chat_template: file.text("tokenizer.chat_template").map(str::to_owned),
            parameters: file.tensors().map(size).sum(),
            quantization: most.map_or("F32", |(kind, _)| kind.name()).to_owned(),
        }
    }
}
