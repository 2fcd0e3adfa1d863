//! [`OpenError`]: why a conversation could not be opened.

use goose_extension::RequirementError;
use goose_providers::SetupError;
use thiserror::Error;

use crate::{
    agents::extension_manager::ManagerError, config::ConfigError, permission::UnknownMode,
    session::StoreError,
};

/// Why a conversation could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No model is chosen.
    #[error("no model is chosen. Choose one with `goose configure`, or set GOOSE_PROVIDER and GOOSE_MODEL")]
    NoModel,
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] SetupError),
    /// The configuration does not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The extensions do not fit together.
    #[error(transparent)]
    Extensions(#[from] ManagerError),
    /// An extension cannot have what it requires.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// The session cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema of the final answer is not one.
    #[error("the response schema is not valid: {0}")]
    Schema(String),
    /// The profile names a mode that does not exist.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
    /// The settings name a mode that does not exist.
    #[error("GOOSE_MODE from {origin}: {error}")]
    ModeSetting {
        /// Where it is set.
        origin: String,
        /// What is wrong.
        error: UnknownMode,
    },
    /// The folder to work in cannot be used.
    #[error("the working folder cannot be used: {0}")]
    WorkingDir(String),
}

impl OpenError {
    /// Returns what to do about it, where there is something to add.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.hint(),
            Self::Store(error) => error.hint(),
            _ => None,
        }
    }
}
