//! Judges shell commands: segments, redirections and doubts.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    git_repository::RepositoryRisk,
    judge::{DefaultPolicy, Judge, Means},
    judge_folders::{in_another_folder, is_there},
    judge_writes::MAX_WRITTEN,
    matching::{Certainty, CommandPattern},
    path_arguments::{RestrictedPaths, is_per_process},
    rule::{Effect, Rule},
    shell::{
        self, Access, Coverage, FileUse, Folders, Form, KnownValues, LooseWord, MAX_SEGMENTS, Script,
        Segment, SegmentKind, Values, Word,
    },
    suggest,
};

/// Files that discard what is written to them, or pass it on.
const HARMLESS_FILES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

/// Maximum nesting of command lines within words of command lines.
const MAX_HIDDEN: usize = 3;

/// Extent of the checks of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checks {
    /// Checks only for protected files.
    ProtectedFiles,
    All,
}

fn is_harmless(file: &FileUse) -> bool {
    file.path.as_deref().is_some_and(|path| HARMLESS_FILES.contains(&path))
}

impl Judge<'_> {
    pub(super) fn shell(&mut self, command: &str) {
        let checks = self.checks();
        let known = KnownValues::new(self.bases.home, self.bases.working);
        let script = shell::read(command, &known);
        let values = Values::new(&script, &known);
        // With so many parts, it needs approval as a whole.
        if script.segments.len() > MAX_SEGMENTS {
            self.search.entries_left /= 4;
        }
        let mut watch = self.watch();
        let mut entries_left = MAX_WRITTEN;
        for segment in &script.segments {
            self.segment(segment, (&script, &values), checks, &mut watch);
            for form in &segment.forms {
                self.record_writes(form, &segment.folders, &mut entries_left);
            }
        }
        for file in &script.files {
            if watch.is_spent() {
                break;
            }
            let means = match self.holds_allowed_output(file, &script) {
                true => Means::OutputOfAllowed,
                false => Means::Shell,
            };
            self.redirection(file, (&values, means), checks, &mut watch);
        }
        let mut outer = script.segments.iter().filter_map(|segment| segment.forms.first());
        let only_reads = outer.all(|form| form.reads_only)
            && script.files.iter().all(|file| file.access == Access::Read || is_harmless(file));
        for LooseWord { word, folders, .. } in &script.loose {
            self.restrict_loose(word, folders, only_reads, &mut watch);
        }
        if let Some(reason) = script.unread {
            self.opinions.ask(reason);
        }
        if checks == Checks::ProtectedFiles {
            return;
        }
        if let Some(shell) = self.permissions.unsupported_shell() {
            self.opinions.ask(format!("commands are run by `{shell}`, whose syntax is not supported"));
        }
        for doubt in &script.doubts {
            self.opinions.ask(doubt);
        }
        for name in &script.set {
            if self.default_policy != DefaultPolicy::Everything || shell::is_exec_variable(name) {
                self.opinions.ask(format!("it sets `{name}`, which programs may read"));
            }
        }
        if script.segments.is_empty()
            && self.default_policy != DefaultPolicy::Everything
            && script.files.is_empty()
        {
            self.opinions.ask("there is nothing to run in it");
        }
    }

    /// Returns the extent of the checks: if no rule can restrict the command, only protected files matter.
    fn checks(&self) -> Checks {
        let mut restricting = self.rules.iter().filter(|rule| rule.restricts());
        match self.default_policy == DefaultPolicy::Everything
            && !restricting.any(|rule| self.could_restrict(rule))
        {
            true => Checks::ProtectedFiles,
            false => Checks::All,
        }
    }

    fn could_restrict(&self, rule: &Rule) -> bool {
        let is_about_files = rule.is_about_access(Access::Read) || rule.is_about_access(Access::Write);
        is_about_files || rule.is_about(self.call)
    }

    fn segment(
        &mut self,
        segment: &Segment,
        (script, values): (&Script, &Values<'_>),
        checks: Checks,
        watch: &mut RestrictedPaths,
    ) {
        for form in &segment.forms {
            self.restrict_command(form);
            self.restrict_words(form, &segment.folders, values, watch);
        }
        // A command with more segments needs approval as a whole.
        if checks != Checks::All || script.segments.len() > MAX_SEGMENTS {
            return;
        }
        if self.default_policy == DefaultPolicy::Everything {
            return self.check_obscure(segment);
        }
        let Some(outer) = segment.forms.first() else { return };
        if let Some(name) = shell::risky_variable(&outer.words, &segment.variables) {
            let what = line(&outer.words);
            return self
                .opinions
                .ask(format!("`{what}` is given the variable `{name}`, which may change what it does"));
        }
        if segment.kind == SegmentKind::Carrier {
            return;
        }
        let (is_fine, risk) = self.reviewed(segment, script);
        if !is_fine {
            let what = line(&outer.words);
            let reason = match (risk, self.default_policy) {
                (Some(risk), _) => format!("`{what}` may run a program: {risk}"),
                _ if !self.is_in_project(&segment.folders) => {
                    format!("`{what}` {}", in_another_folder(&segment.folders))
                }
                (None, DefaultPolicy::Reading) => format!("`{what}` may change files"),
                _ => format!("no rule allows `{what}`"),
            };
            let rule = self.offered(segment);
            self.opinions.ask_unless(reason, rule);
        }
    }

    /// Returns true if a segment needs no approval, and the reason why git may run a program in it.
    fn reviewed(&self, segment: &Segment, script: &Script) -> (bool, Option<&RepositoryRisk>) {
        let mut counted = segment.forms.iter().filter(|form| form.coverage == Coverage::Segment);
        let mut risk = None;
        let is_fine = counted.any(|form| {
            let words = &form.words;
            let reads =
                self.default_policy == DefaultPolicy::Reading && self.reads_only(form, &segment.folders);
            // A rule about a git command that only reads does not allow what a repository makes it run.
            risk = if reads || form.reads_only { self.repository_risk(words) } else { None };
            (self.is_allowed(words, &segment.folders) && risk.is_none())
                || (reads && risk.is_none())
                || (form.reads_only && self.filters_allowed(segment, script))
                || self.stays_inside(words, &segment.folders)
        });
        (is_fine, risk)
    }

    /// Returns the rule that would allow a segment.
    fn offered(&self, segment: &Segment) -> Option<Rule> {
        suggest::command(self.call, segment, self.bases).filter(|_| self.is_in_project(&segment.folders))
    }

    /// Asks about commands whose effect is unknown, for the case that a rule restricts some commands and all
    /// others run.
    fn check_obscure(&mut self, segment: &Segment) {
        let Some(outer) = segment.forms.first() else { return };
        if let Some(name) = segment.variables.iter().find(|name| shell::is_exec_variable(name)) {
            let what = line(&outer.words);
            return self
                .opinions
                .ask(format!("`{what}` is given the variable `{name}`, which may change what it does"));
        }
        let Some(reason) = segment.opaque_reason else { return };
        let mut counted = segment.forms.iter().filter(|form| form.coverage == Coverage::Segment);
        if !counted.any(|form| self.is_allowed(&form.words, &segment.folders)) {
            self.opinions.ask(format!("`{}` {reason}", super::judge::shown(&segment.source)));
        }
    }

    fn restrict_command(&mut self, form: &Form) {
        let rules: Vec<Rule> = self
            .rules
            .iter()
            .filter(|rule| rule.restricts() && !rule.is_whole() && rule.is_about(self.call))
            .cloned()
            .collect();
        for rule in &rules {
            let certainty = rule.command().map_or(Certainty::Maybe, |pattern| pattern.restricts(form));
            if certainty != Certainty::No {
                self.restriction(rule, certainty, &line(&form.words));
            }
        }
        if !rules.is_empty() {
            self.restrict_hidden(&rules, form, MAX_HIDDEN);
        }
    }

    /// Applies rules to words that are command lines themselves and may be run by the program that gets them.
    fn restrict_hidden(&mut self, rules: &[Rule], form: &Form, left: usize) {
        // It is known which of their words run something. The others are messages.
        let is_known = matches!(form.words.first().and_then(Word::program), Some("git" | "gh"));
        if left == 0 || is_known || form.reads_only {
            return;
        }
        let hidden = form.words.iter().skip(1).filter_map(|word| word.text.as_deref());
        for text in hidden.filter(|text| text.contains([' ', '\t', '\n', ';', '|', '&', '('])) {
            let value =
                text.split_once('=').filter(|(name, _)| name.starts_with('-')).map(|(_, value)| value);
            for source in [Some(text), value].into_iter().flatten() {
                let script = shell::read(source, &KnownValues::default());
                if let Some(reason) = script.unread {
                    self.opinions.ask(reason);
                }
                for form in script.segments.iter().flat_map(|segment| &segment.forms) {
                    if form.words.first().is_none_or(|program| program.text.is_none()) {
                        continue;
                    }
                    for rule in rules {
                        let certainty =
                            rule.command().map_or(Certainty::No, |pattern| pattern.restricts(form));
                        if certainty != Certainty::No {
                            self.restriction(rule, Certainty::Maybe, &line(&form.words));
                        }
                    }
                    self.restrict_hidden(rules, form, left - 1);
                }
            }
        }
    }

    /// Returns true if a rule allows the command. Rules apply in the project: elsewhere, the same words may
    /// have another effect.
    fn is_allowed(&self, words: &[Word], folders: &Folders) -> bool {
        let is_here = self.is_here(folders);
        // In another folder, the same words name another script, and `mv` would replace another file.
        if !is_here && (suggest::script(words).is_some() || !self.is_in_project(folders)) {
            return false;
        }
        let moves = words.first().and_then(Word::program) == Some("mv");
        self.rules.iter().filter(|rule| rule.effect() == Effect::Allow && rule.is_about(self.call)).any(
            |rule| {
                let allows = |pattern: &CommandPattern| {
                    pattern.allows(words) && (is_here || !moves || pattern.is_open())
                };
                rule.command().is_some_and(allows)
            },
        )
    }

    /// Returns true if a rule allows the command of a segment.
    fn has_rule(&self, segment: &Segment) -> bool {
        let mut counted = segment.forms.iter().filter(|form| form.coverage == Coverage::Segment);
        counted.any(|form| self.is_allowed(&form.words, &segment.folders))
    }

    /// Returns true if a segment needs approval, and "always" offers a rule for it.
    fn awaits_rule(&self, segment: &Segment, script: &Script) -> bool {
        self.default_policy != DefaultPolicy::Everything
            && segment.kind == SegmentKind::Own
            && !self.reviewed(segment, script).0
            && self.offered(segment).is_some()
    }

    /// Returns true if a segment, or what is piped into it through commands that only read, is wanted.
    fn passes_on(&self, segment: &Segment, script: &Script, is_wanted: impl Fn(&Segment) -> bool) -> bool {
        let mut segment = Some(segment);
        for _ in 0..MAX_SEGMENTS {
            let Some(current) = segment else { return false };
            if is_wanted(current) {
                return true;
            }
            if current.context.input == 0 || !current.forms.iter().all(|form| form.reads_only) {
                return false;
            }
            segment = script.segments.iter().find(|writer| writer.context.output == current.context.input);
        }
        false
    }

    /// Returns true for a command that only reads the output of an allowed one, and no files: `| tail -n 5`.
    fn filters_allowed(&self, segment: &Segment, script: &Script) -> bool {
        let is_file = |word: &Word| match word.text.as_deref() {
            Some(text) => self.bases.absolute(text).is_ok_and(is_there),
            None => true,
        };
        let has_files = segment.forms.iter().any(|form| form.words.iter().skip(1).any(is_file));
        segment.context.input != 0 && !has_files && self.passes_on(segment, script, |it| self.has_rule(it))
    }

    /// Returns true if a redirection writes the output of a command to a file of the project that is meant for
    /// output, and a rule allows the command. If such a rule is offered, the question is about the command.
    fn holds_allowed_output(&self, file: &FileUse, script: &Script) -> bool {
        let path = file.path.as_deref().map(Path::new).filter(|_| file.access == Access::Write);
        let Some((path, extension)) = path.and_then(|path| Some((path, path.extension()?.to_str()?))) else {
            return false;
        };
        if !matches!(extension, "err" | "log" | "out" | "txt") || script.segments.len() > MAX_SEGMENTS {
            return false;
        }
        let is_plain = |name: &OsStr| !name.to_string_lossy().starts_with(['.', '~']);
        let places = self.places(&file.folders).unwrap_or_default();
        let is_direct = |place: &PathBuf| {
            let resolved = self.bases.known.resolve(&place.join(path));
            let folder = self.bases.known.resolve(place);
            resolved.is_ok_and(|resolved| folder.is_ok_and(|folder| resolved == folder.join(path)))
        };
        let is_inside = path.is_relative()
            && path.iter().all(is_plain)
            && places.iter().all(is_direct)
            && self.is_in_project(&file.folders);
        // Other tools read some texts, such as `requirements.txt`.
        let is_output = extension != "txt" || places.iter().all(|place| !is_there(place.join(path)));
        let writer = script.segments.iter().filter(|segment| segment.at <= file.at).max_by_key(|it| it.at);
        let is_wanted = |it: &Segment| self.has_rule(it) || self.awaits_rule(it, script);
        let has_passed = |writer: &Segment| self.passes_on(writer, script, is_wanted);
        is_inside && is_output && writer.is_some_and(has_passed)
    }

    /// Returns true if the command only reads. In another folder, git may find a configuration that runs
    /// programs. Commands that `find` runs are judged separately.
    fn reads_only(&self, form: &Form, folders: &Folders) -> bool {
        let words = &form.words;
        let is_git = words.first().and_then(Word::program) == Some("git");
        let is_version = self.is_here(folders) && shell::asks_version(words) && !self.chooses_versions(words);
        (form.reads_only && (!is_git || self.is_in_project(folders)))
            || shell::only_carries(words)
            || is_version
    }

    fn redirection(
        &mut self,
        file: &FileUse,
        (values, means): (&Values<'_>, Means),
        checks: Checks,
        watch: &mut RestrictedPaths,
    ) {
        let Some(paths) = self.redirected_paths(file, values) else {
            return if checks == Checks::All {
                self.opinions.ask(format!("the file `{}` is not known", file.source));
            };
        };
        for path in paths {
            if !watch.spend() {
                return self.opinions.ask("it has too many words to check");
            }
            self.redirected(file, &path, means, checks);
        }
    }

    /// Judges a path that a redirection uses.
    fn redirected(&mut self, file: &FileUse, path: &str, means: Means, checks: Checks) {
        if HARMLESS_FILES.contains(&path) {
            return;
        }
        if path.starts_with("/dev/") && checks == Checks::All {
            return self.opinions.ask(format!("`{path}` is not a regular file"));
        }
        if checks == Checks::All && is_per_process(Path::new(path)) {
            self.opinions.ask(format!("`{path}` is different in each process"));
        }
        if self.is_here(&file.folders) || path.starts_with(['/', '~']) {
            return self.path(file.access, path, means);
        }
        let places = self.places(&file.folders);
        if places.is_none() {
            self.protect_name(&[file.access], path);
        }
        for place in places.unwrap_or_default() {
            self.path(file.access, &place.join(path).to_string_lossy(), means);
        }
        if checks == Checks::All && means != Means::OutputOfAllowed {
            self.opinions.ask(format!("the folder of `{path}` is not known"));
        }
    }
}

/// Formats a command for a reason.
fn line(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().take(40).map(|word| word.text.as_deref().unwrap_or("…")).collect();
    super::judge::shown(&words.join(" "))
}
