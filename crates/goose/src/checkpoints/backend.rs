//! [`CheckpointBackend`]: the files of another backend, copied before they change.

use std::{io, sync::Arc};

use goose_extension::{Backend, CommandSpec, FileError, FileRead, FileTarget, FileVersion, StartedCommand};

use super::Checkpoints;

/// Wraps the backend of a session.
pub(crate) struct CheckpointBackend(pub(crate) Arc<Checkpoints>);

impl Backend for CheckpointBackend {
    fn is_local(&self) -> bool {
        self.0.inner.is_local()
    }

    fn keeps_changes(&self) -> bool {
        self.0.inner.keeps_changes()
    }

    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError> {
        self.0.inner.read(file, limit)
    }

    fn replace(
        &self,
        file: &FileTarget,
        bytes: &[u8],
        expected: Option<&FileVersion>,
    ) -> Result<(), FileError> {
        // The record comes first, so that a process that is killed leaves no change without one.
        let recorded = self.0.begin(file, bytes, expected);
        let replaced = self.0.inner.replace(file, bytes, expected);
        if let (Err(_), Some(id)) = (&replaced, recorded) {
            self.0.failed(id, &file.path);
        }
        replaced
    }

    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand> {
        let text = command.args.last().map_or(command.program.as_os_str(), |last| last.as_os_str());
        self.0.command(&text.to_string_lossy());
        self.0.inner.spawn(command)
    }
}
