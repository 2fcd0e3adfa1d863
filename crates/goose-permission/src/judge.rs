//! [`Judge`]: checks one call against the mode and the rules.
//!
//! Deny wins over ask, and ask over allow. If no rule applies, the mode decides.

use std::{
    cell::OnceCell,
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_extension::{FileTarget, HardLinks, HostPolicy, JsonObject, JudgedPath};
use serde_json::Value;

use super::{
    Mode,
    call::{Action, CallToJudge, Origin},
    git_repository::RepositoryRisk,
    glob::Glob,
    matching::Certainty,
    paths::{Bases, KnownFolders},
    permissions::Permissions,
    rule::{Effect, Rule},
    secrets_below::{MAX_ENTRIES, Names},
    shell::Access,
    suggest,
    tool_fingerprint::ToolFingerprint,
    verdict::{Judgement, Verdict, VerdictBuilder},
};

/// Maximum number of partly unknown words that are compared with the list of protected files.
const MAX_HINTS: usize = 2000;

/// Calls that run if no rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultPolicy {
    Everything,
    Reading,
    Nothing,
}

/// State of judging one call.
pub(super) struct Judge<'a> {
    pub(super) permissions: &'a Permissions,
    pub(super) call: &'a CallToJudge<'a>,
    pub(super) bases: Bases<'a>,
    pub(super) rules: Vec<Rule>,
    pub(super) default_policy: DefaultPolicy,
    pub(super) opinions: VerdictBuilder,
    /// Files of the call, resolved once: the tool uses the paths that are judged here.
    files: Vec<JudgedPath>,
    /// Files that the call is known to write.
    pub(super) writes: Vec<PathBuf>,
    /// Hosts that a call which fetches may reach.
    pub(super) hosts: Option<HostPolicy>,
    /// Hard links that are permitted for a file that is read.
    readable_links: HardLinks,
    /// Reason why git may run programs in the working folder, computed on first use.
    pub(super) repository: OnceCell<Option<RepositoryRisk>>,
    pub(super) search: ProtectedSearch,
}

/// State of the search for protected files, which is bounded for each call.
pub(super) struct ProtectedSearch {
    /// Remaining directory entries.
    pub(super) entries_left: usize,
    /// Remaining partly unknown words to compare with the list of protected files.
    pub(super) hints_left: usize,
    /// Commands whose lists of files were checked.
    pub(super) lists_checked: HashSet<(Option<usize>, bool)>,
}

impl Default for ProtectedSearch {
    fn default() -> Self {
        Self { entries_left: MAX_ENTRIES, hints_left: MAX_HINTS, lists_checked: HashSet::new() }
    }
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        permissions: &'a Permissions,
        call: &'a CallToJudge<'a>,
        known: &'a KnownFolders,
    ) -> Self {
        let bases = Bases { working: call.working_dir, home: permissions.home(), known };
        Self {
            permissions,
            call,
            bases,
            rules: Vec::new(),
            default_policy: DefaultPolicy::Nothing,
            opinions: VerdictBuilder::default(),
            files: Vec::new(),
            writes: Vec::new(),
            hosts: None,
            readable_links: HardLinks::Refused,
            repository: OnceCell::new(),
            search: ProtectedSearch::default(),
        }
    }

    pub(super) fn judgement(mut self) -> Judgement {
        let mode = self.permissions.mode();
        if mode == Mode::Chat {
            let reason = "no tools run in the mode `chat`".to_owned();
            let verdict = Verdict::Deny { reason };
            return Judgement { verdict, files: Vec::new(), writes: Vec::new(), hosts: None };
        }
        self.gather_rules();
        self.look_up_files();
        self.default_policy = match mode {
            Mode::Auto => DefaultPolicy::Everything,
            Mode::SmartApprove => DefaultPolicy::Reading,
            Mode::Approve | Mode::Chat => DefaultPolicy::Nothing,
        };
        self.whole_tool();
        self.parts();
        let (permissions, call) = (self.permissions, self.call);
        let verdict = self.opinions.verdict(|| permissions.shown(call));
        Judgement { verdict, files: self.files, writes: self.writes, hosts: self.hosts }
    }

    /// Collects the rules. If the file cannot be read, the call needs approval.
    fn gather_rules(&mut self) {
        match self.permissions.rules() {
            Ok(rules) => self.rules.extend(rules.iter().cloned()),
            Err(error) => {
                self.rules.extend(self.permissions.given().iter().cloned());
                self.opinions.ask(format!("the rules cannot be read: {error}"));
            }
        }
        self.rules.extend(self.permissions.session_rules());
        self.drop_void_rules();
    }

    /// Drops allow rules for tools whose definition has changed, and shows the difference.
    fn drop_void_rules(&mut self) {
        let call = self.call;
        let concerned = |rule: &Rule| {
            !rule.restricts()
                && rule.is_about(call)
                && (call.origin == Origin::Foreign || rule.tool_fingerprint().is_some())
        };
        if !self.rules.iter().any(concerned) {
            return;
        }
        let now = Arc::new(ToolFingerprint::new(call.tool));
        let first = self.permissions.first_seen(call.name(), &now);
        let before = |rule: &Rule| rule.tool_fingerprint().cloned().unwrap_or_else(|| Arc::clone(&first));
        let is_void = |rule: &Rule| concerned(rule) && before(rule).digest() != now.digest();
        let is_still_allowed = self.rules.iter().any(|rule| concerned(rule) && !is_void(rule));
        if let Some(rule) = self.rules.iter().rfind(|rule| !is_still_allowed && is_void(rule)) {
            let difference = before(rule).difference(&now, self.permissions.approved_tools());
            self.opinions.ask_unless(
                format!(
                    "the definition of `{}` has changed since it was allowed:\n{difference}",
                    call.name()
                ),
                suggest::tool(call),
            );
        }
        self.rules.retain(|rule| !is_void(rule));
    }

    /// Applies the rules about all calls of the tool.
    fn whole_tool(&mut self) {
        for rule in self.rules.iter().filter(|rule| rule.is_whole() && rule.is_about(self.call)) {
            match rule.effect() {
                Effect::Deny => self.opinions.deny(format!("the rule `{rule}` forbids it")),
                Effect::Ask => self.opinions.ask(format!("the rule `{rule}` requires approval")),
                Effect::Allow => self.default_policy = DefaultPolicy::Everything,
            }
        }
    }

    fn parts(&mut self) {
        match self.call.action() {
            Action::Shell(Some(command)) => self.shell(&command),
            Action::Shell(None) => self.opinions.ask("the command that it runs cannot be determined"),
            Action::Fetch(host) => self.fetch(host),
            Action::Files(access) => self.files(access),
            Action::Other => self.other(),
        }
    }

    /// Resolves the paths of a call to one of goose's own file tools.
    fn look_up_files(&mut self) {
        // Package managers hard-link files from their stores into many projects, and these are
        // world-readable. A secret is readable by its owner only, under each of its names.
        let is_restricted =
            self.rules.iter().any(|rule| rule.restricts() && rule.is_about_access(Access::Read));
        self.readable_links = if is_restricted { HardLinks::Refused } else { HardLinks::AllowedIfPublic };
        let (Action::Files(access), Some(paths)) = (self.call.action(), self.call.paths()) else { return };
        // Without a path, the tool uses the whole working folder.
        let paths = if paths.is_empty() { vec!["."] } else { paths };
        for given in paths {
            let access = self.call.access_of(given, access);
            let target = match self.bases.resolve(given) {
                Ok(path) => {
                    let hard_links = self.hard_links(access, given, &path);
                    Ok(FileTarget { path, hard_links })
                }
                Err(error) => Err(error.to_string()),
            };
            self.files.push(JudgedPath { given: given.to_owned(), target });
        }
    }

    /// Returns the hard links that are permitted for a file. Another name of the file may be protected, so a
    /// file with several names needs approval, and the approval is for this file.
    fn hard_links(&mut self, access: Access, given: &str, path: &Path) -> HardLinks {
        // Writing to such a file changes it under all of its names.
        let permitted = if access == Access::Write { HardLinks::Refused } else { self.readable_links };
        match fs::symlink_metadata(path) {
            Ok(metadata) if !permitted.permit(&metadata) => {
                self.ask_link(given);
                HardLinks::of_file(&metadata)
            }
            _ => permitted,
        }
    }

    /// Judges a call to one of goose's own file tools.
    fn files(&mut self, access: Access) {
        if self.call.paths().is_none() {
            return self.opinions.ask("the files that it uses cannot be determined");
        }
        for file in self.files.clone() {
            match &file.target {
                Ok(target) => {
                    let access = self.call.access_of(&file.given, access);
                    self.judge_path(access, &file.given, &target.path, Means::Tool);
                }
                Err(reason) => self.opinions.ask(reason),
            }
        }
    }

    /// Judges the use of a path that is not resolved yet.
    pub(super) fn path(&mut self, access: Access, path: &str, means: Means) {
        match self.bases.resolve(path) {
            Ok(resolved) => {
                self.hard_links(access, path, &resolved);
                self.judge_path(access, path, &resolved, means);
            }
            Err(error) => self.opinions.ask(error.to_string()),
        }
    }

    /// Judges the use of a file by a tool or by the shell.
    fn judge_path(&mut self, access: Access, path: &str, resolved: &Path, means: Means) {
        let written = match self.bases.absolute(path) {
            Ok(written) => written,
            Err(error) => return self.opinions.ask(error.to_string()),
        };
        if access == Access::Write {
            self.writes.push(resolved.to_owned());
        }
        let is_allowed = self.apply_path_rules(access, path, (&written, resolved), means);
        if let Some(rule) = self.permissions.protected().find(access, &written, resolved) {
            self.protects(rule, access, resolved, path);
        } else if means == Means::Tool && access == Access::Read {
            // Tools that walk folders skip hidden files.
            self.protect_below(resolved, Names::NotHidden, path);
        }
        let runs = match self.default_policy {
            DefaultPolicy::Everything => true,
            DefaultPolicy::Reading => access == Access::Read,
            DefaultPolicy::Nothing => access == Access::Read && means == Means::Shell,
        };
        if !is_allowed && !runs && means != Means::OutputOfAllowed {
            let verb = if access == Access::Read { "reads" } else { "writes" };
            let reason = format!("it {verb} `{}`", resolved.display());
            self.opinions.ask_unless(reason, suggest::path(access, resolved, self.bases));
        }
    }

    /// Applies the rules about a file, given as written and resolved. Returns true if one allows the access.
    fn apply_path_rules(
        &mut self,
        access: Access,
        path: &str,
        (written, resolved): (&Path, &Path),
        means: Means,
    ) -> bool {
        // The tools that edit a file also show parts of it.
        let shows = access == Access::Write && means == Means::Tool;
        // A call may read one file and write another: rules about a kind of access are for that one.
        let is_about_kind =
            |rule: &Rule| [Access::Read, Access::Write].iter().any(|it| rule.is_about_access(*it));
        let is_about_tool = |rule: &Rule| rule.is_about(self.call) && !is_about_kind(rule);
        let about = |rule: &&Rule| {
            rule.is_about_access(access)
                || (means == Means::Tool && is_about_tool(rule))
                || (shows && rule.restricts() && rule.is_about_access(Access::Read))
        };
        let mut is_allowed = false;
        let mut found = Vec::new();
        for rule in self.rules.iter().filter(about) {
            let certainty = match (rule.is_whole(), rule.path()) {
                (true, _) => Certainty::Yes,
                (false, None) => Certainty::Maybe,
                (_, Some(pattern)) if rule.restricts() => pattern.restricts(written, resolved, self.bases),
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
        is_allowed
    }

    /// Applies a restricting rule to a part of the call.
    pub(super) fn restriction(&mut self, rule: &Rule, certainty: Certainty, what: &str) {
        match (rule.effect(), certainty) {
            (_, Certainty::No) | (Effect::Allow, _) => {}
            (Effect::Deny, Certainty::Yes) => {
                self.opinions.deny(format!("the rule `{rule}` forbids `{}`", shown(what)));
            }
            (Effect::Ask, Certainty::Yes) => {
                self.opinions.ask(format!("the rule `{rule}` requires approval for `{}`", shown(what)));
            }
            (_, Certainty::Maybe) => {
                self.opinions.ask(format!("the rule `{rule}` may apply to `{}`", shown(what)));
            }
        }
    }

    /// Judges a call to any other tool.
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
        let runs = match self.default_policy {
            DefaultPolicy::Everything => true,
            _ if self.call.concern.is_some() => false,
            // A program in code mode, or a delegate, has no effect by itself, and each of its calls is
            // judged. Asking about both would teach users to approve what they cannot judge, and then its
            // calls.
            _ if self.call.only_calls_tools() => true,
            DefaultPolicy::Reading => self.call.is_read_only(),
            DefaultPolicy::Nothing => false,
        };
        if !is_allowed && !runs {
            let reason = match (self.call.concern, self.default_policy, self.call.origin) {
                (Some(concern), ..) => concern,
                (None, DefaultPolicy::Reading, Origin::Own) => "it may change files or other data",
                (None, DefaultPolicy::Reading, Origin::Foreign) => {
                    "it is not part of goose, so its effects are unknown"
                }
                _ => "every call needs approval",
            };
            // A rule for all calls would also allow those with a concern.
            let rule = suggest::tool(self.call).filter(|_| self.call.concern.is_none());
            self.opinions.ask_unless(reason, rule);
        }
    }

    /// Matches a rule's pattern against the arguments of this call.
    pub(super) fn named(&self, rule: &Rule) -> Certainty {
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
        // An allow rule matches with certainty only by named arguments.
        let found = paths.into_iter().map(certainty).max().unwrap_or(Certainty::Maybe);
        if rule.restricts() { found } else { Certainty::No }
    }
}

/// Way in which a file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Tool,
    Shell,
    /// A redirection of the shell that holds the output of an allowed command.
    OutputOfAllowed,
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

/// Shortens a text for a reason.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let mut shown: String = text.chars().take(MAX_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
