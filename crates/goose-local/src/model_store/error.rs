//! [`ModelStoreError`]: what can go wrong with models' files, and all ways out.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::pull::BadEndpoint;

/// The alternatives to a download.
pub const WAYS_OUT: &str = "\
You can also
  - download the file yourself and run `goose models use FILE.gguf`
  - use a hosted model: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `goose configure`
  - start a server on this machine, such as Ollama, LM Studio or llama-server; goose finds it";

/// Why something about models' files did not work. The message says what happened and why, [`hint`](Self::hint) what to
/// do.
#[derive(Debug, Error)]
pub enum ModelStoreError {
    /// No model has that name.
    #[error("there is no model `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that are known, or in the store.
        known: Vec<String>,
    },
    /// The model is known, but its file is not here.
    #[error("the model `{name}` isn't downloaded yet")]
    Absent {
        /// The name.
        name: String,
    },
    /// Another goose fetches it now.
    #[error("the model `{name}` is being downloaded by another goose process{}", holder(*.process))]
    Busy {
        /// The model.
        name: String,
        /// That goose's process, where it is known.
        process: Option<u32>,
    },
    /// A file that is named is not there.
    #[error("there is no file {}", .path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// A file is not a model.
    #[error("{} is not a model that goose can run: {reason}", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The disk is too full.
    #[error(
        "not enough space in {}: {} MB needed, {} MB free",
        .folder.display(), .needed.div_ceil(1_000_000), .free / 1_000_000
    )]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// The bytes that are needed besides those that are there.
        needed: u64,
        /// The bytes that are free.
        free: u64,
    },
    /// No source had it.
    #[error("the model `{name}` could not be downloaded{}", all(.tried))]
    NoSource {
        /// The model.
        name: String,
        /// The sources that were tried, and why each failed.
        tried: Vec<FailedSource>,
        /// The bytes that are kept for the next time.
        kept: u64,
    },
    /// The user declined the download, or could not be asked.
    #[error("{0}")]
    Declined(String),
    /// The address of the hub is invalid.
    #[error(transparent)]
    Endpoint(#[from] BadEndpoint),
    /// A setting cannot be read.
    #[error("{0}")]
    Setting(String),
    /// The user's own catalogue is wrong.
    #[error("the model catalogue {} is invalid: {reason}", .path.display())]
    Catalogue {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The system refused something.
    #[error("cannot {doing} {}: {error}", .path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// A source that did not have the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSource {
    /// The source.
    pub source: String,
    /// Why it failed.
    pub reason: String,
}

/// Returns whether the disk or the user's quota is full.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn holder(process: Option<u32>) -> String {
    process.map(|process| format!(" (process {process})")).unwrap_or_default()
}

fn all(tried: &[FailedSource]) -> String {
    tried.iter().map(|tried| format!("\n  - from {}: {}", tried.source, tried.reason)).collect()
}

impl ModelStoreError {
    pub(super) fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), error }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { .. } => Some("`goose models list` shows them".to_owned()),
            Self::Absent { name } => {
                Some(format!("Download it with `goose models pull {name}`.\n{WAYS_OUT}"))
            }
            Self::Busy { .. } => Some("wait until it finishes, or stop it, and try again".to_owned()),
            Self::NoFile { .. } => {
                Some("check the path; `goose models list` shows what is downloaded".to_owned())
            }
            Self::NotAModel { .. } => Some("use a GGUF file of a Qwen2, Qwen3 or Llama model".to_owned()),
            Self::NoSpace { .. } => Some(format!(
                "Free some space, or move goose's folders with XDG_DATA_HOME or GOOSE_PATH_ROOT.\n{WAYS_OUT}"
            )),
            Self::NoSource { kept, .. } => {
                let kept = if *kept > 0 { "; the partial download is kept" } else { "" };
                Some(format!(
                    "Check the network and the proxy (HTTPS_PROXY), or set another hub with HF_ENDPOINT, and try \
                     again{kept}.\n{WAYS_OUT}"
                ))
            }
            Self::Catalogue { .. } => Some("fix that file, or remove it".to_owned()),
            Self::Io { error, .. } if is_full(error) => {
                Some(format!("Free some space and try again; the partial download is kept.\n{WAYS_OUT}"))
            }
            Self::Declined(_) => Some(WAYS_OUT.to_owned()),
            Self::Io { .. } | Self::Endpoint(_) | Self::Setting(_) => None,
        }
    }
}
