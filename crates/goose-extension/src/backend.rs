//! [`Backend`]: the door through which a tool reaches files and programs.
//!
//! Tools that change the user's machine take it from the [`CallContext`](crate::CallContext) and use the local machine
//! where it has none. An editor's file system, checkpoints and a sandbox are further implementations.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{File, Metadata},
    io,
    path::PathBuf,
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use tokio::io::AsyncRead;

/// Files and programs, as a tool may use them.
///
/// The file methods block; tools call them from a thread that may. They use exactly the given path and follow no link
/// in it: where a part of it has become one, they fail with [`FileError::Moved`].
pub trait Backend: Send + Sync {
    /// Returns true where paths are paths of this machine, so that a tool may also walk through folders by itself.
    fn is_local(&self) -> bool {
        false
    }

    /// Returns false where [`replace`](Self::replace) only pretends to write, to find out what a call would change.
    fn keeps_changes(&self) -> bool {
        true
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Fails if it is not a regular file, or cannot be read. A missing file is not an error.
    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError>;

    /// Replaces a file's content as a whole, or creates the file with its folders. What belongs to the file
    /// (permissions, owner, attributes, hard links) stays.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written, is protected, or is not at the `expected` version any more (`None`: not there).
    fn replace(
        &self,
        file: &FileTarget,
        bytes: &[u8],
        expected: Option<&FileVersion>,
    ) -> Result<(), FileError>;

    /// Starts a program.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started.
    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand>;
}

/// A file or folder to use: its real path, and the hard links that its files may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    /// The absolute path, with all links and `..` resolved.
    pub path: PathBuf,
    /// The hard links that the file, or a file in the folder, may have.
    pub hard_links: HardLinks,
}

/// A path in the arguments of a call, and the place that the permissions judged it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedPath {
    /// The path as it stands in the arguments.
    pub given: String,
    /// The place.
    ///
    /// # Errors
    ///
    /// The reason why it was not clear where the path leads. Nothing may be used then.
    pub target: Result<FileTarget, String>,
}

/// The hard links that a regular file may have. Another name of a file may be one that the call must not use, and a
/// path does not tell: only the open file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardLinks {
    /// Any number.
    Allowed,
    /// Any number, if others than the owner may read the file too.
    AllowedIfPublic,
    /// None: the file has one name only.
    Refused,
    /// Any number, if it is this file.
    AllowedFor {
        /// The device that the file is on.
        device: u64,
        /// The file's number there.
        inode: u64,
    },
}

impl HardLinks {
    /// Returns whether a file may be used, by the metadata of the open file.
    #[cfg(unix)]
    pub fn permit(self, file: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        const READABLE_BY_OTHERS: u32 = 0o004;
        if !file.is_file() || file.nlink() <= 1 {
            return true;
        }
        match self {
            Self::Allowed => true,
            Self::AllowedIfPublic => file.mode() & READABLE_BY_OTHERS != 0,
            Self::Refused => false,
            Self::AllowedFor { device, inode } => (file.dev(), file.ino()) == (device, inode),
        }
    }

    /// Returns whether a file may be used. This system does not tell how many names a file has.
    #[cfg(not(unix))]
    pub fn permit(self, _: &Metadata) -> bool {
        true
    }

    /// Opens a file by a name that may lead elsewhere a moment later. `open` opens the name and checks the file with
    /// [`permit`](Self::permit).
    ///
    /// A file whose second name is replaced right after it was opened has one name left, so its number of names says
    /// nothing. The name must therefore lead to the same permitted file before it is opened, and after its first byte
    /// was read.
    ///
    /// # Errors
    ///
    /// Fails with the errors of `open`, and with [`FileError::Changed`] if the name keeps changing.
    #[cfg(unix)]
    pub fn open(
        self,
        open: impl Fn() -> Result<(File, Metadata), FileError>,
    ) -> Result<(File, Metadata), FileError> {
        use std::os::unix::fs::{FileExt as _, MetadataExt as _};
        /// Number of attempts: programs replace files as a whole when they save them.
        const ATTEMPTS: usize = 4;
        if self == Self::Allowed {
            return open();
        }
        let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        for _ in 0..ATTEMPTS {
            let (_, before) = open()?;
            let (file, metadata) = open()?;
            file.read_at(&mut [0], 0)?;
            let (_, after) = open()?;
            if identity(&before) == identity(&metadata) && identity(&after) == identity(&metadata) {
                return Ok((file, metadata));
            }
        }
        Err(FileError::Changed)
    }

    /// Opens a file. This system does not tell how many names a file has.
    #[cfg(not(unix))]
    pub fn open(
        self,
        open: impl Fn() -> Result<(File, Metadata), FileError>,
    ) -> Result<(File, Metadata), FileError> {
        open()
    }

    /// Allows the hard links of a single file.
    #[cfg(unix)]
    pub fn of_file(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self::AllowedFor { device: file.dev(), inode: file.ino() }
    }

    /// Allows the hard links of a single file.
    #[cfg(not(unix))]
    pub fn of_file(_: &Metadata) -> Self {
        Self::Refused
    }
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

/// Identifies one version of a file. It changes whenever another program changes the file; its text means nothing
/// outside of its backend.
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
    /// A part of the path became a link after it was resolved.
    #[error("a part of its path became a link")]
    Moved,
    /// The file has other names, and the call may not use such a file.
    #[error("it has other names (hard links)")]
    HardLinked,
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
    /// Its whole environment, besides `PWD`, which is the working folder.
    pub env: Arc<BTreeMap<OsString, OsString>>,
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
    /// Fails if the system cannot tell.
    async fn wait(&mut self) -> io::Result<ExitStatus>;

    /// Ends the program and everything that it started: it may end by itself within `grace`, then it is asked to, then
    /// it is killed.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be ended.
    async fn stop(self: Box<Self>, grace: Duration) -> io::Result<ExitStatus>;

    /// Waits until the program itself has ended, and lets what it has left in the background run until goose ends.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot tell how it ended.
    async fn release(self: Box<Self>) -> io::Result<ExitStatus>;
}
