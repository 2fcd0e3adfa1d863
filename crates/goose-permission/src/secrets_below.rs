//! Search for secrets among files that a command reads without naming them: in folders that it walks, and by
//! wildcards.

use std::{
    collections::VecDeque,
    fs::{self, DirEntry},
    ops::ControlFlow::{self, Break, Continue},
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
    /// A file or folder whose name is split where it is read as a list.
    BrokenName(PathBuf),
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

/// A search of a folder.
pub(super) struct Search<'s> {
    pub(super) names: Names,
    /// True if links to folders are followed.
    pub(super) follows: bool,
    /// Names of the files that are read; all if it is empty.
    pub(super) wanted: &'s [Glob],
    /// Way in which the names of the files are split afterwards, if they are.
    pub(super) split: Option<Split>,
}

/// Way in which a list of names is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    Lines,
    Words,
}

impl Split {
    /// Returns true if a name becomes several ones, or another one.
    pub(super) fn breaks(self, name: &str) -> bool {
        name.contains(['\n', '\\', '\'', '"']) || (self == Self::Words && name.contains(char::is_whitespace))
    }
}

impl Search<'_> {
    /// Creates a search for all files with these names.
    pub(super) fn new(names: Names) -> Self {
        Self { names, follows: false, wanted: &[], split: None }
    }

    /// Searches a folder, breadth first, for secrets that `is_allowed` does not accept. Links are checked but
    /// not followed.
    pub(super) fn below<'p>(
        &self,
        protected: &'p Protected,
        folder: &Path,
        (within, is_allowed): (SecretScope, &dyn Fn(&Path) -> bool),
        left: &mut usize,
    ) -> SearchResult<'p> {
        let mut pending: VecDeque<Pending<'p>> = VecDeque::from([(folder.to_owned(), None)]);
        while let Some((inner, rule)) = pending.pop_front() {
            let Some(rest) = left.checked_sub(FOLDER_COST) else { return SearchResult::TooMany };
            *left = rest;
            // A name may be protected only because of its folder.
            let is_named = inner.file_name().is_some_and(|name| protected.has_name(&name.to_string_lossy()));
            for entry in fs::read_dir(&inner).into_iter().flatten().flatten() {
                if *left == 0 {
                    return SearchResult::TooMany;
                }
                *left -= 1;
                match self.entry(protected, (folder, is_named, rule), &entry, (within, is_allowed)) {
                    Break(found) => return found,
                    Continue(folder) => pending.extend(folder),
                }
            }
        }
        SearchResult::Nothing
    }

    /// Checks an entry of a folder whose name is that of a secret, or all of whose content is protected by a rule.
    /// Returns the folder to look into.
    fn entry<'p>(
        &self,
        protected: &'p Protected,
        (root, is_named, rule): (&Path, bool, Option<&'p Rule>),
        entry: &DirEntry,
        (within, is_allowed): (SecretScope, &dyn Fn(&Path) -> bool),
    ) -> ControlFlow<SearchResult<'p>, Option<Pending<'p>>> {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if self.names == Names::NotHidden && name.starts_with('.') {
            return Continue(None);
        }
        if self.split.is_some_and(|split| split.breaks(&name)) {
            return Break(SearchResult::BrokenName(entry.path()));
        }
        let Ok(kind) = entry.file_type() else { return Continue(None) };
        if within == SecretScope::PersonalAndProject
            && kind.is_file()
            && entry.metadata().is_ok_and(|file| !HardLinks::AllowedIfPublic.permit(&file))
            && self.wants(&name)
        {
            return Break(SearchResult::HardLink(entry.path()));
        }
        let is_link = kind.is_symlink();
        let is_named = is_link || is_named || protected.has_name(&name);
        if !is_named && rule.is_none() && !kind.is_dir() {
            return Continue(None);
        }
        let path = entry.path();
        let place =
            if is_link { paths::resolve(&path).unwrap_or_else(|_| path.clone()) } else { path.clone() };
        let rule = rule.or_else(|| if is_named { protected.find_secret(&place, within) } else { None });
        if let Some(rule) = rule.filter(|_| self.wants(&name) && !is_allowed(&place)) {
            return Break(SearchResult::Secret(place, rule));
        }
        if is_link && self.follows && !place.starts_with(root) && place.is_dir() {
            return Break(SearchResult::Link(path));
        }
        Continue(kind.is_dir().then_some((path, rule)))
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|glob| glob.matches_any_case(name))
    }
}

/// A folder to look into, and the rule that protects all of its content.
type Pending<'p> = (PathBuf, Option<&'p Rule>);

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
