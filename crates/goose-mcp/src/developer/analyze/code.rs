//! [`Code`]: all files of a folder that are understood.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{super::find::Root, language::Grammar, symbols::Symbols};

/// Maximum number of files that one call reads.
const MAX_FILES: usize = 3_000;
/// Maximum number of definitions and calls that it keeps.
const MAX_SYMBOLS: usize = 500_000;
/// Time limit of one call.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Files and what they define and call, by name.
pub(super) struct Code {
    pub(super) files: Vec<(PathBuf, Symbols)>,
    /// A remark about what was left out, for the model.
    pub(super) remark: Option<String>,
}

impl Code {
    /// The code in a folder, or in a single file.
    pub(super) fn under(root: &Root, depth: Option<usize>) -> Self {
        let mut reading = Reading::new(root);
        let all_read = code_files(root, depth).all(|file| reading.read(&file));
        let count = reading.files.len();
        reading.end(|| (!all_read).then(|| format!("[Stopped after {count} files. Name a smaller folder.]")))
    }

    /// The code in a folder that is about a symbol: the files that have its name in them first, and the others as far as
    /// there is room for them.
    pub(super) fn about(root: &Root, symbol: &str) -> Self {
        let mut reading = Reading::new(root);
        let mut others = Vec::new();
        let all_named = code_files(root, None).all(|file| match Symbols::may_name(root, &file, symbol) {
            true => reading.read(&file),
            false => {
                others.push(file);
                true
            }
        });
        let all_read = all_named && others.iter().all(|file| !root.walk.is_cancelled() && reading.read(file));
        let count = reading.files.len();
        reading.end(|| match (all_named, all_read) {
            (false, _) => Some(format!("[Stopped after {count} files. Name a smaller folder.]")),
            (true, false) => Some(format!(
                "[Read {count} files, among them all that have `{symbol}` in them; what is further away may be missing.]"
            )),
            (true, true) => None,
        })
    }
}

/// The files of code in a folder, by name.
fn code_files(root: &Root, depth: Option<usize>) -> impl Iterator<Item = PathBuf> {
    let entries = root.walk_builder().max_depth(depth).sort_by_file_name(Ord::cmp).build();
    entries
        .filter_map(Result::ok)
        .take_while(|_| root.walk.goes_on())
        .filter(|entry| {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            is_file && Grammar::for_file(entry.path()).is_some()
        })
        .map(ignore::DirEntry::into_path)
}

/// Files being read, as long as there is room.
struct Reading<'a> {
    root: &'a Root,
    files: Vec<(PathBuf, Symbols)>,
    left: usize,
    begin: Instant,
}

impl<'a> Reading<'a> {
    fn new(root: &'a Root) -> Self {
        Self { root, files: Vec::new(), left: MAX_SYMBOLS, begin: Instant::now() }
    }

    /// Reads a file; false where there is no room for it.
    fn read(&mut self, file: &Path) -> bool {
        if self.files.len() == MAX_FILES || self.left == 0 || self.begin.elapsed() > MAX_TIME {
            return false;
        }
        if let Some(symbols) = Symbols::from_file(self.root, file) {
            self.left = self.left.saturating_sub(symbols.count());
            self.files.push((shown(self.root, file), symbols));
        }
        true
    }

    fn end(mut self, remark: impl FnOnce() -> Option<String>) -> Code {
        self.files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Code { files: self.files, remark: remark().or_else(|| self.root.walk.remark()) }
    }
}

fn shown(root: &Root, file: &Path) -> PathBuf {
    let inside = root.relative(file);
    if inside.as_os_str().is_empty() { file.to_path_buf() } else { inside.to_path_buf() }
}
