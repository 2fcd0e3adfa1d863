//! Replacing a file as a whole: a reader sees the old content or the new one, and where anything goes wrong the old one
//! is still there. A file that no other can take the place of (several names lead to it, its folder is protected, it is
//! mounted) is written where it is.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
};

use goose_extension::{FileError, FileKind, FileTarget, FileVersion, HardLinks};
use goose_fs::{AtomicFile, Draft, Folder};
use rustix::fs::{Access, AtFlags, Gid, Uid, accessat};

use super::{failed, regular, version};

/// The largest content that is kept in memory to undo a failed write.
const MAX_ROLLBACK_BYTES: u64 = 16 * 1024 * 1024;

/// Replaces the content of a file that was read at a version, or creates it. Permissions, owner and attributes are
/// kept; folders are created.
pub(super) fn replace(
    file: &FileTarget,
    bytes: &[u8],
    expected: Option<&FileVersion>,
) -> Result<(), FileError> {
    let entry = Entry::open(file, expected)?;
    let Some((existing, metadata)) = entry.existing()? else {
        return entry.commit(entry.write_beside(bytes)?, expected);
    };
    // Renaming does not ask whether the file may be written.
    let is_closed = || accessat(&entry.folder, entry.name, Access::WRITE_OK, AtFlags::empty()).is_err();
    if metadata.permissions().readonly() || is_closed() {
        return Err(FileError::Protected);
    }
    let replaced = entry
        .write_alike(bytes, &existing, &metadata)
        .map_err(FileError::from)
        .and_then(|draft| entry.commit(draft, expected));
    match replaced {
        Err(FileError::Io(error)) if cannot_be_renamed_over(&error) => entry.overwrite(bytes, expected),
        replaced => replaced,
    }
}

/// A name in an open folder, and what a file of that name may be.
struct Entry<'a> {
    folder: Folder,
    name: &'a OsStr,
    hard_links: HardLinks,
}

impl<'a> Entry<'a> {
    /// Opens the folder. It is created where the file was not there either.
    fn open(file: &'a FileTarget, expected: Option<&FileVersion>) -> Result<Self, FileError> {
        let (Some(path), Some(name)) = (file.path.parent(), file.path.file_name()) else {
            return Err(FileError::NotAFile(FileKind::Folder));
        };
        let folder = if expected.is_some() { Folder::open(path) } else { Folder::create(path) };
        Ok(Self { folder: folder.map_err(failed)?, name, hard_links: file.hard_links })
    }

    fn existing(&self) -> Result<Option<(File, Metadata)>, FileError> {
        let file = match self.folder.open_file(Path::new(self.name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let metadata = regular(&file, self.hard_links)?;
        Ok(Some((file, metadata)))
    }

    /// Puts a new file in its place, unless another program has changed what is there.
    fn commit(&self, draft: Draft, expected: Option<&FileVersion>) -> Result<(), FileError> {
        if self.existing()?.map(|(_, metadata)| version(&metadata)).as_ref() != expected {
            return Err(FileError::Changed);
        }
        Ok(draft.commit()?)
    }

    fn overwrite(&self, bytes: &[u8], expected: Option<&FileVersion>) -> Result<(), FileError> {
        let file = self.folder.open_for_update(Path::new(self.name)).map_err(failed)?;
        if Some(&version(&regular(&file, self.hard_links)?)) != expected {
            return Err(FileError::Changed);
        }
        Ok(overwrite_in_place(&file, bytes)?)
    }

    /// A file beside the one that it will be. It is removed where it is not put in place.
    fn write_beside(&self, bytes: &[u8]) -> io::Result<Draft> {
        let mut new = AtomicFile::within(&self.folder, self.name).shared().create()?;
        new.write_all(bytes)?;
        Ok(new)
    }

    /// The same, with all that is to be kept of the file that it will replace.
    fn write_alike(&self, bytes: &[u8], existing: &File, metadata: &Metadata) -> io::Result<Draft> {
        if metadata.nlink() > 1 {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let new = self.write_beside(bytes)?;
        let owner = (metadata.uid(), metadata.gid());
        let ours = new.file().metadata()?;
        if owner != (ours.uid(), ours.gid()) {
            rustix::fs::fchown(new.file(), Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)))?;
        }
        new.file().set_permissions(metadata.permissions())?;
        copy_attributes(existing, new.file())?;
        Ok(new)
    }
}

/// Tells errors of the place, where no other file can be put, from errors of the bytes.
fn cannot_be_renamed_over(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
    matches!(
        error.kind(),
        PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices | Unsupported
    )
}

/// Writes the content of an open file, which is at its start, where it is.
///
/// Readers may see half of the content meanwhile. A failed write is rolled back as far as the disk allows: a file that
/// grows gets its new end first, while the rest is still the old one.
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

/// Maximum size of all names together, and of one value: Linux's limits.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

/// Attributes that the system gives each file itself.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const NOT_OURS: [&[u8]; 2] = [b"security.", b"com.apple."];

/// Gives a new file the attributes of another.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    use rustix::{buffer::spare_capacity, fs};
    let mut names = Vec::with_capacity(MAX_ATTRIBUTE_BYTES);
    match fs::flistxattr(from, spare_capacity(&mut names)).map_err(io::Error::from) {
        // A file system without attributes.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        listed => listed?,
    };
    let is_ours = |name: &&[u8]| !name.is_empty() && !NOT_OURS.iter().any(|start| name.starts_with(start));
    for name in names.split(|byte| *byte == 0).filter(is_ours) {
        let mut value = Vec::with_capacity(MAX_ATTRIBUTE_BYTES);
        fs::fgetxattr(from, name, spare_capacity(&mut value))?;
        fs::fsetxattr(to, name, &value, fs::XattrFlags::empty())?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
