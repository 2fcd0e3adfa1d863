//! Checkpoints: copies of files from before the tools of a session changed them, so that the user can take changes
//! back.
//!
//! ```text
//! write, edit ──▶ CheckpointBackend::replace ──▶ the session's backend
//!                        │ before each change
//!                        ▼
//!            Checkpoints: journal of changes, copies by hash ──▶ RestorePlan ──▶ files as they were
//! ```
//!
//! - `backend`: the wrapper of the session's backend; `journal`: the records of changes;
//! - `folder`: the folder of a session, its copies, and the removal of old ones;
//! - `plan`: what restoring would do, and which files others have changed; `restore`: doing it;
//! - `elsewhere`: files that commands changed, which have no copies.
//!
//! Nothing here happens before the first change of a file or the first command. The copies are outside of the project,
//! and git is never involved.

mod backend;
mod elsewhere;
mod folder;
mod journal;
mod plan;
mod restore;

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_extension::{Backend, FileRead, FileTarget, FileVersion};
use parking_lot::Mutex;

pub(crate) use self::backend::CheckpointBackend;
pub use self::{
    elsewhere::ChangedElsewhere,
    folder::{MAX_AGE, MAX_TOTAL_BYTES},
    plan::{Conflict, Content, Difference, FilePlan, Intention, RestorePlan},
    restore::{FileOutcome, Restored},
};
use self::{
    folder::SessionFolder,
    journal::{Before, Change, Record, StoredPath},
};
use crate::{
    config::{Paths, digest::sha256},
    session::{SessionId, clock},
};

/// Largest file that is copied.
pub const MAX_FILE_BYTES: u64 = 50 * 1024 * 1024;

/// Characters of a command that are recorded.
const MAX_COMMAND_CHARS: usize = 200;

/// Mode bits that are restored.
const MODE_BITS: u32 = 0o7777;

/// The moment of a change in its session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Number of the last stored step.
    pub(crate) step: u64,
    /// Number of the reply.
    pub(crate) reply: u64,
}

/// Tells the present moment of a session.
pub(crate) type Now = Box<dyn Fn() -> Moment + Send + Sync>;

/// Copies of the files that a session has changed.
pub struct Checkpoints {
    root: PathBuf,
    /// Folders of goose's own files, which are not the user's.
    own_folders: Vec<PathBuf>,
    session: SessionId,
    now: Now,
    /// The session's own backend, by which files are restored.
    inner: Arc<dyn Backend>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Opened with the first change, or when the user asks.
    folder: Option<SessionFolder>,
    /// Content of each file after its last change in this process, and the reply of that change.
    written: HashMap<PathBuf, (u64, String)>,
    /// Changes that could not be recorded.
    unrecorded: Vec<Record>,
}

impl Checkpoints {
    /// Returns the checkpoints of a session. Nothing is read or created yet.
    pub(crate) fn new(paths: &Paths, session: SessionId, now: Now, inner: Arc<dyn Backend>) -> Arc<Self> {
        let own_folders = vec![paths.config.clone(), paths.data.clone(), paths.state.clone()];
        let root = Self::root(paths);
        Arc::new(Self { root, own_folders, session, now, inner, state: Mutex::default() })
    }

    /// Returns the folder with the checkpoints of all sessions.
    fn root(paths: &Paths) -> PathBuf {
        paths.state.join("checkpoints")
    }

    /// Removes the checkpoints of a session that is removed.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be removed, or a running goose uses them.
    pub fn forget(paths: &Paths, session: &SessionId) -> io::Result<()> {
        folder::remove(&Self::root(paths), session)
    }

    /// Records a change that is about to be made, with a copy of what is there. Returns its number, or `None` if the
    /// change will fail or cannot be recorded.
    fn begin(&self, file: &FileTarget, new: &[u8], expected: Option<&FileVersion>) -> Option<u64> {
        // An error, or another version than the expected one, makes the change fail as well.
        let found = self.inner.read(file, MAX_FILE_BYTES).ok()?;
        let version = match &found {
            FileRead::Missing => None,
            FileRead::Content { version, .. } | FileRead::TooLarge { version, .. } => Some(version),
        };
        if version != expected {
            return None;
        }
        let Moment { step, reply } = (self.now)();
        let mut state = self.state.lock();
        let before = state.copy(self, &file.path, found, reply);
        let folder = (before == Before::Missing).then(|| missing_folder(&file.path)).flatten();
        let folder = folder.map(StoredPath);
        let after = sha256(new);
        state.written.insert(file.path.clone(), (reply, after.clone()));
        let path = file.path.clone();
        let id = state.next_id();
        state.record(Record::Changed(Change { id, step, at: clock::now(), path, before, after, folder }));
        Some(id)
    }

    /// Records that a change was not made.
    fn failed(&self, id: u64, path: &Path) {
        let mut state = self.state.lock();
        state.written.remove(path);
        state.record(Record::Failed { id });
    }

    /// Records a command, whose changes are not known.
    fn command(&self, text: &str) {
        let text = text.lines().next().unwrap_or_default();
        let text = goose_fs::head_chars(text, MAX_COMMAND_CHARS).to_owned();
        let step = (self.now)().step;
        let mut state = self.state.lock();
        if let Err(error) = state.open(self) {
            tracing::warn!(%error, "a command is not recorded");
            return;
        }
        state.record(Record::Command { step, at: clock::now(), text });
    }

    /// Returns the step before the last change that was not taken back.
    ///
    /// # Errors
    ///
    /// Fails if the records cannot be read.
    pub fn last_change(&self) -> io::Result<Option<u64>> {
        Ok(self.active()?.iter().map(|change| change.step).max())
    }

    /// Returns the files that were changed at or after one step and before another, and not restored since.
    ///
    /// # Errors
    ///
    /// Fails if the records cannot be read.
    pub fn changed_between(&self, from: u64, to: u64) -> io::Result<BTreeSet<PathBuf>> {
        let changes = self.active()?.into_iter();
        Ok(changes.filter(|change| (from..to).contains(&change.step)).map(|change| change.path).collect())
    }

    /// Returns the changes that were made and not taken back, in order.
    fn active(&self) -> io::Result<Vec<Change>> {
        Ok(journal::active(&self.records()?))
    }

    /// Returns all records, in order.
    fn records(&self) -> io::Result<Vec<Record>> {
        let mut state = self.state.lock();
        // Without a folder there is nothing to read, and none is created for a question.
        if state.folder.is_some() || folder::exists(&self.root, &self.session) {
            state.open(self)?;
        }
        let recorded = state.folder.iter().flat_map(|folder| folder.records().iter());
        Ok(recorded.chain(&state.unrecorded).cloned().collect())
    }
}

impl State {
    /// Opens the folder of the session, if it is not open yet.
    fn open(&mut self, of: &Checkpoints) -> io::Result<&mut SessionFolder> {
        match &mut self.folder {
            Some(folder) => Ok(folder),
            none => Ok(none.insert(SessionFolder::open(&of.root, &of.session)?)),
        }
    }

    /// Copies what a file has. Within one reply, the first copy of a file is enough.
    fn copy(&mut self, of: &Checkpoints, path: &Path, found: FileRead, reply: u64) -> Before {
        let opened = self.open(of).map(|_| ());
        let bytes = match found {
            FileRead::Missing => return Before::Missing,
            FileRead::TooLarge { size, .. } => return Before::TooLarge { size },
            FileRead::Content { bytes, .. } => bytes,
        };
        if let Err(error) = opened {
            return not_kept(&error);
        }
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return not_kept(&io::ErrorKind::NotFound.into());
        };
        let (mode, is_linked) = (metadata.mode() & MODE_BITS, metadata.nlink() > 1);
        let hash = sha256(&bytes);
        let is_copied = self.written.get(path).is_some_and(|last| *last == (reply, hash.clone()));
        if is_copied {
            return Before::Known { hash, mode };
        }
        match self.open(of).and_then(|folder| folder.keep(&hash, &bytes)) {
            Ok(true) => Before::Kept { hash, mode, is_linked },
            Ok(false) => Before::NotKept { reason: "there is no room for more copies".to_owned() },
            Err(error) => not_kept(&error),
        }
    }

    fn next_id(&self) -> u64 {
        let records = self.folder.iter().flat_map(|folder| folder.records().iter()).chain(&self.unrecorded);
        let ids = records.filter_map(|record| match record {
            Record::Changed(change) => Some(change.id),
            _ => None,
        });
        ids.max().unwrap_or(0) + 1
    }

    /// Adds a record. One that cannot be written is kept in memory.
    fn record(&mut self, record: Record) {
        let written = match &mut self.folder {
            Some(folder) => folder.append(&record),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "a change of a file is not recorded");
            self.unrecorded.push(record);
        }
    }
}

fn not_kept(error: &io::Error) -> Before {
    Before::NotKept { reason: error.to_string() }
}

/// Returns the topmost folder of a path that does not exist.
fn missing_folder(path: &Path) -> Option<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|folder| fs::symlink_metadata(folder).is_err());
    missing.last().map(Path::to_owned)
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").field("session", &self.session).finish_non_exhaustive()
    }
}
