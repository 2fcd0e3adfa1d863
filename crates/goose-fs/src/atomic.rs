//! [`AtomicFile`]: writes beside a file and renames.

use std::{
    fs::{self, DirBuilder, File, Metadata},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// The mode of a shared file, before the process's file mode mask.
const SHARED_FILE: u32 = 0o666;

/// The options for replacing one file. By default the new file is private (0600), gets no flush to the disk, and does not take over
/// the permissions of the file that it replaces.
///
/// Symbolic links are not followed: a caller that wants to keep a link resolves the path first.
#[derive(Debug, Clone)]
pub struct AtomicFile<'a> {
    path: &'a Path,
    prefix: &'a str,
    suffix: &'a str,
    mode: u32,
    keeps_permissions: bool,
    is_synced: bool,
}

impl<'a> AtomicFile<'a> {
    /// Options for the file at `path`. Its folder must exist.
    pub fn new(path: &'a Path) -> Self {
        Self {
            path,
            // A fixed name, not the file's: a long file name plus a suffix could exceed the system's limit.
            prefix: ".goose-",
            suffix: ".tmp",
            mode: PRIVATE_FILE,
            keeps_permissions: false,
            is_synced: false,
        }
    }

    /// Gives a new file the permissions that the system gives any new file.
    pub fn shared(mut self) -> Self {
        self.mode = SHARED_FILE;
        self
    }

    /// Takes over the permissions of an existing file.
    pub fn keep_permissions(mut self) -> Self {
        self.keeps_permissions = true;
        self
    }

    /// Flushes the content to the disk before the file takes its name, so that a crash of the machine leaves the old file or
    /// the new one.
    pub fn synced(mut self) -> Self {
        self.is_synced = true;
        self
    }

    /// Names the temporary file, for callers that clean up after a killed process.
    pub fn temporary_name(mut self, prefix: &'a str, suffix: &'a str) -> Self {
        (self.prefix, self.suffix) = (prefix, suffix);
        self
    }

    /// Replaces the file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written; the old one is unchanged then.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut draft = self.create()?;
        draft.write_all(bytes)?;
        if self.keeps_permissions
            && let Some(existing) = existing(self.path)?
        {
            draft.file().set_permissions(existing.permissions())?;
        }
        if self.is_synced {
            draft.file().sync_all()?;
        }
        draft.commit()
    }

    /// Creates an empty temporary file beside the target, for callers that do more than write bytes.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be written.
    pub fn create(&self) -> io::Result<Draft> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(self.prefix)
            .suffix(self.suffix)
            .permissions(fs::Permissions::from_mode(self.mode))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Draft { file, target: self.path.to_owned() })
    }
}

/// A file that has not taken its name yet. Dropping it removes it.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    target: PathBuf,
}

impl Draft {
    /// The open file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Renames the draft to its target.
    ///
    /// # Errors
    ///
    /// Where the target cannot be replaced; the draft is removed then.
    pub fn commit(self) -> io::Result<()> {
        self.file.persist(&self.target).map(drop).map_err(|error| error.error)
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a folder, with those above it, that only its owner can enter. An existing folder keeps its mode.
///
/// # Errors
///
/// Where it cannot be created.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(folder)
}

/// Flushes a folder, which makes a rename in it last. File systems that cannot do this keep the file whole all the same, so
/// callers may ignore the error.
///
/// # Errors
///
/// Where the folder cannot be flushed.
pub fn sync_dir(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
