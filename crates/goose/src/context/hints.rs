//! Hints: files with the user's instructions for goose, `.goosehints` and `AGENTS.md`.
//!
//! They are searched in goose's config folder and in each folder from the git root down to the working
//! folder. A line or word `@path` imports another file within the same root, unless that root is the user's
//! home or above it: an untrusted repository must not pull the user's files into the context.
//!
//! Hints are text for the model, like any file that it reads; goose's own decisions do not depend on them.
//! Invisible characters in them are made visible. Files that belong to another user are left out, as are all
//! hints of a project whose configuration is not trusted.

use std::{
    collections::HashSet,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use goose_extension::{visible, visible_line};

use crate::config::{is_ours, project_levels};

/// Default names of hint files.
pub const DEFAULT_NAMES: &[&str] = &[".goosehints", "AGENTS.md"];
/// Maximum size of one file.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// Maximum size of all files together.
const MAX_TOTAL_BYTES: usize = 128 * 1024;
/// Maximum number of files, including imports.
const MAX_FILES: usize = 64;
/// Maximum depth of imports.
const MAX_DEPTH: usize = 4;
/// Maximum number of imports in one file.
const MAX_IMPORTS: usize = 64;
/// Maximum number of problems that are reported individually.
const MAX_PROBLEMS: usize = 10;

/// Hints that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    found: Vec<Hint>,
    /// Messages for the user about files that were left out.
    pub problems: Vec<String>,
}

/// Hint file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Path as shown to the user.
    pub shown_path: String,
    /// Text of the file, with imports.
    pub text: String,
}

impl Hints {
    /// Returns the files, from the most general to the most specific.
    pub fn iter(&self) -> impl Iterator<Item = &Hint> {
        self.found.iter()
    }
}

/// Use of the project's hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProjectHints {
    /// The hints are used.
    #[default]
    Used,
    /// The hints are left out, because the project has a configuration that is not trusted.
    LeftOut,
}

/// Folders in which hints are searched.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// goose's config folder. Only hints in it may import from it.
    pub config_dir: &'a Path,
    /// Working folder.
    pub working_dir: &'a Path,
    /// User's home folder, if it is known.
    pub home: Option<&'a Path>,
    /// Use of the hints in the working folder and above.
    pub project: ProjectHints,
}

/// Reads the hints for a working folder.
pub fn load<S: AsRef<str>>(places: Places<'_>, names: &[S]) -> Hints {
    let mut reader = Reader::default();
    let config = places.config_dir;
    for name in names {
        reader.read(&Bounds { root: resolved(config), forbidden: None }, &config.join(name.as_ref()));
    }
    // From the git root down to the working folder.
    let mut folders = project_levels(places.working_dir, is_ours);
    folders.reverse();
    if places.project == ProjectHints::LeftOut {
        reader.leave_out(&folders, names);
        return reader.finish();
    }
    let root = folders.first().copied().unwrap_or(places.working_dir);
    let bounds = |folder: &Path| Bounds {
        // If the whole home folder is one repository, a file may only import from its own folder.
        root: resolved(if holds_home(root, places.home) { folder } else { root }),
        forbidden: Some(resolved(config)),
    };
    for folder in folders {
        for name in names {
            let path = folder.join(name.as_ref());
            match is_acceptable(&path, places.working_dir) {
                true => reader.read(&bounds(folder), &path),
                false => reader.problem(&path, "it belongs to another user and is left out"),
            }
        }
    }
    reader.finish()
}

/// Limits of what a file may import.
struct Bounds {
    /// Folder that imports must be in.
    root: PathBuf,
    /// Folder that imports must not be in.
    forbidden: Option<PathBuf>,
}

impl Bounds {
    fn allow(&self, path: &Path) -> bool {
        let is_forbidden = self.forbidden.as_ref().is_some_and(|folder| path.starts_with(folder));
        path.starts_with(&self.root) && !is_forbidden
    }
}

fn holds_home(root: &Path, home: Option<&Path>) -> bool {
    home.is_some_and(|home| resolved(home).starts_with(resolved(root)))
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Returns true if a file belongs to the user, to root, or to the owner of the working folder, which the user
/// chose. Also true for a missing file, which the reader skips.
fn is_acceptable(path: &Path, working_dir: &Path) -> bool {
    let owner = |path: &Path| path.metadata().map(|it| it.uid()).ok();
    !path.exists() || is_ours(path) || owner(path) == owner(working_dir)
}

#[derive(Default)]
struct Reader {
    hints: Hints,
    seen: Vec<PathBuf>,
    total: usize,
    /// Number of problems that are not reported individually.
    unreported: usize,
}

impl Reader {
    fn read(&mut self, bounds: &Bounds, path: &Path) {
        let Ok(resolved) = path.canonicalize() else { return };
        if let Some(text) = self.text(bounds, &resolved, path, 0)
            && !text.trim().is_empty()
        {
            let shown_path = visible_line(&path.display().to_string()).into_owned();
            self.hints.found.push(Hint { shown_path, text: visible(&text).into_owned() });
        }
    }

    /// Returns a file's text with its imports; none if it was read before or may not be read.
    fn text(&mut self, bounds: &Bounds, resolved: &Path, shown: &Path, depth: usize) -> Option<String> {
        if self.seen.iter().any(|seen| seen == resolved) {
            return None;
        }
        match self.own_text(bounds, resolved) {
            Ok(text) => Some(self.with_imports(bounds, resolved, text, depth)),
            Err(problem) => {
                self.problem(shown, &problem);
                None
            }
        }
    }

    /// Returns a file's text without imports, or why it is left out.
    fn own_text(&mut self, bounds: &Bounds, resolved: &Path) -> Result<String, String> {
        if !bounds.allow(resolved) {
            return Err("it lies outside the project and is left out".to_owned());
        }
        if self.seen.len() >= MAX_FILES {
            return Err(format!("there are more than {MAX_FILES} hint files; it is left out"));
        }
        self.seen.push(resolved.to_path_buf());
        let bytes = goose_fs::read_regular(resolved, MAX_FILE_BYTES)
            .map_err(|error| format!("it cannot be read ({error}) and is left out"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it is larger than {MAX_FILE_BYTES} bytes and is left out"));
        }
        if self.total + text.len() > MAX_TOTAL_BYTES {
            return Err(format!("all hint files together exceed {MAX_TOTAL_BYTES} bytes; it is left out"));
        }
        self.total += text.len();
        Ok(text)
    }

    fn with_imports(&mut self, bounds: &Bounds, file: &Path, text: String, depth: usize) -> String {
        let root = &bounds.root;
        let folder = file.parent().unwrap_or(root);
        let mut named = HashSet::new();
        let new = imports(&text).filter(|import| named.insert(*import)).take(MAX_IMPORTS);
        let imports: Vec<PathBuf> = new.map(|import| folder.join(import)).collect();
        let mut whole = text;
        for import in imports.iter().filter(|_| depth < MAX_DEPTH) {
            // Not every word with an @ is an import.
            let Ok(resolved) = import.canonicalize() else { continue };
            if resolved.is_file()
                && let Some(text) = self.text(bounds, &resolved, import, depth + 1)
            {
                let name = resolved.strip_prefix(root).unwrap_or(&resolved).display();
                whole.push_str(&format!("\n\n--- {name} ---\n{}", text.trim_end()));
            }
        }
        whole
    }

    /// Reports the hints of a project that are not used.
    fn leave_out<S: AsRef<str>>(&mut self, folders: &[&Path], names: &[S]) {
        let paths = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name.as_ref())));
        for path in paths.filter(|path| path.is_file()) {
            self.problem(&path, "it is left out because the project is not trusted");
        }
    }

    fn problem(&mut self, path: &Path, what: &str) {
        match self.hints.problems.len() < MAX_PROBLEMS {
            true => self.hints.problems.push(format!("{}: {what}.", path.display())),
            false => self.unreported += 1,
        }
    }

    fn finish(mut self) -> Hints {
        if self.unreported > 0 {
            self.hints.problems.push(format!("{} more hint files were left out.", self.unreported));
        }
        self.hints
    }
}

/// Returns the paths that a text imports: words that begin with an @.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    words.map(|path| path.trim_end_matches([',', ';', ':', ')', ']', '.'])).filter(|path| !path.is_empty())
}

#[cfg(test)]
#[path = "hints_tests.rs"]
mod tests;
