//! [`Backend`]: the door through which a tool reaches files and programs.
//!
//! Tools that change the user's machine take it from the [`CallContext`](crate::CallContext) and use the local machine where it has none.
//! An editor's file system, checkpoints and a sandbox are further implementations.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use async_trait::async_trait;
use tokio::io::AsyncRead;

/// Files and programs, as a tool may use them.
///
/// The file methods block; tools call them from a thread that may. Paths are absolute, or relative to the working folder of the process.
pub trait Backend: Send + Sync {
    /// Returns true where paths are paths of this machine, so that a tool may also walk through folders by itself.
    fn is_local(&self) -> bool {
        false
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Where it is not a regular file, or cannot be read. A missing file is not an error.
    fn read(&self, path: &Path, limit: u64) -> Result<FileRead, FileError>;

    /// Replaces a file's content as a whole, or creates the file with its folders. Links are followed, and what belongs to the
    /// file (permissions, owner, attributes) stays.
    ///
    /// # Errors
    ///
    /// Where it cannot be written, is protected, or is not at the `expected` version any more (`None`: not there).
    fn replace(&self, path: &Path, bytes: &[u8], expected: Option<&FileVersion>) -> Result<(), FileError>;

    /// Starts a program.
    ///
    /// # Errors
    ///
    /// Where it cannot be started.
    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand>;
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    /// There is no such file.
    Missing,
    /// The file's content.
    Content {
        /// All of it.
        bytes: Vec<u8>,
        /// The version that was read.
        version: FileVersion,
    },
    /// The file has more than the limit.
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// Its version.
        version: FileVersion,
    },
}

/// Identifies one version of a file. It changes whenever another program changes the file; its text means nothing outside of its backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion(String);

impl FileVersion {
    /// A version by whatever identifies it in the backend.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The reason why a file was not read or replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path names something else than a regular file.
    #[error("it is {0}, not a file")]
    NotAFile(FileKind),
    /// The file is write-protected.
    #[error("it is write-protected")]
    Protected,
    /// The file is not at the expected version.
    #[error("it was changed by another program")]
    Changed,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Something that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A folder.
    Folder,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// A program to start. It has no input and no terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program, by path or by name.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working folder.
    pub working_dir: PathBuf,
}

/// A program that was started.
pub struct StartedCommand {
    /// The handle.
    pub command: Box<dyn RunningCommand>,
    /// Standard output and standard error in one stream, in the order in which they were written.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
}

/// The handle of a started program. Dropping it kills the program and everything that it started.
#[async_trait]
pub trait RunningCommand: Send {
    /// Waits until the program itself has ended; what it started may go on. Cancel-safe.
    ///
    /// # Errors
    ///
    /// Where the system cannot tell.
    async fn wait(&mut self) -> io::Result<ExitStatus>;

    /// Ends the program and everything that it started: it may end by itself within `grace`, then it is asked to, then it is killed.
    ///
    /// # Errors
    ///
    /// Where it cannot be ended.
    async fn stop(self: Box<Self>, grace: Duration) -> io::Result<ExitStatus>;

    /// Waits until the program itself has ended, and lets what it has left in the background run until goose ends.
    ///
    /// # Errors
    ///
    /// Where the system cannot tell how it ended.
    async fn release(self: Box<Self>) -> io::Result<ExitStatus>;
}
