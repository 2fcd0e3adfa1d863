//! [`ModelStoreError`]: what can go wrong with models' files, and all ways out.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// What to do where no model can be fetched.
pub const WAYS_OUT: &str = "\
You can also
  - get the file in another way and name it: `goose models use FILE.gguf`
  - use a service: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `goose configure`
  - start a server on this machine, such as Ollama, LM Studio or llama-server; goose finds it";

/// Why something about models' files did not work. The message says what happened and why, [`hint`](Self::hint) what to
/// do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelStoreError {
    /// Nobody knows a model of that name.
    #[error("there is no model `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that are known, or on the store.
        known: Vec<String>,
    },
    /// The model is known, but its file is not here.
    #[error("the model `{name}` is not here yet")]
    Absent {
        /// The name.
        name: String,
    },
    /// Another goose fetches it now.
    #[error("the model `{name}` is being fetched by another goose{}", holder(*.process))]
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
    /// A file is no model.
    #[error("{} is no model that goose can use: {reason}", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The disk is too full.
    #[error(
        "there is no room for it in {}: {} MB are needed and {} MB are free",
        .folder.display(), .needed.div_ceil(1_000_000), .free / 1_000_000
    )]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// How many bytes are needed besides what is there.
        needed: u64,
        /// How many are free.
        free: u64,
    },
    /// No source had it.
    #[error("the model `{name}` could not be fetched{}", all(.tried))]
    NoSource {
        /// The model.
        name: String,
        /// Which sources were tried, and why each failed.
        tried: Vec<Tried>,
        /// How many bytes of it are here for the next time.
        kept: u64,
    },
    /// The user's own catalogue is wrong.
    #[error("the list of models in {} cannot be used: {reason}", .path.display())]
    Catalogue {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused something.
    #[error("cannot {doing} {}: {error}", .path.display())]
    Io {
        /// What was done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// A source that did not have the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The source.
    pub source: String,
    /// Why it failed.
    pub reason: String,
}

/// Whether there is no room, on the disk or for this person.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn holder(process: Option<u32>) -> String {
    process.map(|process| format!(" (process {process})")).unwrap_or_default()
}

fn all(tried: &[Tried]) -> String {
    tried.iter().map(|tried| format!("\n  - from {}: {}", tried.source, tried.reason)).collect()
}

impl ModelStoreError {
    pub(super) fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), error }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { .. } => Some("`goose models list` shows them".to_owned()),
            Self::Absent { name } => Some(format!("Fetch it with `goose models pull {name}`.\n{WAYS_OUT}")),
            Self::Busy { .. } => Some("wait until it is done, or stop it there, and try again".to_owned()),
            Self::NoFile { .. } => Some("check the path; `goose models list` shows what is here".to_owned()),
            Self::NotAModel { .. } => Some("use a GGUF file of a Qwen2, Qwen3 or Llama model".to_owned()),
            Self::NoSpace { .. } => Some(format!(
                "Make room, or move goose's folders with XDG_DATA_HOME or GOOSE_PATH_ROOT.\n{WAYS_OUT}"
            )),
            Self::NoSource { kept, .. } => {
                let kept = if *kept > 0 { "; what has come so far is kept" } else { "" };
                Some(format!(
                    "Check the network and a proxy (HTTPS_PROXY), name another hub with HF_ENDPOINT, and try \
                     again{kept}.\n{WAYS_OUT}"
                ))
            }
            Self::Catalogue { .. } => Some("correct that file, or remove it".to_owned()),
            Self::Io { error, .. } if is_full(error) => {
                Some(format!("Make room and try again; what has come so far is kept.\n{WAYS_OUT}"))
            }
            Self::Io { .. } => None,
        }
    }
}
