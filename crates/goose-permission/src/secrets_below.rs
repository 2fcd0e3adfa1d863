//! Search for secrets among files that a command reads without naming them: in folders that it walks, and by
//! wildcards.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use goose_extension::HardLinks;

use super::{
    glob::Glob,
    paths,
    protected::{Protected, SecretScope},
    rule::Rule,
};

/// Maximum number of directory entries that are checked for one call. This takes about 50 ms, as only names
/// are read.
pub(super) const MAX_ENTRIES: usize = 50_000;

/// Cost of opening a folder, in entries.
const FOLDER_COST: usize = 5;

/// Cost of a file that matches a pattern and is looked at, in entries.
const MATCH_COST: usize = 4;

/// Result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SearchResult<'p> {
    Nothing,
    /// A secret, and the rule that protects it.
    Secret(PathBuf, &'p Rule),
    /// A file with other names, which may be a secret.
    HardLink(PathBuf),
    /// A link that leads out of the folder and is followed.
    Link(PathBuf),
    /// There are more files than the limit.
    TooMany,
}

/// Names that a walk includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    All,
    /// Names without a leading dot.
    NotHidden,
}

/// Searches a folder for secrets that satisfy `is_wanted`, breadth first. Links are checked but not followed.
pub(super) fn below<'p>(
    protected: &'p Protected,
    folder: &Path,
    (names, follows, within): (Names, bool, SecretScope),
    is_wanted: &dyn Fn(&Path) -> bool,
    left: &mut usize,
) -> SearchResult<'p> {
    // Each folder with the rule that protects all of its content.
    let root = folder.to_owned();
    let mut pending = VecDeque::from([(folder.to_owned(), None)]);
    while let Some((folder, rule)) = pending.pop_front() {
        let Some(rest) = left.checked_sub(FOLDER_COST) else { return SearchResult::TooMany };
        *left = rest;
        // A name may be protected only because of its folder.
        let is_named_folder =
            folder.file_name().is_some_and(|name| protected.has_name(&name.to_string_lossy()));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if *left == 0 {
                return SearchResult::TooMany;
            }
            *left -= 1;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if names == Names::NotHidden && name.starts_with('.') {
                continue;
            }
            let is_link = kind.is_symlink();
            let is_named = is_link || is_named_folder || protected.has_name(&name);
            if within == SecretScope::PersonalAndProject
                && kind.is_file()
                && entry.metadata().is_ok_and(|file| !HardLinks::AllowedIfPublic.permit(&file))
                && is_wanted(&entry.path())
            {
                return SearchResult::HardLink(entry.path());
            }
            if !is_named && rule.is_none() && !kind.is_dir() {
                continue;
            }
            let path = entry.path();
            let place =
                if is_link { paths::resolve(&path).unwrap_or_else(|_| path.clone()) } else { path.clone() };
            let rule = rule.or_else(|| if is_named { protected.find_secret(&place, within) } else { None });
            if let Some(rule) = rule.filter(|_| is_wanted(&path)) {
                return SearchResult::Secret(place, rule);
            }
            if is_link && follows && !place.starts_with(&root) && place.is_dir() {
                return SearchResult::Link(path);
            }
            if kind.is_dir() {
                pending.push_back((path, rule));
            }
        }
    }
    SearchResult::Nothing
}

/// Returns a file or folder below a folder whose name has a blank, a quote or a backslash, `Some(None)` if there
/// is none; `None` if there are too many files.
///
/// Where lines are not split, only a line end and characters that are removed matter.
pub(super) fn with_blank(
    folder: &Path,
    names: Names,
    is_split: bool,
    left: &mut usize,
) -> Option<Option<PathBuf>> {
    let mut pending = VecDeque::from([folder.to_owned()]);
    while let Some(folder) = pending.pop_front() {
        *left = left.checked_sub(FOLDER_COST)?;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if names == Names::NotHidden && name.starts_with('.') {
                continue;
            }
            let is_odd = name.contains(['\n', '\\', '\'', '"']) || (is_split && splits(&name));
            if is_odd {
                return Some(Some(entry.path()));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push_back(entry.path());
            }
        }
    }
    Some(None)
}

/// Returns true if a name becomes several words, or another one, where a list of names is split.
pub(super) fn splits(name: &str) -> bool {
    name.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c))
}

/// Expands a shell pattern in a folder; `None` if there are too many files. `*` does not match a leading dot.
pub(super) fn expand(folder: &Path, pattern: &str, left: &mut usize) -> Option<Vec<PathBuf>> {
    let mut found = vec![folder.to_owned()];
    for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
        let glob = Glob::new(part);
        let mut next = Vec::new();
        for folder in found {
            if glob.literal().is_some() {
                next.push(folder.join(part));
                continue;
            }
            *left = left.checked_sub(FOLDER_COST)?;
            // Some shells match the parent folder, too.
            if glob.starts_with('.') && glob.matches("..") {
                next.push(folder.join(".."));
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                *left = left.checked_sub(1)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if glob.matches(&name) && (!name.starts_with('.') || glob.starts_with('.')) {
                    *left = left.checked_sub(MATCH_COST)?;
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    Some(found)
}
