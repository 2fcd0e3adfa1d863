//! The judge's work on shell commands: every segment, every file, every doubt.

use super::{
    judge::{Judge, Leeway, Means},
    judge_words::Watch,
    matching::Certainty,
    paths,
    rule::{Effect, Rule},
    shell::{self, Access, FileUse, Form, MOVES, Says, Script, Segment, SegmentKind, Weight, Word},
    suggest,
};

/// Files that swallow what is written, or pass it on.
const HARMLESS_FILES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

/// What a command is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Nothing.
    None,
    /// Only whether it writes to the file of rules.
    ForRulesFile,
    ForAll,
}

impl Judge<'_> {
    pub(super) fn shell(&mut self, command: &str) {
        let look = self.look();
        if look == Look::None {
            return;
        }
        let script = shell::read(command);
        let mut watch = self.watch();
        for segment in &script.segments {
            self.segment(segment, &script, &mut watch);
        }
        for file in &script.files {
            self.redirection(file, &script, look);
        }
        if look == Look::ForRulesFile {
            return;
        }
        if let Some(shell) = self.permissions.odd_shell() {
            self.opinions
                .ask(format!("commands are run by `{shell}`, whose language is not understood here"));
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

    /// Without a rule that could be broken, there is nothing to look for. Where all rules are about other tools, they
    /// must not be changed unasked all the same.
    fn look(&self) -> Look {
        let mut restricting =
            self.rules.iter().filter(|rule| rule.restricts() && !self.is_guard(rule)).peekable();
        let is_guarded = self.permissions.guard().is_some() && restricting.peek().is_some();
        match self.leeway == Leeway::Everything {
            false => Look::ForAll,
            true if restricting.any(|rule| self.could_restrict(rule)) => Look::ForAll,
            true if is_guarded => Look::ForRulesFile,
            true => Look::None,
        }
    }

    fn could_restrict(&self, rule: &Rule) -> bool {
        let is_about_files = rule.is_about_access(Access::Read) || rule.is_about_access(Access::Write);
        is_about_files || rule.is_about(self.call)
    }

    fn segment(&mut self, segment: &Segment, script: &Script, watch: &mut Watch) {
        for form in &segment.forms {
            self.restrict_command(form);
            self.restrict_words(form, watch);
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
            self.opinions.ask_unless(reason, suggest::command(self.call, segment));
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

    fn redirection(&mut self, file: &FileUse, script: &Script, look: Look) {
        let Some(path) = &file.path else {
            let is_restricted = |rule: &Rule| rule.restricts() && rule.is_about_access(Access::Read);
            let matters = match look {
                Look::ForRulesFile => file.access == Access::Write && self.hints_at_guard(&file.word),
                _ if file.access == Access::Write || self.leeway != Leeway::Reading => true,
                _ => self.rules.iter().any(is_restricted),
            };
            return if matters {
                self.opinions.ask(format!("it is not known which file `{}` is", file.source))
            };
        };
        if HARMLESS_FILES.contains(&path.as_str()) {
            return;
        }
        if look == Look::ForRulesFile {
            return self.path(file.access, path, Means::Shell);
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

/// A command as a reason shows it.
fn line(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_deref().unwrap_or("…")).collect();
    super::judge::shown(&words.join(" "))
}
