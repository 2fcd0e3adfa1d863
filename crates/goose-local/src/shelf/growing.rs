//! [`Growing`]: a model's file while it comes. Whatever happens, what is in it is the begin of the file.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::error::ShelfError;

/// The largest note about a part.
const MAX_NOTE_BYTES: u64 = 16 * 1024;

/// The file `NAME.gguf.part`, and beside it a note about the version that a server gave.
pub(super) struct Growing {
    file: File,
    path: PathBuf,
    note: PathBuf,
    bytes: u64,
    total: u64,
}

/// Which version of a file a part is from.
#[derive(Serialize, Deserialize)]
struct Note {
    address: String,
    tag: String,
}

/// More came than there can be.
pub(super) struct Surplus;

impl Growing {
    /// Opens what is there of a file that will have so many bytes. Only who holds the lock may do this.
    pub(super) fn open(path: PathBuf, total: u64) -> Result<Self, ShelfError> {
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let file = open.map_err(|error| ShelfError::io("write", &path, error))?;
        let bytes = file.metadata().map_err(|error| ShelfError::io("look at", &path, error))?.len();
        let note = beside(&path, ".note");
        let mut growing = Self { file, path, note, bytes, total };
        if bytes > total {
            growing.restart()?;
        }
        Ok(growing)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How much is there.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much there will be.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How much is missing.
    pub(super) fn missing(&self) -> u64 {
        self.total - self.bytes
    }

    /// Adds what comes next. Nothing of it is added where it would be too much.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Result<(), Surplus>, ShelfError> {
        let length = bytes.len() as u64;
        if length > self.missing() {
            return Ok(Err(Surplus));
        }
        if let Err(error) = self.file.write_all(bytes) {
            // A part of it may have been written.
            self.bytes = self.file.metadata().map_or(self.bytes, |about| about.len());
            return Err(ShelfError::io("write", &self.path, error));
        }
        self.bytes += length;
        Ok(Ok(()))
    }

    /// Throws away what is there.
    pub(super) fn restart(&mut self) -> Result<(), ShelfError> {
        self.file.set_len(0).map_err(|error| ShelfError::io("empty", &self.path, error))?;
        self.bytes = 0;
        // Without a part it says nothing.
        let _ = fs::remove_file(&self.note);
        Ok(())
    }

    /// The version that the part is from, where it is from that address.
    pub(super) fn tag(&self, address: &str) -> Option<String> {
        let mut text = String::new();
        File::open(&self.note).ok()?.take(MAX_NOTE_BYTES).read_to_string(&mut text).ok()?;
        let note: Note = serde_json::from_str(&text).ok()?;
        (note.address == address).then_some(note.tag)
    }

    /// Notes the version that comes now. Where that fails, a later download is only less sure of it before the end.
    pub(super) fn remember(&self, address: &str, tag: &str) {
        let note = Note { address: address.to_owned(), tag: tag.to_owned() };
        if let Ok(text) = serde_json::to_vec(&note) {
            let _ = fs::write(&self.note, text);
        }
    }

    /// Gives the file its own name, for good: what it holds is on the disk before.
    pub(super) fn finish(self, path: &Path) -> Result<(), ShelfError> {
        self.file.sync_all().map_err(|error| ShelfError::io("save", &self.path, error))?;
        fs::rename(&self.path, path).map_err(|error| ShelfError::io("make", path, error))?;
        let _ = fs::remove_file(&self.note);
        if let Some(folder) = path.parent() {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| ShelfError::io("save", folder, error))?;
        }
        Ok(())
    }
}

/// A path with something added to its last word.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
