//! Where a path really leads, and whether a rule means it.
//!
//! Containment is by components after all links are resolved: `/work-evil` is not in `/work`, and `src/../../x` is where
//! it is. What does not exist yet is resolved through the nearest folder that does.

use std::{
    fs::{self, Metadata},
    io,
    path::{Component, Path, PathBuf},
};

use super::{glob::Glob, matching::Certainty};

/// The folders that paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bases<'a> {
    pub(super) working: &'a Path,
    pub(super) home: Option<&'a Path>,
}

impl Bases<'_> {
    /// A path as somebody wrote it, made absolute; nothing is resolved.
    pub(super) fn absolute(self, text: &str) -> Result<PathBuf, String> {
        if text.is_empty() || text.contains('\0') {
            return Err(format!("{text:?} is no path"));
        }
        if text == "~" || text.starts_with("~/") {
            let home = self.home.ok_or_else(|| format!("it is not known where `{text}` is"))?;
            return Ok(home.join(text[1..].trim_start_matches('/')));
        }
        Ok(self.working.join(text))
    }

    /// Where a path as somebody wrote it really leads.
    pub(super) fn resolve(self, text: &str) -> Result<PathBuf, String> {
        resolve(&self.absolute(text)?)
    }
}

/// Follows all links and `..`. What is not there is kept as it is written.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, String> {
    if let Some((resolved, _)) = path.is_absolute().then(|| walk(Path::new("/"), path)).flatten() {
        return Ok(resolved);
    }
    goose_fs::resolve(path).map_err(|error| match goose_fs::is_link(&error) {
        true => unclear(path, "its links go in circles"),
        false => unclear(path, &error.to_string()),
    })
}

/// Goes on from a folder that is resolved, and says what is there; `None` where a link or `..` is on the way.
pub(super) fn walk(folder: &Path, path: &Path) -> Option<(PathBuf, Option<Metadata>)> {
    let (mut place, mut metadata) = (folder.to_owned(), None);
    let mut is_there = true;
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::RootDir | Component::CurDir => continue,
            Component::ParentDir | Component::Prefix(_) => return None,
        }
        // What is in a folder that is not there is not there.
        if is_there {
            metadata = match fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_symlink() => return None,
                Err(error) if error.kind() != io::ErrorKind::NotFound => return None,
                found => found.ok(),
            };
            is_there = metadata.is_some();
        }
    }
    if place == folder {
        metadata = fs::symlink_metadata(folder).ok();
    }
    Some((place, metadata))
}

fn unclear(path: &Path, reason: &str) -> String {
    format!("it is not clear where `{}` leads: {reason}", path.display())
}

/// A path in a rule: `~/.ssh/**`, `src/*.rs`, `/etc`. `*` stays within a component, `**` is any number of them.
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
    /// # Errors
    ///
    /// Says what a pattern may not hold.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (base, rest) = match text {
            "~" => (Base::Home, ""),
            _ if text.starts_with("~/") => (Base::Home, &text[2..]),
            _ if text.starts_with('~') => return Err("write `~/…` for your home, or the whole path".into()),
            _ if text.starts_with('/') => (Base::Root, &text[1..]),
            _ => (Base::Working, text),
        };
        let mut components = Vec::new();
        for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
            components.push(match part {
                ".." => return Err("write the path without `..`".into()),
                "**" => PatternPart::AnyDepth,
                _ => PatternPart::Name(Glob::new(part)),
            });
        }
        Ok(Self { base, components })
    }

    /// Whether a rule that allows means this place. Only the base is resolved: a link that was put where the pattern has
    /// a name leads somewhere else, and that was not allowed. As in a shell, stars do not stand for a dot that a name
    /// begins with: what is hidden is allowed where it is written out.
    pub(super) fn allows(&self, resolved: &Path, bases: Bases<'_>) -> bool {
        let Some(base) = self.base(bases).and_then(|base| resolve(&base).ok()) else { return false };
        let is_hidden = |name: &str| name.starts_with('.');
        let Some(names) = names_below(&base, resolved) else { return false };
        let same =
            |glob: &Glob, name: &&str| glob.matches(name) && (!is_hidden(name) || glob.starts_with('.'));
        parts_match(&self.components, &names, same, |name| !is_hidden(name))
    }

    /// Whether a rule that restricts means this place. See [`Places::certainty`].
    pub(super) fn restricts(&self, written: &Path, resolved: &Path, bases: Bases<'_>) -> Certainty {
        self.places(bases).map_or(Certainty::Maybe, |places| places.certainty(written, resolved))
    }

    /// The places that a rule means which restricts, with the pattern's own links resolved and not; `None` where it is
    /// not known what it is relative to.
    pub(super) fn places(&self, bases: Bases<'_>) -> Option<Places> {
        let base = self.base(bases)?;
        let real = |base: &Path| resolve(base).unwrap_or_else(|_| base.to_owned());
        let (folder, rest) = self.with_literals_resolved(&base);
        let mut variants = vec![(real(&base), self.clone()), (base, self.clone()), (folder, rest)];
        variants.dedup();
        Some(Places { variants: variants.into_iter().map(Variant::new).collect() })
    }

    /// The places that a rule means which restricts, as names from the root on, in lower case.
    pub(super) fn places_from_root(&self, bases: Bases<'_>) -> Option<Vec<Vec<PatternPart>>> {
        let place = |variant: &Variant| {
            let names = variant.base.components().filter_map(|part| match part {
                Component::Normal(name) => Some(PatternPart::Name(Glob::literally(name.to_str()?))),
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

    /// The names before the first star.
    fn literals(&self) -> Vec<&str> {
        self.components.iter().map_while(PatternPart::literal).collect()
    }

    fn literal_folder(&self, base: &Path) -> PathBuf {
        self.literals().iter().fold(base.to_owned(), |folder, name| folder.join(name))
    }

    /// What is written out of it: the path up to the first name with a star.
    pub(super) fn written_out(&self, bases: Bases<'_>) -> Option<PathBuf> {
        Some(self.literal_folder(&self.base(bases)?))
    }

    fn with_literals_resolved(&self, base: &Path) -> (PathBuf, Self) {
        let folder = self.literal_folder(base);
        let rest = self.components[self.literals().len()..].to_vec();
        (resolve(&folder).unwrap_or(folder), Self { base: Base::Root, components: rest })
    }

    /// Texts that name what is meant within other text: the whole path, the last two names of it, and names with a dot.
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

    /// Whether something below a folder can be meant.
    fn goes_on(&self, base: &Path, folder: &Path) -> bool {
        if base.starts_with(folder) {
            return true;
        }
        let Ok(rest) = folder.strip_prefix(base) else { return false };
        // How much of the pattern may be used up by the names so far.
        let mut used: Vec<usize> = vec![0];
        for name in rest.components() {
            let mut next = Vec::new();
            for at in used {
                // After any number of `**`, which may stand for nothing.
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

/// Whether a name stands in a text, with no letters around it that would make it another one.
pub(super) fn names(text: &str, name: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c));
    text.match_indices(name).any(|(at, _)| {
        !goes_on(text[..at].chars().next_back()) && !goes_on(text[at + name.len()..].chars().next())
    })
}

/// The names between a folder and something in it.
fn names_below<'p>(folder: &Path, path: &'p Path) -> Option<Vec<&'p str>> {
    path.strip_prefix(folder).ok()?.components().map(|part| part.as_os_str().to_str()).collect()
}

/// Where a pattern leads, looked up once.
#[derive(Debug)]
pub(super) struct Places {
    variants: Vec<Variant>,
}

/// A pattern and the folder that it is relative to.
#[derive(Debug)]
struct Variant {
    base: PathBuf,
    pattern: PathPattern,
    /// The pattern, and what is below: `/etc` means what is in it, too.
    whole: Vec<PatternPart>,
    /// The folder that it names before the first star.
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
    /// Whether this place is meant: by its real path or the written one. A folder that holds what is meant, and a name
    /// that differs in case only, may be meant.
    pub(super) fn certainty(&self, written: &Path, resolved: &Path) -> Certainty {
        let paths = if written == resolved { &[written][..] } else { &[written, resolved] };
        let all = self.variants.iter().flat_map(|variant| paths.iter().map(|path| variant.certainty(path)));
        all.max().unwrap_or(Certainty::No)
    }

    /// Whether something in this folder, or deeper, may be meant.
    pub(super) fn may_be_below(&self, written: &Path, resolved: &Path) -> bool {
        self.variants.iter().any(|variant| {
            [written, resolved].into_iter().any(|folder| variant.pattern.goes_on(&variant.base, folder))
        })
    }
}

/// Whether names fit a pattern, with `same` for a name and `any` for those that `**` may stand for. Two pointers and one
/// place to come back to, so that many `**` cost no more than one.
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
