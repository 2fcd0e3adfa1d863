//! [`GenerateError`]: why no text came.

use thiserror::Error;

use crate::EngineError;

/// Why no text came.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// The engine could not go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The grammar cannot be used, or the text does not follow it.
    #[error("the form of the answer cannot be kept: {0}")]
    Grammar(String),
}

impl GenerateError {
    pub(super) fn grammar(error: &dyn std::fmt::Display) -> Self {
        Self::Grammar(error.to_string())
    }
}
