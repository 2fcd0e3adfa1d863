//! `cache`: files that the other tools have saved, in one folder of goose's own.
//!
//! Names, not paths: nothing outside of the folder can be named. The folder is bounded; the oldest file goes first.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use goose_extension::{FileError, HardLinks, prelude::*};
use goose_fs::{AtomicFile, Folder, create_private_dir, open_file};
use parking_lot::Mutex;

use super::{ComputerController, blocking, failed};
use crate::local_backend::open_regular;

/// Commands that change the cache.
pub(super) const WRITING: &[&str] = &["delete", "clear"];

/// Maximum number and size of the files that are kept.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// Maximum size of a file that is viewed, and of its text in the answer.
const MAX_VIEWED_BYTES: u64 = 16 * 1024 * 1024;
const MAX_SHOWN_CHARS: usize = 40_000;

/// Longest part of a name that is taken from a host or a file.
const MAX_NAME_CHARS: usize = 60;

/// What to do with the cache.
#[derive(Debug, Clone, Copy, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CacheCommand {
    List,
    View,
    Delete,
    Clear,
}

/// The folder with saved files.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    folder: PathBuf,
    /// Number of files that were saved, so that names differ. Held while files are removed.
    saved: Arc<Mutex<u64>>,
}

struct Entry {
    name: String,
    bytes: u64,
    modified: SystemTime,
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, saved: Arc::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves a file under a new name and returns its path.
    pub(super) fn save(&self, name: &str, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        create_private_dir(&self.folder)?;
        let mut saved = self.saved.lock();
        *saved += 1;
        self.make_room(bytes.len() as u64);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        let name: String =
            name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(MAX_NAME_CHARS).collect();
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = self.folder.join(format!("{millis}-{}-{name}.{extension}", *saved));
        AtomicFile::new(&path).write(bytes)?;
        Ok(path)
    }

    /// Removes the oldest files, until a file of this size fits.
    fn make_room(&self, bytes: u64) {
        let Ok(mut entries) = self.entries() else { return };
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified));
        let mut total = bytes;
        for (index, entry) in entries.iter().enumerate() {
            total += entry.bytes;
            if index + 1 >= MAX_FILES || total > MAX_BYTES {
                // Another process may have been faster.
                let _ = self.remove(&entry.name);
            }
        }
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let listed = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let entry = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let name = entry.file_name().into_string().ok()?;
            Some(Entry { name, bytes: metadata.len(), modified: metadata.modified().unwrap_or(UNIX_EPOCH) })
        };
        Ok(listed.filter_map(entry).collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Folder::open(&self.folder)?.remove_file(OsStr::new(name))
    }

    fn list(&self) -> ToolResult<String> {
        let mut entries = self.entries().map_err(|error| self.unreadable(&error))?;
        if entries.is_empty() {
            return Ok("The cache is empty.".to_owned());
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified));
        let line =
            |entry: &Entry| format!("{} ({} bytes)", self.folder.join(&entry.name).display(), entry.bytes);
        Ok(entries.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn view(&self, path: &str) -> ToolResult<String> {
        let path = self.folder.join(self.name(path)?);
        let bytes = read(&path).map_err(|error| self.missing(&path, &error))?;
        let size = bytes.len();
        let text = String::from_utf8(bytes).map_err(|_| {
            failed(format!("{} is not text: {size} bytes. Use it by its path.", path.display()))
        })?;
        Ok(goose_fs::truncate_chars(&text, MAX_SHOWN_CHARS).into_owned())
    }

    fn delete(&self, path: &str) -> ToolResult<String> {
        let name = self.name(path)?;
        self.remove(name).map_err(|error| self.missing(&self.folder.join(name), &error))?;
        Ok(format!("Deleted {name}"))
    }

    fn clear(&self) -> ToolResult<String> {
        let _saving = self.saved.lock();
        let entries = self.entries().map_err(|error| self.unreadable(&error))?;
        let removed = entries.iter().filter(|entry| self.remove(&entry.name).is_ok()).count();
        Ok(format!("Deleted {removed} files"))
    }

    /// Returns the name of a file in the folder.
    fn name<'p>(&self, path: &'p str) -> ToolResult<&'p str> {
        let inside = match Path::new(path).is_absolute() {
            true => Path::new(path).strip_prefix(&self.folder).ok().and_then(Path::to_str),
            false => Some(path),
        };
        let is_name = |name: &&str| !name.is_empty() && *name != "." && *name != ".." && !name.contains('/');
        inside.filter(is_name).ok_or_else(|| {
            failed(format!(
                "{path:?} is not a file of the cache, which is {}. Use `list` to see its files; for others, use another tool.",
                self.folder.display()
            ))
        })
    }

    fn missing(&self, path: &Path, error: &io::Error) -> ToolError {
        failed(format!("{} cannot be used: {error}. Use `list` to see the files.", path.display()))
    }

    fn unreadable(&self, error: &io::Error) -> ToolError {
        failed(format!("The cache {} cannot be read: {error}.", self.folder.display()))
    }
}

/// Reads a regular file, and follows no link.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let opened = open_regular(HardLinks::Allowed, || open_file(path));
    let (file, _) = opened.map_err(|error| match error {
        FileError::Io(error) => error,
        error => io::Error::other(error.to_string()),
    })?;
    let mut bytes = Vec::new();
    match file.take(MAX_VIEWED_BYTES + 1).read_to_end(&mut bytes)? as u64 {
        0..=MAX_VIEWED_BYTES => Ok(bytes),
        _ => Err(io::Error::other(format!("it is larger than {MAX_VIEWED_BYTES} bytes"))),
    }
}

impl ComputerController {
    /// Manage files that web_scrape, automation_script and pdf_tool have saved. Returns the list, the text of a file, or what
    /// was deleted. Fails if the file is not in the cache or not text.
    #[tool(title = "Cache", group = "fetch", destructive = false, open_world = false)]
    pub(super) async fn cache(
        &self,
        /// `list`, `view`, `delete` or `clear`
        command: CacheCommand,
        /// File to view or delete, as listed; default none
        path: Option<String>,
    ) -> ToolResult<String> {
        let cache = self.cache.clone().ok_or_else(|| failed("There is no folder for saved files here."))?;
        blocking(move || {
            let path = || path.as_deref().ok_or_else(|| failed("Name a file in `path`, as `list` shows it."));
            match command {
                CacheCommand::List => cache.list(),
                CacheCommand::View => cache.view(path()?),
                CacheCommand::Delete => cache.delete(path()?),
                CacheCommand::Clear => cache.clear(),
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_used_and_the_oldest_go_first() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::new(home.path().join("cache"));
        std::fs::write(home.path().join("secret"), "x").unwrap();
        let path = cache.save("a/b:c", "txt", b"hello").unwrap();
        assert!(path.ends_with(path.file_name().unwrap()) && path.to_str().unwrap().ends_with("-a-b-c.txt"));
        assert_eq!(cache.view(path.to_str().unwrap()), Ok("hello".to_owned()));
        std::os::unix::fs::symlink(home.path().join("secret"), cache.folder.join("link")).unwrap();
        for bad in ["../secret", "/etc/passwd", "", ".", "..", "link", "a/../../secret"] {
            assert!(cache.view(bad).is_err(), "{bad}");
        }
        for _ in 0..MAX_FILES + 5 {
            cache.save("more", "txt", b"x").unwrap();
        }
        assert!(cache.entries().unwrap().len() <= MAX_FILES);
        cache.clear().unwrap();
        assert_eq!(cache.list(), Ok("The cache is empty.".to_owned()));
        assert_eq!(std::fs::read(home.path().join("secret")).unwrap(), b"x");
    }
}
