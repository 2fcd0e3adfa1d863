//! Path resolution, and matching of paths against rules.
//!
//! Containment is decided by path components after all links and `..` are resolved: `/work-evil` is not in
//! `/work`. A path that does not exist yet is resolved through its nearest existing parent.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs::{self, Metadata},
    io,
    path::{Component, Path, PathBuf},
};

use super::{glob::Glob, matching::Certainty, rule::RuleError};

/// Reason why the file that a path names is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathError {
    #[error("{0:?} is not a path")]
    NotAPath(String),
    #[error("the home folder of `{0}` is not known")]
    NoHome(String),
    #[error("it is not clear where `{}` leads: its links form a cycle", .0.display())]
    LinkCycle(PathBuf),
    #[error("it is not clear where `{}` leads: {error}", path.display())]
    Unresolved { path: PathBuf, error: io::Error },
}

/// Folders that paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bases<'a> {
    pub(super) working: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) known: &'a KnownFolders,
}

impl<'a> Bases<'a> {
    /// Returns the same with another working folder.
    pub(super) fn at<'b>(self, working: &'b Path) -> Bases<'b>
    where
        'a: 'b,
    {
        Bases { working, home: self.home, known: self.known }
    }

    /// Makes a path absolute without resolving links.
    pub(super) fn absolute(self, text: &str) -> Result<PathBuf, PathError> {
        if text.is_empty() || text.contains('\0') {
            return Err(PathError::NotAPath(text.to_owned()));
        }
        if text == "~" || text.starts_with("~/") {
            let home = self.home.ok_or_else(|| PathError::NoHome(text.to_owned()))?;
            return Ok(home.join(text[1..].trim_start_matches('/')));
        }
        Ok(self.working.join(text))
    }

    /// Makes a path absolute and resolves it.
    pub(super) fn resolve(self, text: &str) -> Result<PathBuf, PathError> {
        self.known.resolve(&self.absolute(text)?)
    }
}

/// Resolves all links and `..`. Missing components are kept as written.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, PathError> {
    goose_fs::resolve(path).map_err(|error| match goose_fs::is_link(&error) {
        true => PathError::LinkCycle(path.to_owned()),
        false => PathError::Unresolved { path: path.to_owned(), error },
    })
}

/// Maximum number of folders that are remembered.
const MAX_KNOWN: usize = 1000;

/// Maximum length of a path that is looked up folder by folder, as on Linux.
const MAX_PATH_BYTES: usize = 4096;

/// Folders that were resolved before, to look at each of them only once per verdict.
#[derive(Debug, Default)]
pub(super) struct KnownFolders(RefCell<HashMap<PathBuf, (PathBuf, Option<Metadata>)>>);

impl KnownFolders {
    /// Resolves all links and `..` of a path. Missing components are kept as written.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, PathError> {
        self.find(path).map_or_else(|| resolve(path), |(resolved, _)| Ok(resolved))
    }

    /// Resolves a path and returns what is there.
    pub(super) fn resolve_with_metadata(
        &self,
        path: &Path,
    ) -> Result<(PathBuf, Option<Metadata>), PathError> {
        self.find(path).map_or_else(
            || {
                let resolved = resolve(path)?;
                let metadata = resolved.symlink_metadata().ok();
                Ok((resolved, metadata))
            },
            Ok,
        )
    }

    /// Finds a path in its folder; `None` if its last component is a link or cannot be looked up.
    fn find(&self, path: &Path) -> Option<(PathBuf, Option<Metadata>)> {
        if path.as_os_str().len() > MAX_PATH_BYTES {
            return None;
        }
        let mut components = path.components();
        let last = components.next_back()?;
        let name = match last {
            Component::Normal(name) => name,
            Component::RootDir => return Some((path.to_owned(), fs::symlink_metadata(path).ok())),
            Component::ParentDir => {
                let (folder, _) = self.folder(components.as_path())?;
                return self.folder(folder.parent().unwrap_or(&folder));
            }
            Component::CurDir | Component::Prefix(_) => return None,
        };
        let (folder, metadata) = self.folder(components.as_path())?;
        let place = folder.join(name);
        // A missing folder has no entries.
        if metadata.is_none() {
            return Some((place, None));
        }
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => None,
            Err(error) if error.kind() != io::ErrorKind::NotFound => None,
            found => Some((place, found.ok())),
        }
    }

    fn folder(&self, path: &Path) -> Option<(PathBuf, Option<Metadata>)> {
        if let Some(found) = self.0.borrow().get(path) {
            return Some(found.clone());
        }
        let found = self.resolve_with_metadata(path).ok()?;
        let mut known = self.0.borrow_mut();
        if known.len() < MAX_KNOWN {
            known.insert(path.to_owned(), found.clone());
        }
        Some(found)
    }
}

/// A path in a rule: `~/.ssh/**`, `src/*.rs`, `/etc`. `*` matches within a component, `**` any number of
/// components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    base: Base,
    components: Vec<PatternPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Root,
    Home,
    Working,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternPart {
    Name(Glob),
    AnyDepth,
}

impl PatternPart {
    pub(super) fn glob(&self) -> Option<&Glob> {
        match self {
            Self::Name(glob) => Some(glob),
            Self::AnyDepth => None,
        }
    }

    pub(super) fn literal(&self) -> Option<&str> {
        self.glob()?.literal()
    }

    fn lower(&mut self) {
        if let Self::Name(glob) = self {
            *glob = glob.to_lowercase();
        }
    }
}

impl PathPattern {
    /// Parses the path of a rule.
    ///
    /// # Errors
    ///
    /// Fails if the path contains `..` or the home folder of another user.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let (base, rest) = match text {
            "~" => (Base::Home, ""),
            _ if text.starts_with("~/") => (Base::Home, &text[2..]),
            _ if text.starts_with('~') => return Err(RuleError::OtherHome),
            _ if text.starts_with('/') => (Base::Root, &text[1..]),
            _ => (Base::Working, text),
        };
        let mut components = Vec::new();
        for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
            components.push(match part {
                ".." => return Err(RuleError::ParentFolder),
                "**" => PatternPart::AnyDepth,
                _ => PatternPart::Name(Glob::new(part)),
            });
        }
        Ok(Self { base, components })
    }

    /// Returns true if an allow rule with this pattern matches a path. Only the base is resolved: the rule
    /// does not allow the target of a link that replaces a folder of the pattern. As in a shell, `*` does not
    /// match a leading dot.
    pub(super) fn allows(&self, resolved: &Path, bases: Bases<'_>) -> bool {
        let Some(base) = self.base(bases).and_then(|base| bases.known.resolve(&base).ok()) else {
            return false;
        };
        let is_hidden = |name: &str| name.starts_with('.');
        let Some(names) = names_below(&base, resolved) else { return false };
        let same =
            |glob: &Glob, name: &&str| glob.matches(name) && (!is_hidden(name) || glob.starts_with('.'));
        parts_match(&self.components, &names, same, |name| !is_hidden(name))
    }

    /// Matches a path against a restricting rule with this pattern. See [`Places::certainty`].
    pub(super) fn restricts(&self, written: &Path, resolved: &Path, bases: Bases<'_>) -> Certainty {
        self.places(bases).map_or(Certainty::Maybe, |places| places.certainty(written, resolved))
    }

    /// Returns the places that a restricting rule matches, with the links of the pattern both resolved and
    /// unresolved; `None` if the base of the pattern is not known.
    pub(super) fn places(&self, bases: Bases<'_>) -> Option<Places> {
        let base = self.base(bases)?;
        let real = |base: &Path| bases.known.resolve(base).unwrap_or_else(|_| base.to_owned());
        let (folder, rest) = self.with_literals_resolved(&base, bases.known);
        let mut variants = vec![(real(&base), self.clone()), (base, self.clone()), (folder, rest)];
        variants.dedup();
        Some(Places { variants: variants.into_iter().map(Variant::new).collect() })
    }

    /// Returns the places that a restricting rule matches, as lower-case components from the root.
    pub(super) fn places_from_root(&self, bases: Bases<'_>) -> Option<Vec<Vec<PatternPart>>> {
        let place = |variant: &Variant| {
            let names = variant.base.components().filter_map(|part| match part {
                Component::Normal(name) => Some(PatternPart::Name(Glob::from_literal(name.to_str()?))),
                _ => None,
            });
            let mut parts: Vec<PatternPart> = names.chain(variant.whole.iter().cloned()).collect();
            parts.iter_mut().for_each(PatternPart::lower);
            parts
        };
        let mut places: Vec<_> = self.places(bases)?.variants.iter().map(place).collect();
        places.dedup();
        Some(places)
    }

    fn base(&self, bases: Bases<'_>) -> Option<PathBuf> {
        match self.base {
            Base::Root => Some(PathBuf::from("/")),
            Base::Home => bases.home.map(Path::to_owned),
            Base::Working => Some(bases.working.to_owned()),
        }
    }

    /// Returns the components before the first wildcard.
    fn literals(&self) -> Vec<&str> {
        self.components.iter().map_while(PatternPart::literal).collect()
    }

    fn literal_folder(&self, base: &Path) -> PathBuf {
        self.literals().iter().fold(base.to_owned(), |folder, name| folder.join(name))
    }

    /// Returns the path up to the first component with a wildcard.
    pub(super) fn written_out(&self, bases: Bases<'_>) -> Option<PathBuf> {
        Some(self.literal_folder(&self.base(bases)?))
    }

    fn with_literals_resolved(&self, base: &Path, known: &KnownFolders) -> (PathBuf, Self) {
        let folder = self.literal_folder(base);
        let rest = self.components[self.literals().len()..].to_vec();
        (known.resolve(&folder).unwrap_or(folder), Self { base: Base::Root, components: rest })
    }

    /// Returns texts that indicate the path within other text: the whole path, its last two components, and
    /// names with a leading dot.
    pub(super) fn names(&self, bases: Bases<'_>) -> Vec<String> {
        let literals = self.literals();
        let mut names: Vec<String> = self
            .components
            .iter()
            .filter_map(PatternPart::literal)
            .filter(|name| name.len() > 2 && name.starts_with('.'))
            .map(str::to_owned)
            .collect();
        let Some(base) = self.base(bases).filter(|_| !literals.is_empty()) else { return names };
        let folder = self.literal_folder(&base);
        if let Some(rest) = bases.home.and_then(|home| folder.strip_prefix(home).ok()) {
            names.extend(["~", "$HOME", "${HOME}"].map(|home| format!("{home}/{}", rest.display())));
        }
        let last: Vec<_> = folder.iter().rev().take(2).collect();
        if let [last, before] = last.as_slice() {
            names.push(format!("{}/{}", before.to_string_lossy(), last.to_string_lossy()));
        }
        names.push(folder.to_string_lossy().into_owned());
        names
    }

    /// Returns true if the pattern can match something below a folder.
    fn may_match_below(&self, base: &Path, folder: &Path) -> bool {
        if base.starts_with(folder) {
            return true;
        }
        let Ok(rest) = folder.strip_prefix(base) else { return false };
        // Positions in the pattern that the components so far can have reached.
        let mut used: Vec<usize> = vec![0];
        for name in rest.components() {
            let mut next = Vec::new();
            for at in used {
                // Skip any number of `**`, which may match nothing.
                let depth =
                    self.components[at..].iter().take_while(|part| **part == PatternPart::AnyDepth).count();
                next.extend((0..depth).map(|skipped| at + skipped));
                match (self.components.get(at + depth), name.as_os_str().to_str()) {
                    (None, _) => return true,
                    (Some(PatternPart::Name(glob)), Some(name)) if !glob.matches_any_case(name) => {}
                    _ => next.push(at + depth + 1),
                }
            }
            next.sort_unstable();
            next.dedup();
            used = next;
        }
        !used.is_empty()
    }
}

/// Returns true if a text contains a name that is not part of a longer one.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c));
    text.match_indices(name).any(|(at, _)| {
        !is_name(text[..at].chars().next_back()) && !is_name(text[at + name.len()..].chars().next())
    })
}

/// Returns the components of a path relative to a folder.
fn names_below<'p>(folder: &Path, path: &'p Path) -> Option<Vec<&'p str>> {
    path.strip_prefix(folder).ok()?.components().map(|part| part.as_os_str().to_str()).collect()
}

/// Resolved places of a pattern.
#[derive(Debug)]
pub(super) struct Places {
    variants: Vec<Variant>,
}

/// A pattern and the folder that it is relative to.
#[derive(Debug)]
struct Variant {
    base: PathBuf,
    pattern: PathPattern,
    /// Pattern and everything below it: `/etc` includes its content.
    whole: Vec<PatternPart>,
    /// Path before the first wildcard.
    folder: PathBuf,
}

impl Variant {
    fn new((base, pattern): (PathBuf, PathPattern)) -> Self {
        let mut whole = pattern.components.clone();
        whole.push(PatternPart::AnyDepth);
        Self { folder: pattern.literal_folder(&base), base, pattern, whole }
    }

    fn certainty(&self, path: &Path) -> Certainty {
        let names = names_below(&self.base, path);
        let fits = |same: fn(&Glob, &str) -> bool| {
            names
                .as_ref()
                .is_some_and(|names| parts_match(&self.whole, names, |glob, name| same(glob, name), |_| true))
        };
        match () {
            () if fits(Glob::matches) => Certainty::Yes,
            () if self.folder.starts_with(path) || fits(Glob::matches_any_case) => Certainty::Maybe,
            () => Certainty::No,
        }
    }
}

impl Places {
    /// Matches a path, by its resolved or its written form. A parent folder of the pattern, and a name that
    /// differs only in case, are a possible match.
    pub(super) fn certainty(&self, written: &Path, resolved: &Path) -> Certainty {
        let paths = if written == resolved { &[written][..] } else { &[written, resolved] };
        let all = self.variants.iter().flat_map(|variant| paths.iter().map(|path| variant.certainty(path)));
        all.max().unwrap_or(Certainty::No)
    }

    /// Returns true if the pattern may match something below a folder.
    pub(super) fn may_be_below(&self, written: &Path, resolved: &Path) -> bool {
        self.variants.iter().any(|variant| {
            [written, resolved]
                .into_iter()
                .any(|folder| variant.pattern.may_match_below(&variant.base, folder))
        })
    }
}

/// Returns true if components match a pattern; `same` compares a component, and `any` accepts components for
/// `**`. Greedy with a single backtracking point, so that many `**` cost no more than one.
pub(super) fn parts_match<N>(
    pattern: &[PatternPart],
    names: &[N],
    same: impl Fn(&Glob, &N) -> bool,
    any: impl Fn(&N) -> bool,
) -> bool {
    let (mut at, mut name, mut back) = (0, 0, None);
    while name < names.len() {
        match pattern.get(at) {
            Some(PatternPart::AnyDepth) => {
                back = Some((at, name));
                at += 1;
            }
            Some(PatternPart::Name(glob)) if same(glob, &names[name]) => {
                at += 1;
                name += 1;
            }
            _ => {
                let Some((star, from)) = back.filter(|(_, from)| any(&names[*from])) else { return false };
                back = Some((star, from + 1));
                (at, name) = (star + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|part| *part == PatternPart::AnyDepth)
}
