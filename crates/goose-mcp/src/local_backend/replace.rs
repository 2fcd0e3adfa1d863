//! Replacing a file as a whole: a reader sees the old content or the new one, and where anything goes wrong the old one is still there.
//! A file that no other can take the place of (several names lead to it, its folder is protected, it is mounted) is written where it is.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use goose_extension::{FileError, FileVersion};
use goose_fs::{AtomicFile, Draft};
use rustix::fs::{Access, Gid, OFlags, Uid};

use super::{not_a_file, version};

/// The number of links in a row that are followed to a file that is not there yet.
const MAX_LINKS: usize = 16;

/// The largest content that is kept in memory to undo a failed write.
const MAX_ROLLBACK_BYTES: u64 = 16 * 1024 * 1024;

/// Replaces the content of a file that was read at a version, or creates it. Links are followed; permissions, owner and attributes are
/// kept; folders are created.
pub(super) fn replace(path: &Path, bytes: &[u8], expected: Option<&FileVersion>) -> Result<(), FileError> {
    let path = resolve(path)?;
    let Some(metadata) = existing(&path)? else {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        return commit(write_beside(&path, bytes)?, &path, expected);
    };
    if !metadata.is_file() {
        return Err(not_a_file(&metadata));
    }
    // Renaming does not ask whether the file may be written.
    if metadata.permissions().readonly() || rustix::fs::access(&path, Access::WRITE_OK).is_err() {
        return Err(FileError::Protected);
    }
    let replaced = write_alike(&path, bytes, &metadata)
        .map_err(FileError::from)
        .and_then(|draft| commit(draft, &path, expected));
    match replaced {
        Err(FileError::Io(error)) if cannot_be_renamed_over(&error) => overwrite(&path, bytes, expected),
        replaced => replaced,
    }
}

/// Puts a new file in its place, unless another program has changed what is there.
fn commit(draft: Draft, path: &Path, expected: Option<&FileVersion>) -> Result<(), FileError> {
    if existing(path)?.as_ref().map(version).as_ref() != expected {
        return Err(FileError::Changed);
    }
    Ok(draft.commit()?)
}

fn overwrite(path: &Path, bytes: &[u8], expected: Option<&FileVersion>) -> Result<(), FileError> {
    let flags =
        i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    if Some(&version(&file.metadata()?)) != expected {
        return Err(FileError::Changed);
    }
    Ok(overwrite_in_place(&file, bytes)?)
}

/// Tells errors of the place, where no other file can be put, from errors of the bytes.
fn cannot_be_renamed_over(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
    matches!(
        error.kind(),
        PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices | Unsupported
    )
}

/// A file beside the one that it will be. It is removed where it is not put in place.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<Draft> {
    let mut new = AtomicFile::new(path).shared().create()?;
    new.write_all(bytes)?;
    Ok(new)
}

/// The same, with all that is to be kept of the file that it will replace.
fn write_alike(path: &Path, bytes: &[u8], existing: &Metadata) -> io::Result<Draft> {
    if existing.nlink() > 1 {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    let new = write_beside(path, bytes)?;
    let owner = (existing.uid(), existing.gid());
    let ours = new.file().metadata()?;
    if owner != (ours.uid(), ours.gid()) {
        rustix::fs::fchown(new.file(), Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)))?;
    }
    new.file().set_permissions(existing.permissions())?;
    copy_attributes(path, new.file())?;
    Ok(new)
}

fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a path leads to, also where nothing is there yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            known => return known,
        }
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links lead to it"))
}

/// Writes the content of an open file, which is at its start, where it is.
///
/// Readers may see half of the content meanwhile. A failed write is rolled back as far as the disk allows: a file that grows gets its
/// new end first, while the rest is still the old one.
fn overwrite_in_place(file: &File, new: &[u8]) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut old = Vec::new();
    file.take(MAX_ROLLBACK_BYTES).read_to_end(&mut old)?;
    put(file, new, length).inspect_err(|_| {
        // Nothing more can be done where this fails as well.
        let _ = file.write_all_at(&old, 0).and_then(|()| file.set_len(length));
    })
}

fn put(file: &File, new: &[u8], length: u64) -> io::Result<()> {
    let common = new.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    file.write_all_at(&new[common..], common as u64)?;
    file.write_all_at(&new[..common], 0)?;
    file.set_len(new.len() as u64)
}

/// How large all names together, or one value, may be: what Linux allows.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

/// Attributes that the system gives each file itself.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const NOT_OURS: [&[u8]; 2] = [b"security.", b"com.apple."];

/// Gives a new file the attributes of another.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn copy_attributes(from: &Path, to: &File) -> io::Result<()> {
    use rustix::{buffer::spare_capacity, fs};
    let mut names = Vec::with_capacity(MAX_ATTRIBUTE_BYTES);
    match fs::listxattr(from, spare_capacity(&mut names)).map_err(io::Error::from) {
        // A file system without attributes.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        listed => listed?,
    };
    let is_ours = |name: &&[u8]| !name.is_empty() && !NOT_OURS.iter().any(|start| name.starts_with(start));
    for name in names.split(|byte| *byte == 0).filter(is_ours) {
        let mut value = Vec::with_capacity(MAX_ATTRIBUTE_BYTES);
        fs::getxattr(from, name, spare_capacity(&mut value))?;
        fs::fsetxattr(to, name, &value, fs::XattrFlags::empty())?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn copy_attributes(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_and_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old content").unwrap();
        for new in ["old content, and more", "short", "", "again"] {
            let file = File::options().read(true).write(true).open(&path).unwrap();
            overwrite_in_place(&file, new.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), new);
        }
    }

    #[test]
    fn what_cannot_be_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old content").unwrap();
        overwrite_in_place(&File::open(&path).unwrap(), b"new").unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old content");
    }
}
