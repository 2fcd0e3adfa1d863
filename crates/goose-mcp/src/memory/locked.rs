//! [`Locked`]: a folder that nobody else is changing, and the only way to change it.
//!
//! Each change reads the file, makes the new one and puts it in place of the old by renaming, all under an
//! advisory lock of the folder. So no other goose process loses what it wrote, and a reader, who takes no lock,
//! sees the file before or after and never half of it. The lock ends with the process that holds it, however
//! that ends. The tasks of one process wait for each other in a line ([`Turn`]), so that of them only the first
//! asks for the lock.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use goose_extension::{ToolError, ToolResult};

use super::{
    category::Category,
    folder::{CategoryFile, Folder, failed, plain_file},
    turn::Turn,
};

/// The file that is locked. It is not a category, because its name begins with a dot.
const LOCK_FILE: &str = ".lock";

/// How long to wait for another process. One change takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before looking again.
const LOCK_PAUSE: Duration = Duration::from_millis(3);

/// Exclusive access to a folder; ends when dropped.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    folder: &'a Folder,
    // In this order: the lock is given back before the next task of this process asks for it.
    _lock: File,
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
        fs::create_dir_all(&folder.path).map_err(|error| failed("create", &folder.path, &error))?;
        let path = folder.path.join(LOCK_FILE);
        plain_file(&path)?;
        let turn = Turn::wait(&folder.path).ok_or_else(|| crowded(&folder.path))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| failed("open", &path, &error))?;
        wait_for(&lock, &path)?;
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
        let path = existing.as_ref().map_or_else(|| self.folder.path_of(category), |file| file.path.clone());
        let write = || -> io::Result<()> {
            let mut file = new_file().tempfile_in(path.parent().unwrap_or(&self.folder.path))?;
            file.write_all(bytes)?;
            if let Some(existing) = &existing {
                file.as_file().set_permissions(existing.metadata.permissions())?;
            }
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|error| failed("write", &path, &error))
    }

    /// Removes a category. Of a link, only the link goes; what it led to is given back.
    ///
    /// # Errors
    ///
    /// Where it cannot be removed, or is protected against it.
    pub(super) fn remove(&self, category: &Category) -> ToolResult<Option<PathBuf>> {
        let existing = self.writable(category)?;
        let path = self.folder.path_of(category);
        fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
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

/// A file that becomes a category: its name is no category's, and it is as readable as any new file.
fn new_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

fn wait_for(lock: &File, path: &Path) -> ToolResult<()> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(busy(path)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                tracing::warn!(path = %path.display(), "this file system has no locks; writing without one");
                return Ok(());
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", path, &error)),
        }
    }
}

fn busy(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "Another process has kept {} locked for {} seconds. Nothing was changed. Try again in a moment; if it \
         stays so, ask the person to look for a hanging goose process.",
        path.display(),
        LOCK_PATIENCE.as_secs()
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
