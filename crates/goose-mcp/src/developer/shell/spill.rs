//! [`Spill`]: the whole of a long output in a file, for the model to search in.
//!
//! Nothing here fails the command: where the disk is full or the folder cannot be written, there is no file, and the
//! result says why.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use goose_fs::create_private_dir;
use parking_lot::Mutex;
use tempfile::TempPath;
use tokio::{fs::File, io::AsyncWriteExt as _};

/// Bytes of one output that are written to its file.
pub(super) const MAX_SPILL_BYTES: u64 = 100 * 1024 * 1024;

/// Maximum number of files; the oldest is removed first.
const MAX_FILES: usize = 16;

/// After how long a file that a goose left behind, because it was killed, is removed.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

const PREFIX: &str = "output-";
const SUFFIX: &str = ".txt";

/// The folder of long outputs. Dropping it removes the files.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    folder: PathBuf,
    files: Arc<Mutex<VecDeque<TempPath>>>,
}

impl Scratch {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, files: Arc::default() }
    }

    /// Makes a file and puts the beginning of an output there.
    pub(super) async fn spill(&self, pieces: [&[u8]; 2]) -> Spill {
        let scratch = self.clone();
        let made = tokio::task::spawn_blocking(move || scratch.new_file()).await;
        let (file, path, trouble) = match made.map_err(io::Error::other).flatten() {
            Ok((file, path)) => (Some(file), path, None),
            Err(error) => (None, self.folder.clone(), Some(error.to_string())),
        };
        let mut spill = Spill { file, path, written: 0, trouble };
        for piece in pieces {
            spill.push(piece).await;
        }
        spill
    }

    fn new_file(&self) -> io::Result<(File, PathBuf)> {
        create_private_dir(&self.folder)?;
        remove_old(&self.folder);
        let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(&self.folder)?;
        let (file, temporary) = made.into_parts();
        let path = temporary.to_path_buf();
        let mut files = self.files.lock();
        files.push_back(temporary);
        if files.len() > MAX_FILES {
            files.pop_front();
        }
        Ok((File::from_std(file), path))
    }
}

/// Removes what was left behind.
fn remove_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let age = entry.metadata().and_then(|it| it.modified()).ok().and_then(|it| it.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > MAX_AGE) {
            // Another program may have been faster.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file with an output in it.
#[derive(Debug)]
pub(super) struct Spill {
    file: Option<File>,
    path: PathBuf,
    written: u64,
    trouble: Option<String>,
}

impl Spill {
    /// Adds what has come, up to the cap.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let room = usize::try_from(MAX_SPILL_BYTES - self.written).unwrap_or(usize::MAX);
        let chunk = &chunk[..chunk.len().min(room)];
        match file.write_all(chunk).await {
            Ok(()) => self.written += chunk.len() as u64,
            Err(error) => self.fail(&error),
        }
        if self.written == MAX_SPILL_BYTES {
            self.flush().await;
            self.file = None;
        }
    }

    /// Has everything in the file, for others to read.
    pub(super) async fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.flush().await
        {
            self.fail(&error);
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.file = None;
        self.trouble = Some(error.to_string());
    }

    /// The sentence about it for the model.
    pub(super) fn hint(&self) -> String {
        match &self.trouble {
            Some(trouble) => format!("it could not be kept in {}: {trouble}", self.path.display()),
            None if self.written == MAX_SPILL_BYTES => {
                format!("its first {} MB are in {}", MAX_SPILL_BYTES >> 20, self.path.display())
            }
            None => format!("all of it is in {}", self.path.display()),
        }
    }

    /// Its path, if there is a file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.trouble.is_none().then_some(&*self.path)
    }
}
