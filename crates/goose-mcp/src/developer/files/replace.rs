//! Putting new bytes in the place of a file, all at once: whoever reads it sees the old or the new, never half of it,
//! and where anything goes wrong the old one is still there. Where no other file can take its place as it is, with its
//! owner, its other names and what else belongs to it, it is written where it is.

use std::{
    fs::{self, Metadata, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use goose_extension::{ToolError, ToolResult};
use goose_fs::{AtomicFile, Draft};
use rustix::fs::{Access, Gid, OFlags, Uid};

use super::{
    super::place::Place,
    attributes, in_place,
    open::{Stamp, failed, not_regular},
};

/// How many links in a row are followed to a file that is not there yet.
const MAX_LINKS: usize = 16;

/// Puts `bytes` in the place of a file that was read when it had `stamp`, or makes a file where there was none.
/// Links are followed; permissions and owner are kept; folders are made.
///
/// # Errors
///
/// Where it cannot be written, is protected, or was changed by somebody else meanwhile.
pub(super) fn replace(place: &Place, bytes: &[u8], stamp: Option<Stamp>) -> ToolResult<()> {
    let failed = |error: io::Error| failed("write", place, &error);
    let path = resolve(&place.path).map_err(failed)?;
    let Some(metadata) = existing(&path).map_err(failed)? else {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed)?;
        let new = write_beside(&path, bytes).map_err(failed)?;
        return put_in_place(place, new, &path, stamp)?.map_err(failed);
    };
    check(place, &path, &metadata)?;
    let replaced = match write_alike(&path, bytes, &metadata) {
        Ok(new) => put_in_place(place, new, &path, stamp)?,
        Err(error) => Err(error),
    };
    match replaced {
        Err(error) if is_in_the_way(&error) => overwrite(place, &path, bytes, stamp),
        replaced => replaced.map_err(failed),
    }
}

/// Puts a new file where it belongs, where that is as it was.
fn put_in_place(place: &Place, new: Draft, path: &Path, stamp: Option<Stamp>) -> ToolResult<io::Result<()>> {
    let now = existing(path).map_err(|error| failed("write", place, &error))?.as_ref().map(Stamp::of);
    if now != stamp {
        return Err(changed_meanwhile(place));
    }
    Ok(new.commit())
}

/// Writes a file where it is.
fn overwrite(place: &Place, path: &Path, bytes: &[u8], stamp: Option<Stamp>) -> ToolResult<()> {
    let failed = |error: io::Error| failed("write", place, &error);
    let flags =
        i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)?;
    if Some(Stamp::of(&file.metadata().map_err(failed)?)) != stamp {
        return Err(changed_meanwhile(place));
    }
    in_place::overwrite(&file, bytes).map_err(failed)
}

/// Whether it is the place, and not the bytes, that no other file can be put there.
fn is_in_the_way(error: &io::Error) -> bool {
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
    attributes::keep(path, new.file())?;
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

/// Renaming asks nobody whether the file may be written, so we do.
fn check(place: &Place, path: &Path, metadata: &Metadata) -> ToolResult<()> {
    if !metadata.is_file() {
        return Err(not_regular(place, metadata));
    }
    if metadata.permissions().readonly() || rustix::fs::access(path, Access::WRITE_OK).is_err() {
        return Err(ToolError::ExecutionError(format!(
            "{} is write-protected, so it was left as it is. Use another file, or ask the person to make it writable.",
            place.given
        )));
    }
    Ok(())
}

fn changed_meanwhile(place: &Place) -> ToolError {
    ToolError::ExecutionError(format!(
        "{} was changed by another program just now, so nothing was written. Read it again and repeat the change.",
        place.given
    ))
}
