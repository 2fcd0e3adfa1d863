//! [`Code`]: all files of a folder that are understood.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{super::find::Walk, language::Grammar, symbols::Symbols};

/// How many files of code one call reads.
const MAX_FILES: usize = 3_000;
/// How many definitions and calls it keeps.
const MAX_SYMBOLS: usize = 500_000;
/// How long it reads.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Files and what they define and call, by name.
pub(super) struct Code {
    pub(super) files: Vec<(PathBuf, Symbols)>,
    /// What was left out, for the model.
    pub(super) remark: Option<String>,
}

impl Code {
    /// The code in a folder, or in a single file.
    pub(super) fn under(root: &Path, depth: Option<usize>, walk: &Walk) -> Self {
        let entries = Walk::builder(root).max_depth(depth).sort_by_file_name(Ord::cmp).build();
        let mut code = Self { files: Vec::new(), remark: None };
        let mut left = MAX_SYMBOLS;
        let begin = Instant::now();
        for entry in entries.filter_map(Result::ok) {
            if !walk.goes_on() {
                break;
            }
            if Grammar::of(entry.path()).is_none() || !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            if code.files.len() == MAX_FILES || left == 0 || begin.elapsed() > MAX_TIME {
                let files = code.files.len();
                code.remark = Some(format!("[Stopped after {files} files. Name a smaller folder.]"));
                break;
            }
            if let Some(symbols) = Symbols::of_file(entry.path()) {
                left = left.saturating_sub(symbols.count());
                code.files.push((shown(root, entry.path()), symbols));
            }
        }
        code.remark = code.remark.or_else(|| walk.remark());
        code
    }
}

fn shown(root: &Path, file: &Path) -> PathBuf {
    let inside = file.strip_prefix(root).unwrap_or(file);
    if inside.as_os_str().is_empty() { file.to_path_buf() } else { inside.to_path_buf() }
}
