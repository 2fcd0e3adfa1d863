//! [`Locked`]: a folder that nobody else is changing, and the only way to change it.
//!
//! Each change reads the file, makes the new one and puts it in place of the old by renaming, all under an
//! advisory lock of the folder. So no other goose process loses what it wrote, and a reader, who takes no lock,
//! sees the file before or after and never half of it. The lock ends with the process that holds it, however
//! that ends. The tasks of one process wait for each other in a line ([`Turn`]), so that of them only the first
//! asks for the lock.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use goose_extension::{ToolError, ToolResult};
use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};
use parking_lot::{Condvar, Mutex};

use super::category::Category;
use super::folder::{CategoryFile, Folder, failed, plain_file};

/// The file that is locked. It is not a category, because its name begins with a dot.
const LOCK_FILE: &str = ".lock";

/// The longest wait for another process. One change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Exclusive access to a folder; ends when dropped.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    folder: &'a Folder,
    // In this order: the lock is given back before the next task of this process asks for it.
    _lock: FileLock,
    _turn: Turn,
}

impl<'a> Locked<'a> {
    /// Waits until nobody else changes the folder. The folder is made where it is missing.
    ///
    /// # Errors
    ///
    /// Where it cannot be made or locked, or another process keeps it locked.
    pub(super) fn new(folder: &'a Folder) -> ToolResult<Self> {
        folder.check()?;
        create_private_dir(&folder.path).map_err(|error| failed("create", &folder.path, &error))?;
        let path = folder.path.join(LOCK_FILE);
        plain_file(&path)?;
        let turn = Turn::wait(&folder.path).ok_or_else(|| crowded(&folder.path))?;
        let lock = lock(&path)?;
        Ok(Self { folder, _lock: lock, _turn: turn })
    }

    /// Puts `bytes` in place of a category's file, all at once. An existing file keeps its permissions, and the
    /// place that a link leads to.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written, or is protected against it; the old one is still there then.
    pub(super) fn replace(&self, category: &Category, bytes: &[u8]) -> ToolResult<()> {
        let existing = self.writable(category)?;
        let path = existing.map_or_else(|| self.folder.path_of(category), |file| file.path);
        let opened = self.folder.open_parent(&path);
        let written = opened.and_then(|(folder, name)| {
            AtomicFile::within(&folder, &name).keep_permissions().synced().write(bytes)
        });
        written.map_err(|error| failed("write", &path, &error))
    }

    /// Removes a category. Of a link, only the link goes; what it led to is given back.
    ///
    /// # Errors
    ///
    /// Where it cannot be removed, or is protected against it.
    pub(super) fn remove(&self, category: &Category) -> ToolResult<Option<PathBuf>> {
        let existing = self.writable(category)?;
        let path = self.folder.path_of(category);
        let removed = self.folder.open().and_then(|folder| folder.remove_file(category.file_name().as_ref()));
        removed.map_err(|error| failed("remove", &path, &error))?;
        Ok(existing.filter(|file| file.is_linked).map(|file| file.path))
    }

    /// The file of a category, unless it is protected.
    fn writable(&self, category: &Category) -> ToolResult<Option<CategoryFile>> {
        match self.folder.locate(category)? {
            Some(file) if file.metadata.permissions().readonly() => Err(protected(&file.path)),
            file => Ok(file),
        }
    }
}

/// Takes the lock.
fn lock(path: &Path) -> ToolResult<FileLock> {
    let file = open_lock_file(path).map_err(|error| failed("open", path, &error))?;
    let lock = FileLock::wait(file, LOCK_TIMEOUT).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => busy(path),
        _ => failed("lock", path, &error),
    })?;
    if !lock.is_held() {
        tracing::warn!(path = %path.display(), "this file system has no locks; writing without one");
    }
    Ok(lock)
}

fn busy(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "Another process has kept {} locked for {} seconds. Nothing was changed. Try again in a moment; if it \
         stays so, ask the person to look for a hanging goose process.",
        path.display(),
        LOCK_TIMEOUT.as_secs()
    ))
}

fn crowded(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "Too many other calls are changing {}. Nothing was changed. Try again in a moment.",
        path.display()
    ))
}

fn protected(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "{} is write-protected, so it was left as it is. Use another category, or ask the person to make the file \
         writable.",
        path.display()
    ))
}

/// How long to stand in line. Longer than one task may wait for another process, and not for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who waits for which folder.
#[derive(Default)]
struct Lines {
    next_ticket: u64,
    /// The tickets for each folder; whose turn it is stands first.
    waiting: HashMap<PathBuf, VecDeque<u64>>,
}

static LINES: LazyLock<Mutex<Lines>> = LazyLock::new(Mutex::default);

/// Somebody has left a line.
static LEFT: Condvar = Condvar::new();

/// It is our turn, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    folder: PathBuf,
    ticket: u64,
}

impl Turn {
    /// Waits until those are done who came before. `None` where that takes too long.
    pub(super) fn wait(folder: &Path) -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let mut lines = LINES.lock();
        let turn = lines.enter(folder);
        while !lines.is_first(&turn) {
            if LEFT.wait_until(&mut lines, deadline).timed_out() {
                drop(lines); // leaving the line takes it again
                return None;
            }
        }
        Some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LINES.lock().leave(self);
        LEFT.notify_all();
    }
}

impl Lines {
    fn enter(&mut self, folder: PathBuf) -> Turn {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.entry(folder.clone()).or_default().push_back(ticket);
        Turn { folder, ticket }
    }

    fn is_first(&self, turn: &Turn) -> bool {
        self.waiting.get(&turn.folder).is_some_and(|line| line.front() == Some(&turn.ticket))
    }

    fn leave(&mut self, turn: &Turn) {
        let Some(line) = self.waiting.get_mut(&turn.folder) else { return };
        line.retain(|ticket| *ticket != turn.ticket);
        if line.is_empty() {
            self.waiting.remove(&turn.folder);
        }
    }
}

/// How many have a turn in a folder or wait for one.
#[cfg(test)]
pub(super) fn in_line(folder: &Path) -> usize {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    LINES.lock().waiting.get(&folder).map_or(0, VecDeque::len)
}
