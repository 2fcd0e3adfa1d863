//! The judge's work on the words of a command: which of them may be files that a rule protects.

use std::path::PathBuf;

use super::{
    judge::Judge,
    matching::Certainty,
    paths::Places,
    rule::Rule,
    shell::{self, Access, Form, Reach, Word},
};

/// How many paths of one command line are looked up; one with more is asked about.
const MAX_PATHS: usize = 4000;

/// What stands between the parts of a word that may be paths: `--file=x`, `@x`, `HEAD:x`, `a,b`.
const JOINTS: [char; 4] = ['=', '@', ':', ','];

/// The files that are watched, looked up once for a command line.
pub(super) struct Watch {
    rules: Vec<Watched>,
    left: usize,
}

struct Watched {
    rule: Rule,
    access: Access,
    /// `None` where it is not known.
    places: Option<Places>,
    is_guard: bool,
}

/// What a word may be, where it is known.
struct Candidate {
    text: String,
    written: PathBuf,
    resolved: PathBuf,
    depth: Depth,
}

/// How much of a folder is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Itself,
    AllBelow,
}

impl Judge<'_> {
    pub(super) fn is_guard(&self, rule: &Rule) -> bool {
        self.permissions.guard() == Some(rule)
    }

    /// The rules that protect files.
    pub(super) fn watch(&self) -> Watch {
        let rules = [Access::Read, Access::Write]
            .into_iter()
            .flat_map(|access| self.rules.iter().map(move |rule| (rule, access)))
            .filter(|(rule, access)| rule.restricts() && rule.is_about_access(*access))
            .filter_map(|(rule, access)| {
                let (places, is_guard) = (rule.path()?.places(self.bases), self.is_guard(rule));
                Some(Watched { rule: rule.clone(), access, places, is_guard })
            })
            .collect();
        Watch { rules, left: MAX_PATHS }
    }

    /// Words that are, or may be, paths which a rule protects. What the command does with them is not known, so this asks;
    /// where the command only reads, and reading is denied, it is.
    pub(super) fn restrict_words(&mut self, form: &Form, watch: &mut Watch) {
        let reads = shell::is_read_only(&form.words);
        // What only reads writes nothing.
        let is_used = |watched: &Watched| !reads || watched.access == Access::Read;
        if !watch.rules.iter().any(is_used) {
            return;
        }
        for candidate in self.candidates(form, &mut watch.left) {
            for watched in watch.rules.iter().filter(|watched| is_used(watched)) {
                let certainty = watched.certainty(&candidate);
                let certainty = if reads { certainty } else { certainty.min(Certainty::Maybe) };
                self.restriction(&watched.rule, certainty, &candidate.text);
            }
        }
        if watch.left == 0 {
            self.opinions.ask("it has too many words to look at each");
        }
        let unknown = form.words.iter().skip(1).filter(|word| word.reach() == Reach::Anywhere);
        for word in unknown.filter(|_| shell::takes_files(&form.words)) {
            for watched in watch.rules.iter().filter(|watched| is_used(watched)) {
                if !watched.is_guard || self.hints_at_guard(word) {
                    self.restriction(&watched.rule, Certainty::Maybe, "…");
                }
            }
        }
    }

    /// What the words of a command are, or may be, as far as that is known.
    fn candidates(&self, form: &Form, left: &mut usize) -> Vec<Candidate> {
        let depth = if shell::looks_below(&form.words) { Depth::AllBelow } else { Depth::Itself };
        let unnamed = shell::unnamed_folder(&form.words).map(|folder| (folder, depth));
        let written = form.words.iter().skip(1).flat_map(|word| match word.reach() {
            Reach::Exactly(text) => path_parts(text).into_iter().map(|part| (part, depth)).collect(),
            Reach::Within(folder) => vec![(folder, Depth::AllBelow)],
            Reach::Anywhere => Vec::new(),
        });
        let mut candidates = Vec::new();
        for (text, depth) in written.chain(unnamed) {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let (Ok(written), Ok(resolved)) = (self.bases.absolute(text), self.bases.resolve(text)) else {
                continue;
            };
            let depth = if resolved.is_dir() { depth } else { Depth::Itself };
            candidates.push(Candidate { text: text.to_owned(), written, resolved, depth });
        }
        candidates
    }

    /// Whether what is known of a word fits the file of rules, or a folder that it is in.
    pub(super) fn hints_at_guard(&self, word: &Word) -> bool {
        let home = self.bases.home.and_then(|home| home.to_str());
        self.permissions.file().is_some_and(|file| {
            file.ancestors().filter_map(|path| path.to_str()).any(|path| word.hints_at(path, home))
        })
    }
}

impl Watched {
    fn certainty(&self, candidate: &Candidate) -> Certainty {
        let Some(places) = &self.places else { return Certainty::Maybe };
        let (written, resolved) = (&candidate.written, &candidate.resolved);
        let certainty = places.certainty(written, resolved);
        let below = candidate.depth == Depth::AllBelow && places.may_be_below(written, resolved);
        if below { certainty.max(Certainty::Maybe) } else { certainty }
    }
}

/// A word, and what may be a path within it: behind an option's letters, and between the joints.
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
