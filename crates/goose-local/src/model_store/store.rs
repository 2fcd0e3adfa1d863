//! [`ModelStore`]: the folder with model files.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use goose_fs::FileLock;

use super::{
    catalogue::{Catalogue, CatalogueEntry, is_plain},
    check::{Verdict, check_header, sha256},
    error::ModelStoreError,
    partial_file::{holder, try_lock},
    pull::Events,
};

/// Extension of model files.
const ENDING: &str = ".gguf";

/// Suffixes of the partial file, of the folder with its packages, and of the lock file.
const PART: &str = ".part";
const WHEELS: &str = ".wheels";
const LOCK: &str = ".lock";

/// Maximum number of files that are listed.
const MAX_FILES: usize = 10_000;

/// Folder with model files. It need not exist.
#[derive(Debug, Clone)]
pub struct ModelStore {
    folder: PathBuf,
    catalogue: Catalogue,
}

/// Model of the catalogue, or another model file in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Name of the model.
    pub name: String,
    /// Path of the file, whether it exists or not.
    pub path: PathBuf,
    /// State of the file.
    pub state: State,
    /// Entry in the catalogue; none for the user's own file.
    pub entry: Option<CatalogueEntry>,
}

/// State of a model's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The file is complete.
    Here {
        /// Size of the file.
        bytes: u64,
    },
    /// A download is incomplete.
    Part {
        /// Size of the partial file.
        bytes: u64,
    },
    /// The file has another size than the catalogue says.
    Damaged {
        /// Size of the file.
        bytes: u64,
    },
    /// Neither a file nor a partial file exists.
    Absent,
}

/// Location of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Path of the model's file.
    File(PathBuf),
    /// Entry of a model that can be downloaded.
    Elsewhere(Box<CatalogueEntry>),
}

impl ModelStore {
    /// Creates the store over a folder.
    pub fn new(folder: impl Into<PathBuf>, catalogue: Catalogue) -> Self {
        Self { folder: folder.into(), catalogue }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the models that can be downloaded.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns all models: the catalogue in its order, then other files by name.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Item>, ModelStoreError> {
        let mut others = self.files()?;
        let mut items: Vec<Item> = self.catalogue.entries().iter().map(|entry| self.known(entry)).collect();
        others.retain(|name, _| self.catalogue.find(name).is_none());
        items.extend(others.into_iter().map(|(name, bytes)| Item {
            path: self.file(&name),
            state: State::Here { bytes },
            entry: None,
            name,
        }));
        Ok(items)
    }

    /// Returns the model with this name.
    ///
    /// # Errors
    ///
    /// Neither the catalogue nor the folder has this name.
    pub fn item(&self, name: &str) -> Result<Item, ModelStoreError> {
        let items = self.list()?;
        let known = || items.iter().map(|item| item.name.clone()).collect();
        let found = items.iter().find(|item| item.name == name);
        found.cloned().ok_or_else(|| ModelStoreError::Unknown { name: name.to_owned(), known: known() })
    }

    /// Finds a model by its name or path, and checks the header of its file.
    ///
    /// # Errors
    ///
    /// The model or file does not exist, or the file is not a model.
    pub fn locate(&self, model: &str) -> Result<Place, ModelStoreError> {
        if is_path(model) {
            check_header(Path::new(model))?;
            return Ok(Place::File(PathBuf::from(model)));
        }
        let item = self.item(model)?;
        match (item.state, item.entry) {
            (State::Here { .. }, _) => {
                check_header(&item.path)?;
                Ok(Place::File(item.path))
            }
            (_, Some(entry)) => Ok(Place::Elsewhere(Box::new(entry))),
            (_, None) => Err(ModelStoreError::Absent { name: item.name }),
        }
    }

    /// Compares the checksum of a model's file with the catalogue.
    ///
    /// # Errors
    ///
    /// The file is not downloaded, or cannot be read.
    pub async fn verify(&self, name: &str, events: Events<'_>) -> Result<Verdict, ModelStoreError> {
        let item = self.item(name)?;
        if matches!(item.state, State::Absent | State::Part { .. }) {
            return Err(ModelStoreError::Absent { name: item.name });
        }
        let found = sha256(&item.path, events).await?;
        Ok(match item.entry {
            Some(entry) if entry.sha256 == found => Verdict::Right,
            Some(entry) => Verdict::Wrong { expected: entry.sha256, found },
            None => {
                check_header(&item.path)?;
                Verdict::Unknown { found }
            }
        })
    }

    /// Removes a model's file and its partial download. A symbolic link is removed, its target stays.
    /// Returns the number of freed bytes.
    ///
    /// # Errors
    ///
    /// The model is unknown, not downloaded, being downloaded, or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<u64, ModelStoreError> {
        let item = self.item(name)?;
        let _lock = self.lock_for_removal(&item)?;
        let part = self.part(name);
        let mut freed = None;
        for path in [&item.path, &part] {
            let bytes = fs::symlink_metadata(path).map_or(0, |about| about.len());
            match fs::remove_file(path) {
                Ok(()) => freed = Some(freed.unwrap_or(0) + bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ModelStoreError::io("remove", path, error)),
            }
        }
        // Packages are useless without the partial file.
        let _ = fs::remove_dir_all(self.wheels(name));
        freed.ok_or(ModelStoreError::Absent { name: item.name })
    }

    /// Takes the lock, so that no running download loses its file. Only models of the catalogue are
    /// downloaded.
    fn lock_for_removal(&self, item: &Item) -> Result<Option<FileLock>, ModelStoreError> {
        if item.entry.is_none() || item.state == State::Absent && !self.folder.is_dir() {
            return Ok(None);
        }
        let path = self.lock(&item.name);
        match try_lock(&path)? {
            Some(lock) => Ok(Some(lock)),
            None => Err(ModelStoreError::Busy { name: item.name.clone(), process: holder(&path) }),
        }
    }

    pub(super) fn entry(&self, name: &str) -> Result<&CatalogueEntry, ModelStoreError> {
        self.catalogue.find(name).ok_or_else(|| ModelStoreError::Unknown {
            name: name.to_owned(),
            known: self.catalogue.entries().iter().map(|entry| entry.name.clone()).collect(),
        })
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}"))
    }

    pub(super) fn part(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}{PART}"))
    }

    pub(super) fn wheels(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}{WHEELS}"))
    }

    pub(super) fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}{LOCK}"))
    }

    fn known(&self, entry: &CatalogueEntry) -> Item {
        let path = self.file(&entry.name);
        let state = match (size(&path), size(&self.part(&entry.name))) {
            (Some(bytes), _) if bytes == entry.bytes => State::Here { bytes },
            (Some(bytes), _) => State::Damaged { bytes },
            (None, Some(bytes)) if bytes > 0 => State::Part { bytes },
            (None, _) => State::Absent,
        };
        Item { name: entry.name.clone(), path, state, entry: Some(entry.clone()) }
    }

    /// Returns the model files in the folder, with their sizes.
    fn files(&self) -> Result<BTreeMap<String, u64>, ModelStoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(ModelStoreError::io("read", &self.folder, error)),
        };
        let file = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(ENDING).filter(|name| is_plain(name))?.to_owned();
            Some((name, size(&entry.path())?))
        };
        Ok(entries.take(MAX_FILES).filter_map(file).collect())
    }
}

/// Returns the size of a file. A symbolic link counts as its target.
fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|about| about.len())
}

/// Returns true for a path, and false for a name.
fn is_path(model: &str) -> bool {
    model.contains('/') || model.ends_with(ENDING)
}
