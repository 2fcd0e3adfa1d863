//! [`ModelStoreError`]: failures with model files, and hints for the user.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::pull::BadEndpoint;

/// Alternatives to a download.
pub const WAYS_OUT: &str = "\
You can also
  - download the file yourself and run `goose models use FILE.gguf`
  - use a hosted model: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `goose configure`
  - start a server on this machine, such as Ollama, LM Studio or llama-server; goose finds it";

/// Failure with model files. The message says what happened and why; [`hint`](Self::hint) says what to
/// do.
#[derive(Debug, Error)]
pub enum ModelStoreError {
    /// No model has this name.
    #[error("there is no model `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// Name that was given.
        name: String,
        /// Names of all known models.
        known: Vec<String>,
    },
    /// The model is known, but not downloaded.
    #[error("the model `{name}` isn't downloaded yet")]
    Absent {
        /// Name of the model.
        name: String,
    },
    /// Another goose process is downloading the model.
    #[error("the model `{name}` is being downloaded by another goose process{}", holder(*.process))]
    Busy {
        /// Name of the model.
        name: String,
        /// Id of the other process, if known.
        process: Option<u32>,
    },
    /// The given file does not exist.
    #[error("there is no file {}", .path.display())]
    NoFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is not a model that the engine can run.
    #[error("{} is not a model that goose can run: {reason}", .path.display())]
    NotAModel {
        /// Path of the file.
        path: PathBuf,
        /// Reason, as a clause about the file.
        reason: String,
    },
    /// The disk has too little free space.
    #[error(
        "not enough space in {}: {} MB needed, {} MB free",
        .folder.display(), .needed.div_ceil(1_000_000), .free / 1_000_000
    )]
    NoSpace {
        /// Folder of the store.
        folder: PathBuf,
        /// Bytes that are still needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// All sources failed.
    #[error("the model `{name}` could not be downloaded{}", all(.tried))]
    NoSource {
        /// Name of the model.
        name: String,
        /// Sources with their failures.
        tried: Vec<FailedSource>,
        /// Bytes of the partial download that are kept.
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
    /// The user's catalogue is invalid.
    #[error("the model catalogue {} is invalid: {reason}", .path.display())]
    Catalogue {
        /// Path of the catalogue.
        path: PathBuf,
        /// Problem in the catalogue.
        reason: String,
    },
    /// An operation on a file failed.
    #[error("cannot {doing} {}: {error}", .path.display())]
    Io {
        /// Operation, as a verb.
        doing: &'static str,
        /// File or folder of the operation.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// Source that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSource {
    /// Description of the source.
    pub source: String,
    /// Reason of the failure.
    pub reason: String,
}

/// Returns true if the disk or the user's quota is full.
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
    pub(crate) fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), error }
    }

    /// Returns what the user can do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => "`goose models list` shows them".to_owned(),
            Self::Absent { name } => format!("Download it with `goose models pull {name}`.\n{WAYS_OUT}"),
            Self::Busy { .. } => "wait until it finishes, or stop it, and try again".to_owned(),
            Self::NoFile { .. } => "check the path; `goose models list` shows what is downloaded".to_owned(),
            Self::NotAModel { .. } => "use a GGUF file of a Qwen2, Qwen3 or Llama model".to_owned(),
            Self::NoSpace { .. } => format!(
                "Free some space, or move goose's folders with XDG_DATA_HOME or GOOSE_PATH_ROOT.\n{WAYS_OUT}"
            ),
            Self::NoSource { kept, .. } => {
                let kept = if *kept > 0 { "; the partial download is kept" } else { "" };
                format!(
                    "Check the network and the proxy (HTTPS_PROXY), or set another hub with HF_ENDPOINT, and \
                     try again{kept}.\n{WAYS_OUT}"
                )
            }
            Self::Catalogue { .. } => "fix that file, or remove it".to_owned(),
            Self::Io { error, .. } if is_full(error) => {
                format!("Free some space and try again; the partial download is kept.\n{WAYS_OUT}")
            }
            Self::Declined(_) => WAYS_OUT.to_owned(),
            Self::Io { .. } | Self::Endpoint(_) | Self::Setting(_) => return None,
        })
    }
}
