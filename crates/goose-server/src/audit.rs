//! [`AuditLog`]: requests that change something, and refused ones.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use goose_fs::{AtomicFile, create_private_dir, read_regular};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

/// Maximum size of the audit log. The older half is dropped when it is reached.
const MAX_AUDIT_BYTES: u64 = 16 * 1024 * 1024;

/// Log with a line of JSON for each such request, with the id of the token.
pub(crate) struct AuditLog {
    path: PathBuf,
    file: Mutex<Option<(File, u64)>>,
}

impl AuditLog {
    pub(crate) fn open(path: &Path) -> Self {
        let log = Self { path: path.to_owned(), file: Mutex::new(None) };
        *log.file.lock() = log.opened();
        log
    }

    fn opened(&self) -> Option<(File, u64)> {
        let open = || {
            create_private_dir(self.path.parent().unwrap_or(Path::new(".")))?;
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((file, length))
        };
        open().inspect_err(|error| tracing::error!(%error, "there is no audit log")).ok()
    }

    /// Appends an entry. A full disk does not stop the server.
    pub(crate) fn write(&self, entry: &Value) {
        let mut entry = entry.clone();
        entry["at"] = Timestamp::now().to_string().into();
        let line = format!("{entry}\n");
        let mut slot = self.file.lock();
        if slot.as_ref().is_some_and(|(_, length)| *length > MAX_AUDIT_BYTES) {
            drop(slot.take());
            self.drop_older_half();
            *slot = self.opened();
        }
        let Some((file, length)) = slot.as_mut() else { return };
        *length += line.len() as u64;
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }

    fn drop_older_half(&self) {
        let newer = read_regular(&self.path, 2 * MAX_AUDIT_BYTES).and_then(|bytes| {
            let middle = bytes.len() / 2;
            let start =
                bytes[middle..].iter().position(|&byte| byte == b'\n').map_or(0, |at| middle + at + 1);
            AtomicFile::new(&self.path).write(&bytes[start..])
        });
        if let Err(error) = newer {
            tracing::error!(%error, "the audit log cannot be shortened");
        }
    }
}
