//! [`EngineError`]: failures of the engine, worded for the user who chose the file.

use std::path::PathBuf;

/// Why a model could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file that was asked for.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not GGUF, or is damaged.
    #[error("the model file is damaged or not GGUF: {0}; fetch it again or name another file")]
    Malformed(String),
    /// The file is whole, but of a version that is not known.
    #[error("the model file is of GGUF version {0}, and 2 and 3 are known here; fetch it in version 3")]
    UnsupportedVersion(u32),
    /// The file is whole, but this engine cannot run such a model.
    #[error("this engine cannot run the model: {0}; choose a GGUF of the Qwen2, Qwen3 or Llama family")]
    Unsupported(String),
    /// The model may be one that runs, but its weights are stored in a way that is not known.
    #[error(
        "this engine cannot read the model: the tensor `{tensor}` is stored as {kind}; fetch the same model as Q4_K_M, \
         Q5_K_M, Q6_K or Q8_0"
    )]
    UnsupportedType {
        /// The tensor with the weights.
        tensor: String,
        /// The name of the type, or its number.
        kind: String,
    },
    /// The conversation does not fit.
    #[error("{needed} tokens do not fit in a context of {capacity}; shorten the conversation")]
    ContextFull {
        /// The number of tokens of the conversation.
        needed: usize,
        /// The number of tokens that the sequence can hold.
        capacity: usize,
    },
    /// Nothing was fed, so there is nothing to answer to.
    #[error("there is no token to read: feed at least one")]
    NothingToRead,
    /// A token that the model does not know.
    #[error("token {token} is outside the model's vocabulary of {vocabulary}")]
    UnknownToken {
        /// The token that was fed.
        token: u32,
        /// The number of tokens.
        vocabulary: usize,
    },
    /// The caller asked to stop. The sequence holds what was read completely until then.
    #[error("stopped on request")]
    Cancelled,
    /// A saved sequence that cannot be used: of another model, another version, or damaged.
    #[error("the saved conversation state cannot be used: {0}; it will be computed afresh")]
    StaleState(String),
}
