//! Search for secrets among files that a command reads without naming them: in folders that it walks, and by
//! wildcards.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

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

/// Result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SearchResult<'p> {
    Nothing,
    /// A secret, and the rule that protects it.
    Secret(PathBuf, &'p Rule),
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
    (names, within): (Names, SecretScope),
    is_wanted: &dyn Fn(&Path) -> bool,
    left: &mut usize,
) -> SearchResult<'p> {
    // Each folder with the rule that protects all of its content.
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
            if kind.is_dir() {
                pending.push_back((path, rule));
            }
        }
    }
    SearchResult::Nothing
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
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                *left = left.checked_sub(1)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if glob.matches(&name) && (!name.starts_with('.') || glob.starts_with('.')) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    Some(found)
}
