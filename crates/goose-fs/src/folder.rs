//! [`Folder`]: the one door to files whose paths were resolved, and perhaps judged, before.
//!
//! After a path was resolved another program can put a link where a folder was. So nothing here follows a link: a path
//! still leads where it led, or opening it fails ([`is_link`]). Files are created and replaced through the descriptor
//! of their folder, which stays the same folder whatever is renamed meanwhile.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, mkdirat, openat, readlinkat, statat, unlinkat},
    io::Errno,
};

/// The number of links that are followed before a path counts as a circle.
const MAX_LINKS: usize = 40;

/// The number of components that a path may have.
const MAX_COMPONENTS: usize = 512;

/// The mode of a new folder, before the process's file mode mask.
const SHARED_DIR: Mode = Mode::from_bits_retain(0o777);

/// Opens a folder to reach what is in it. Where the system can, this takes no permission to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a file. A pipe without a writer must not block, and no terminal may become ours.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Follows all links and `..` in a path. Parts that do not exist are kept as they are written.
///
/// # Errors
///
/// Fails if the links form a cycle, a parent is not a folder, or the system denies access.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut pending = parts(&std::path::absolute(path)?)?;
    pending.reverse();
    let (mut resolved, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = pending.pop() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(&next)?;
                links += 1;
                if links > MAX_LINKS || pending.len() > MAX_COMPONENTS {
                    return Err(Errno::LOOP.into());
                }
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                pending.extend(parts(&target)?.into_iter().rev());
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => resolved = next,
        }
    }
    Ok(resolved)
}

/// The components that matter: names and `..`.
fn parts(path: &Path) -> io::Result<Vec<OsString>> {
    let parts: Vec<OsString> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect();
    if parts.len() > MAX_COMPONENTS { Err(Errno::NAMETOOLONG.into()) } else { Ok(parts) }
}

/// Opens the file at a resolved path for reading, whatever kind of file it is.
///
/// # Errors
///
/// Fails if it cannot be opened, or a part of the path is a link.
pub fn open_file(path: &Path) -> io::Result<File> {
    Folder::root()?.open_file(path)
}

/// Opens a regular file for reading. Links are followed. A pipe, a device or a folder in its place is an error, and
/// never blocks.
///
/// # Errors
///
/// Fails if it cannot be opened or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opened first and checked then, because the name may lead elsewhere a moment later.
    let file = File::from(openat(CWD, path, FILE | OFlags::RDONLY, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Reads a regular file that any program may have written: up to a byte more than `limit`, so that callers can refuse a
/// longer one. Links are followed.
///
/// # Errors
///
/// Fails if it cannot be read or is not a regular file.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether opening a resolved path failed because a part of it is a link.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// An open folder. Paths given to its methods are resolved and relative to it; an absolute path is taken below it.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    fn root() -> io::Result<Self> {
        Ok(Self(openat(CWD, "/", FOLDER, Mode::empty())?))
    }

    /// Opens the folder at a resolved path.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened, is not a folder, or a part of the path is a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::root()?.folder(path)
    }

    /// Opens the folder at a resolved path, and creates the folders that are missing.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and where a folder cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut folder = Self::root()?;
        for name in names(path)? {
            folder = match folder.folder(Path::new(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match mkdirat(&folder, name, SHARED_DIR) {
                        Ok(()) | Err(Errno::EXIST) => folder.folder(Path::new(name))?,
                        Err(error) => return Err(error.into()),
                    }
                }
                opened => opened?,
            };
        }
        Ok(folder)
    }

    /// Opens a folder by a path whose links are followed, for callers that trust it.
    pub(crate) fn follow(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// Opens a folder below this one.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn folder(&self, path: &Path) -> io::Result<Self> {
        Ok(Self(open_below(self.as_fd(), path, FOLDER)?))
    }

    /// Opens a file below this folder for reading, whatever kind of file it is.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened, or a part of the path is a link.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        Ok(open_below(self.as_fd(), path, FILE | OFlags::RDONLY)?.into())
    }

    /// Opens a file below this folder for reading and writing in place.
    ///
    /// # Errors
    ///
    /// As [`open_file`](Self::open_file).
    pub fn open_for_update(&self, path: &Path) -> io::Result<File> {
        Ok(open_below(self.as_fd(), path, FILE | OFlags::RDWR)?.into())
    }

    /// Removes a file, or a link, from this folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(self, name, AtFlags::empty())?)
    }

    /// Describes what is at a path below this folder, which may be a link itself.
    ///
    /// # Errors
    ///
    /// Fails if the file does not exist, or a folder in the path is a link.
    pub fn stat(&self, path: &Path) -> io::Result<Stat> {
        let (folder, name) = self.parent_of(path)?;
        Ok(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Returns the target of a link below this folder, as it is written.
    ///
    /// # Errors
    ///
    /// Fails if it is not a link, or a folder in the path is one.
    pub fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let (folder, name) = self.parent_of(path)?;
        Ok(OsString::from_vec(readlinkat(folder, name, Vec::new())?.into_bytes()).into())
    }

    /// Lists the names in this folder, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    pub fn names(&self, limit: usize) -> io::Result<Vec<OsString>> {
        let readable =
            openat(self, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let names = Dir::new(readable)?.filter_map(Result::ok).map(|entry| entry.file_name().to_owned());
        let names = names.filter(|name| !matches!(name.to_bytes(), b"." | b".."));
        Ok(names.take(limit).map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()).collect())
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    fn parent_of<'a>(&self, path: &'a Path) -> io::Result<(Self, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        Ok((self.folder(path.parent().unwrap_or(Path::new("")))?, name))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The names in a resolved path.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    path.components()
        .filter(|part| !matches!(part, Component::RootDir | Component::CurDir))
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(Errno::INVAL.into()),
        })
        .collect()
}

/// Opens what is below a folder and follows no link.
fn open_below(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let names = names(path)?;
    if names.is_empty() {
        return Ok(openat(folder, ".", flags, Mode::empty())?);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let path = path.strip_prefix("/").unwrap_or(path);
        match openat2(folder, path, flags, Mode::empty(), how) {
            // Kernels before 5.6 do not have it, and some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    open_step_by_step(folder, &names, flags)
}

/// Opens each folder on the way, and then what is in the last one.
fn open_step_by_step(folder: BorrowedFd<'_>, names: &[&OsStr], flags: OFlags) -> io::Result<OwnedFd> {
    let mut reached: Option<OwnedFd> = None;
    for (index, name) in names.iter().enumerate() {
        let flags = if index + 1 == names.len() { flags } else { FOLDER };
        let folder = reached.as_ref().map_or(folder, AsFd::as_fd);
        reached = Some(open_name(folder, name, flags)?);
    }
    reached.ok_or_else(|| Errno::INVAL.into())
}

/// Opens a name in a folder. Systems have different errors for a link: here it is always the same.
fn open_name(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let is_link = || {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink())
    };
    openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty())
        .map_err(|error| if is_link() { Errno::LOOP } else { error }.into())
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
