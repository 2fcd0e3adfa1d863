//! [`Folder`]: one folder of categories, read. Changes go through [`Locked`].
//!
//! The global folder is the person's own and is used as it is, links included. The project folder came with a
//! checked-out project and is not trusted to stay where it seems to be: neither `.goose` nor `.goose/memory` may
//! be a link, and neither may a category in it. In the global folder a category may be a link to a plain file, as
//! programs that manage dotfiles make them: the file it leads to is read and written, and the link stays. Pipes and
//! folders are refused in both. What is used is opened without following any link: another program may put one into the
//! project between the look and the use.

use std::{
    collections::{HashMap, VecDeque},
    ffi::OsString,
    fs,
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
    sync::LazyLock,
    time::{Duration, Instant},
};

use goose_extension::{ToolError, ToolResult};
use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};
use parking_lot::{Condvar, Mutex};
use schemars::JsonSchema;
use serde::Serialize;

use super::entry::Category;

/// Maximum size of the file of a category.
pub(super) const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of categories of one folder.
pub(super) const MAX_CATEGORIES: usize = 500;

/// Maximum number of names that are read to find them.
const MAX_NAMES_READ: usize = 10_000;

/// The scope of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    /// The user's, in every project.
    Global,
    /// The project's.
    Project,
}

impl Scope {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Project => "project",
        }
    }
}

/// A folder of categories, which need not exist yet.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    /// Paths that must not be links.
    guarded: Vec<PathBuf>,
}

/// The contents of a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// In the order of their names.
    pub(super) categories: Vec<Category>,
    /// True if there are more than [`MAX_CATEGORIES`], or could be.
    pub(super) is_cut: bool,
}

/// The file of a category.
#[derive(Debug)]
pub(super) struct CategoryFile {
    /// Its path. Not in the folder if a link leads to it.
    pub(super) path: PathBuf,
    pub(super) metadata: fs::Metadata,
    pub(super) is_linked: bool,
}

impl Folder {
    /// The person's folder.
    pub(super) fn global(path: &Path) -> Self {
        Self { scope: Scope::Global, path: path.to_owned(), guarded: Vec::new() }
    }

    /// The folder of the project in `working_dir`.
    pub(super) fn project(working_dir: &Path) -> Self {
        let working_dir = goose_fs::resolve(working_dir).unwrap_or_else(|_| working_dir.to_owned());
        let goose = working_dir.join(".goose");
        let path = goose.join("memory");
        Self { scope: Scope::Project, path: path.clone(), guarded: vec![goose, path] }
    }

    /// Returns the path of a category.
    pub(super) fn path_of(&self, category: &Category) -> PathBuf {
        self.path.join(category.file_name())
    }

    /// The categories that there are; none if there is no folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed.
    pub(super) fn categories(&self) -> ToolResult<Listing> {
        self.check()?;
        let names = match self.open().and_then(|folder| folder.names(MAX_NAMES_READ)) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => return Err(failed("list", &self.path, &error)),
        };
        let mut categories: Vec<Category> =
            names.iter().filter_map(|name| Category::of_file(name.to_str()?)).collect();
        categories.sort();
        let is_cut = categories.len() > MAX_CATEGORIES || names.len() == MAX_NAMES_READ;
        categories.truncate(MAX_CATEGORIES);
        Ok(Listing { categories, is_cut })
    }

    /// The file of a category, where there is one.
    ///
    /// # Errors
    ///
    /// Fails if there is something else than a plain file, or a link that is not to be followed.
    pub(super) fn locate(&self, category: &Category) -> ToolResult<Option<CategoryFile>> {
        self.check()?;
        let path = self.path_of(category);
        if self.scope == Scope::Global && path.is_symlink() {
            return follow(&path).map(Some);
        }
        let metadata = plain_file(&path)?;
        Ok(metadata.map(|metadata| CategoryFile { path, metadata, is_linked: false }))
    }

    /// Reads the file of a category, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if it is there and cannot be read as a text file.
    pub(super) fn read(&self, category: &Category) -> ToolResult<Option<Vec<u8>>> {
        let Some(CategoryFile { path, .. }) = self.locate(category)? else { return Ok(None) };
        let mut bytes = Vec::new();
        self.real(&path)
            .and_then(|path| goose_fs::open_file(&path))
            .and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| failed("read", &path, &error))?;
        check_text(&path, &bytes)?;
        Ok(Some(bytes))
    }

    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened, or is not in the project any more.
    pub(super) fn open(&self) -> io::Result<goose_fs::Folder> {
        goose_fs::Folder::open(&self.real(&self.path)?)
    }

    /// Opens the folder that a file is in, which is another one where a link of the person leads to the file.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub(super) fn open_parent(&self, file: &Path) -> io::Result<(goose_fs::Folder, OsString)> {
        let real = self.real(file)?;
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        Ok((goose_fs::Folder::open(folder)?, name.to_owned()))
    }

    /// A path that may be opened without following links: the person's own are resolved, those of a project are not.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        match self.scope {
            Scope::Global => goose_fs::resolve(path),
            Scope::Project => Ok(path.to_owned()),
        }
    }

    /// Refuses a folder that a project has linked to somewhere else.
    pub(super) fn check(&self) -> ToolResult<()> {
        match self.guarded.iter().find(|path| path.is_symlink()) {
            None => Ok(()),
            Some(link) => Err(ToolError::ExecutionError(format!(
                "The project memory cannot be used: {} is a link, and a project could point it anywhere. Use the \
                 global memory (`is_global`: true), or ask the person to replace the link by a folder.",
                link.display()
            ))),
        }
    }
}

/// The plain file that a link leads to.
fn follow(link: &Path) -> ToolResult<CategoryFile> {
    let path = fs::canonicalize(link).map_err(|error| failed("follow the link", link, &error))?;
    match plain_file(&path)? {
        Some(metadata) => Ok(CategoryFile { path, metadata, is_linked: true }),
        None => Err(failed("follow the link", link, &ErrorKind::NotFound.into())),
    }
}

/// Returns the metadata of a plain file; `None` if there is nothing.
///
/// # Errors
///
/// Fails if there is something else than a plain file.
pub(super) fn plain_file(path: &Path) -> ToolResult<Option<fs::Metadata>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("look at", path, &error)),
    };
    if metadata.is_file() {
        return Ok(Some(metadata));
    }
    let kind = if metadata.is_symlink() { "a link" } else { "not a plain file" };
    Err(ToolError::ExecutionError(format!(
        "{} cannot be used as memory: it is {kind}, and a category is a plain file inside the memory folder. Use \
         another category, or ask the person to put the file itself there.",
        path.display()
    )))
}

fn check_text(path: &Path, bytes: &[u8]) -> ToolResult<()> {
    let problem = if bytes.len() > MAX_FILE_BYTES {
        format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20)
    } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "it is stored as UTF-16".to_owned()
    } else {
        return Ok(());
    };
    Err(ToolError::ExecutionError(format!(
        "{} cannot be used as memory: {problem}. Nothing was changed. Ask the person to split it or to save it as \
         UTF-8; meanwhile use another category.",
        path.display()
    )))
}

/// The error for an operation that the file system refused.
pub(super) fn failed(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::ExecutionError(format!(
        "Could not {verb} {}: {error}. Memories that were there are unchanged. Tell the person, who can check the \
         file's permissions and the disk.",
        path.display()
    ))
}

/// The file that is locked. It is not a category, because its name begins with a dot.
const LOCK_FILE: &str = ".lock";

/// The longest wait for another process. One change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Exclusive access to a folder; ends when dropped.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    folder: &'a Folder,
    // In this order: the lock is given back before the next task of this process asks for it.
    _lock: FileLock,
    _turn: Turn,
}

impl<'a> Locked<'a> {
    /// Waits until no other task or process changes the folder. A missing folder is created.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made or locked, or another process keeps it locked.
    pub(super) fn new(folder: &'a Folder) -> ToolResult<Self> {
        folder.check()?;
        create_private_dir(&folder.path).map_err(|error| failed("create", &folder.path, &error))?;
        let path = folder.path.join(LOCK_FILE);
        plain_file(&path)?;
        let turn = Turn::wait(&folder.path).ok_or_else(|| crowded(&folder.path))?;
        let lock = lock(&path)?;
        Ok(Self { folder, _lock: lock, _turn: turn })
    }

    /// Puts `bytes` in place of a category's file, all at once. An existing file keeps its permissions, and the
    /// place that a link leads to.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or is protected against it; the old one is still there then.
    pub(super) fn replace(&self, category: &Category, bytes: &[u8]) -> ToolResult<()> {
        let existing = self.writable(category)?;
        let path = existing.map_or_else(|| self.folder.path_of(category), |file| file.path);
        let opened = self.folder.open_parent(&path);
        let written = opened.and_then(|(folder, name)| {
            AtomicFile::within(&folder, &name).keep_permissions().synced().write(bytes)
        });
        written.map_err(|error| failed("write", &path, &error))
    }

    /// Removes a category. Of a link, only the link goes; what it led to is given back.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be removed, or is protected against it.
    pub(super) fn remove(&self, category: &Category) -> ToolResult<Option<PathBuf>> {
        let existing = self.writable(category)?;
        let path = self.folder.path_of(category);
        let removed = self.folder.open().and_then(|folder| folder.remove_file(category.file_name().as_ref()));
        removed.map_err(|error| failed("remove", &path, &error))?;
        Ok(existing.filter(|file| file.is_linked).map(|file| file.path))
    }

    /// The file of a category, unless it is protected.
    fn writable(&self, category: &Category) -> ToolResult<Option<CategoryFile>> {
        match self.folder.locate(category)? {
            Some(file) if file.metadata.permissions().readonly() => Err(protected(&file.path)),
            file => Ok(file),
        }
    }
}

/// Takes the lock.
fn lock(path: &Path) -> ToolResult<FileLock> {
    let file = open_lock_file(path).map_err(|error| failed("open", path, &error))?;
    let lock = FileLock::wait(file, LOCK_TIMEOUT).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => busy(path),
        _ => failed("lock", path, &error),
    })?;
    if !lock.is_held() {
        tracing::warn!(path = %path.display(), "this file system has no locks; writing without one");
    }
    Ok(lock)
}

fn busy(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "Another process has kept {} locked for {} seconds. Nothing was changed. Try again in a moment; if it \
         stays so, ask the person to look for a hanging goose process.",
        path.display(),
        LOCK_TIMEOUT.as_secs()
    ))
}

fn crowded(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "Too many other calls are changing {}. Nothing was changed. Try again in a moment.",
        path.display()
    ))
}

fn protected(path: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "{} is write-protected, so it was left as it is. Use another category, or ask the person to make the file \
         writable.",
        path.display()
    ))
}

/// Time limit in the line. Longer than one task may wait for another process, and not for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tickets of the tasks that wait for each folder.
#[derive(Default)]
struct Lines {
    next_ticket: u64,
    /// The tickets for each folder; whose turn it is stands first.
    waiting: HashMap<PathBuf, VecDeque<u64>>,
}

static LINES: LazyLock<Mutex<Lines>> = LazyLock::new(Mutex::default);

/// Signalled when a task leaves a line.
static LEFT: Condvar = Condvar::new();

/// It is our turn, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    folder: PathBuf,
    ticket: u64,
}

impl Turn {
    /// Waits until those are done who came before. `None` if that takes too long.
    pub(super) fn wait(folder: &Path) -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let mut lines = LINES.lock();
        let turn = lines.enter(folder);
        while !lines.is_first(&turn) {
            if LEFT.wait_until(&mut lines, deadline).timed_out() {
                drop(lines); // leaving the line takes it again
                return None;
            }
        }
        Some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LINES.lock().leave(self);
        LEFT.notify_all();
    }
}

impl Lines {
    fn enter(&mut self, folder: PathBuf) -> Turn {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.entry(folder.clone()).or_default().push_back(ticket);
        Turn { folder, ticket }
    }

    fn is_first(&self, turn: &Turn) -> bool {
        self.waiting.get(&turn.folder).is_some_and(|line| line.front() == Some(&turn.ticket))
    }

    fn leave(&mut self, turn: &Turn) {
        let Some(line) = self.waiting.get_mut(&turn.folder) else { return };
        line.retain(|ticket| *ticket != turn.ticket);
        if line.is_empty() {
            self.waiting.remove(&turn.folder);
        }
    }
}

/// Returns the number of tasks that change a folder or wait for it.
#[cfg(test)]
pub(super) fn in_line(folder: &Path) -> usize {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    LINES.lock().waiting.get(&folder).map_or(0, VecDeque::len)
}
