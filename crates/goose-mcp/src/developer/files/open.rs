//! Reading and replacing a file through the backend, and the messages where that fails.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use goose_extension::{Backend, FileError, FileKind, FileRead, FileVersion, ToolError, ToolResult};
use goose_fs::Folder;

use super::{super::resolve_path::ResolvedPath, MAX_FILE_BYTES};

/// A file as it was read.
pub(super) struct Opened {
    pub(super) bytes: Vec<u8>,
    pub(super) version: FileVersion,
}

/// Reads a whole file.
///
/// # Errors
///
/// Fails if it is missing, is not a regular file, is too large, or cannot be read.
pub(super) fn open(backend: &dyn Backend, place: &ResolvedPath) -> ToolResult<Opened> {
    match look(backend, place)? {
        FileRead::Content { bytes, version } => Ok(Opened { bytes, version }),
        FileRead::Missing => Err(missing(backend, place)),
        FileRead::TooLarge { size, .. } => Err(too_large(place, size)),
    }
}

/// Reads a whole file, where there is one.
///
/// # Errors
///
/// Fails if it is not a regular file, or cannot be read.
pub(super) fn look(backend: &dyn Backend, place: &ResolvedPath) -> ToolResult<FileRead> {
    backend.read(&place.target, MAX_FILE_BYTES).map_err(|error| failed("read", place, error))
}

/// Replaces a file that was read at a version, or creates one where there was none.
///
/// # Errors
///
/// Fails if it cannot be written, is protected, or was changed by another program meanwhile.
pub(super) fn replace(
    backend: &dyn Backend,
    place: &ResolvedPath,
    bytes: &[u8],
    version: Option<&FileVersion>,
) -> ToolResult<()> {
    backend.replace(&place.target, bytes, version).map_err(|error| failed("write", place, error))
}

/// Checks that there is a file that can be read.
///
/// # Errors
///
/// The reason why not.
pub(in super::super) fn check_readable(backend: &dyn Backend, place: &ResolvedPath) -> ToolResult<()> {
    match backend.read(&place.target, 0).map_err(|error| failed("read", place, error))? {
        FileRead::Missing => Err(missing(backend, place)),
        _ => Ok(()),
    }
}

pub(crate) fn missing(backend: &dyn Backend, place: &ResolvedPath) -> ToolError {
    let path = &place.target.path;
    ToolError::ExecutionError(match backend.is_local() {
        true if place.is_link() => format!("{place} is a link to {}, which is not there.", path.display()),
        true => format!("There is no file {place}.{}", similar_names(path)),
        false => format!("There is no file {place}."),
    })
}

fn too_large(place: &ResolvedPath, size: u64) -> ToolError {
    ToolError::ExecutionError(format!(
        "{place} is too large: {size} bytes, at most {MAX_FILE_BYTES} are read. Use `search`, or `sed -n` in the shell, to \
         see parts of it, and a program in the shell to change it."
    ))
}

/// Explains what went wrong with a file, and what can be done about it.
pub(crate) fn failed(action: &str, place: &ResolvedPath, error: FileError) -> ToolError {
    ToolError::ExecutionError(match error {
        FileError::NotAFile(FileKind::Folder) => {
            format!("{place} is a folder. Name a file in it. Use `tree` to see what is there.")
        }
        FileError::NotAFile(kind) => {
            format!("{place} is {kind}, not a file, so it was not touched. Name a regular file.")
        }
        FileError::Moved => return moved(&place.given),
        FileError::HardLinked => format!(
            "{place} has other names (hard links) since this call was checked, so it was not used. Try again."
        ),
        FileError::Protected => format!(
            "{place} is write-protected, so it was left as it is. Use another file, or ask the person to make it writable."
        ),
        FileError::Changed => format!(
            "{place} was changed by another program just now, so nothing was written. Read it again and repeat the change."
        ),
        FileError::Io(error) => return io_failed(action, &place.given, &error),
        error => format!("Could not {action} {place}: {error}. Nothing was changed."),
    })
}

/// The error for a path that leads elsewhere since it was resolved.
pub(in super::super) fn moved(given: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "{given} leads somewhere else since this call was checked: a part of its path became a link. Nothing was read or \
         changed. Try again."
    ))
}

/// Explains an error of the system, and what can be done about it.
pub(in super::super) fn io_failed(action: &str, given: &str, error: &io::Error) -> ToolError {
    let text = error.to_string();
    let (reason, advice) = match error.kind() {
        ErrorKind::PermissionDenied => {
            ("permission denied", "Use another file, or ask the person to change its permissions.")
        }
        ErrorKind::ReadOnlyFilesystem => {
            ("the file system is read-only", "Work in another folder, or ask the person.")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("there is no space left on the disk", "Ask the person to make room; trying again will not help.")
        }
        ErrorKind::FileTooLarge => {
            ("it would be larger than the system allows", "Write less, or ask the person.")
        }
        ErrorKind::NotADirectory => ("a part of the path is a file, not a folder", "Correct the path."),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => (
            "the links in its path lead round in a circle",
            "Look at them with `ls -la` in the shell, and name the real file.",
        ),
        ErrorKind::InvalidFilename => {
            ("a name in the path is longer than the system allows", "Choose a shorter one.")
        }
        _ => (text.as_str(), "Look at it with `ls -la` in the shell."),
    };
    ToolError::ExecutionError(format!("Could not {action} {given}: {reason}. Nothing was changed. {advice}"))
}

/// Maximum number of names of a folder that are compared.
const MAX_LOOKED_AT: usize = 5_000;

/// Maximum number of names shown.
const MAX_SHOWN: usize = 5;

/// Maximum length of a name that is compared.
const MAX_NAME_CHARS: usize = 100;

/// Returns a hint for a path that does not exist: the part that exists, and similar names.
pub(in super::super) fn similar_names(path: &Path) -> String {
    let Some((folder, opened, missing)) = deepest(path) else { return String::new() };
    let names = nearest(&opened, missing);
    let here = if path.parent() == Some(folder) {
        String::new()
    } else {
        format!(" The folder {} exists, but has no `{missing}`.", folder.display())
    };
    match names.as_slice() {
        [] => here,
        names => format!("{here} Similar names there: {}.", names.join(", ")),
    }
}

/// The deepest folder of a path that exists, and the name that is missing in it.
fn deepest(path: &Path) -> Option<(&Path, Folder, &str)> {
    path.ancestors().zip(path.ancestors().skip(1)).find_map(|(inner, outer)| {
        let name = inner.file_name()?.to_str()?;
        Some((outer, Folder::open(outer).ok()?, name))
    })
}

/// The names of a folder that are like another, best first.
fn nearest(folder: &Folder, wanted: &str) -> Vec<String> {
    let names = folder.names(MAX_LOOKED_AT).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let mut found: Vec<(usize, String)> =
        names.filter_map(|name| Some((difference(wanted, &name)?, name))).collect();
    found.sort();
    found.into_iter().take(MAX_SHOWN).map(|(_, name)| name).collect()
}

/// Returns the distance of two names; `None` if they have little in common.
fn difference(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    let stem = |name: &str| name.split('.').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    if stem(&wanted) == stem(&name) {
        return Some(0);
    }
    let [one, other] = [wanted, name].map(|name| name.chars().take(MAX_NAME_CHARS).collect::<String>());
    let distance = strsim::levenshtein(&one, &other);
    (distance * 3 <= one.chars().count().max(other.chars().count())).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_letters_or_stem() {
        assert_eq!(difference("main.rs", "main.rs"), Some(0));
        assert_eq!(difference("Main.py", "main.rs"), Some(0));
        assert_eq!(difference("mian.rs", "main.rs"), Some(2));
        assert_eq!(difference("main.rs", "Cargo.toml"), None);
        assert_eq!(difference("kitten_list", "sitting_list"), Some(3));
        assert_eq!(difference("größe_a", "größe_b"), Some(1));
    }
}
