//! [`ConfigError`]: every message says what happened and what to do next.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Position in a file: `config.yaml:3:7`. Line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the file.
    pub path: PathBuf,
    /// Line and column, if known.
    pub position: Option<(u64, u64)>,
}

impl Place {
    pub(crate) fn new(path: &Path, position: Option<(u64, u64)>) -> Self {
        Self { path: path.to_owned(), position }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

/// Returns the line and column of a byte of a text, from 1.
pub(crate) fn line_and_column(text: &str, at: usize) -> (u64, u64) {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (before.matches('\n').count() as u64 + 1, column as u64 + 1)
}

/// Error in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file exists but cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        reason: String,
    },
    /// A file is larger than allowed.
    #[error("{} is larger than {limit} bytes; make it smaller", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// A file has invalid content. It is not changed.
    #[error("{place}: {message}")]
    Malformed {
        /// Position of the problem.
        place: Place,
        /// Problem, and what to do.
        message: String,
    },
    /// The configuration of an extension cannot work.
    #[error("extension '{extension}': {message}")]
    Extension {
        /// Name of the extension.
        extension: String,
        /// Problem, and what to do.
        message: String,
    },
    /// A variable or secret is needed and not set.
    #[error(
        "extension '{extension}' needs '{name}' ({used_for}), which is not set; set it as an environment \
         variable, or put a line '{name}: …' into secrets.yaml in the config folder"
    )]
    MissingVariable {
        /// Extension that needs it.
        extension: String,
        /// Name of the variable.
        name: String,
        /// Part of the configuration that names it.
        used_for: String,
    },
    /// A text uses a variable that is not set.
    #[error("'${0}' is used but not set; set '{0}' or remove it")]
    UnknownVariable(String),
    /// A file named on the command line does not exist.
    #[error("there is no file {}; check the name", .0.display())]
    Absent(PathBuf),
    /// A value of the environment or the command line is invalid.
    #[error("'{key}' from {origin}: {message}")]
    Setting {
        /// Name of the key.
        key: String,
        /// Origin of the value.
        origin: String,
        /// Problem, without the value, which may be a secret.
        message: String,
    },
    /// A profile does not exist or cannot be used.
    #[error("profile '{profile}': {message}")]
    Profile {
        /// Name of the profile.
        profile: String,
        /// Problem, and what to do.
        message: String,
    },
    /// A file could not be changed. It is as before.
    #[error("cannot change {}: {reason}", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Problem, and what to do.
        reason: String,
    },
    /// The keyring failed.
    #[error("the keyring {0}")]
    Keyring(String),
    /// A command line cannot be split into words, or names no program.
    #[error("{0}")]
    CommandLine(String),
    /// No folder for goose's files is known.
    #[error("there is no folder for goose's files: set HOME or GOOSE_PATH_ROOT")]
    NoHome,
}

impl ConfigError {
    /// Creates an error about the configuration of an extension or agent. The message says what to change.
    pub fn extension(name: &str, message: impl Into<String>) -> Self {
        Self::Extension { extension: name.to_owned(), message: message.into() }
    }

    pub(crate) fn malformed(place: Place, message: impl Into<String>) -> Self {
        Self::Malformed { place, message: message.into() }
    }

    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn unwritable(path: &Path, reason: impl ToString) -> Self {
        Self::Unwritable { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Adds the position in a file, unless the error has one.
    pub(crate) fn at(self, place: &Place) -> Self {
        match self {
            located @ (Self::Malformed { .. } | Self::Unreadable { .. } | Self::TooLarge { .. }) => located,
            other => Self::malformed(place.clone(), other.to_string()),
        }
    }
}
