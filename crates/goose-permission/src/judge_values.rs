//! Judges files whose names a script computes: `f=.netrc; cat ~/$f`, `find ~ | xargs cat`, `cat $(…)`. Words
//! with known values are judged like those that are written out.

use std::{borrow::Cow, path::PathBuf};

use super::{
    glob::Glob,
    judge::{DefaultPolicy, Judge, shown},
    judge_protected::Uses,
    paths::Bases,
    protected::known_parts,
    secrets_below::{Names, Search, Split},
    shell::{self, Access, Cause, FileUse, Folders, Form, Listed, Reach, Value, Values, Word},
};

/// Longest path. A longer word names no file.
const MAX_PATH_BYTES: usize = 4096;

/// Maximum number of folders of a command that lists files.
const MAX_FOLDERS: usize = 32;

/// Words of a command, with values for those that are not written out.
#[derive(Default)]
pub(super) struct Operands<'f> {
    pub(super) words: Cow<'f, [Word]>,
    /// Words whose values are not known.
    pub(super) unknown: Vec<(Word, Cause)>,
    /// Files that another command lists.
    listed: Vec<Listed>,
    /// Paths with wildcards whose files are split at the blanks in their names.
    split_patterns: Vec<String>,
}

impl<'f> Operands<'f> {
    pub(super) fn new(form: &'f Form, folders: &Folders, values: &Values<'_>) -> Self {
        let mut operands = Self::default();
        let is_find = form.words.first().and_then(Word::program) == Some("find");
        if !is_find && form.words.iter().all(|word| word.text.is_some()) {
            operands.words = Cow::Borrowed(form.words.get(1..).unwrap_or_default());
            return operands;
        }
        for (index, word) in form.words.iter().enumerate().skip(1) {
            if shell::is_no_file(&form.words, index) {
                continue;
            }
            if word.text.is_some() || word.is_pattern() {
                operands.words.to_mut().push(word.clone());
                // `.*` may be the parent folder.
                let leads_out = word.reach() == Reach::Anywhere;
                if leads_out && shell::shows_below(&form.words).is_some() {
                    operands.unknown.push((word.clone(), Cause::Computed));
                }
                continue;
            }
            match values.of(word) {
                Ok(found) => {
                    // A folder that is listed for a command which walks folders is not only a name.
                    let walks = shell::shows_below(&form.words).is_some();
                    let is_folder = |value: &Value| match value {
                        Value::Listed(listed) => listed.lister.is_none(),
                        _ => false,
                    };
                    if walks && found.iter().any(is_folder) {
                        operands.leave(word, Cause::Computed);
                    }
                    found.into_iter().for_each(|value| operands.add(word, value, folders, values));
                }
                Err(cause) => operands.leave(word, cause),
            }
        }
        operands
    }

    fn leave(&mut self, word: &Word, cause: Cause) {
        self.words.to_mut().push(word.clone());
        self.unknown.push((word.clone(), cause));
    }

    fn add(&mut self, word: &Word, value: Value, folders: &Folders, values: &Values<'_>) {
        match value {
            Value::Text(text) | Value::Same(text) if text.len() > MAX_PATH_BYTES => {}
            Value::Text(text) if text.contains('*') => {
                self.words.to_mut().push(Word::pattern(&text));
                self.split_patterns.extend(word.splits().then_some(text));
            }
            Value::Text(text) | Value::Same(text) => self.words.to_mut().push(Word::literal(text)),
            Value::Listed(listed) if is_clear(&listed, folders, values) => {
                // Its name stands for any other; for the rules it stays unknown.
                let words = self.words.to_mut();
                words.push(Word::literal(format!("{}x{}", listed.before, listed.after)));
                words.push(word.clone());
                self.listed.push(listed);
            }
            // A listed name with another ending is not the name of a protected file.
            Value::Listed(Listed { before, .. }) if before.is_empty() => self.leave(word, Cause::Environment),
            Value::Listed(_) => self.leave(word, Cause::Computed),
        }
    }
}

/// Returns true if it is clear which file a listed name is: it is listed in the folder in which it is used, or
/// used as a whole within a path.
fn is_clear(listed: &Listed, folders: &Folders, values: &Values<'_>) -> bool {
    let Listed { before, after, .. } = listed;
    let lister = values.lister(listed);
    lister.is_none_or(|lister| lister.folders == *folders)
        && (before.is_empty() || before.ends_with('/'))
        && !after.contains('*')
        && (after.is_empty() || after.starts_with('/'))
        && !after.split('/').any(|name| name == "..")
}

impl Judge<'_> {
    /// Asks about words whose values are not known: if their files are shown, and in every mode if they are
    /// written and may be protected files.
    pub(super) fn judge_unknown(&mut self, form: &Form, operands: &Operands<'_>, values: &Values<'_>) {
        // Some versions open connections for such files.
        let is_awk = matches!(program(form), Some("awk" | "gawk" | "mawk" | "nawk"));
        let is_connection = |word: &Word| word.text.as_deref().is_some_and(|text| text.contains("/inet"));
        if is_awk
            && self.default_policy != DefaultPolicy::Everything
            && operands.words.iter().any(is_connection)
        {
            self.opinions.ask("it may open a connection");
        }
        if self.default_policy == DefaultPolicy::Everything && !form.reads_only {
            for listed in &operands.listed {
                self.protect_written_list(listed, values);
            }
        }
        let Some((word, _)) = operands.unknown.first() else { return };
        if self.default_policy != DefaultPolicy::Everything {
            let may_read_names = shell::may_read_names(&form.words) && word.may_be_option();
            if form.reads_only && (may_read_names || shell::shows_content(&form.words)) {
                self.ask_unknown(&word.shown());
            }
            return;
        }
        let written = shell::written_files(&form.words);
        let target = written.copied.as_ref().map(|(_, target)| target);
        let mut written = written.named.iter().chain(target);
        let is_unknown = |word: &&Word| {
            operands.unknown.iter().any(|(one, cause)| one == *word && may_be_protected(one, *cause))
        };
        if let Some(word) = written.find(is_unknown) {
            self.ask_unknown(&word.shown());
        }
    }

    /// Asks about files that a command writes because another one lists them, if that one searches for protected
    /// files.
    fn protect_written_list(&mut self, listed: &Listed, values: &Values<'_>) {
        let Some(segment) = values.lister(listed) else { return };
        let Some(form) = segment.forms.iter().rev().find(|form| lists(form)) else { return };
        let words: Vec<&str> = form.words.iter().skip(1).map(|word| word.pieces()[0].as_str()).collect();
        let folders = words.iter().take_while(|text| !text.starts_with('-'));
        let names = name_tests(&words);
        let joined = folders.flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}")));
        let texts: Vec<String> =
            words.iter().map(|text| (*text).to_owned()).chain(joined).take(MAX_FOLDERS).collect();
        for place in self.places(&segment.folders).unwrap_or_default() {
            let bases = self.bases.at(&place);
            for text in &texts {
                let Ok(path) = bases.resolve(text) else { continue };
                if let Some(rule) = self.permissions.protected().find(Access::Write, &path, &path) {
                    self.protects(rule, Access::Write, &path, text);
                }
            }
        }
    }

    pub(super) fn ask_unknown(&mut self, what: &str) {
        let what = shown(what);
        self.opinions
            .ask(format!("the file `{what}` is not known before it runs, and may be a protected file"));
    }

    /// Returns the paths that a redirection may use. Asks if they are not known.
    pub(super) fn redirected_paths(&mut self, file: &FileUse, values: &Values<'_>) -> Option<Vec<String>> {
        if let Some(path) = &file.path {
            return Some(vec![path.clone()]);
        }
        let cause = match values.of(&file.word) {
            Ok(found) => {
                let mut is_clear = true;
                let mut texts = Vec::new();
                for value in found {
                    match value {
                        // Without a name, nothing is opened.
                        Value::Text(text) if text.is_empty() => {}
                        Value::Text(text) | Value::Same(text) => texts.push(text),
                        Value::Listed(listed) if file.access == Access::Write => {
                            is_clear &= self.default_policy == DefaultPolicy::Everything;
                            self.protect_written_list(&listed, values);
                        }
                        Value::Listed(listed) => {
                            is_clear &= is_whole(&listed, &file.folders, values);
                            self.protect_listed(&listed, false, values);
                        }
                    }
                }
                if is_clear {
                    return Some(self.expanded_paths(texts, &file.folders));
                }
                Cause::Computed
            }
            Err(cause) => cause,
        };
        self.protect_unknown(file.access, &file.word);
        let asks = match self.default_policy {
            DefaultPolicy::Everything => file.access == Access::Write && may_be_protected(&file.word, cause),
            _ => true,
        };
        if asks {
            self.ask_unknown(&file.source);
        }
        None
    }

    /// Returns paths, with the files that match instead of wildcards.
    fn expanded_paths(&mut self, texts: Vec<String>, folders: &Folders) -> Vec<String> {
        let mut paths = Vec::new();
        for text in texts.into_iter().filter(|text| text.len() <= MAX_PATH_BYTES) {
            if text.contains('*') {
                for place in self.places(folders).unwrap_or_default() {
                    let bases = self.bases.at(&place);
                    let files = self.matching_files(bases, &text);
                    paths.extend(files.iter().map(|file| file.to_string_lossy().into_owned()));
                }
            }
            paths.push(text);
        }
        paths
    }

    /// Checks files that another command lists, and names that are split.
    pub(super) fn protect_indirect(
        &mut self,
        form: &Form,
        operands: &Operands<'_>,
        places: Option<&[PathBuf]>,
        values: &Values<'_>,
    ) {
        if self.default_policy == DefaultPolicy::Everything {
            return;
        }
        if !shell::shows_content(&form.words) {
            return self.check_options(form, operands, places);
        }
        let walks = shell::shows_below(&form.words).is_some();
        for listed in &operands.listed {
            self.protect_listed(listed, walks, values);
        }
        for place in places.unwrap_or_default() {
            let bases = self.bases.at(place);
            for Listed { before, .. } in operands.listed.iter().filter(|listed| !listed.before.is_empty()) {
                let Ok(path) = bases.resolve(before) else { continue };
                self.protect_below(&path, Names::All, before);
            }
            for text in &operands.split_patterns {
                let files = self.matching_files(bases, text);
                let mut names = files.iter().map(|file| file.to_string_lossy());
                if let Some(name) = names.find(|name| Split::Words.breaks(name)) {
                    self.ask_split(&name);
                }
            }
        }
    }

    /// Asks if the name of a file may be taken for an option that makes a program show files.
    fn check_options(&mut self, form: &Form, operands: &Operands<'_>, places: Option<&[PathBuf]>) {
        let is_any = |word: &Word| word.text.is_none() && word.may_be_option();
        if !shell::may_read_names(&form.words) || !operands.words.iter().any(is_any) {
            return;
        }
        for place in places.unwrap_or_default() {
            let bases = self.bases.at(place);
            if let Some(file) = self.matching_files(bases, "-*").first() {
                let name = shown(&file.to_string_lossy());
                self.opinions.ask(format!("the name of `{name}` may be taken for an option"));
            }
        }
    }

    /// Asks because a name has a blank: where a list is split, its parts may be the name of any file.
    pub(super) fn ask_split(&mut self, name: &str) {
        self.opinions.ask(format!("`{}` has a blank in its name, which splits it", shown(name)));
    }

    /// Checks the files that a command lists for others that read them.
    ///
    /// A reader that walks folders shows everything below those that are listed.
    fn protect_listed(&mut self, listed: &Listed, walks: bool, values: &Values<'_>) {
        let Some(segment) = values.lister(listed) else { return };
        if self.default_policy == DefaultPolicy::Everything
            || !self.search.lists_checked.insert((listed.lister, listed.is_split))
        {
            return;
        }
        let Some(form) = segment.forms.iter().rev().find(|form| lists(form)) else { return };
        let (mut wanted, mut names) = (wanted_names(&form.words), shell::listed_names(&form.words));
        if walks {
            (wanted, names) = (Vec::new(), Names::All);
        }
        let search = Search {
            names,
            follows: shell::follows_links(&form.words) || walks,
            wanted: &wanted,
            split: Some(if listed.is_split { Split::Words } else { Split::Lines }),
        };
        let operands = || form.words.iter().skip(1).filter(|word| !word.may_be_option());
        let mut texts: Vec<&str> = operands()
            .filter_map(|word| match word.reach() {
                Reach::Exactly(text) | Reach::Below(text) => Some(text),
                Reach::Anywhere => None,
            })
            .collect();
        let names_none = operands().next().is_none() || shell::unnamed_folder(&form.words).is_some();
        texts.extend((names_none || matches!(program(form), Some("git" | "fd" | "fdfind"))).then_some("."));
        if texts.len() > MAX_FOLDERS {
            return self.ask_unknown(&segment.source);
        }
        let Some(places) = self.places(&segment.folders) else { return self.ask_unknown(&segment.source) };
        let is_git = program(form) == Some("git");
        for place in places {
            // Most commands of git print names relative to the root of the repository.
            let is_below = form.words.get(1).and_then(|word| word.text.as_deref()) == Some("ls-files");
            if is_git && !is_below && !place.join(".git").exists() {
                self.ask_unknown(&segment.source);
            }
            let bases = self.bases.at(&place);
            for text in &texts {
                let Ok(path) = bases.resolve(text) else { continue };
                self.protect_link(Uses::READING, text, path.symlink_metadata().ok().as_ref());
                match self.permissions.protected().find(Access::Read, &path, &path) {
                    Some(rule) => self.protects(rule, Access::Read, &path, text),
                    None => {
                        self.protect_found(&path, text, &search);
                    }
                }
            }
            let patterns = operands().filter(|word| word.text.is_none());
            let matching: Vec<PathBuf> =
                patterns.flat_map(|word| self.matching_files(bases, &known_parts(word).join("*"))).collect();
            matching.iter().for_each(|file| self.protect_match(Uses::READING, bases, file));
            if listed.before.is_empty() && lists_bare_names(form, bases, &matching) {
                self.ask_unknown(&segment.source);
            }
        }
    }
}

/// Returns true for an `ls` of folders, which prints names without their folder. `matching` are the files that match
/// the words with wildcards.
fn lists_bare_names(form: &Form, bases: Bases<'_>, matching: &[PathBuf]) -> bool {
    let is_option = |text: &str| text.starts_with('-') && text.contains('d');
    let keeps_folders = form.words.iter().any(|word| word.text.as_deref().is_some_and(is_option));
    if program(form) != Some("ls") || keeps_folders {
        return false;
    }
    let is_folder = |text: &str| text != "." && bases.resolve(text).is_ok_and(|path| path.is_dir());
    let mut operands = form.words.iter().skip(1).filter(|word| !word.may_be_option());
    // `ls -R` names no folders either.
    shell::looks_below(&form.words)
        || operands.any(|word| word.text.as_deref().is_some_and(is_folder))
        || matching.iter().any(|file| file.is_dir())
}

/// Returns true if a listed name is used as it is, in the folder in which it is listed.
fn is_whole(listed: &Listed, folders: &Folders, values: &Values<'_>) -> bool {
    listed.before.is_empty() && listed.after.is_empty() && is_clear(listed, folders, values)
}

/// Returns true if a written file that is not known may be a protected one: its unknown part may be a hidden
/// name or an absolute path. A variable that the script does not set is the user's.
fn may_be_protected(word: &Word, cause: Cause) -> bool {
    let before_unknown = word.pieces().split_last().map_or(&[][..], |(_, before)| before);
    let may_hide = |piece: &String| piece.is_empty() || piece.ends_with(['/', '.']);
    cause == Cause::Computed && before_unknown.iter().any(may_hide)
}

/// Returns true for a command that finds files or lists their names.
fn lists(form: &Form) -> bool {
    matches!(program(form), Some("find" | "fd" | "fdfind" | "git" | "grep" | "egrep" | "fgrep" | "rg" | "ls"))
}

fn program(form: &Form) -> Option<&str> {
    form.words.first().and_then(Word::program)
}

/// Returns the names that `find` or `git ls-files` searches for; none if it may find others.
fn wanted_names(words: &[Word]) -> Vec<Glob> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_deref().unwrap_or("!")).collect();
    if let ["git", "ls-files", patterns @ ..] = texts.as_slice() {
        // What follows the last `*` is the end of a name. Words without one may be folders.
        let end = |text: &&str| match text.rsplit_once('*') {
            Some((start, end)) if !end.is_empty() && !end.contains('/') && !start.starts_with([':', '!']) => {
                (!text.contains(['?', '[', '\\'])).then(|| Glob::new(&format!("*{end}")))
            }
            _ => None,
        };
        let patterns = patterns.iter().filter(|text| !text.starts_with('-'));
        return patterns.map(end).collect::<Option<Vec<Glob>>>().unwrap_or_default();
    }
    let included = shell::included_names(words);
    if !included.is_empty() {
        return included;
    }
    if texts.iter().any(|text| matches!(*text, "!" | "-not" | "-o" | "-or" | ",")) {
        return Vec::new();
    }
    let tests = name_tests(&texts);
    let is_plain = |name: &&str| !name.contains(['?', '[', '\\']);
    if tests.iter().all(is_plain) { tests.into_iter().map(Glob::new).collect() } else { Vec::new() }
}

/// Returns the names that the tests of `find` compare, without those in the commands that it runs.
fn name_tests<'t>(texts: &[&'t str]) -> Vec<&'t str> {
    const VALUED: [&str; 12] = [
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-lname",
        "-ilname",
        "-type",
        "-newer",
        "-size",
        "-user",
        "-perm",
    ];
    let (mut names, mut words) = (Vec::new(), texts.iter());
    while let Some(word) = words.next() {
        match *word {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                words.find(|word| matches!(**word, ";" | "+"));
            }
            "-name" | "-iname" => names.extend(words.next()),
            word if VALUED.contains(&word) => {
                words.next();
            }
            _ => {}
        }
    }
    names
}
