//! Judges the use of protected files: finds the words of a command that are, or may be, one of them.

use std::{
    fs::Metadata,
    path::{Path, PathBuf},
};

use goose_extension::HardLinks;

use super::{
    judge::{DefaultPolicy, Judge, shown},
    judge_writes::expand,
    paths::{Bases, PathPattern},
    protected::{SecretScope, known_parts},
    rule::{Effect, Rule},
    secrets_below::{Names, Search, SearchResult},
    shell::{self, Access, Form, Word},
    suggest,
};

impl Judge<'_> {
    /// Checks a path in a word of a command.
    pub(super) fn protect_path(&mut self, uses: Uses, text: &str, written: &Path, resolved: &Path) {
        for access in uses.content {
            if let Some(rule) = self.permissions.protected().find_word(*access, text, written, resolved) {
                self.protects(rule, *access, resolved, text);
            }
        }
    }

    /// Checks a file that has other names (hard links): any of them may be protected. Secrets are readable by
    /// their owner only, and files of package managers, which have several names, by all users.
    pub(super) fn protect_link(&mut self, uses: Uses, text: &str, metadata: Option<&Metadata>) {
        let is_private = metadata.is_some_and(|metadata| !HardLinks::AllowedIfPublic.permit(metadata));
        if is_private && uses.content.contains(&Access::Read) {
            self.ask_link(text);
        }
    }

    pub(super) fn ask_link(&mut self, text: &str) {
        let text = shown(text);
        self.opinions.ask(format!("`{text}` has other names (hard links), and may be a protected file"));
    }

    /// Checks the content of a folder that a command walks or changes.
    pub(super) fn protect_below_path(&mut self, uses: Uses, form: &Form, text: &str, resolved: &Path) {
        if let Some(names) = uses.below {
            let wanted = shell::included_names(&form.words);
            let follows = shell::follows_links(&form.words) || form.words.iter().any(Word::is_pattern);
            let search = Search { follows, wanted: &wanted, ..Search::new(names) };
            self.protect_found(resolved, text, &search);
        }
        if uses.changes_folders && self.permissions.protected().has_own_below(resolved) {
            self.opinions.ask(format!("goose's own files are in `{}`", shown(text)));
        }
    }

    /// Checks words of a command that are partly unknown, or relative to an unknown folder.
    pub(super) fn protect_unknown_words(&mut self, words: &[Word], uses: Uses, places: Option<&[PathBuf]>) {
        if uses.content.is_empty() {
            return;
        }
        for word in words {
            match word.text.as_deref() {
                Some(text) if places.is_none() => self.protect_name(uses.content, text),
                None if word.is_pattern() => {
                    for place in places.unwrap_or_default() {
                        self.protect_expanded(uses, self.bases.at(place), word);
                    }
                }
                _ => {}
            }
            uses.content.iter().for_each(|access| self.protect_unknown(*access, word));
        }
    }

    /// Checks a relative path in an unknown folder.
    pub(super) fn protect_name(&mut self, accesses: &[Access], text: &str) {
        let path = Path::new(text);
        for access in accesses {
            if let Some(rule) = self.permissions.protected().find(*access, path, path) {
                self.protects(rule, *access, path, text);
            }
        }
    }

    /// Checks the files that currently match a word with wildcards.
    pub(super) fn protect_expanded(&mut self, uses: Uses, bases: Bases<'_>, word: &Word) {
        for file in self.matching_files(bases, &known_parts(word).join("*")) {
            self.protect_match(uses, bases, &file);
        }
    }

    /// Checks a file that matches a word with wildcards.
    pub(super) fn protect_match(&mut self, uses: Uses, bases: Bases<'_>, file: &Path) {
        let metadata = file.symlink_metadata().ok();
        let is_link = metadata.as_ref().is_some_and(Metadata::is_symlink);
        let is_direct = !is_link && !file.iter().any(|name| name == "..");
        let resolved = match is_direct {
            true => file.to_owned(),
            false => bases.known.resolve(file).unwrap_or_else(|_| file.to_owned()),
        };
        let text = file.to_string_lossy();
        self.protect_path(uses, &text, file, &resolved);
        self.protect_link(uses, &text, metadata.as_ref());
    }

    /// Returns the files that currently match a path with wildcards. Asks if there are too many.
    pub(super) fn matching_files(&mut self, bases: Bases<'_>, text: &str) -> Vec<PathBuf> {
        expand(bases, text, &mut self.search.entries_left).unwrap_or_else(|| {
            self.has_too_many(text);
            Vec::new()
        })
    }

    /// Checks a word outside of commands, which may be passed to one.
    pub(super) fn protect_loose(&mut self, word: &Word, written: &Path, resolved: &Path, reads: bool) {
        let accesses = if reads { &ALL_USES[..1] } else { &ALL_USES[..] };
        for access in accesses {
            if let Some(rule) = self.permissions.protected().find(*access, written, resolved) {
                self.protects(rule, *access, resolved, &word.shown());
            }
        }
    }

    /// Checks a folder whose files are read and shown.
    pub(super) fn protect_below(&mut self, folder: &Path, names: Names, what: &str) {
        self.protect_found(folder, what, &Search::new(names));
    }

    /// Checks the files that a search finds in a folder.
    pub(super) fn protect_found(&mut self, folder: &Path, what: &str, search: &Search<'_>) {
        if !folder.is_dir() {
            return;
        }
        let within = match self.default_policy {
            DefaultPolicy::Everything => SecretScope::Personal,
            _ => SecretScope::PersonalAndProject,
        };
        let mut left = self.search.entries_left;
        let is_allowed = |path: &Path| self.allows_protected(Access::Read, path);
        let found = search.below(self.permissions.protected(), folder, (within, &is_allowed), &mut left);
        self.search.entries_left = left;
        match found {
            SearchResult::Nothing => {}
            SearchResult::Secret(path, rule) => {
                self.protects(rule, Access::Read, &path, &path.to_string_lossy())
            }
            SearchResult::Link(path) => {
                let path = shown(&path.to_string_lossy());
                self.opinions.ask(format!("`{path}` leads to another folder, which may have secrets"));
            }
            SearchResult::HardLink(path) => self.ask_link(&path.to_string_lossy()),
            SearchResult::BrokenName(path) => self.ask_split(&path.to_string_lossy()),
            SearchResult::TooMany => self.has_too_many(what),
        }
    }

    pub(super) fn has_too_many(&mut self, what: &str) {
        if self.default_policy != DefaultPolicy::Everything {
            self.opinions.ask(format!("`{}` has too many files to check for secrets", shown(what)));
        }
    }

    /// Checks a partly unknown word.
    pub(super) fn protect_unknown(&mut self, access: Access, word: &Word) {
        if word.text.is_some() {
            return;
        }
        let Some(left) = self.search.hints_left.checked_sub(1) else {
            return self.opinions.ask("it has too many words to check");
        };
        self.search.hints_left = left;
        if let Some(rule) = self.permissions.protected().hinted(access, word, self.bases.home) {
            let what = shown(&word.shown());
            self.opinions.ask(format!("`{what}` may be a protected file (`{rule}`)"));
        }
    }

    /// Returns true if the user has allowed a protected file with a rule that writes out its path. A rule whose
    /// wildcards happen to match is not enough.
    fn allows_protected(&self, access: Access, resolved: &Path) -> bool {
        let protected = self.permissions.protected();
        let is_written_out = |pattern: &&PathPattern| {
            let written = pattern.written_out(self.bases);
            written.is_some_and(|path| protected.find(access, &path, &path).is_some())
        };
        let allowing = |rule: &&Rule| rule.effect() == Effect::Allow && rule.is_about_access(access);
        let mut patterns = self.rules.iter().filter(allowing).filter_map(Rule::path).filter(is_written_out);
        patterns.any(|pattern| pattern.allows(resolved, self.bases))
    }

    /// Asks about a protected file, unless the user has allowed it.
    pub(super) fn protects(&mut self, rule: &Rule, access: Access, resolved: &Path, what: &str) {
        if !self.allows_protected(access, resolved) {
            let reason = format!("`{}` is a protected file (`{rule}`)", shown(what));
            match suggest::protected(access, resolved, self.bases) {
                Some(allow) => {
                    let reason = format!("{reason}; only the rule `{allow}` would allow it");
                    self.opinions.ask_unless_in_session(reason, Some(allow));
                }
                None => self.opinions.ask(reason),
            }
        }
    }
}

const ALL_USES: [Access; 2] = [Access::Read, Access::Write];

/// Ways in which a command may use its files. Computed once per command, because it may have many words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uses {
    /// Access to the content of the command's files.
    content: &'static [Access],
    /// Files that the command shows from folders that it walks; `None` if it shows none.
    below: Option<Names>,
    /// True if it shows only the folders that it names.
    pub(super) compares_files: bool,
    /// True if the command may change whole folders.
    changes_folders: bool,
}

impl Uses {
    /// Only reads its files.
    pub(super) const READING: Self =
        Self { content: &[Access::Read], below: None, compares_files: false, changes_folders: false };

    pub(super) fn new(form: &Form, operands: &[Word]) -> Self {
        let reads_names = |word: &Word| word.text.as_deref().is_some_and(shell::reads_names);
        let shows_names = shell::shows_names_only(&form.words) && !operands.iter().any(reads_names);
        let content: &[Access] = match shell::takes_files(&form.words) && !shows_names {
            false => &[],
            // A command that only reads writes nothing.
            true if form.reads_only => &ALL_USES[..1],
            true => &ALL_USES,
        };
        let changes_folders = !form.reads_only && shell::handles_folders(&form.words);
        let known: Vec<Word> = match form.words.iter().all(|word| word.text.is_some()) {
            true => Vec::new(),
            false => form.words.iter().take(1).chain(operands).cloned().collect(),
        };
        let words = if known.is_empty() { &form.words } else { &known };
        let (below, compares_files) = (shell::shows_below(words), shell::compares_files(words));
        Self { content, below, compares_files, changes_folders }
    }
}
