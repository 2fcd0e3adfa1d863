//! [`RecipeError`]: every message says where the problem is and what to do.

use std::path::PathBuf;

use thiserror::Error;

use crate::config::ConfigError;

/// Error about a recipe.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The file cannot be read, or is not valid YAML or JSON.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// The text of the recipe is wrong.
    #[error("{place}: {message}")]
    Text {
        /// File and line.
        place: String,
        /// Problem, and what to do.
        message: String,
    },
    /// Parameters have no value.
    #[error("{place}: no value for {}. {}", .parameters.join(", "), how_to_give(.parameters))]
    Missing {
        /// File.
        place: String,
        /// Keys of the parameters.
        parameters: Vec<String>,
    },
    /// A value was given that the recipe does not take.
    #[error("{0}")]
    Value(String),
    /// There is no recipe of this name.
    #[error("there is no recipe '{name}'. Searched: {}", folder_list(.searched))]
    NotFound {
        /// Name that was given.
        name: String,
        /// Folders that were searched.
        searched: Vec<PathBuf>,
    },
    /// A recipe of the project that the user does not trust.
    #[error("{} is not trusted, so it is not used. Trust it with `goose configure trust`, or with --trust-project", .0.display())]
    Untrusted(PathBuf),
}

impl RecipeError {
    pub(super) fn text(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Text { place: place.into(), message: message.into() }
    }
}

fn how_to_give(parameters: &[String]) -> String {
    let flags: Vec<String> = parameters.iter().map(|key| format!("--params {key}=VALUE")).collect();
    format!("Give it with {}", flags.join(" "))
}

fn folder_list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}
