//! Judges files whose names a script computes at run time: `f=.netrc; cat ~/$f`, `find ~ | xargs cat`,
//! `cat $(…)`. They may be protected although no word of the script names them.

use super::{
    glob::Glob,
    judge::{DefaultPolicy, Judge, shown},
    judge_protected::{Uses, is_wanted},
    judge_shell::is_harmless,
    paths::Bases,
    shell::{self, Access, FileUse, Form, Reach, Script, Segment, Word},
};

/// Maximum number of unknown words, and of values that are inserted into each.
const MAX_VALUES: usize = 32;

impl Judge<'_> {
    pub(super) fn protect_computed(&mut self, command: &str, script: &Script) {
        let forms = || script.segments.iter().flat_map(|segment| &segment.forms);
        let unknown: Vec<(&Form, &Word)> = forms()
            .filter(|form| uses_unknown(form))
            .flat_map(|form| form.words.iter().skip(1).map(move |word| (form, word)))
            .filter(|(_, word)| word.reach() == Reach::Anywhere)
            .take(MAX_VALUES)
            .collect();
        let Some((reader, _)) = unknown.first() else { return };
        self.put_in_values(&unknown, script);
        let is_fed = command.contains("$(") || command.contains('`') || forms().any(feeds);
        if self.default_policy == DefaultPolicy::Everything || !is_fed {
            return;
        }
        for segment in &script.segments {
            self.protect_listed(segment);
        }
        let name = |form: &Form| program(form).unwrap_or("…").to_owned();
        let is_input = |file: &&FileUse| file.access == Access::Read && !is_harmless(file);
        if let Some(list) = script.files.iter().find(|file| forms().any(feeds) && is_input(file)) {
            let (reader, list) = (name(reader), shown(&list.source));
            self.opinions
                .ask(format!("the files that `{reader}` reads are not known: `{list}` may name them"));
        }
        if let Some(maker) =
            forms().find(|form| !uses_unknown(form) && !feeds(form) && !lists_or_filters(form))
        {
            let (reader, maker) = (name(reader), name(maker));
            self.opinions.ask(format!(
                "the files that `{reader}` reads are not known: `{maker}` may compute their names"
            ));
        }
    }

    /// Checks unknown words with each value in the script inserted for the unknown part.
    fn put_in_values(&mut self, unknown: &[(&Form, &Word)], script: &Script) {
        let values: Vec<&str> = script.loose.iter().filter_map(|(word, _)| word.text.as_deref()).collect();
        for (form, word) in unknown {
            let uses = Uses::new(form);
            if word.pieces().len() > 2 && values.len() > 1 && self.default_policy != DefaultPolicy::Everything
            {
                let what = shown(&word.pieces().join("…"));
                self.opinions.ask(format!("the file `{what}` is not known: its name is computed"));
            }
            for value in values.iter().take(MAX_VALUES) {
                let text = word.pieces().join(value);
                let Ok(written) = self.bases.absolute(&text) else { continue };
                let resolved = self.bases.resolve(&text).unwrap_or_else(|_| written.clone());
                self.protect_path(uses, &text, &written, &resolved);
            }
        }
    }

    /// Checks a command whose output is names of files that another command reads.
    fn protect_listed(&mut self, segment: &Segment) {
        for form in segment.forms.iter().filter(|form| lists(form)) {
            let (wanted, names) = (wanted_names(&form.words), shell::listed_names(&form.words));
            let operands = || form.words.iter().skip(1).filter(|word| !word.may_be_option());
            let mut texts: Vec<&str> = operands()
                .filter_map(|word| match word.reach() {
                    Reach::Exactly(text) | Reach::Below(text) => Some(text),
                    Reach::Anywhere => None,
                })
                .collect();
            let names_none = operands().next().is_none() || shell::unnamed_folder(&form.words).is_some();
            texts.extend(
                (names_none || matches!(program(form), Some("git" | "fd" | "fdfind"))).then_some("."),
            );
            for place in self.places(&segment.folders).unwrap_or_default() {
                let bases = Bases { working: &place, home: self.bases.home };
                for text in texts.iter().take(MAX_VALUES) {
                    let Ok(path) = bases.resolve(text) else { continue };
                    match self.permissions.protected().find(Access::Read, &path, &path) {
                        Some(rule) => self.protects(rule, Access::Read, &path, text),
                        None => self.protect_below_if(&path, names, text, &|path| is_wanted(&wanted, path)),
                    }
                }
                for word in operands().filter(|word| word.is_pattern()) {
                    self.protect_expanded(Uses::READING, bases, word);
                }
            }
        }
    }
}

/// Returns true for a command that uses files, some of them unknown.
fn uses_unknown(form: &Form) -> bool {
    shell::takes_files(&form.words)
        && !shell::shows_names_only(&form.words)
        && !matches!(program(form), Some("xargs" | "which" | "type"))
        && form.words.iter().skip(1).any(|word| word.reach() == Reach::Anywhere)
}

/// Returns true for a command that turns what it reads or finds into words of another command.
fn feeds(form: &Form) -> bool {
    match program(form) {
        Some("find" | "fd" | "fdfind") => !form.reads_only,
        program => matches!(program, Some("xargs" | "read" | "parallel")),
    }
}

/// Returns true for a command that finds files or lists their names.
fn lists(form: &Form) -> bool {
    let has_word = |text: &str| form.words.iter().any(|word| word.text.as_deref() == Some(text));
    match program(form) {
        Some("find" | "fd" | "fdfind") => true,
        Some("git") => ["ls-files", "--name-only", "status"].into_iter().any(has_word),
        _ => shell::shows_names_only(&form.words),
    }
}

/// Returns true for a command that prints names of existing files, or lines of its input.
fn lists_or_filters(form: &Form) -> bool {
    let operands = form.words.iter().skip(1).filter(|word| !word.may_be_option());
    let is_count =
        |word: &Word| word.text.as_deref().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let has_option = |letters: &[&str]| {
        form.words.iter().any(|word| letters.iter().any(|it| word.text.as_deref() == Some(it)))
    };
    match program(form) {
        Some("head" | "tail" | "sort" | "uniq" | "wc") => {
            operands.filter(|word| !is_count(word)).count() == 0
        }
        Some("grep" | "egrep" | "fgrep" | "rg") => {
            has_option(&["-l", "-rl", "-lr", "-rln", "--files", "--files-with-matches"])
                || operands.count() <= 1
        }
        Some("git") => has_option(&["ls-files", "--name-only", "rev-parse", "status", "merge-base"]),
        Some("pwd" | "which" | "type" | "command" | "cd" | "test" | "[" | "true" | ":" | "fd" | "fdfind") => {
            true
        }
        _ => shell::shows_names_only(&form.words),
    }
}

fn program(form: &Form) -> Option<&str> {
    form.words.first().and_then(Word::program)
}

/// Returns the names that `find` or `git ls-files` searches for; none if it may find others.
fn wanted_names(words: &[Word]) -> Vec<Glob> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_deref().unwrap_or("!")).collect();
    if let ["git", "ls-files", patterns @ ..] = texts.as_slice() {
        // Other words may be folders.
        let is_name = |text: &&str| text.contains('*') && !text.contains(['/', '?', '[', ':', '!', '\\']);
        let are_names = patterns.iter().all(is_name);
        return if are_names { patterns.iter().map(|text| Glob::new(text)).collect() } else { Vec::new() };
    }
    if texts.iter().any(|text| matches!(*text, "!" | "-not" | "-o" | "-or" | ",")) {
        return Vec::new();
    }
    let is_name =
        |pair: &&[&str]| matches!(pair[0], "-name" | "-iname") && !pair[1].contains(['?', '[', '\\']);
    texts.windows(2).filter(is_name).map(|pair| Glob::new(pair[1])).collect()
}
