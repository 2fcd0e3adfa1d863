//! [`StoreError`]: what can go wrong with the store, and what to do about it.

use std::path::{Path, PathBuf};

use crate::SessionId;

/// An error of the store. Nothing that was committed before is lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file cannot be created or opened.
    #[error("the session store {} cannot be opened: {reason}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The file may only be read.
    #[error("the session store {} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The disk is full.
    #[error("no space left on the disk for the session store {}", .0.display())]
    Full(PathBuf),
    /// The disk failed.
    #[error("the session store {} cannot be read or written: {reason}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// Some other program's file is where the store should be. It is left as it is.
    #[error("{} is not a goose session store: it is not a database", .0.display())]
    NotADatabase(PathBuf),
    /// Some other program's database is where the store should be. It is left as it is.
    #[error("{} is not a goose session store: it has other tables", .0.display())]
    NotOurs(PathBuf),
    /// The database is damaged. It is left as it is.
    #[error("the session store {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// A newer goose has changed the store.
    #[error(
        "the session store {} has version {found}, made by a newer goose; this one understands versions up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is understood.
        known: i64,
    },
    /// Other processes kept the store locked for too long.
    #[error("the session store {} is locked by another program", .0.display())]
    Locked(PathBuf),
    /// Another writer has appended to the session since it was opened here.
    #[error("session {0} is being written by another goose")]
    SessionBusy(SessionId),
    /// The session does not exist, or was removed.
    #[error("there is no session '{0}'")]
    NoSuchSession(String),
    /// Several sessions have that name.
    #[error("{} sessions are called '{name}': {}", ids.len(), list(ids))]
    Ambiguous {
        /// The name.
        name: String,
        /// The sessions, newest first.
        ids: Vec<SessionId>,
    },
    /// A step is larger than its cap.
    #[error("a step of {bytes} bytes is too large to be stored; the limit is {limit}")]
    StepTooLarge {
        /// Its size.
        bytes: usize,
        /// The cap.
        limit: usize,
    },
    /// A file that should be imported cannot be understood.
    #[error("{what} cannot be imported: {reason}")]
    NotImportable {
        /// The file or session.
        what: String,
        /// The problem.
        reason: String,
    },
    /// Any other error.
    #[error("the session store failed: {0}")]
    Other(String),
}

impl StoreError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::CannotOpen { path, .. } | Self::ReadOnly(path) => format!(
                "check that you may write to {}, set GOOSE_PATH_ROOT to another folder, or use --no-session",
                folder(path).display()
            ),
            Self::Full(path) | Self::Disk { path, .. } => format!(
                "free some space on the disk that holds {}, then resume the session; or use --no-session",
                folder(path).display()
            ),
            Self::NotADatabase(path) | Self::NotOurs(path) => {
                format!("move {} somewhere else; goose then creates a new store in its place", path.display())
            }
            Self::Damaged { path, .. } => format!(
                "`sqlite3 {0} .recover | sqlite3 recovered.db` saves what can be read; then move {0} away, together \
                 with the files beside it that end in -wal and -shm, and put recovered.db in its place",
                path.display()
            ),
            Self::Newer { .. } => "update goose, or set GOOSE_PATH_ROOT to another folder".to_owned(),
            Self::Locked(_) => "close the program that holds it, perhaps a backup, and try again".to_owned(),
            Self::SessionBusy(id) => {
                format!(
                    "quit the other one first, or resume a copy: goose session --resume --fork --session-id {id}"
                )
            }
            Self::NoSuchSession(_) => "`goose session list` shows all sessions".to_owned(),
            Self::Ambiguous { .. } => "use the id instead of the name".to_owned(),
            Self::StepTooLarge { .. } | Self::NotImportable { .. } | Self::Other(_) => return None,
        };
        Some(hint)
    }

    pub(crate) fn not_importable(what: impl Into<String>, reason: impl ToString) -> Self {
        Self::NotImportable { what: what.into(), reason: reason.to_string() }
    }

    pub(super) fn missing(id: &SessionId) -> Self {
        Self::NoSuchSession(id.to_string())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn list(ids: &[SessionId]) -> String {
    let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
    ids.join(", ")
}
