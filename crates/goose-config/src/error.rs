//! Errors of a configuration. Every message says what happened and what to do next.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A place in a file: `config.yaml:3:7`. Line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Line and column, where they are known.
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

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file exists and cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A file is larger than its cap.
    #[error("{} is larger than {limit} bytes; make it smaller", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The cap.
        limit: u64,
    },
    /// A file does not say what it should. It is left as it is.
    #[error("{place}: {message}")]
    Malformed {
        /// The place.
        place: Place,
        /// The problem.
        message: String,
    },
    /// The configuration of an extension makes no sense.
    #[error("extension '{extension}': {message}")]
    Extension {
        /// The extension's name.
        extension: String,
        /// The problem.
        message: String,
    },
    /// A variable or secret that is asked for by name is set nowhere.
    #[error(
        "extension '{extension}' needs '{name}' ({used_for}), which is not set; set it as an environment variable, or \
         put a line '{name}: …' into secrets.yaml in the config folder"
    )]
    MissingVariable {
        /// The extension that needs it.
        extension: String,
        /// The name of the variable.
        name: String,
        /// The part of the configuration that asks for it.
        used_for: String,
    },
    /// A text names a variable that is not known.
    #[error("'${0}' is used but not set; set '{0}' or take it out")]
    UnknownVariable(String),
    /// A file that was asked for by name is not there.
    #[error("there is no file {}; check the name", .0.display())]
    Absent(PathBuf),
    /// A value that does not come from a file is not what it should be.
    #[error("'{key}' from {origin}: {message}")]
    Setting {
        /// The key.
        key: String,
        /// The origin of the value.
        origin: String,
        /// The problem, without the value.
        message: String,
    },
    /// A profile that is not there, or cannot be used.
    #[error("profile '{profile}': {message}")]
    Profile {
        /// The profile's name.
        profile: String,
        /// The problem.
        message: String,
    },
    /// A file could not be changed. It is as it was.
    #[error("cannot change {}: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The problem, and what to do.
        reason: String,
    },
    /// The keyring did not do what it was asked.
    #[error("the keyring {0}")]
    Keyring(String),
    /// A command line that cannot be split into words, or that names no program.
    #[error("{0}")]
    CommandLine(String),
    /// There is no folder for goose's files.
    #[error("there is no folder for goose's files: set HOME or GOOSE_PATH_ROOT")]
    NoHome,
}

impl ConfigError {
    /// Creates an error about the entry of an extension or agent.
    pub fn extension(name: &str, message: impl Into<String>) -> Self {
        Self::Extension { extension: name.to_owned(), message: message.into() }
    }

    pub(crate) fn malformed(place: Place, message: impl Into<String>) -> Self {
        Self::Malformed { place, message: message.into() }
    }

    /// The same error, pointing at where in a file it comes from.
    pub(crate) fn at(self, place: &Place) -> Self {
        match self {
            located @ (Self::Malformed { .. } | Self::Unreadable { .. } | Self::TooLarge { .. }) => located,
            other => Self::malformed(place.clone(), other.to_string()),
        }
    }
}
