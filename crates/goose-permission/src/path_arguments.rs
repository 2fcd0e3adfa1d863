//! Judges the words of a command that may be restricted paths.

use std::{
    collections::HashSet,
    fs::Metadata,
    path::{Component, Path, PathBuf},
};

use goose_extension::HardLinks;

use super::{
    judge::Judge,
    judge_protected::Uses,
    judge_values::Operands,
    matching::Certainty,
    paths::{self, Places},
    rule::Rule,
    shell::{self, Access, Folders, Form, Reach, Values, Word},
};

/// Maximum number of paths that are resolved for one command line. Longer ones need approval.
const MAX_PATHS: usize = 2000;

/// Maximum number of folders that the options of a command select.
const MAX_CHOSEN: usize = 8;

/// Separators of possible paths within a word: `--file=x`, `@x`, `HEAD:x`, `a,b`.
const JOINTS: [char; 4] = ['=', '@', ':', ','];

/// Restricted paths, resolved once for a command line.
pub(super) struct RestrictedPaths {
    rules: Vec<RestrictedPath>,
    /// Number of paths that may still be resolved.
    left: usize,
    /// Folders that were resolved last.
    last: Option<(Folders, Option<Vec<PathBuf>>)>,
}

impl RestrictedPaths {
    /// Counts a path; returns false if there were too many.
    pub(super) fn spend(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// Returns true if there were too many paths, so that the call needs approval.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

struct RestrictedPath {
    rule: Rule,
    access: Access,
    /// Places of the pattern; `None` if its base is not known.
    places: Option<Places>,
    /// Texts that indicate the restricted files within other text.
    names: Vec<String>,
}

/// A possible path, resolved in each folder that it may be relative to.
struct Candidate {
    text: String,
    /// False for the folder that a command uses by default.
    is_named: bool,
    found: Vec<ResolvedPath>,
}

struct ResolvedPath {
    written: PathBuf,
    resolved: PathBuf,
    depth: Depth,
    metadata: Option<Metadata>,
    /// True if the path is different in another process, or cannot be resolved.
    is_unclear: bool,
}

impl ResolvedPath {
    /// Returns true if the file has other names (hard links), any of which may be restricted.
    fn has_other_names(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| !HardLinks::Refused.permit(metadata))
    }
}

/// Part of a folder that a command uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Folder that the command runs in and may use.
    Around,
    Itself,
    AllBelow,
}

impl Judge<'_> {
    /// Returns the rules that restrict files.
    pub(super) fn watch(&self) -> RestrictedPaths {
        let rules = [Access::Read, Access::Write]
            .into_iter()
            .flat_map(|access| self.rules.iter().map(move |rule| (rule, access)))
            .filter(|(rule, access)| rule.restricts() && rule.is_about_access(*access))
            .filter_map(|(rule, access)| {
                let pattern = rule.path()?;
                let (places, names) = (pattern.places(self.bases), pattern.names(self.bases));
                Some(RestrictedPath { rule: rule.clone(), access, places, names })
            })
            .collect();
        RestrictedPaths { rules, left: MAX_PATHS, last: None }
    }

    /// Checks words that are, or may be, restricted paths. Their use is not known, so this asks; a command
    /// that only reads is denied if reading is denied.
    pub(super) fn restrict_words(
        &mut self,
        form: &Form,
        folders: &Folders,
        values: &Values<'_>,
        watch: &mut RestrictedPaths,
    ) {
        let reads = form.reads_only;
        // A command that only reads writes nothing.
        let is_used = |watched: &RestrictedPath| !reads || watched.access == Access::Read;
        let is_move = form.words.first().and_then(Word::program) == Some("cd");
        if is_move {
            return;
        }
        let places = self.working_places(form, folders, watch);
        let operands = Operands::new(form, folders, values);
        let uses = Uses::new(form, &operands.words);
        let mut seen = HashSet::new();
        for candidate in self.candidates(form, &operands.words, folders, places.as_deref(), &mut watch.left) {
            for watched in watch.rules.iter().filter(|watched| is_used(watched)) {
                let certainty = watched.certainty(&candidate);
                let certainty = if reads { certainty } else { certainty.min(Certainty::Maybe) };
                self.restriction(&watched.rule, certainty, &candidate.text);
            }
            for ResolvedPath { written, resolved, depth, metadata, .. } in &candidate.found {
                self.protect_path(uses, &candidate.text, written, resolved);
                self.protect_link(uses, &candidate.text, metadata.as_ref());
                let is_shown = candidate.is_named || !uses.compares_files;
                if *depth != Depth::Around && is_shown && seen.insert(resolved.clone()) {
                    self.protect_below_path(uses, form, &candidate.text, resolved);
                }
            }
        }
        if watch.left == 0 {
            self.opinions.ask("it has too many words to check");
        }
        self.protect_unknown_words(&operands.words, uses, places.as_deref());
        self.protect_indirect(form, &operands, places.as_deref(), values);
        self.judge_unknown(form, &operands, values);
        if !shell::takes_files(&form.words) {
            return;
        }
        for word in operands.words.iter() {
            let lists_files = word.text.as_deref().is_some_and(lists_files);
            for watched in watch.rules.iter().filter(|watched| is_used(watched)) {
                let is_unknown = word.reach() == Reach::Anywhere || lists_files;
                if is_unknown || watched.is_named_in(word) {
                    self.restriction(&watched.rule, Certainty::Maybe, &word.shown());
                }
            }
        }
        if places.is_none() {
            for watched in watch.rules.iter().filter(|watched| is_used(watched)) {
                self.restriction(&watched.rule, Certainty::Maybe, "… in an unknown folder");
            }
        }
    }

    /// Checks a word outside of commands, which may be passed to one.
    pub(super) fn restrict_loose(
        &mut self,
        word: &Word,
        folders: &Folders,
        reads: bool,
        watch: &mut RestrictedPaths,
    ) {
        let is_used = |watched: &&RestrictedPath| !reads || watched.access == Access::Read;
        let words = [word.clone()];
        let form = Form::new(words.to_vec(), shell::Coverage::Nothing);
        let places = self.places(folders);
        let candidates = self.candidates(&form, &words, folders, places.as_deref(), &mut watch.left);
        if watch.left == 0 {
            self.opinions.ask("it has too many words to check");
        }
        if word.is_pattern() {
            for place in places.iter().flatten() {
                let bases = self.bases.at(place);
                self.protect_expanded(Uses::READING, bases, word);
            }
        }
        for ResolvedPath { written, resolved, .. } in candidates.iter().flat_map(|candidate| &candidate.found)
        {
            self.protect_loose(word, written, resolved, reads);
        }
        for watched in watch.rules.iter().filter(is_used) {
            let is_meant = |candidate: &Candidate| watched.certainty(candidate) != Certainty::No;
            if watched.is_named_in(word) || candidates.iter().any(is_meant) {
                self.restriction(&watched.rule, Certainty::Maybe, &word.shown());
            }
        }
    }

    /// Returns the folders that the words of a command may be relative to.
    fn working_places(
        &self,
        form: &Form,
        folders: &Folders,
        watch: &mut RestrictedPaths,
    ) -> Option<Vec<PathBuf>> {
        let known = watch.last.as_ref().filter(|(last, _)| last == folders).map(|(_, places)| places.clone());
        let places = known.unwrap_or_else(|| self.places(folders));
        watch.last = Some((folders.clone(), places.clone()));
        let mut places = places?;
        let chosen = shell::chosen_folders(&form.words);
        if chosen.len() > MAX_CHOSEN {
            return None;
        }
        for folder in chosen {
            let folder = folder.filter(|folder| !folder.is_empty())?;
            let in_place = |place: &PathBuf| self.bases.at(place).absolute(&folder);
            let more: Vec<PathBuf> = places.iter().filter_map(|place| in_place(place).ok()).collect();
            places.extend(more);
            places.truncate(2 * MAX_CHOSEN);
        }
        places.dedup();
        Some(places)
    }

    /// Returns the possible paths in the words of a command.
    fn candidates(
        &self,
        form: &Form,
        words: &[Word],
        folders: &Folders,
        places: Option<&[PathBuf]>,
        left: &mut usize,
    ) -> Vec<Candidate> {
        let depth = if shell::looks_below(&form.words) { Depth::AllBelow } else { Depth::Itself };
        let unnamed = shell::unnamed_folder(&form.words).map(|folder| (folder, depth, false));
        let around = (!folders.is_here()).then_some((".", Depth::Around, false));
        let written = words.iter().flat_map(|word| match word.reach() {
            Reach::Exactly(text) => path_parts(text).into_iter().map(|part| (part, depth)).collect(),
            Reach::Below(folder) => vec![(folder, Depth::AllBelow)],
            Reach::Anywhere => Vec::new(),
        });
        let mut candidates = Vec::new();
        // The target of a symbolic link is relative to the folder of the link.
        let beside = self.places_of_links(form, places);
        let written = written.map(|(text, depth)| (text, depth, true));
        for (text, depth, is_named) in written.chain(unnamed).chain(around) {
            let is_absolute = text.starts_with(['/', '~']);
            let here = std::slice::from_ref(&beside[0]);
            let places = match places {
                _ if is_absolute => here,
                Some(_) => &beside[1..],
                None => continue,
            };
            let mut found = Vec::new();
            for place in places {
                if *left == 0 {
                    return candidates;
                }
                *left -= 1;
                found.extend(self.resolved_path(place, text, depth));
            }
            if !found.is_empty() {
                candidates.push(Candidate { text: text.to_owned(), is_named, found });
            }
        }
        candidates
    }

    /// Resolves a possible path in a folder; `None` if it is not a path.
    fn resolved_path(&self, place: &Path, text: &str, depth: Depth) -> Option<ResolvedPath> {
        let written = self.bases.at(place).absolute(text).ok()?;
        let found = self.bases.known.resolve_with_metadata(&written).ok();
        let is_unclear = found.is_none() || is_per_process(&written);
        // If a link cannot be read, such as those of other processes, the written path counts.
        let (resolved, metadata) = found.unwrap_or_else(|| (written.clone(), None));
        let may_be_folder = is_unclear || metadata.as_ref().is_some_and(Metadata::is_dir);
        let depth = if depth == Depth::AllBelow && !may_be_folder { Depth::Itself } else { depth };
        Some(ResolvedPath { written, resolved, depth, metadata, is_unclear })
    }

    /// Returns the working folder, then the folders that words may be relative to.
    fn places_of_links(&self, form: &Form, places: Option<&[PathBuf]>) -> Vec<PathBuf> {
        let mut all = vec![self.bases.working.to_owned()];
        all.extend(places.unwrap_or_default().iter().cloned());
        if form.words.first().and_then(Word::program) == Some("ln") {
            let texts = form.words.iter().skip(1).rev().filter_map(|word| word.text.as_deref());
            for link in texts.filter(|text| !text.starts_with('-')).take(2) {
                let link = self.bases.working.join(link);
                all.extend(link.parent().map(PathBuf::from));
                all.push(link);
            }
        }
        all
    }
}

impl RestrictedPath {
    /// Matches a possible path. It matches with certainty only if it does so in each of its folders.
    fn certainty(&self, candidate: &Candidate) -> Certainty {
        let Some(places) = &self.places else { return Certainty::Maybe };
        let of = |found: &ResolvedPath| {
            let (written, resolved) = (&found.written, &found.resolved);
            let certainty = places.certainty(written, resolved);
            match found.depth {
                Depth::Around if certainty != Certainty::Yes => Certainty::No,
                Depth::AllBelow if places.may_be_below(written, resolved) => certainty.max(Certainty::Maybe),
                _ if found.has_other_names() || found.is_unclear => certainty.max(Certainty::Maybe),
                _ => certainty,
            }
        };
        let all: Vec<Certainty> = candidate.found.iter().map(of).collect();
        match (all.iter().min(), all.iter().max()) {
            (Some(Certainty::Yes), _) => Certainty::Yes,
            (_, Some(Certainty::No)) | (None, _) => Certainty::No,
            _ => Certainty::Maybe,
        }
    }

    /// Returns true if a word contains the name of a restricted file: in a script, or after an option.
    fn is_named_in(&self, word: &Word) -> bool {
        word.pieces().iter().any(|piece| self.names.iter().any(|name| paths::names(piece, name)))
    }
}

/// Returns true if a word refers to files indirectly: `--files-from=x`, `file:///%65tc`.
fn lists_files(text: &str) -> bool {
    shell::reads_names(text)
        || text.starts_with("--files")
        || text.starts_with("-files0-from")
        || (text.contains("file:") && text.contains(['%', '{', '[']))
}

/// Returns true if a path is different in each process: `/proc/self/cwd`, `/dev/fd/3/x`.
pub(super) fn is_per_process(path: &Path) -> bool {
    let path = without_dots(path);
    let parts: Vec<&str> = path.iter().skip(1).filter_map(|part| part.to_str()).take(3).collect();
    match parts.as_slice() {
        ["proc", process, _] => {
            matches!(*process, "self" | "thread-self") || process.bytes().all(|byte| byte.is_ascii_digit())
        }
        ["dev", "fd", _] => true,
        _ => false,
    }
}

/// Removes `.` and `..` from a path without resolving links, as shells do.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(short.pop()),
            Component::CurDir => {}
            part => short.push(part),
        }
    }
    short
}

/// Returns a word and the possible paths within it: after the letters of an option, and between separators.
fn path_parts(word: &str) -> Vec<&str> {
    let mut parts = vec![word];
    if word.starts_with('-') && !word.starts_with("--") {
        parts.extend(word.char_indices().nth(2).map(|(at, _)| &word[at..]));
        parts.extend(word.find(['/', '~', '.']).map(|at| &word[at..]));
    }
    if word.contains(JOINTS) {
        parts.extend(word.split_once('=').map(|(_, value)| value));
        parts.extend(word.split(JOINTS));
    }
    parts.retain(|part| !part.is_empty());
    parts
}
