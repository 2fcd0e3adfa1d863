//! [`SessionFolder`]: the copies of one session, `checkpoints/SESSION/` in the state folder.
//!
//! ```text
//! checkpoints/lock                   held while a folder is opened or removed
//! checkpoints/20261115_3/lock        held while a process has the session open
//! checkpoints/20261115_3/journal     records, one for each line
//! checkpoints/20261115_3/5f70bf18…   a copy, named by its hash
//! ```
//!
//! Old sessions are removed in the background when a session records its first change. One that is open is never
//! removed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file, read_regular};

use super::journal::{self, Record};
use crate::{config::digest::sha256, session::SessionId};

/// Maximum size of all copies of all sessions.
pub const MAX_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;

/// Time for which the copies of a session are kept after its last change.
pub const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum size of a journal that is read.
const MAX_JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum number of sessions and of copies in one that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Time to wait for a process that removes old sessions.
const LOCK_TIME: Duration = Duration::from_secs(2);

const JOURNAL: &str = "journal";
const LOCK: &str = "lock";

/// Folder of a session that is open.
pub(super) struct SessionFolder {
    path: PathBuf,
    root: PathBuf,
    journal: File,
    records: Vec<Record>,
    /// Size of the copies of this session.
    own: u64,
    /// Size of those of other sessions, when it was last measured.
    others: Arc<AtomicU64>,
    /// `None` if another process has the session open as well.
    _lock: Option<FileLock>,
}

impl SessionFolder {
    /// Opens the folder, and creates it where it is missing.
    pub(super) fn open(root: &Path, session: &SessionId) -> io::Result<Self> {
        let path = root.join(session.as_str());
        create_private_dir(root)?;
        let opening = FileLock::wait(open_lock_file(&root.join(LOCK))?, LOCK_TIME)?;
        create_private_dir(&path)?;
        let lock = FileLock::try_new(open_lock_file(&path.join(LOCK))?)?.ok();
        drop(opening);
        let file = path.join(JOURNAL);
        let text = match read_regular(&file, MAX_JOURNAL_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        if text.len() as u64 > MAX_JOURNAL_BYTES {
            return Err(io::Error::other(format!(
                "{} is larger than {MAX_JOURNAL_BYTES} bytes",
                file.display()
            )));
        }
        let mut journal = File::options().create(true).append(true).mode(0o600).open(&file)?;
        if !text.is_empty() && !text.ends_with(b"\n") {
            journal.write_all(b"\n")?;
        }
        let own = size(&path);
        let others = Arc::new(AtomicU64::new(0));
        let folder = Self {
            records: journal::parse(&text),
            own,
            others: Arc::clone(&others),
            root: root.to_owned(),
            path,
            journal,
            _lock: lock,
        };
        let (root, path) = (root.to_owned(), folder.path.clone());
        let pruning = move || others.store(prune(&root, &path, own), Ordering::Relaxed);
        // Without a thread, old sessions are removed another time.
        let _ = thread::Builder::new().name("checkpoints".to_owned()).spawn(pruning);
        Ok(folder)
    }

    /// Returns all records, in order.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Appends a record.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.journal.write_all(&line)?;
        self.records.push(record.clone());
        Ok(())
    }

    /// Keeps a copy. Returns false if there is no room for it.
    pub(super) fn keep(&mut self, hash: &str, bytes: &[u8]) -> io::Result<bool> {
        let path = self.path.join(hash);
        if path.exists() {
            return Ok(true);
        }
        let needed = self.own + bytes.len() as u64;
        if needed + self.others.load(Ordering::Relaxed) > MAX_TOTAL_BYTES {
            self.others.store(prune(&self.root, &self.path, needed), Ordering::Relaxed);
            if needed + self.others.load(Ordering::Relaxed) > MAX_TOTAL_BYTES {
                return Ok(false);
            }
        }
        AtomicFile::new(&path).write(bytes)?;
        self.own = needed;
        Ok(true)
    }

    /// Returns a copy; an error if it is missing or damaged.
    pub(super) fn kept(&self, hash: &str) -> io::Result<Vec<u8>> {
        let bytes = read_regular(&self.path.join(hash), super::MAX_FILE_BYTES)?;
        if sha256(&bytes) == hash { Ok(bytes) } else { Err(io::Error::other("its copy is damaged")) }
    }
}

/// Returns true if a session has a folder.
pub(super) fn exists(root: &Path, session: &SessionId) -> bool {
    root.join(session.as_str()).join(JOURNAL).exists()
}

/// Removes the folder of a session, unless a process has the session open.
pub(super) fn remove(root: &Path, session: &SessionId) -> io::Result<()> {
    let path = root.join(session.as_str());
    if !path.exists() {
        return Ok(());
    }
    let _opening = FileLock::wait(open_lock_file(&root.join(LOCK))?, LOCK_TIME)?;
    match remove_unused(&path)? {
        true => Ok(()),
        false => Err(io::Error::other(format!("a running goose uses {}", path.display()))),
    }
}

/// Removes a folder, unless a process has its session open.
fn remove_unused(path: &Path) -> io::Result<bool> {
    let Ok(_lock) = FileLock::try_new(open_lock_file(&path.join(LOCK))?)? else { return Ok(false) };
    // First, so that a removal that is interrupted leaves no records without copies.
    match fs::remove_file(path.join(JOURNAL)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir_all(path)?;
    Ok(true)
}

/// A session that may be removed.
struct Old {
    path: PathBuf,
    used: SystemTime,
    size: u64,
}

/// Removes sessions that are too old, then the oldest ones until all copies fit together with `needed` bytes of the
/// session at `own`. Returns the size of the other sessions that are left.
fn prune(root: &Path, own: &Path, needed: u64) -> u64 {
    let lock = open_lock_file(&root.join(LOCK)).and_then(|file| FileLock::wait(file, LOCK_TIME));
    let mut others: Vec<Old> = folders(root).filter(|old| old.path != own).collect();
    others.sort_by_key(|old| old.used);
    let mut total: u64 = others.iter().map(|old| old.size).sum();
    if let Err(error) = lock {
        tracing::debug!(%error, "old checkpoints are not removed");
        return total;
    }
    for old in others {
        let is_over = old.used.elapsed().is_ok_and(|age| age > MAX_AGE);
        if !is_over && total + needed <= MAX_TOTAL_BYTES {
            continue;
        }
        match remove_unused(&old.path) {
            Ok(true) => total -= old.size,
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "old checkpoints could not be removed"),
        }
    }
    total
}

fn folders(root: &Path) -> impl Iterator<Item = Old> {
    let entries = fs::read_dir(root).into_iter().flatten().take(MAX_ENTRIES).filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| {
        let path = entry.path();
        let metadata = path.join(JOURNAL).metadata().or_else(|_| path.metadata());
        let used = metadata.and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Old { used, size: size(&path), path }
    })
}

/// Returns the size of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
