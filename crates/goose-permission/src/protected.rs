//! Built-in list of protected files: files that make programs run later, and secrets.
//!
//! Each entry is an ask rule that applies in every mode, in addition to the user's rules. The entries are
//! kept apart from the user's rules because they do not make goose ask about commands that it cannot analyse:
//! in `auto`, it asks only about paths that are on the list or look like one.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use super::{
    glob::Glob,
    paths::{Bases, KnownFolders, PatternPart, parts_match},
    rule::{Effect, Rule},
    shell::{Access, Word},
};
use goose_config::Paths;

/// Names that are too common to make a partly unknown path a protected one.
const COMMON_NAMES: [&str; 6] = ["bin", "config", "etc", "fd", "repo", "share"];

/// Placeholder for the unknown parts of a word.
const UNKNOWN: char = '\0';

/// Group of goose's own folders.
const OWN_GROUP: &str = "goose's own files";

/// The list as text.
const FILES: &str = include_str!("protected_files.txt");

/// Entries that do not depend on the home folder.
static EVERYWHERE: LazyLock<List> = LazyLock::new(|| List::load(|text| !text.starts_with('~'), None));

/// A line of the built-in list of protected files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedFile {
    /// Group that it belongs to.
    pub group: &'static str,
    /// Path, as in rules.
    pub path: String,
    /// True if reading it needs approval.
    pub reads: bool,
    /// True if writing it needs approval.
    pub writes: bool,
    /// Reason why it is protected.
    pub reason: &'static str,
}

/// Built-in list of protected files.
#[derive(Debug)]
pub(super) struct Protected {
    /// Entries that depend on the home folder and on goose's own folders.
    here: List,
    /// Folders of goose itself, resolved and unresolved.
    own: Vec<PathBuf>,
}

/// Rules, indexed for fast lookup.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Entry>,
    /// Entries by the last literal name of their paths.
    by_name: HashMap<String, Vec<usize>>,
    /// Entries without a literal name, by their patterns, which contain a dot.
    by_glob: Vec<(Glob, usize)>,
    /// Names that are not protected, although a pattern of an entry matches them.
    exceptions: Vec<Glob>,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    access: Access,
    kind: Kind,
    /// Components from the root, in lower case. There is a variant for each way to resolve the links.
    places: Vec<Vec<PatternPart>>,
    /// Last two components before a final `**`.
    tail: Vec<PatternPart>,
}

/// Kind of a protected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file or folder of the user.
    Personal,
    /// A file of a project.
    Project,
    /// A file with the suffix of a key, which matters only if a call names it: many are not secret.
    Key,
    /// A file that matters only if a call names it completely.
    Named,
}

/// Secrets to search for in folders that a command walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretScope {
    Personal,
    PersonalAndProject,
}

/// A line of the list.
struct Line {
    group: &'static str,
    kind: &'static str,
    path: &'static str,
    reason: &'static str,
}

/// Returns the lines of the list.
fn lines() -> impl Iterator<Item = Line> {
    let mut group = "";
    FILES.lines().filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            group = name.trim_end_matches(']');
        }
        let (kind, rest) = line.split_once(' ').filter(|_| !line.starts_with(['#', '[']))?;
        let (path, reason) = rest.split_once("  # ")?;
        Some(Line { group, kind, path, reason })
    })
}

impl List {
    /// Creates a list from the patterns that satisfy `is_included`.
    fn load(is_included: impl Fn(&str) -> bool, home: Option<&Path>) -> Self {
        let (mut list, known) = (Self::default(), KnownFolders::default());
        let bases = Bases { working: Path::new("/"), home, known: &known };
        for Line { kind, path, .. } in lines().filter(|line| is_included(line.path)) {
            let (accesses, kind): (&[Access], Kind) = match kind {
                "write" => (&[Access::Write], Kind::Personal),
                "secret" => (&[Access::Read, Access::Write], Kind::Personal),
                "read" => (&[Access::Read], Kind::Project),
                "key" => (&[Access::Read, Access::Write], Kind::Key),
                "named" => (&[Access::Read], Kind::Named),
                _ => {
                    list.exceptions.push(Glob::new(path.trim_start_matches("/**/")));
                    continue;
                }
            };
            accesses.iter().for_each(|access| list.add(*access, kind, path, bases));
        }
        list
    }

    fn add(&mut self, access: Access, kind: Kind, pattern: &str, bases: Bases<'_>) {
        let verb = if access == Access::Read { "read" } else { "write" };
        let Ok(rule) = Rule::parse(Effect::Ask, &format!("{verb} {pattern}")) else { return };
        let Some(places) = rule.path().and_then(|path| path.places_from_root(bases)) else { return };
        let index = self.entries.len();
        for place in &places {
            match place.iter().filter_map(PatternPart::literal).next_back() {
                Some(name) => self.by_name.entry(name.to_owned()).or_default().push(index),
                None => self
                    .by_glob
                    .extend(place.iter().filter_map(PatternPart::glob).cloned().map(|glob| (glob, index))),
            }
        }
        let tail = tail(places.first().map_or(&[], Vec::as_slice));
        self.entries.push(Entry { rule, access, kind, places, tail });
    }

    /// Adds goose's own folders. The state folder as a whole stays readable: it contains outputs of commands
    /// for the model.
    fn add_own(&mut self, paths: &Paths) {
        let known = KnownFolders::default();
        let bases = Bases { working: Path::new("/"), home: None, known: &known };
        let read = ["history.txt", "logs", "trusted.yaml"].map(|name| paths.state.join(name));
        let logins = paths.logins();
        let written = own_folders(paths).map(|path| (Access::Write, path));
        let read = read.iter().chain([&paths.config, &paths.data, &logins]).map(|path| (Access::Read, path));
        for (access, path) in written.into_iter().chain(read) {
            if let Some(path) = path.to_str().filter(|path| !path.contains('*')) {
                self.add(access, Kind::Personal, &format!("{path}/**"), bases);
            }
        }
    }

    fn find(&self, access: Access, names: &[&str]) -> Option<&Entry> {
        let named = names.iter().filter_map(|name| self.by_name.get(*name)).flatten();
        let dotted: Vec<&str> = names.iter().filter(|name| name.contains('.')).copied().collect();
        let has_match = |(glob, _): &&(Glob, usize)| dotted.iter().any(|name| glob.matches(name));
        let is_exception = |glob: &Glob| dotted.last().is_some_and(|name| glob.matches(name));
        let by_glob = self.by_glob.iter().filter(has_match).map(|(_, index)| index);
        let by_glob = by_glob.filter(|_| !self.exceptions.iter().any(is_exception));
        let is_meant = |entry: &&Entry| {
            let mut places = entry.places.iter();
            entry.access == access
                && places.any(|place| parts_match(place, names, |glob, name| glob.matches(name), |_| true))
        };
        named.chain(by_glob).map(|index| &self.entries[*index]).find(is_meant)
    }
}

fn own_folders(paths: &Paths) -> [&PathBuf; 4] {
    [&paths.config, &paths.data, &paths.state, &paths.cache]
}

impl Protected {
    pub(super) fn new(paths: Option<&Paths>, home: Option<&Path>) -> Self {
        let mut here = List::load(|text| text.starts_with('~'), home);
        let mut own = Vec::new();
        if let Some(paths) = paths {
            here.add_own(paths);
            for folder in own_folders(paths) {
                own.extend(super::paths::resolve(folder).ok());
                own.push(folder.clone());
            }
        }
        Self { here, own }
    }

    /// Returns the list, to show it to the user.
    pub(super) fn files(&self) -> Vec<ProtectedFile> {
        let built_in = lines().filter(|line| line.kind != "except").map(|line| ProtectedFile {
            group: line.group,
            path: line.path.to_owned(),
            reads: line.kind != "write",
            writes: matches!(line.kind, "write" | "secret" | "key"),
            reason: line.reason,
        });
        let own = self.here.entries.iter().filter(|entry| entry.rule.text().contains(" /"));
        let own = own.map(|entry| ProtectedFile {
            group: OWN_GROUP,
            path: entry.rule.text().split_once(' ').unwrap_or_default().1.to_owned(),
            reads: entry.access == Access::Read,
            writes: entry.access == Access::Write,
            reason: "settings, logins and conversations",
        });
        built_in.chain(own).collect()
    }

    /// Returns the rule that protects a file.
    pub(super) fn find(&self, access: Access, written: &Path, resolved: &Path) -> Option<&Rule> {
        self.entry(access, written, resolved).map(|entry| &entry.rule)
    }

    fn entry(&self, access: Access, written: &Path, resolved: &Path) -> Option<&Entry> {
        let find = |path: &Path| {
            let path = path.to_string_lossy().to_lowercase();
            // Some file systems ignore case.
            let names: Vec<&str> = names_of(&path).collect();
            self.lists().into_iter().find_map(|list| list.find(access, &names))
        };
        find(resolved).or_else(|| if written == resolved { None } else { find(written) })
    }

    fn lists(&self) -> [&List; 2] {
        [&self.here, &EVERYWHERE]
    }

    /// Like [`find`](Self::find), for a word of a command. A name without a folder, such as `.env` or
    /// `.data.key`, is often not a file, so it counts only if the file exists.
    pub(super) fn find_word(
        &self,
        access: Access,
        text: &str,
        written: &Path,
        resolved: &Path,
    ) -> Option<&Rule> {
        let entry = self.entry(access, written, resolved)?;
        let needs_file = !text.contains('/') && (access == Access::Read || entry.kind == Kind::Key);
        (!needs_file || resolved.symlink_metadata().is_ok()).then_some(&entry.rule)
    }

    /// Returns the rule that protects a secret found in a folder.
    pub(super) fn find_secret(&self, path: &Path, within: SecretScope) -> Option<&Rule> {
        let entry = self.entry(Access::Read, path, path)?;
        let is_meant = match entry.kind {
            Kind::Personal => true,
            Kind::Project => within == SecretScope::PersonalAndProject,
            Kind::Key | Kind::Named => false,
        };
        is_meant.then_some(&entry.rule)
    }

    /// Returns true if an entry of the list has this name. Fast, for folders with many files.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let is_lower = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let name = if is_lower { Cow::Borrowed(name) } else { Cow::Owned(name.to_lowercase()) };
        let may_match = name.contains('.');
        self.lists().iter().any(|list| {
            let is_pattern = |(glob, index): &(Glob, usize)| {
                matches!(list.entries[*index].kind, Kind::Personal | Kind::Project) && glob.matches(&name)
            };
            list.by_name.contains_key(&*name) || (may_match && list.by_glob.iter().any(is_pattern))
        })
    }

    /// Returns true if this folder is, or contains, one of goose's own folders.
    pub(super) fn has_own_below(&self, folder: &Path) -> bool {
        self.own.iter().any(|own| own.starts_with(folder))
    }

    /// Returns the rule that protects a file which a partly unknown word may name.
    pub(super) fn hinted(&self, access: Access, word: &Word, home: Option<&Path>) -> Option<&Rule> {
        if word.text.is_some() {
            return None;
        }
        let known = known_parts(word).join("\0").to_lowercase();
        let known = match (known.strip_prefix("~/"), home.and_then(Path::to_str)) {
            (Some(rest), Some(home)) => format!("{}/{rest}", home.to_lowercase()),
            _ => known,
        };
        let names: Vec<HalfKnown<'_>> = names_of(&known).map(HalfKnown::new).collect();
        let telling: Vec<&HalfKnown<'_>> = names.iter().filter(|name| name.is_telling()).collect();
        if telling.is_empty() {
            return None;
        }
        let is_hinted = |entry: &&Entry| {
            let parts = || entry.tail.iter().filter_map(PatternPart::glob);
            entry.access == access
                && entry.kind != Kind::Named
                && parts().any(|glob| !glob.is_any() && telling.iter().any(|name| name.fits(glob)))
                && parts_match(&entry.tail_anywhere(), &names, |glob, name| name.fits(glob), |_| true)
        };
        let mut entries = self.lists().into_iter().flat_map(|list| &list.entries);
        entries.find(is_hinted).map(|entry| &entry.rule)
    }
}

impl Entry {
    /// Returns a pattern for the last components at any place in a path.
    fn tail_anywhere(&self) -> Vec<PatternPart> {
        let mut pattern = vec![PatternPart::AnyDepth];
        pattern.extend(self.tail.iter().cloned());
        pattern.push(PatternPart::AnyDepth);
        pattern
    }
}

/// Returns the known parts of a word, without the letters of choices such as `[ab]`.
pub(super) fn known_parts(word: &Word) -> Vec<&str> {
    // A choice ends within its component of the path.
    let behind_choice = |piece: &'_ String| {
        let name = piece.split('/').next().unwrap_or(piece);
        name.rfind(']').map_or(0, |end| end + 1)
    };
    let parts = word.pieces().iter().enumerate();
    parts.map(|(index, piece)| if index == 0 { piece } else { &piece[behind_choice(piece)..] }).collect()
}

/// Returns the components of a path.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "." | ".."))
}

/// A name that may be partly unknown.
struct HalfKnown<'n> {
    name: &'n str,
    /// Known part of the name.
    known: String,
    /// Possible names, if a part is unknown.
    glob: Option<Glob>,
}

impl<'n> HalfKnown<'n> {
    fn new(name: &'n str) -> Self {
        let glob = || Glob::from_pieces(name.split(UNKNOWN).map(str::to_owned).collect());
        Self { name, known: name.replace(UNKNOWN, ""), glob: name.contains(UNKNOWN).then(glob) }
    }

    /// Returns true if the known part is specific enough to identify a file.
    fn is_telling(&self) -> bool {
        self.name.contains(|c: char| c.is_alphanumeric())
            && !COMMON_NAMES.contains(&self.name.trim_matches(UNKNOWN))
    }

    /// Returns true if the name may match a pattern. A name with a known suffix, such as `$x.json`, does not
    /// match `.mcp.json`.
    fn fits(&self, pattern: &Glob) -> bool {
        match (&self.glob, pattern.literal()) {
            (Some(glob), Some(literal)) => {
                let is_other =
                    self.name.starts_with("\0.") && literal.starts_with('.') && self.name[1..] != *literal;
                !is_other && glob.matches(literal)
            }
            // The name is completely unknown.
            (Some(_), None) if self.known.is_empty() => true,
            _ => pattern.matches(&self.known),
        }
    }
}

/// Returns the last two components of a pattern before a final `**`.
fn tail(place: &[PatternPart]) -> Vec<PatternPart> {
    let end = place.iter().rposition(|part| *part != PatternPart::AnyDepth).map_or(0, |at| at + 1);
    place[end.saturating_sub(2)..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_kind_a_path_and_a_reason() {
        let lines: Vec<Line> = lines().collect();
        let others = FILES.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
        assert_eq!(lines.len(), others.count());
        for Line { group, kind, path, reason } in lines {
            assert!(["write", "secret", "read", "key", "named", "except"].contains(&kind), "{kind} {path}");
            assert!(!group.is_empty() && !reason.is_empty() && path.starts_with(['/', '~']), "{path}");
            assert!(Rule::parse(Effect::Ask, &format!("read {path}")).is_ok(), "{path}");
        }
    }

    #[test]
    fn patterns_without_a_literal_name_have_a_dot() {
        assert!(EVERYWHERE.by_glob.len() > 20);
        for (glob, index) in &EVERYWHERE.by_glob {
            let rule = &EVERYWHERE.entries[*index].rule;
            assert!(!glob.is_any() && !glob.matches(".") && rule.text().contains('.'), "{rule}");
        }
    }
}
