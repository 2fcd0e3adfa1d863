//! Putting new bytes in the place of a file, all at once: whoever reads it sees the old or the new, never half of it,
//! and where anything goes wrong the old one is still there.

use std::{
    fs::{self, Metadata},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use goose_extension::{ToolError, ToolResult};
use rustix::fs::{Access, Gid, Uid};

use super::{
    super::place::Place,
    open::{Stamp, failed, not_regular},
};

/// The permissions of a new file, before the mask that the person has set.
const NEW_FILE_MODE: u32 = 0o666;

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
    let existing = existing(&path).map_err(failed)?;
    if let Some(metadata) = &existing {
        check(place, &path, metadata)?;
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let new = write_beside(folder, bytes, existing.as_ref()).map_err(failed)?;
    let now = self::existing(&path).map_err(failed)?.as_ref().map(Stamp::of);
    if now != stamp {
        return Err(changed_meanwhile(place));
    }
    new.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A file beside the one that it will replace, with all that is to be kept. It is removed where it is not put in place.
fn write_beside(
    folder: &Path,
    bytes: &[u8],
    existing: Option<&Metadata>,
) -> io::Result<tempfile::NamedTempFile> {
    let mut new = tempfile::Builder::new()
        .prefix(".goose-")
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(NEW_FILE_MODE))
        .tempfile_in(folder)?;
    new.write_all(bytes)?;
    if let Some(existing) = existing {
        let owner = (existing.uid(), existing.gid());
        let ours = new.as_file().metadata()?;
        if owner != (ours.uid(), ours.gid()) {
            // Only a privileged goose can do that; for others, a file that they may write becomes theirs.
            let _ =
                rustix::fs::fchown(new.as_file(), Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)));
        }
        new.as_file().set_permissions(existing.permissions())?;
    }
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
