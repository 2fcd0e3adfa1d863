//! [`KnownAgents`]: caches the agents of each folder, and reads them again when a file has changed.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use super::catalog::{AgentCatalog, watched_paths};
use crate::config::Paths;

/// Maximum number of folders whose agents are kept.
const MAX_FOLDERS: usize = 64;

/// Agents of each folder. Clones share the cache.
#[derive(Clone)]
pub(crate) struct KnownAgents {
    paths: Paths,
    folders: Arc<Mutex<HashMap<PathBuf, Known>>>,
}

struct Known {
    stamps: Vec<Stamp>,
    catalog: Arc<AgentCatalog>,
}

/// State of a file or folder when it was read. `None` if it does not exist.
#[derive(Clone, PartialEq, Eq)]
struct Stamp(Option<[i64; 6]>);

impl Stamp {
    fn new(path: &Path) -> Self {
        // The change time of the inode also detects a replacement of the same size.
        Self(fs::metadata(path).ok().map(|it| {
            let (device, inode, size) =
                (it.dev().cast_signed(), it.ino().cast_signed(), it.size().cast_signed());
            [device, inode, size, it.mtime_nsec(), it.ctime(), it.ctime_nsec()]
        }))
    }
}

impl KnownAgents {
    /// Creates an empty cache for these folders of goose.
    pub(crate) fn new(paths: Paths) -> Self {
        Self { paths, folders: Arc::default() }
    }

    /// Returns the agents that can be chosen in a folder.
    pub(crate) fn catalog(&self, working_dir: &Path) -> Arc<AgentCatalog> {
        // Taken before the files are read, so that a change in between is noticed next time.
        let stamps: Vec<Stamp> =
            watched_paths(&self.paths, working_dir).iter().map(|path| Stamp::new(path)).collect();
        if let Some(known) = self.folders.lock().get(working_dir)
            && known.stamps == stamps
        {
            return Arc::clone(&known.catalog);
        }
        let catalog = Arc::new(AgentCatalog::load(&self.paths, working_dir));
        let mut folders = self.folders.lock();
        if folders.len() >= MAX_FOLDERS {
            folders.clear();
        }
        folders.insert(working_dir.to_owned(), Known { stamps, catalog: Arc::clone(&catalog) });
        catalog
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str = "name: NAME\ninstructions: Here.\ntools: [Read]\n";

    fn names(catalog: &AgentCatalog) -> Vec<&str> {
        catalog.agents.iter().map(|entry| entry.manifest.name.as_str()).collect()
    }

    #[test]
    fn files_are_read_again_only_after_a_change() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let known = KnownAgents::new(paths.clone());
        let first = known.catalog(home.path());
        assert!(Arc::ptr_eq(&first, &known.catalog(home.path())));

        let folder = paths.config.join("agents");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mine.yaml"), AGENT.replace("NAME", "mine")).unwrap();
        let second = known.catalog(home.path());
        assert!(!Arc::ptr_eq(&first, &second) && second.problems.is_empty(), "{:?}", second.problems);
        assert!(names(&second).contains(&"mine") && !names(&first).contains(&"mine"));

        // Another text of the same length, in the same file.
        fs::write(folder.join("mine.yaml"), AGENT.replace("NAME", "miny")).unwrap();
        assert!(names(&known.catalog(home.path())).contains(&"miny"));
    }
}
