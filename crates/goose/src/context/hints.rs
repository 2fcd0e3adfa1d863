//! Hints: the files in which people write what goose should know, `.goosehints` and `AGENTS.md`.
//!
//! They are looked for in goose's config folder and in each folder from the git root down to the working folder. A line
//! (or a word) `@path` imports another file, as long as that lies within the same root: a repository of somebody else must
//! not pull files of the person's into what the model sees.

use std::{
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

/// Reads the hints for a working folder.
pub fn load<S: AsRef<str>>(config_dir: &Path, working_dir: &Path, names: &[S]) -> Hints {
    let mut reader = Reader::default();
    for name in names {
        reader.read(config_dir, &config_dir.join(name.as_ref()));
    }
    let folders = folders(working_dir);
    let root = folders.first().cloned().unwrap_or_else(|| working_dir.to_path_buf());
    for folder in &folders {
        for name in names {
            reader.read(&root, &folder.join(name.as_ref()));
        }
    }
    reader.hints
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
}

impl Reader {
    fn read(&mut self, root: &Path, path: &Path) {
        let Ok(resolved) = path.canonicalize() else { return };
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        if let Some(text) = self.text(&root, &resolved, path, 0)
            && !text.trim().is_empty()
        {
            self.hints.found.push(Hint { shown_path: path.display().to_string(), text });
        }
    }

    /// A file's text with its imports; nothing where it was read before or may not be read.
    fn text(&mut self, root: &Path, resolved: &Path, shown: &Path, depth: usize) -> Option<String> {
        if self.seen.iter().any(|seen| seen == resolved) {
            return None;
        }
        if !resolved.starts_with(root) {
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
        Some(self.with_imports(root, resolved, text, depth))
    }

    fn with_imports(&mut self, root: &Path, file: &Path, text: String, depth: usize) -> String {
        let folder = file.parent().unwrap_or(root);
        let imports: Vec<PathBuf> = imports(&text).map(|import| folder.join(import)).collect();
        let mut whole = text;
        for import in imports.iter().filter(|_| depth < MAX_DEPTH) {
            // A word with an @ that names no file is no import.
            let Ok(resolved) = import.canonicalize() else { continue };
            if resolved.is_file()
                && let Some(text) = self.text(root, &resolved, import, depth + 1)
            {
                let name = resolved.strip_prefix(root).unwrap_or(&resolved).display();
                whole.push_str(&format!("\n\n--- {name} ---\n{}", text.trim_end()));
            }
        }
        whole
    }

    fn problem(&mut self, path: &Path, what: &str) {
        self.hints.problems.push(format!("{}: {what}.", path.display()));
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
