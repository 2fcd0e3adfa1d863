//! [`FileLock`]: an advisory lock (`flock`) between processes.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;

/// The pause between two attempts to take a lock. A change under a lock takes milliseconds.
const PAUSE: Duration = Duration::from_millis(3);

/// A lock that is held until it is dropped, or until the process ends. The locked file is never removed: a process that
/// had it open already and one that created it anew would both hold "the" lock.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    is_held: bool,
}

impl FileLock {
    /// Takes the lock of an open file or folder, unless another process holds it.
    ///
    /// On a file system without locks this succeeds, and [`is_held`](Self::is_held) is false: refusing all work there
    /// would be worse than a race.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot lock it.
    pub fn try_new(file: File) -> io::Result<Result<Self, File>> {
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { file, is_held: true })),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Ok(Self { file, is_held: false }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock, and blocks the thread until other processes have released it, for at most `limit`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] where another process keeps it, and where the system cannot lock it.
    pub fn wait(mut file: File, limit: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + limit;
        loop {
            match Self::try_new(file)? {
                Ok(lock) => return Ok(lock),
                Err(_) if Instant::now() >= deadline => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds the lock"));
                }
                Err(busy) => file = busy,
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns false where the file system has no locks.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// The locked file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is being started has a copy of it until it runs its program.
        let _ = self.file.unlock();
    }
}

/// Opens a file to lock, and creates it, for its owner alone, where it is missing.
///
/// # Errors
///
/// Fails if it cannot be opened.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    // A pipe in its place is an error, where it would wait for a reader otherwise.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    File::options().create(true).truncate(false).write(true).mode(0o600).custom_flags(flags).open(path)
}
