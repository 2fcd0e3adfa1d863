//! Opening and replacing documents by their judged paths, as `developer` does.

use goose_extension::{Backend, FileRead, FileVersion, prelude::*};

use super::{ComputerController, failed};
use crate::developer::{ResolvedPath, file_failed, missing_file, resolve_path};

/// Maximum size of a document.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 32 * 1024 * 1024;

/// A document in memory.
pub(super) struct Document {
    pub(super) place: ResolvedPath,
    pub(super) bytes: Vec<u8>,
    version: Option<FileVersion>,
}

impl ComputerController {
    /// Returns the place that a path in an argument names.
    pub(super) fn resolve_path(&self, given: &str, context: &CallContext) -> ToolResult<ResolvedPath> {
        resolve_path(given, context, self.home.as_deref())
    }
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Fails if it is missing, too large, or cannot be read.
    pub(super) fn open(backend: &dyn Backend, place: ResolvedPath) -> ToolResult<Self> {
        match Self::look(backend, place)? {
            Ok(document) => Ok(document),
            Err(place) => Err(missing_file(backend, &place)),
        }
    }

    /// Reads a document, or prepares a new one with this content if there is none.
    ///
    /// # Errors
    ///
    /// Fails if it is too large, or cannot be read.
    pub(super) fn open_or_new(
        backend: &dyn Backend,
        place: ResolvedPath,
        new: impl FnOnce() -> ToolResult<Vec<u8>>,
    ) -> ToolResult<Self> {
        match Self::look(backend, place)? {
            Ok(document) => Ok(document),
            Err(place) => Ok(Self { place, bytes: new()?, version: None }),
        }
    }

    fn look(backend: &dyn Backend, place: ResolvedPath) -> ToolResult<Result<Self, ResolvedPath>> {
        let read = backend.read(&place.target, MAX_DOCUMENT_BYTES);
        match read.map_err(|error| file_failed("read", &place, error))? {
            FileRead::Content { bytes, version } => Ok(Ok(Self { place, bytes, version: Some(version) })),
            FileRead::Missing => Ok(Err(place)),
            FileRead::TooLarge { size, .. } => Err(failed(format!(
                "{place} is too large: {size} bytes, at most {MAX_DOCUMENT_BYTES} are read. Use a program for its format."
            ))),
        }
    }

    /// Returns true if there is no file yet.
    pub(super) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// Replaces the document as a whole.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written, or was changed by another program since it was read.
    pub(super) fn replace(&self, backend: &dyn Backend, bytes: &[u8]) -> ToolResult<()> {
        let replaced = backend.replace(&self.place.target, bytes, self.version.as_ref());
        replaced.map_err(|error| file_failed("write", &self.place, error))
    }

    /// Creates the error of a document that is not what it should be.
    pub(super) fn invalid(&self, kind: &str, reason: impl std::fmt::Display) -> ToolError {
        failed(format!("{} cannot be used as {kind}: {reason}.", self.place))
    }
}
