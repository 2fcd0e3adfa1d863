//! Reading and replacing a file through the backend, and the messages where that fails.

use std::io;

use goose_extension::{Backend, FileError, FileKind, FileRead, FileVersion, ToolError, ToolResult};

use super::{super::resolve_path::ResolvedPath, MAX_FILE_BYTES, suggest};

/// A file as it was read.
pub(super) struct Opened {
    pub(super) bytes: Vec<u8>,
    pub(super) version: FileVersion,
}

/// Reads a whole file.
///
/// # Errors
///
/// Where it is missing, is not a regular file, is too large, or cannot be read.
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
/// Where it is not a regular file, or cannot be read.
pub(super) fn look(backend: &dyn Backend, place: &ResolvedPath) -> ToolResult<FileRead> {
    backend.read(&place.target, MAX_FILE_BYTES).map_err(|error| failed("read", place, error))
}

/// Replaces a file that was read at a version, or creates one where there was none.
///
/// # Errors
///
/// Where it cannot be written, is protected, or was changed by another program meanwhile.
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

fn not_a_file(place: &ResolvedPath, kind: FileKind) -> ToolError {
    let given = &place.given;
    ToolError::ExecutionError(match kind {
        FileKind::Folder => {
            format!("{given} is a folder. Name a file in it. Use `tree` to see what is there.")
        }
        kind => format!("{given} is {kind}, not a file, so it was not touched. Name a regular file."),
    })
}

fn missing(backend: &dyn Backend, place: &ResolvedPath) -> ToolError {
    let (given, path) = (&place.given, &place.target.path);
    ToolError::ExecutionError(match backend.is_local() {
        true if place.is_link() => {
            format!("{given} is a link to {}, which is not there.", path.display())
        }
        true => format!("There is no file {given}.{}", suggest::hint(path)),
        false => format!("There is no file {given}."),
    })
}

fn too_large(place: &ResolvedPath, size: u64) -> ToolError {
    ToolError::ExecutionError(format!(
        "{} is too large: {size} bytes, at most {MAX_FILE_BYTES} are read. Use `search`, or `sed -n` in the shell, to \
         see parts of it, and a program in the shell to change it.",
        place.given
    ))
}

/// Explains what went wrong with a file, and what can be done about it.
fn failed(action: &str, place: &ResolvedPath, error: FileError) -> ToolError {
    let given = &place.given;
    match error {
        FileError::NotAFile(kind) => not_a_file(place, kind),
        FileError::Moved => moved(given),
        FileError::HardLinked => ToolError::ExecutionError(format!(
            "{given} has other names (hard links) since this call was checked, so it was not used. Try again."
        )),
        FileError::Protected => ToolError::ExecutionError(format!(
            "{given} is write-protected, so it was left as it is. Use another file, or ask the person to make it writable."
        )),
        FileError::Changed => ToolError::ExecutionError(format!(
            "{given} was changed by another program just now, so nothing was written. Read it again and repeat the change."
        )),
        FileError::Io(error) => io_failed(action, given, &error),
        error => {
            ToolError::ExecutionError(format!("Could not {action} {given}: {error}. Nothing was changed."))
        }
    }
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
    let (reason, advice) = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), "Use another file, or ask the person to change its permissions.")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ("the file system is read-only".to_owned(), "Work in another folder, or ask the person.")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (
            "there is no space left on the disk".to_owned(),
            "Ask the person to make room; trying again will not help.",
        ),
        io::ErrorKind::FileTooLarge => {
            ("it would be larger than the system allows".to_owned(), "Write less, or ask the person.")
        }
        io::ErrorKind::NotADirectory => {
            ("a part of the path is a file, not a folder".to_owned(), "Correct the path.")
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => (
            "the links in its path lead round in a circle".to_owned(),
            "Look at them with `ls -la` in the shell, and name the real file.",
        ),
        io::ErrorKind::InvalidFilename => {
            ("a name in the path is longer than the system allows".to_owned(), "Choose a shorter one.")
        }
        _ => (error.to_string(), "Look at it with `ls -la` in the shell."),
    };
    ToolError::ExecutionError(format!("Could not {action} {given}: {reason}. Nothing was changed. {advice}"))
}
