//! Secrets among the files that a command reads without naming each: in folders that it goes through, and behind stars.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use super::{
    glob::Glob,
    paths,
    protected::{Protected, Within},
    rule::Rule,
};

/// How many files are looked at for one call: their names, which takes some 50 ms. Nothing is opened but folders.
pub(super) const MAX_ENTRIES: usize = 50_000;

/// Opening a folder takes as long as looking at so many files.
const FOLDER_COST: usize = 5;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'p> {
    Nothing,
    /// A secret, and the rule that protects it.
    Secret(PathBuf, &'p Rule),
    /// There are more files than can be looked at.
    TooMany,
}

/// Which names are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    All,
    /// Those that do not begin with a dot.
    NotHidden,
}

/// Looks for secrets that are wanted, in a folder and all below, the nearest first. Links are looked at and not followed.
pub(super) fn below<'p>(
    protected: &'p Protected,
    folder: &Path,
    (names, within): (Names, Within),
    is_wanted: &dyn Fn(&Path) -> bool,
    left: &mut usize,
) -> Found<'p> {
    // With the rule that protects all that is in it.
    let mut pending = VecDeque::from([(folder.to_owned(), None)]);
    while let Some((folder, rule)) = pending.pop_front() {
        let Some(rest) = left.checked_sub(FOLDER_COST) else { return Found::TooMany };
        *left = rest;
        // Any name in it may be one that only the folder makes a secret.
        let is_named_folder =
            folder.file_name().is_some_and(|name| protected.has_name(&name.to_string_lossy()));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if *left == 0 {
                return Found::TooMany;
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
            let rule = rule.or_else(|| if is_named { protected.find_met(&place, within) } else { None });
            if let Some(rule) = rule.filter(|_| is_wanted(&path)) {
                return Found::Secret(place, rule);
            }
            if kind.is_dir() {
                pending.push_back((path, rule));
            }
        }
    }
    Found::Nothing
}

/// The files that a pattern of a shell stands for, in a folder; `None` where there are too many. Stars do not stand for a
/// dot that a name begins with.
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
