//! [`AtomicFile`]: writes beside a file and renames.

use std::{
    ffi::{OsStr, OsString},
    fs::{DirBuilder, File},
    hash::{BuildHasher as _, RandomState},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fchmod, openat, renameat, statat, unlinkat},
    io::Errno,
};

use crate::Folder;

const PRIVATE_FILE: Mode = Mode::from_bits_retain(0o600);
const PRIVATE_DIR: u32 = 0o700;

/// The mode of a shared file, before the process's file mode mask.
const SHARED_FILE: Mode = Mode::from_bits_retain(0o666);

/// The number of names that are tried for a temporary file.
const MAX_NAMES_TRIED: usize = 100;

/// The options for replacing one file. By default the new file is private (0600), gets no flush to the disk, and does
/// not take over the permissions of the file that it replaces.
///
/// A link in the place of the file is replaced: a caller that wants to keep it resolves the path first. Links in the
/// path of the folder are followed, unless the folder is given as an open [`Folder`].
#[derive(Debug, Clone)]
pub struct AtomicFile<'a> {
    folder: Place<'a>,
    name: Option<&'a OsStr>,
    prefix: &'a str,
    suffix: &'a str,
    mode: Mode,
    keeps_permissions: bool,
    is_synced: bool,
}

#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    Path(&'a Path),
    Open(&'a Folder),
}

impl<'a> AtomicFile<'a> {
    /// Options for the file at `path`. Its folder must exist.
    pub fn new(path: &'a Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self::at(Place::Path(folder.unwrap_or(Path::new("."))), path.file_name())
    }

    /// Options for a file in an open folder.
    pub fn within(folder: &'a Folder, name: &'a OsStr) -> Self {
        Self::at(Place::Open(folder), Some(name))
    }

    fn at(folder: Place<'a>, name: Option<&'a OsStr>) -> Self {
        Self {
            folder,
            name,
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

    /// Flushes the content to the disk before the file takes its name, so that a crash of the machine leaves the old
    /// file or the new one.
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
    /// Fails if the file cannot be written; the old one is unchanged then.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut draft = self.create()?;
        draft.write_all(bytes)?;
        if self.keeps_permissions {
            draft.take_over_permissions()?;
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
    /// Fails if the folder cannot be written.
    pub fn create(&self) -> io::Result<Draft> {
        let target = self.name.ok_or(Errno::INVAL)?.to_owned();
        let folder = match self.folder {
            Place::Path(path) => Folder::follow(path)?,
            Place::Open(folder) => folder.try_clone()?,
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_NAMES_TRIED {
            // Each state hashes differently, so the names are unpredictable.
            let random = RandomState::new().hash_one(&target);
            let name = OsString::from(format!("{}{random:016x}{}", self.prefix, self.suffix));
            match openat(&folder, &name, flags, self.mode) {
                Ok(file) => return Ok(Draft { file: file.into(), folder, name: Some(name), target }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }
}

/// A file that has not taken its name yet. Dropping it removes it.
#[derive(Debug)]
pub struct Draft {
    file: File,
    folder: Folder,
    /// Its name until then.
    name: Option<OsString>,
    target: OsString,
}

impl Draft {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Renames the draft to its target.
    ///
    /// # Errors
    ///
    /// Fails if the target cannot be replaced; the draft is removed then.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(name) = &self.name {
            renameat(&self.folder, name, &self.folder, &self.target)?;
            self.name = None;
        }
        Ok(())
    }

    fn take_over_permissions(&self) -> io::Result<()> {
        match statat(&self.folder, &self.target, AtFlags::empty()) {
            Ok(existing) => Ok(fchmod(&self.file, Mode::from_raw_mode(existing.st_mode))?),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing more can be done where this fails.
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
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

/// Creates a folder, with those above it, that only its owner can enter. An existing folder keeps its mode.
///
/// # Errors
///
/// Fails if it cannot be created.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(folder)
}

/// Opens a file to write it from its beginning, without the detour of [`AtomicFile`]: for targets that people name,
/// which may be pipes or devices. A new file is private; an existing one keeps its mode.
///
/// # Errors
///
/// Fails if it cannot be opened.
pub fn open_private_file(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(true).write(true).mode(PRIVATE_FILE.bits()).open(path)
}

/// Flushes a folder, which makes a rename in it last. File systems that cannot do this keep the file whole all the
/// same, so callers may ignore the error.
///
/// # Errors
///
/// Fails if the folder cannot be flushed.
pub fn sync_dir(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
