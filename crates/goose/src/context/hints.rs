//! Hints: the files in which people write what goose should know, `.goosehints` and `AGENTS.md`.
//!
//! They are looked for in goose's config folder and in each folder from the git root down to the working folder. A line
//! (or a word) `@path` imports another file, as long as that lies within the same root, and that root is not the person's
//! home or above it: a repository of somebody else must not pull files of the person's into what the model sees.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// The files that are looked for where nobody names others.
pub const DEFAULT_NAMES: &[&str] = &[".goosehints", "AGENTS.md"];
/// How much of one file is read.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// How much all of them may have together.
const MAX_TOTAL_BYTES: usize = 128 * 1024;
/// How many files there may be, imports included.
const MAX_FILES: usize = 64;
/// How deep imports go.
const MAX_DEPTH: usize = 4;
/// How far up a git root is looked for.
const MAX_FOLDERS: usize = 64;
/// How many imports of one file are looked at.
const MAX_IMPORTS: usize = 64;
/// How many problems are told one by one.
const MAX_PROBLEMS: usize = 10;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    found: Vec<Hint>,
    /// What was left out, and why, for the person.
    pub problems: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Where it is, as the person would name it.
    pub shown_path: String,
    /// What it says, imports put in.
    pub text: String,
}

impl Hints {
    /// The files, the most general first.
    pub fn iter(&self) -> impl Iterator<Item = &Hint> {
        self.found.iter()
    }
}

/// Where hints are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// goose's config folder. Nothing is imported from it, except by the hints in it.
    pub config_dir: &'a Path,
    /// The folder where the work happens.
    pub working_dir: &'a Path,
    /// The person's home, where it is known.
    pub home: Option<&'a Path>,
}

/// Reads the hints for a working folder.
pub fn load<S: AsRef<str>>(places: Places<'_>, names: &[S]) -> Hints {
    let mut reader = Reader::default();
    let config = places.config_dir;
    for name in names {
        reader.read(&Bounds { root: resolved(config), forbidden: None }, &config.join(name.as_ref()));
    }
    let folders = folders(places.working_dir);
    let root = folders.first().map_or(places.working_dir, PathBuf::as_path);
    let bounds = |folder: &Path| Bounds {
        // Where all of the person's home is one repository, a file speaks for its own folder alone.
        root: resolved(if holds_home(root, places.home) { folder } else { root }),
        forbidden: Some(resolved(config)),
    };
    for folder in &folders {
        for name in names {
            reader.read(&bounds(folder), &folder.join(name.as_ref()));
        }
    }
    reader.finish()
}

/// What a file may import.
struct Bounds {
    /// Only what is in here,
    root: PathBuf,
    /// and not what is in here.
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

/// The folders from the git root down to the working folder; only the latter where there is no git root.
fn folders(working_dir: &Path) -> Vec<PathBuf> {
    let up: Vec<&Path> = working_dir.ancestors().take(MAX_FOLDERS).collect();
    let depth = up.iter().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    up.into_iter().take(depth + 1).rev().map(Path::to_path_buf).collect()
}

#[derive(Default)]
struct Reader {
    hints: Hints,
    seen: Vec<PathBuf>,
    total: usize,
    /// How many problems there were beyond those that are told.
    untold: usize,
}

impl Reader {
    fn read(&mut self, bounds: &Bounds, path: &Path) {
        let Ok(resolved) = path.canonicalize() else { return };
        if let Some(text) = self.text(bounds, &resolved, path, 0)
            && !text.trim().is_empty()
        {
            self.hints.found.push(Hint { shown_path: path.display().to_string(), text });
        }
    }

    /// A file's text with its imports; nothing where it was read before or may not be read.
    fn text(&mut self, bounds: &Bounds, resolved: &Path, shown: &Path, depth: usize) -> Option<String> {
        if self.seen.iter().any(|seen| seen == resolved) {
            return None;
        }
        if !bounds.allow(resolved) {
            self.problem(shown, "it lies outside the project, and is left out");
            return None;
        }
        if self.seen.len() >= MAX_FILES {
            self.problem(shown, &format!("there are more than {MAX_FILES} files of hints; it is left out"));
            return None;
        }
        self.seen.push(resolved.to_path_buf());
        let text = match read_capped(resolved) {
            Ok(text) => text,
            Err(error) => {
                self.problem(shown, &format!("it cannot be read ({error}), and is left out"));
                return None;
            }
        };
        if text.len() as u64 > MAX_FILE_BYTES {
            self.problem(shown, &format!("it is larger than {MAX_FILE_BYTES} bytes, and is left out"));
            return None;
        }
        if self.total + text.len() > MAX_TOTAL_BYTES {
            self.problem(
                shown,
                &format!("all hints together have more than {MAX_TOTAL_BYTES} bytes; it is left out"),
            );
            return None;
        }
        self.total += text.len();
        Some(self.with_imports(bounds, resolved, text, depth))
    }

    fn with_imports(&mut self, bounds: &Bounds, file: &Path, text: String, depth: usize) -> String {
        let root = &bounds.root;
        let folder = file.parent().unwrap_or(root);
        let mut named = HashSet::new();
        let new = imports(&text).filter(|import| named.insert(*import)).take(MAX_IMPORTS);
        let imports: Vec<PathBuf> = new.map(|import| folder.join(import)).collect();
        let mut whole = text;
        for import in imports.iter().filter(|_| depth < MAX_DEPTH) {
            // A word with an @ that names no file is no import.
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

    fn problem(&mut self, path: &Path, what: &str) {
        match self.hints.problems.len() < MAX_PROBLEMS {
            true => self.hints.problems.push(format!("{}: {what}.", path.display())),
            false => self.untold += 1,
        }
    }

    fn finish(mut self) -> Hints {
        if self.untold > 0 {
            self.hints.problems.push(format!("{} more files of hints were left out.", self.untold));
        }
        self.hints
    }
}

/// The files that a text imports: words that begin with an @.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    words.map(|path| path.trim_end_matches([',', ';', ':', ')', ']', '.'])).filter(|path| !path.is_empty())
}

/// Reads a regular file, up to a byte more than is allowed.
fn read_capped(path: &Path) -> io::Result<String> {
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[path = "hints_tests.rs"]
mod tests;
