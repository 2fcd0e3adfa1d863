//! [`Listing`]: a service's last description of itself, in memory and on disk.
//!
//! On disk, the file name is the hash of the configuration, so that a known service is listed without being
//! started. A file that cannot be read or parsed counts as missing: the service is started and the file is
//! written again.

use std::{
    io,
    path::{Path, PathBuf},
};

use goose_extension::{Extension, Features, Tool};
use goose_fs::{AtomicFile, create_private_dir};
use goose_mcp_bridge::{DroppedTool, Lifecycle};
use serde::{Deserialize, Serialize};

/// Version of the format. Files of other versions are ignored.
const FORMAT: u32 = 3;

/// Maximum size of a file that is read.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum number of listings that are kept.
const MAX_FILES: usize = 500;

/// Description that a service gives of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listing {
    /// Purpose of the service.
    pub description: String,
    /// Instructions for the model.
    pub instructions: String,
    /// Version of the service.
    pub version: String,
    /// Tools of the service.
    pub tools: Vec<Tool>,
    /// Optional features of the service.
    pub features: Features,
    /// Tools that could not be used, with the reasons.
    pub dropped: Vec<DroppedTool>,
}

impl Listing {
    /// Returns the current listing of an extension.
    pub(super) fn new(extension: &dyn Extension, dropped: Vec<DroppedTool>) -> Self {
        Self {
            description: extension.description().to_owned(),
            instructions: extension.instructions().to_owned(),
            version: extension.version().to_owned(),
            tools: extension.tools().to_vec(),
            features: extension.features(),
            dropped,
        }
    }
}

/// Folder of listings.
#[derive(Debug, Clone)]
pub(super) struct ListingCache {
    folder: PathBuf,
}

/// Listing as it is kept on disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CachedListing {
    pub(super) listing: Listing,
    /// Handshake that the service required the last time.
    pub(super) lifecycle: Lifecycle,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    /// Version of the program that wrote it: another version may read tools differently.
    goose: String,
    initialize_only: bool,
    listing: Listing,
}

impl ListingCache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(key).with_extension("json")
    }

    pub(super) fn load(&self, key: &str) -> Option<CachedListing> {
        let path = self.path(key);
        let bytes = read_capped(&path).ok()?;
        let kept = serde_json::from_slice(&bytes).ok().and_then(from_file);
        if kept.is_none() {
            tracing::debug!(path = %path.display(), "a kept tool list could not be used");
        }
        kept
    }

    /// Writes a listing if it differs from the one on disk. Blocking.
    pub(super) fn save(&self, key: &str, kept: &CachedListing) -> io::Result<()> {
        let bytes = serde_json::to_vec(&to_file(kept))?;
        if read_capped(&self.path(key)).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        create_private_dir(&self.folder)?;
        AtomicFile::new(&self.path(key)).write(&bytes)?;
        self.prune()
    }

    /// Removes the oldest listings if there are too many.
    fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        let too_many = files.len().saturating_sub(MAX_FILES);
        files.into_iter().take(too_many).try_for_each(|(_, path)| std::fs::remove_file(path))
    }
}

fn read_capped(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = goose_fs::read_regular(path, MAX_FILE_BYTES)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the kept tool list is too large"));
    }
    Ok(bytes)
}

fn to_file(kept: &CachedListing) -> File {
    File {
        format: FORMAT,
        goose: env!("CARGO_PKG_VERSION").to_owned(),
        initialize_only: kept.lifecycle == Lifecycle::Initialize,
        listing: kept.listing.clone(),
    }
}

fn from_file(file: File) -> Option<CachedListing> {
    if file.format != FORMAT || file.goose != env!("CARGO_PKG_VERSION") {
        return None;
    }
    let lifecycle = if file.initialize_only { Lifecycle::Initialize } else { Lifecycle::Auto };
    Some(CachedListing { listing: file.listing, lifecycle })
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolGroup;
    use serde_json::json;

    use super::*;

    fn kept() -> CachedListing {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let mut listing = Listing { description: "Says it again".to_owned(), ..Listing::default() };
        listing.tools.push(Tool::new("echo", "Echoes", schema).with_groups([ToolGroup::Read]));
        listing.features.prompts = true;
        CachedListing { listing, lifecycle: Lifecycle::Initialize }
    }

    #[test]
    fn saved_listings_are_loaded() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = ListingCache::new(folder.path().join("not/there/yet"));
        assert_eq!(cache.load("a"), None);
        cache.save("a", &kept())?;
        assert_eq!(cache.load("a"), Some(kept()));
        assert_eq!(cache.load("b"), None);
        Ok(())
    }

    #[test]
    fn a_broken_or_foreign_file_counts_as_missing() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = ListingCache::new(folder.path().to_owned());
        let mut foreign = json!(to_file(&kept()));
        foreign["format"] = json!(FORMAT + 1);
        for text in ["", "{", "[]", &foreign.to_string()] {
            std::fs::write(cache.path("a"), text)?;
            assert_eq!(cache.load("a"), None);
        }
        cache.save("a", &kept())?;
        assert_eq!(cache.load("a"), Some(kept()));
        Ok(())
    }

    #[test]
    fn an_unchanged_listing_is_not_written_again() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = ListingCache::new(folder.path().to_owned());
        cache.save("a", &kept())?;
        let inode = || std::fs::metadata(cache.path("a")).and_then(|file| file.modified());
        let before = inode()?;
        cache.save("a", &kept())?;
        assert_eq!(inode()?, before);
        Ok(())
    }
}
