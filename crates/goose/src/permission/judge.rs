//! [`Judge`]: one call against the mode and the rules.
//!
//! deny wins over ask, ask over allow. What no rule speaks of is left to the mode.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_extension::{FileTarget, HardLinks, JsonObject, JudgedPath};
use serde_json::Value;

use super::{
    call::{Action, CallToJudge, Origin},
    glob::Glob,
    inspector::{self, Objection},
    matching::Certainty,
    mode::Mode,
    paths::Bases,
    permissions::Permissions,
    pin::ToolPin,
    rule::{Effect, Rule},
    secrets_below::{MAX_ENTRIES, Names},
    shell::Access,
    suggest,
    verdict::{Judgement, Opinions, Verdict},
};

/// How many words of which something is not known are compared with the list of protected files.
const MAX_HINTS: usize = 2000;

/// What runs where no rule speaks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leeway {
    Everything,
    Reading,
    Nothing,
}

/// One call, being judged.
pub(super) struct Judge<'a> {
    pub(super) permissions: &'a Permissions,
    pub(super) call: &'a CallToJudge<'a>,
    pub(super) bases: Bases<'a>,
    pub(super) rules: Vec<Rule>,
    pub(super) leeway: Leeway,
    pub(super) opinions: Opinions,
    /// The files of a call that uses files, looked up once: the tool gets the places that are judged here.
    files: Vec<JudgedPath>,
    /// The hard links that a file may have which is read.
    readable_links: HardLinks,
    /// Why git may run programs in the working folder, once that is known.
    pub(super) repository: OnceCell<Option<String>>,
    /// Where folders really are, of those that were looked up.
    pub(super) real_folders: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
    /// How many more files are looked at in search of secrets.
    pub(super) entries_left: usize,
    /// How many more words of which something is not known are compared with the list of protected files.
    pub(super) hints_left: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(permissions: &'a Permissions, call: &'a CallToJudge<'a>) -> Self {
        let bases = Bases { working: call.working_dir, home: permissions.home() };
        Self {
            permissions,
            call,
            bases,
            rules: Vec::new(),
            leeway: Leeway::Nothing,
            opinions: Opinions::default(),
            files: Vec::new(),
            readable_links: HardLinks::Refused,
            repository: OnceCell::new(),
            real_folders: RefCell::default(),
            entries_left: MAX_ENTRIES,
            hints_left: MAX_HINTS,
        }
    }

    pub(super) fn judgement(mut self) -> Judgement {
        let mode = self.permissions.mode();
        if mode == Mode::Chat {
            let reason = "in the mode `chat` there are no tools".to_owned();
            return Judgement { verdict: Verdict::Deny { reason }, files: Vec::new() };
        }
        self.gather_rules();
        self.look_up_files();
        self.ask_inspectors();
        self.leeway = match mode {
            Mode::Auto => Leeway::Everything,
            Mode::SmartApprove => Leeway::Reading,
            Mode::Approve | Mode::Chat => Leeway::Nothing,
        };
        self.whole_tool();
        self.parts();
        let (permissions, call) = (self.permissions, self.call);
        Judgement { verdict: self.opinions.verdict(|| permissions.shown(call)), files: self.files }
    }

    /// The rules that hold. Where the file cannot be read, nobody knows which they are: everything is asked.
    fn gather_rules(&mut self) {
        match self.permissions.rules() {
            Ok(rules) => self.rules.extend(rules.iter().cloned()),
            Err(error) => {
                self.rules.extend(self.permissions.given().iter().cloned());
                self.opinions.ask(format!("the rules cannot be read: {error}"));
            }
        }
        self.drop_void_rules();
    }

    /// A rule that allowed a tool that is another one now allows nothing, and the difference is shown.
    fn drop_void_rules(&mut self) {
        let call = self.call;
        let concerned = |rule: &Rule| {
            !rule.restricts()
                && rule.is_about(call)
                && (call.origin == Origin::Foreign || rule.pin().is_some())
        };
        if !self.rules.iter().any(concerned) {
            return;
        }
        let now = Arc::new(ToolPin::of(call.tool));
        let first = self.permissions.first_seen(call.name(), &now);
        let before = |rule: &Rule| rule.pin().cloned().unwrap_or_else(|| Arc::clone(&first));
        let is_void = |rule: &Rule| concerned(rule) && before(rule).fingerprint() != now.fingerprint();
        let is_still_allowed = self.rules.iter().any(|rule| concerned(rule) && !is_void(rule));
        if let Some(rule) = self.rules.iter().rfind(|rule| !is_still_allowed && is_void(rule)) {
            let difference = before(rule).difference(&now, self.permissions.approved_tools());
            self.opinions.ask_unless(
                format!(
                    "`{}` describes itself differently than when it was allowed:\n{difference}",
                    call.name()
                ),
                suggest::tool(call),
            );
        }
        self.rules.retain(|rule| !is_void(rule));
    }

    fn ask_inspectors(&mut self) {
        for inspector in self.permissions.inspectors() {
            match inspector::ask(inspector.as_ref(), self.call) {
                Objection::None => {}
                Objection::Ask(reason) => self.opinions.ask(reason),
                Objection::Deny(reason) => self.opinions.deny(reason),
            }
        }
    }

    /// Rules about all calls of the tool.
    fn whole_tool(&mut self) {
        for rule in self.rules.iter().filter(|rule| rule.is_whole() && rule.is_about(self.call)) {
            match rule.effect() {
                Effect::Deny => self.opinions.deny(format!("the rule `{rule}` forbids it")),
                Effect::Ask => self.opinions.ask(format!("the rule `{rule}` wants it asked")),
                Effect::Allow => self.leeway = Leeway::Everything,
            }
        }
    }

    fn parts(&mut self) {
        match self.call.action() {
            Action::Shell(command) => self.shell(command),
            Action::Files(access) => self.files(access),
            Action::Other => self.other(),
        }
    }

    /// Looks up the files of a call of one of goose's own tools for files.
    fn look_up_files(&mut self) {
        // Package managers link the files of their stores into many projects, and those are public. A secret is not: its owner
        // alone may read it, under each of its names.
        let is_restricted =
            self.rules.iter().any(|rule| rule.restricts() && rule.is_about_access(Access::Read));
        self.readable_links = if is_restricted { HardLinks::Refused } else { HardLinks::AllowedIfPublic };
        let (Action::Files(access), Some(paths)) = (self.call.action(), self.call.paths()) else { return };
        // Without a path, the whole working folder is meant.
        let paths = if paths.is_empty() { vec!["."] } else { paths };
        for given in paths {
            let target = self.bases.resolve(given).map(|path| {
                let hard_links = self.hard_links(access, given, &path);
                FileTarget { path, hard_links }
            });
            self.files.push(JudgedPath { given: given.to_owned(), target });
        }
    }

    /// The hard links that a file may have which the call uses. Another of its names may be protected, whatever this one is: where it
    /// has others, this asks, and a yes is for that file.
    fn hard_links(&mut self, access: Access, given: &str, path: &Path) -> HardLinks {
        // Writing to such a file changes what its other names lead to, in every mode.
        let permitted = if access == Access::Write { HardLinks::Refused } else { self.readable_links };
        match fs::symlink_metadata(path) {
            Ok(metadata) if !permitted.permit(&metadata) => {
                let given = shown(given);
                self.opinions
                    .ask(format!("`{given}` has other names (hard links), and may be a protected file"));
                HardLinks::of_file(&metadata)
            }
            _ => permitted,
        }
    }

    /// A call of one of goose's own tools for files.
    fn files(&mut self, access: Access) {
        if self.call.paths().is_none() {
            return self.opinions.ask("it is not clear which files it uses");
        }
        for file in self.files.clone() {
            match &file.target {
                Ok(target) => self.place(access, &file.given, &target.path, Means::Tool),
                Err(reason) => self.opinions.ask(reason),
            }
        }
    }

    /// One use of a file that was not looked up yet.
    pub(super) fn path(&mut self, access: Access, path: &str, means: Means) {
        match self.bases.resolve(path) {
            Ok(resolved) => {
                self.hard_links(access, path, &resolved);
                self.place(access, path, &resolved, means);
            }
            Err(reason) => self.opinions.ask(reason),
        }
    }

    /// One use of a file, by a tool or by the shell.
    fn place(&mut self, access: Access, path: &str, resolved: &Path, means: Means) {
        let written = match self.bases.absolute(path) {
            Ok(written) => written,
            Err(reason) => return self.opinions.ask(reason),
        };
        // The tools that change a file show parts of it, too.
        let shows = access == Access::Write && means == Means::Tool;
        let about = |rule: &&Rule| {
            rule.is_about_access(access)
                || (means == Means::Tool && rule.is_about(self.call))
                || (shows && rule.restricts() && rule.is_about_access(Access::Read))
        };
        let mut is_allowed = false;
        let mut found = Vec::new();
        for rule in self.rules.iter().filter(about) {
            let certainty = match (rule.is_whole(), rule.path()) {
                (true, _) => Certainty::Yes,
                (false, None) => Certainty::Maybe,
                (_, Some(pattern)) if rule.restricts() => pattern.restricts(&written, resolved, self.bases),
                (_, Some(pattern)) if pattern.allows(resolved, self.bases) => Certainty::Yes,
                _ => Certainty::No,
            };
            match (rule.effect(), certainty) {
                (Effect::Allow, certainty) => is_allowed |= certainty == Certainty::Yes,
                _ => found.push((rule.clone(), certainty)),
            }
        }
        for (rule, certainty) in found {
            self.restriction(&rule, certainty, path);
        }
        if let Some(rule) = self.permissions.protected().find(access, &written, resolved) {
            self.protects(rule, access, resolved, path);
        } else if means == Means::Tool && access == Access::Read {
            // Tools that go through folders leave out what is hidden.
            self.protect_below(resolved, Names::NotHidden, path);
        }
        let runs = match self.leeway {
            Leeway::Everything => true,
            Leeway::Reading => access == Access::Read,
            Leeway::Nothing => access == Access::Read && means == Means::Shell,
        };
        if !is_allowed && !runs {
            let verb = if access == Access::Read { "reads" } else { "writes" };
            let reason = format!("it {verb} `{}`", resolved.display());
            self.opinions.ask_unless(reason, suggest::path(access, resolved, self.bases));
        }
    }

    /// What a restricting rule says about a part of the call.
    pub(super) fn restriction(&mut self, rule: &Rule, certainty: Certainty, what: &str) {
        match (rule.effect(), certainty) {
            (_, Certainty::No) | (Effect::Allow, _) => {}
            (Effect::Deny, Certainty::Yes) => {
                self.opinions.deny(format!("the rule `{rule}` forbids `{}`", shown(what)));
            }
            (Effect::Ask, Certainty::Yes) => {
                self.opinions.ask(format!("the rule `{rule}` wants `{}` asked", shown(what)));
            }
            (_, Certainty::Maybe) => {
                self.opinions.ask(format!("`{}` may be what the rule `{rule}` is about", shown(what)));
            }
        }
    }

    /// A call of any other tool.
    fn other(&mut self) {
        let mut is_allowed = false;
        let about: Vec<Rule> =
            self.rules.iter().filter(|rule| !rule.is_whole() && rule.is_about(self.call)).cloned().collect();
        for rule in about {
            let certainty = self.named(&rule);
            match rule.effect() {
                Effect::Allow => is_allowed |= certainty == Certainty::Yes,
                _ => self.restriction(&rule, certainty, self.call.name()),
            }
        }
        let runs = match self.leeway {
            Leeway::Everything => true,
            // A program in code mode does nothing by itself, and each of its calls is asked about. Asking for both would teach
            // people to say yes to a program that they cannot judge, and then to what it does.
            _ if self.call.only_calls_tools() => true,
            Leeway::Reading => self.call.is_read_only(),
            Leeway::Nothing => false,
        };
        if !is_allowed && !runs {
            let reason = match (self.leeway, self.call.origin) {
                (Leeway::Reading, Origin::Own) => "it may change something",
                (Leeway::Reading, Origin::Foreign) => {
                    "it is not a part of goose, so nobody knows what it changes"
                }
                _ => "every call is asked",
            };
            self.opinions.ask_unless(reason, suggest::tool(self.call));
        }
    }

    /// Whether a rule's pattern means the arguments of this call.
    fn named(&self, rule: &Rule) -> Certainty {
        if let Some(named) = rule.named() {
            return named
                .iter()
                .map(|(name, glob)| argument(self.call.arguments, name, glob))
                .min()
                .unwrap_or(Certainty::No);
        }
        let (Some(pattern), Some(paths)) = (rule.path(), self.call.paths()) else { return Certainty::Maybe };
        let certainty = |path: &str| match (self.bases.absolute(path), self.bases.resolve(path)) {
            (Ok(written), Ok(resolved)) => pattern.restricts(&written, &resolved, self.bases),
            _ => Certainty::Maybe,
        };
        // Where a rule allows, only arguments that are named can be meant for certain.
        let found = paths.into_iter().map(certainty).max().unwrap_or(Certainty::Maybe);
        if rule.restricts() { found } else { Certainty::No }
    }
}

/// By which means a file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Tool,
    Shell,
}

fn argument(arguments: &JsonObject, name: &str, glob: &Glob) -> Certainty {
    let matches = |text: &str| if glob.matches(text) { Certainty::Yes } else { Certainty::No };
    match arguments.get(name) {
        None | Some(Value::Null) => Certainty::No,
        Some(Value::String(text)) => matches(text),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => matches(&value.to_string()),
        Some(_) => Certainty::Maybe,
    }
}

/// As much of a text as a reason shows.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let mut shown: String = text.chars().take(MAX_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
