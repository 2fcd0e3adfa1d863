//! [`EditorBackend`]: the files of this machine as the editor has them, with changes that are not saved yet, and its
//! terminals.
//!
//! A file that the editor does not know, such as one outside of its project, is used on the disk.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::Path,
    sync::Arc,
    time::Duration,
};

use goose_extension::{Backend, CommandSpec, FileError, FileRead, FileTarget, FileVersion, StartedCommand};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{
    client::{Client, Offer},
    terminal::Terminals,
};

/// Time for the editor to answer about a file.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Largest file that the editor is asked about.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Files and programs of a session in an editor.
pub(super) struct EditorBackend {
    client: Arc<Client>,
    session: String,
    local: Arc<dyn Backend>,
    terminals: Arc<Terminals>,
}

impl EditorBackend {
    pub(super) fn new(
        client: Arc<Client>,
        session: String,
        local: Arc<dyn Backend>,
        terminals: Arc<Terminals>,
    ) -> Self {
        Self { client, session, local, terminals }
    }

    /// Sends a request about a file. Returns `None` if the editor does not offer this or refuses it. Tools call this on
    /// threads that may wait.
    fn ask(&self, offer: Offer, method: &'static str, params: Value) -> io::Result<Option<Value>> {
        if !self.client.offers(offer) {
            return Ok(None);
        }
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let asked = async { tokio::time::timeout(ANSWER_TIME, self.client.ask(method, params)).await };
        match runtime.block_on(asked) {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(reason)) => {
                tracing::debug!(reason, "the file on the disk is used");
                Ok(None)
            }
            Err(_) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, format!("the editor did not answer {method}")))
            }
        }
    }

    /// Returns the text of a file as the editor has it, if the editor knows the file.
    fn text(&self, path: &Path) -> io::Result<Option<String>> {
        let params = json!({"sessionId": self.session, "path": path});
        let answer = self.ask(Offer::ReadFiles, "fs/read_text_file", params)?;
        Ok(answer.and_then(|answer| Some(answer.get("content")?.as_str()?.to_owned())))
    }
}

impl Backend for EditorBackend {
    fn is_local(&self) -> bool {
        self.local.is_local()
    }

    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError> {
        // The disk is looked at first: it tells what is a file, and what may be read.
        let found = self.local.read(file, limit)?;
        let on_disk = match &found {
            FileRead::Missing => None,
            FileRead::Content { bytes, .. } => Some(bytes),
            FileRead::TooLarge { .. } => return Ok(found),
        };
        let is_text = on_disk.is_none_or(|bytes| std::str::from_utf8(bytes).is_ok());
        if !is_text || limit == 0 {
            return Ok(found);
        }
        let Some(text) = self.text(&file.path)? else { return Ok(found) };
        let is_same = on_disk.map_or(text.is_empty(), |bytes| bytes == text.as_bytes());
        if is_same {
            return Ok(found);
        }
        let version = version(&text);
        match text.len() as u64 > limit {
            true => Ok(FileRead::TooLarge { size: text.len() as u64, version }),
            false => Ok(FileRead::Content { bytes: text.into_bytes(), version }),
        }
    }

    fn replace(
        &self,
        file: &FileTarget,
        bytes: &[u8],
        expected: Option<&FileVersion>,
    ) -> Result<(), FileError> {
        let Ok(text) = std::str::from_utf8(bytes) else { return self.local.replace(file, bytes, expected) };
        let is_current = match self.read(file, MAX_FILE_BYTES)? {
            FileRead::Missing => expected.is_none(),
            FileRead::Content { version, .. } | FileRead::TooLarge { version, .. } => {
                expected == Some(&version)
            }
        };
        if !is_current {
            return Err(FileError::Changed);
        }
        let params = json!({"sessionId": self.session, "path": file.path, "content": text});
        if self.ask(Offer::WriteFiles, "fs/write_text_file", params)?.is_some() {
            return Ok(());
        }
        // What the editor has not saved would be lost by a version of the disk.
        self.local.replace(file, bytes, expected)
    }

    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand> {
        match self.client.offers(Offer::Terminal) {
            true => Ok(self.terminals.start(command)),
            false => self.local.spawn(command),
        }
    }
}

/// Returns the version of a text that is not on the disk.
fn version(text: &str) -> FileVersion {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    FileVersion::new(format!("editor:{}:{:x}", text.len(), hasher.finish()))
}
