//! [`EngineError`]: failures of the engine, worded for the user who chose the file.

use std::path::PathBuf;

/// Failure to open or use a model.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not GGUF, or is damaged.
    #[error("the model file is damaged or not GGUF: {0}; download it again or choose another file")]
    Malformed(String),
    /// The version of the format is not supported.
    #[error("GGUF version {0} of the model file is not supported; use a file in version 2 or 3")]
    UnsupportedVersion(u32),
    /// The engine does not support this kind of model.
    #[error("this engine cannot run the model: {0}; choose a GGUF of the Qwen2, Qwen3 or Llama family")]
    Unsupported(String),
    /// The engine does not support the format of a tensor.
    #[error(
        "this engine cannot read the model: the tensor `{tensor}` is stored as {kind}; use the same model as \
         Q4_K_M, Q5_K_M, Q6_K or Q8_0"
    )]
    UnsupportedType {
        /// Name of the tensor.
        tensor: String,
        /// Name of the format, or its number.
        kind: String,
    },
    /// The conversation does not fit.
    #[error("{needed} tokens do not fit in a context of {capacity}; shorten the conversation")]
    ContextFull {
        /// Number of tokens of the conversation.
        needed: usize,
        /// Number of tokens that the sequence can hold.
        capacity: usize,
    },
    /// No tokens were fed.
    #[error("no tokens were given; feed at least one")]
    NothingToRead,
    /// The model does not have this token.
    #[error("token {token} is outside the model's vocabulary of {vocabulary}")]
    UnknownToken {
        /// Token that was fed.
        token: u32,
        /// Number of tokens in the vocabulary.
        vocabulary: usize,
    },
    /// The caller asked to stop. The sequence holds the batches that were completed.
    #[error("stopped on request")]
    Cancelled,
    /// A saved sequence cannot be used: it is damaged, or of another model or version.
    #[error("the saved conversation state cannot be used: {0}; it will be computed again")]
    StaleState(String),
}
