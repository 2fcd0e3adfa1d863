//! [`Folder`]: one folder of categories, read. Changes go through [`Locked`](super::locked::Locked).
//!
//! The global folder is the person's own and is used as it is, links included. The project folder came with a
//! checked-out project and is not trusted to stay where it seems to be: neither `.goose` nor `.goose/memory` may
//! be a link, and neither may a category in it. In the global folder a category may be a link to a plain file, as
//! programs that manage dotfiles make them: the file it leads to is read and written, and the link stays. Pipes and
//! folders are refused in both. What is used is opened without following any link: another program may put one into the
//! project between the look and the use.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use goose_extension::{ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

use super::category::Category;

/// How large the file of a category may be.
pub(super) const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// How many categories of one folder are looked at.
pub(super) const MAX_CATEGORIES: usize = 500;

/// How many names in a folder are looked at to find them.
const MAX_NAMES_READ: usize = 10_000;

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    /// The person's, in every project.
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
    /// What must not be a link.
    guarded: Vec<PathBuf>,
}

/// What a folder contains.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// In the order of their names.
    pub(super) categories: Vec<Category>,
    /// Whether there are more than [`MAX_CATEGORIES`], or could be.
    pub(super) is_cut: bool,
}

/// The file of a category.
#[derive(Debug)]
pub(super) struct CategoryFile {
    /// Where it is. Not in the folder where a link leads to it.
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

    /// Where a category is kept.
    pub(super) fn path_of(&self, category: &Category) -> PathBuf {
        self.path.join(category.file_name())
    }

    /// The categories that there are; none where there is no folder.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be listed.
    pub(super) fn categories(&self) -> ToolResult<Listing> {
        self.check()?;
        let names = match self.open().and_then(|folder| folder.names(MAX_NAMES_READ)) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
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
    /// Where there is something else than a plain file, or a link that is not to be followed.
    pub(super) fn locate(&self, category: &Category) -> ToolResult<Option<CategoryFile>> {
        self.check()?;
        let path = self.path_of(category);
        if self.scope == Scope::Global && path.is_symlink() {
            return follow(&path).map(Some);
        }
        let metadata = plain_file(&path)?;
        Ok(metadata.map(|metadata| CategoryFile { path, metadata, is_linked: false }))
    }

    /// What is in the file of a category, where there is one.
    ///
    /// # Errors
    ///
    /// Where it is there and cannot be read as a text file.
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
    /// Where it cannot be opened, or is not in the project any more.
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
            return Err(io::ErrorKind::InvalidInput.into());
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
        None => Err(failed("follow the link", link, &io::ErrorKind::NotFound.into())),
    }
}

/// What is known about a plain file; `None` where there is nothing at all.
///
/// # Errors
///
/// Where there is something else than a plain file.
pub(super) fn plain_file(path: &Path) -> ToolResult<Option<fs::Metadata>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
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
