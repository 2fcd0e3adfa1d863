//! Getting the bytes of a file, and saying why not. Nothing here hangs: pipes and devices are refused.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    time::SystemTime,
};

use goose_extension::{ToolError, ToolResult};
use rustix::fs::OFlags;

use super::{super::place::Place, MAX_FILE_BYTES, near};

/// A file as it was read.
pub(super) struct Opened {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// What there is in the place of a file.
pub(super) enum Found {
    Nothing,
    File(Opened),
    /// More than is read.
    TooLarge {
        size: u64,
        stamp: Stamp,
    },
}

/// What changes when somebody else changes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { inode: metadata.ino(), size: metadata.size(), modified: metadata.modified().ok() }
    }
}

/// Reads a whole file.
///
/// # Errors
///
/// Where it is not there, is no regular file, is too large, or cannot be read.
pub(super) fn open(place: &Place) -> ToolResult<Opened> {
    match look(place)? {
        Found::File(opened) => Ok(opened),
        Found::Nothing => Err(missing(place)),
        Found::TooLarge { size, .. } => Err(too_large(place, size)),
    }
}

/// Reads a whole file, where there is one.
///
/// # Errors
///
/// Where it is no regular file, or cannot be read.
pub(super) fn look(place: &Place) -> ToolResult<Found> {
    let Some((file, metadata)) = open_place(place)? else { return Ok(Found::Nothing) };
    let stamp = Stamp::of(&metadata);
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(MAX_FILE_BYTES)).unwrap_or(0));
    // Some files say that they are empty and are not.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed("read", place, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Ok(Found::TooLarge { size: metadata.len(), stamp });
    }
    Ok(Found::File(Opened { bytes, stamp }))
}

/// Looks whether there is a file that can be read.
///
/// # Errors
///
/// Why not.
pub(in super::super) fn check_readable(place: &Place) -> ToolResult<()> {
    open_place(place)?.map(drop).ok_or_else(|| missing(place))
}

/// A regular file; `None` where there is nothing.
fn open_place(place: &Place) -> ToolResult<Option<(File, Metadata)>> {
    let file = match open_file(&place.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(no_file(place).unwrap_or_else(|| failed("read", place, &error))),
    };
    let metadata = file.metadata().map_err(|error| failed("read", place, &error))?;
    if !metadata.is_file() {
        return Err(not_regular(place, &metadata));
    }
    Ok(Some((file, metadata)))
}

/// A file to be read, where there is one: nothing else is waited for.
pub(in super::super) fn open_regular(path: &Path) -> Option<File> {
    let file = open_file(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// A pipe that nobody writes into must not hold us up.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)
}

/// What a place is where it is no file: some cannot even be opened.
fn no_file(place: &Place) -> Option<ToolError> {
    let metadata = std::fs::metadata(&place.path).ok()?;
    (!metadata.is_file()).then(|| not_regular(place, &metadata))
}

pub(super) fn not_regular(place: &Place, metadata: &Metadata) -> ToolError {
    let kind = metadata.file_type();
    let given = &place.given;
    if kind.is_dir() {
        return ToolError::ExecutionError(format!(
            "{given} is a folder. Name a file in it. Use `tree` to see what is there."
        ));
    }
    let what = if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    ToolError::ExecutionError(format!(
        "{given} is {what}, not a file, so it was not touched. Name a regular file."
    ))
}

fn missing(place: &Place) -> ToolError {
    let given = &place.given;
    ToolError::ExecutionError(match place.path.read_link() {
        Ok(target) => format!("{given} is a link to {}, which is not there.", target.display()),
        Err(_) => format!("There is no file {given}.{}", near::hint(&place.path)),
    })
}

fn too_large(place: &Place, size: u64) -> ToolError {
    ToolError::ExecutionError(format!(
        "{} is too large: {size} bytes, at most {MAX_FILE_BYTES} are read. Use `search`, or `sed -n` in the shell, to \
         see parts of it, and a program in the shell to change it.",
        place.given
    ))
}

/// What went wrong with a file, and what can be done about it.
pub(super) fn failed(action: &str, place: &Place, error: &io::Error) -> ToolError {
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
    ToolError::ExecutionError(format!(
        "Could not {action} {}: {reason}. Nothing was changed. {advice}",
        place.given
    ))
}
