//! [`Permissions`]: the mode and the rules, shared by everything that runs below.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};

use super::{
    call::CallToJudge,
    inspector::Inspector,
    judge::Judge,
    mode::Mode,
    pin::ToolPin,
    protected::Protected,
    rule::Rule,
    rules_file::{RulesFile, Stamp},
    shell,
    shown::{Shown, Void},
    verdict::{Judgement, Verdict},
};
use crate::config::{ConfigError, Paths};

/// The name of the file of rules.
const FILE_NAME: &str = "permission.yaml";

/// How many tools of others are watched for changes while goose runs.
const MAX_SEEN: usize = 4096;

/// What permissions are made of.
#[derive(Default)]
pub struct PermissionOptions {
    mode: Mode,
    paths: Option<Paths>,
    home: Option<PathBuf>,
    rules: Vec<Rule>,
    inspectors: Vec<Arc<dyn Inspector>>,
    shell: Option<String>,
}

impl PermissionOptions {
    /// A mode, and no rules.
    pub fn new(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Reads and keeps the rules where goose keeps its files.
    pub fn with_paths(mut self, paths: &Paths) -> Self {
        self.paths = Some(paths.clone());
        self
    }

    /// What `~` means.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// More rules, besides those of the file.
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// The shell that runs commands, by its name or path, where it is not `sh`. Only the language of `sh` and `bash` is
    /// read here: a command for another shell is a doubt.
    pub fn with_shell(mut self, shell: impl Into<String>) -> Self {
        self.shell = Some(shell.into());
        self
    }

    /// Somebody else who looks at every call.
    pub fn with_inspector(mut self, inspector: Arc<dyn Inspector>) -> Self {
        self.inspectors.push(inspector);
        self
    }
}

/// What may be done: the mode and the rules. Shared; what runs below gets [`narrowed`](Self::narrowed) ones, which follow
/// every change above and are never freer.
pub struct Permissions {
    mode: RwLock<Mode>,
    above: Option<Arc<Self>>,
    shared: Arc<Shared>,
}

struct Shared {
    file: Option<RulesFile>,
    approved_tools: PathBuf,
    home: Option<PathBuf>,
    given: Vec<Rule>,
    protected: Protected,
    inspectors: Vec<Arc<dyn Inspector>>,
    /// The shell, where its language is not read here.
    odd_shell: Option<String>,
    known: RwLock<Option<Known>>,
    was_told: AtomicBool,
    has_checked_tools: AtomicBool,
    /// The tools of others as they were first seen.
    seen: Mutex<HashMap<String, Arc<ToolPin>>>,
}

/// The rules as they were read.
#[derive(Clone)]
struct Known {
    stamp: Stamp,
    rules: Result<Arc<[Rule]>, ConfigError>,
}

impl Permissions {
    /// Permissions. A file of rules that cannot be read does not fail here: it means that everything is asked, and
    /// [`problem`](Self::problem) says so.
    pub fn new(options: PermissionOptions) -> Arc<Self> {
        let paths = options.paths.as_ref();
        let shared = Shared {
            file: paths.map(|paths| RulesFile::new(paths.config.join(FILE_NAME))),
            approved_tools: paths.map(|paths| paths.data.join("approved_tools")).unwrap_or_default(),
            protected: Protected::new(paths, options.home.as_deref()),
            home: options.home,
            given: options.rules,
            inspectors: options.inspectors,
            odd_shell: options.shell.filter(|shell| !shell.is_empty() && !shell::is_language_of(shell)),
            known: RwLock::default(),
            was_told: AtomicBool::new(false),
            has_checked_tools: AtomicBool::new(false),
            seen: Mutex::default(),
        };
        Arc::new(Self { mode: RwLock::new(options.mode), above: None, shared: Arc::new(shared) })
    }

    /// The mode that counts: the strictest from here up.
    pub fn mode(&self) -> Mode {
        let own = *self.mode.read();
        self.above.as_ref().map_or(own, |above| own.stricter(above.mode()))
    }

    /// Changes the mode of these permissions. Those above still hold.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.write() = mode;
    }

    /// Permissions for something that runs below: the same rules, and this mode where it is stricter.
    pub fn narrowed(self: &Arc<Self>, mode: Mode) -> Arc<Self> {
        let (above, shared) = (Some(Arc::clone(self)), Arc::clone(&self.shared));
        Arc::new(Self { mode: RwLock::new(mode), above, shared })
    }

    /// The same rules in another mode, which may be a freer one. For explanations: nothing runs under it.
    pub(super) fn in_mode(&self, mode: Mode) -> Self {
        Self { mode: RwLock::new(mode), above: None, shared: Arc::clone(&self.shared) }
    }

    /// Decides about a call. What goes wrong in here asks.
    pub fn judge(&self, call: &CallToJudge<'_>) -> Verdict {
        self.judgement(call).verdict
    }

    /// Decides about a call, and names the files that it may use then.
    pub fn judgement(&self, call: &CallToJudge<'_>) -> Judgement {
        let judged = catch_unwind(AssertUnwindSafe(|| Judge::new(self, call).judgement()));
        judged.unwrap_or_else(|_| {
            let reason = "the rules could not be applied to this call because of a bug in goose".to_owned();
            let verdict = Verdict::Ask { reasons: vec![reason], always: None, shown: self.shown(call) };
            Judgement { verdict, files: Vec::new() }
        })
    }

    /// What a person is asked about, or has just edited and sent.
    pub fn shown(&self, call: &CallToJudge<'_>) -> Shown {
        Shown::of(call, self.home())
    }

    /// Right before the call: whether the yes to what was shown still holds.
    ///
    /// # Errors
    ///
    /// Says what changed. Nothing may be run then.
    pub fn still_holds(&self, shown: &Shown, call: &CallToJudge<'_>) -> Result<(), Void> {
        shown.check(call, self.home())?;
        match self.judge(call) {
            Verdict::Deny { reason } => Err(Void::Denied(reason)),
            Verdict::Allow | Verdict::Ask { .. } => Ok(()),
        }
    }

    /// Stores a rule in the file, for this and all later sessions.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or the rule cannot be added without changing anything else. It is left as it is.
    pub fn remember(&self, rule: &Rule) -> Result<(), ConfigError> {
        let Some(file) = &self.shared.file else { return Err(ConfigError::NoHome) };
        file.add(rule)?;
        if let Some(pin) = rule.pin() {
            pin.keep(&self.shared.approved_tools);
        }
        *self.shared.known.write() = None;
        Ok(())
    }

    /// What is wrong with the file of rules. Said once.
    pub fn problem(&self) -> Option<String> {
        let error = self.rules().err()?;
        let is_first = !self.shared.was_told.swap(true, Ordering::Relaxed);
        is_first.then(|| format!("{error}. Until this is mended, every tool call is asked."))
    }

    /// The rules that ask or deny and are about none of these tools, which are named as the model sees them. A misspelt rule
    /// protects nothing.
    pub fn rules_about_no_tool<'n>(&self, tools: impl Iterator<Item = &'n str> + Clone) -> Vec<Rule> {
        let rules = self.rules().unwrap_or_default();
        let is_void = |rule: &&Rule| rule.restricts() && !rule.is_about_any(tools.clone());
        rules.iter().filter(is_void).cloned().collect()
    }

    /// A line about [rules about no tool](Self::rules_about_no_tool), where there are any. Said once.
    pub(crate) fn void_rules<'n>(&self, tools: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
        let has_tools = tools.clone().next().is_some();
        if !has_tools || self.shared.has_checked_tools.swap(true, Ordering::Relaxed) {
            return None;
        }
        let rules: Vec<String> =
            self.rules_about_no_tool(tools).iter().map(|rule| format!("`{rule}`")).collect();
        (!rules.is_empty()).then(|| {
            let rules = rules.join(", ");
            format!("These rules are about no tool of this session, so they protect nothing here: {rules}. Check the names.")
        })
    }

    /// The rules as the file has them now, and those that were given.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read.
    pub fn rules(&self) -> Result<Arc<[Rule]>, ConfigError> {
        let shared = &self.shared;
        let Some(file) = &shared.file else { return Ok(shared.given.clone().into()) };
        let stamp = file.stamp();
        let known = shared.known.read().clone();
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return known.rules;
        }
        let rules = file.read().map(|rules| rules.into_iter().chain(shared.given.iter().cloned()).collect());
        let known = Known { stamp, rules: rules.clone() };
        *shared.known.write() = Some(known);
        rules
    }

    /// Where the rules are kept.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_ref().map(RulesFile::path)
    }

    /// The rules that were given, which hold even where the file cannot be read.
    pub(super) fn given(&self) -> &[Rule] {
        &self.shared.given
    }

    /// The built-in rules about protected files. They hold in every mode, besides those of people.
    pub fn protected_files(&self) -> &[Rule] {
        self.shared.protected.rules()
    }

    pub(super) fn protected(&self) -> &Protected {
        &self.shared.protected
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.shared.home.as_deref()
    }

    pub(super) fn inspectors(&self) -> &[Arc<dyn Inspector>] {
        &self.shared.inspectors
    }

    /// The shell that runs commands, where its language is not read here.
    pub(super) fn odd_shell(&self) -> Option<&str> {
        self.shared.odd_shell.as_deref()
    }

    pub(super) fn approved_tools(&self) -> &Path {
        &self.shared.approved_tools
    }

    /// The tool as it was when it was first seen.
    pub(super) fn first_seen(&self, name: &str, now: &Arc<ToolPin>) -> Arc<ToolPin> {
        let mut seen = self.shared.seen.lock();
        if let Some(first) = seen.get(name) {
            return Arc::clone(first);
        }
        if seen.len() < MAX_SEEN {
            seen.insert(name.to_owned(), Arc::clone(now));
        }
        Arc::clone(now)
    }
}

impl std::fmt::Debug for Permissions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permissions")
            .field("mode", &self.mode())
            .field("file", &self.file())
            .finish_non_exhaustive()
    }
}
