//! The judge's work on shell commands: every segment, every file, every doubt.

use super::{
    judge::{Judge, Leeway, Means},
    matching::Certainty,
    paths,
    rule::{Effect, Rule},
    shell::{self, Access, FileUse, Form, MOVES, Says, Script, Segment, SegmentKind, Weight, Word},
    suggest,
};

/// Files that swallow what is written, or pass it on.
const HARMLESS_FILES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

impl Judge<'_> {
    pub(super) fn shell(&mut self, command: &str) {
        // Without a rule that could be broken, there is nothing to look for.
        let restricted = self.rules.iter().any(|rule| self.could_restrict(rule));
        if self.leeway == Leeway::Everything && !restricted {
            return;
        }
        let script = shell::read(command);
        for segment in &script.segments {
            self.segment(segment, &script);
        }
        for file in &script.files {
            self.redirection(file, &script);
        }
        for doubt in &script.doubts {
            if doubt.weight == Weight::Opaque || self.leeway != Leeway::Everything {
                self.opinions.ask(doubt.reason.clone());
            }
        }
        if script.segments.is_empty() && self.leeway != Leeway::Everything && script.files.is_empty() {
            self.opinions.ask("there is no command in it that is known");
        }
    }

    fn could_restrict(&self, rule: &Rule) -> bool {
        let is_about_files = rule.is_about_access(Access::Read) || rule.is_about_access(Access::Write);
        let is_guard = self.permissions.guard() == Some(rule);
        rule.restricts() && !is_guard && (is_about_files || rule.is_about(self.call))
    }

    fn segment(&mut self, segment: &Segment, script: &Script) {
        for form in &segment.forms {
            self.restrict_command(form);
            self.restrict_words(form);
        }
        if segment.kind == SegmentKind::Carrier || self.leeway == Leeway::Everything {
            return;
        }
        let Some(outer) = segment.forms.first() else { return };
        if let Some(name) = segment.variables.iter().find(|name| !shell::is_harmless_variable(name)) {
            let what = line(&outer.words);
            return self
                .opinions
                .ask(format!("`{what}` is given the variable `{name}`, which may change what it does"));
        }
        let counted: Vec<&Form> = segment.forms.iter().filter(|form| form.says == Says::All).collect();
        let is_allowed = counted.iter().any(|form| self.is_allowed(&form.words))
            || (self.leeway == Leeway::Reading && counted.iter().any(|form| reads_only(&form.words, script)))
            || counted.iter().any(|form| self.stays_inside(&form.words, script));
        if !is_allowed {
            let what = line(&outer.words);
            let reason = match self.leeway {
                Leeway::Reading => format!("`{what}` may change something"),
                _ => format!("no rule allows `{what}`"),
            };
            self.opinions.ask_unless(reason, suggest::command(self.call, &outer.words));
        }
    }

    fn restrict_command(&mut self, form: &Form) {
        let rules: Vec<Rule> = self
            .rules
            .iter()
            .filter(|rule| rule.restricts() && !rule.is_whole() && rule.is_about(self.call))
            .cloned()
            .collect();
        for rule in rules {
            let certainty = rule.command().map_or(Certainty::Maybe, |pattern| pattern.restricts(&form.words));
            self.restriction(&rule, certainty, &line(&form.words));
        }
    }

    /// A word that is a path which a rule protects. What the command does with it is not known, so this asks; where the
    /// command only reads, and reading is denied, it is.
    fn restrict_words(&mut self, form: &Form) {
        let rules: Vec<(Rule, Access)> = [Access::Read, Access::Write]
            .into_iter()
            .flat_map(|access| self.rules.iter().map(move |rule| (rule, access)))
            .filter(|(rule, access)| rule.restricts() && !rule.is_whole() && rule.is_about_access(*access))
            .map(|(rule, access)| (rule.clone(), access))
            .collect();
        let reads = shell::is_read_only(&form.words);
        for (rule, access) in rules {
            let Some(pattern) = rule.path() else { continue };
            let words = form.words.iter().skip(1).filter_map(|word| word.text.as_deref());
            for text in words.flat_map(path_parts) {
                let (Ok(written), Ok(resolved)) = (self.bases.absolute(text), self.bases.resolve(text))
                else {
                    continue;
                };
                let certainty = pattern.restricts(&written, &resolved, self.bases);
                match (access, reads) {
                    (Access::Read, true) => self.restriction(&rule, certainty, text),
                    // What only reads writes nothing.
                    (Access::Write, true) => {}
                    _ => self.restriction(&rule, certainty.min(Certainty::Maybe), text),
                }
            }
        }
    }

    fn is_allowed(&self, words: &[Word]) -> bool {
        self.rules
            .iter()
            .filter(|rule| rule.effect() == Effect::Allow && rule.is_about(self.call))
            .any(|rule| rule.command().is_some_and(|pattern| pattern.allows(words)))
    }

    /// `cd` into a folder of the working folder does nothing by itself.
    fn stays_inside(&self, words: &[Word], script: &Script) -> bool {
        let [program, target] = words else { return false };
        let is_only_move = script.segments.iter().filter(|segment| moves(segment)).count() == 1;
        let inside = |text: &str| {
            let working = paths::resolve(self.bases.working).ok();
            let target = self.bases.resolve(text).ok().filter(|_| !text.starts_with('-'));
            working.zip(target).is_some_and(|(working, target)| target.starts_with(working))
        };
        program.text.as_deref() == Some("cd") && is_only_move && target.text.as_deref().is_some_and(inside)
    }

    fn redirection(&mut self, file: &FileUse, script: &Script) {
        let Some(path) = &file.path else {
            let matters = file.access == Access::Write || self.leeway != Leeway::Reading;
            return if matters {
                self.opinions.ask(format!("it is not known which file `{}` is", file.source))
            };
        };
        if HARMLESS_FILES.contains(&path.as_str()) {
            return;
        }
        if path.starts_with("/dev/") {
            return self.opinions.ask(format!("`{path}` is no ordinary file"));
        }
        if script.moves() && !path.starts_with(['/', '~']) {
            return self
                .opinions
                .ask(format!("it is not known where `{path}` is after the folder was changed"));
        }
        self.path(file.access, path, Means::Shell);
    }
}

fn moves(segment: &Segment) -> bool {
    segment.forms.iter().filter_map(|form| form.words.first()?.program()).any(|name| MOVES.contains(&name))
}

/// In another folder, git may find a configuration that runs programs.
fn reads_only(words: &[Word], script: &Script) -> bool {
    let is_git = words.first().and_then(Word::program) == Some("git");
    shell::is_read_only(words) && !(is_git && script.moves())
}

/// A word, and what stands behind an `=` in it: `--file=/etc/passwd`.
fn path_parts(word: &str) -> impl Iterator<Item = &str> {
    [Some(word), word.split_once('=').map(|(_, value)| value)]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
}

/// A command as a reason shows it.
fn line(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_deref().unwrap_or("…")).collect();
    super::judge::shown(&words.join(" "))
}
