//! [`StoreError`]: errors of the store, with hints for the user.

use std::path::{Path, PathBuf};

use crate::SessionId;

/// Error of the store. Committed steps are never lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file cannot be created or opened.
    #[error("the session store {} cannot be opened: {reason}", path.display())]
    CannotOpen {
        /// Path of the file.
        path: PathBuf,
        /// Message of the system.
        reason: String,
    },
    /// The file is read-only.
    #[error("the session store {} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The disk is full.
    #[error("no space left on the disk for the session store {}", .0.display())]
    Full(PathBuf),
    /// The disk failed.
    #[error("the session store {} cannot be read or written: {reason}", path.display())]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// Message of the system.
        reason: String,
    },
    /// The file is not a database. It is not changed.
    #[error("{} is not a goose session store: it is not a database", .0.display())]
    NotADatabase(PathBuf),
    /// The database belongs to another program. It is not changed.
    #[error("{} is not a goose session store: it has other tables", .0.display())]
    NotOurs(PathBuf),
    /// The database is damaged. It is not changed.
    #[error("the session store {} is damaged: {reason}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// The store was migrated by a newer goose.
    #[error(
        "the session store {} has version {found}, made by a newer goose; this one understands versions \
         up to {known}",
        path.display()
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Version of the store.
        found: i64,
        /// Newest version that this goose understands.
        known: i64,
    },
    /// Other processes have locked the store for too long.
    #[error("the session store {} is locked by another program", .0.display())]
    Locked(PathBuf),
    /// Another writer has appended to the session since it was opened.
    #[error("session {0} is being written by another goose")]
    SessionBusy(SessionId),
    /// The session does not exist, or was removed.
    #[error("there is no session '{0}'")]
    NoSuchSession(String),
    /// Several sessions have the name.
    #[error("{} sessions are called '{name}': {}", ids.len(), list(ids))]
    Ambiguous {
        /// Name.
        name: String,
        /// Ids of the sessions, newest first.
        ids: Vec<SessionId>,
    },
    /// A step is larger than allowed.
    #[error("a step of {bytes} bytes is too large to be stored; the limit is {limit}")]
    StepTooLarge {
        /// Size of the step.
        bytes: usize,
        /// Maximum size.
        limit: usize,
    },
    /// A file or session cannot be imported.
    #[error("{what} cannot be imported: {reason}")]
    NotImportable {
        /// Path of the file, or id of the session.
        what: String,
        /// Problem.
        reason: String,
    },
    /// Any other error.
    #[error("the session store failed: {0}")]
    Other(String),
}

impl StoreError {
    /// Returns a hint for the user, if there is something to do.
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
                "`sqlite3 {0} .recover | sqlite3 recovered.db` saves what can be read; then move {0} away, \
                 together with the files beside it that end in -wal and -shm, and put recovered.db \
                 in its place",
                path.display()
            ),
            Self::Newer { .. } => "update goose, or set GOOSE_PATH_ROOT to another folder".to_owned(),
            Self::Locked(_) => "close the program that holds it, perhaps a backup, and try again".to_owned(),
            Self::SessionBusy(id) => {
                format!(
                    "quit the other one first, or resume a copy: \
                     goose session --resume --fork --session-id {id}"
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
