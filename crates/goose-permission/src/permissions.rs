//! [`Permissions`]: the mode and the rules of a session and its subtasks.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use goose_extension::{JsonObject, Tool, ToolAction, ToolGroup};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use super::{
    Mode,
    approval_snapshot::{ApprovalSnapshot, StaleApproval},
    call::{CallToJudge, Origin},
    judge::Judge,
    paths::KnownFolders,
    protected::{Protected, ProtectedFile},
    rule::Rule,
    rules_file::{RulesFile, Stamp},
    shell,
    tool_fingerprint::ToolFingerprint,
    verdict::{Judgement, Verdict},
};
use goose_config::{ConfigError, Paths};

/// Name of the rules file.
const FILE_NAME: &str = "permission.yaml";

/// Maximum number of external tools that are checked for changes while goose runs.
const MAX_SEEN: usize = 4096;

/// Maximum number of calls that are allowed for a session one by one.
const MAX_SESSION_CALLS: usize = 1000;

/// Options for [`Permissions::new`].
#[derive(Default)]
pub struct PermissionOptions {
    mode: Mode,
    paths: Option<Paths>,
    home: Option<PathBuf>,
    rules: Vec<Rule>,
    shell: Option<String>,
}

impl PermissionOptions {
    /// Creates options with a mode and no rules.
    pub fn new(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Loads and stores rules in goose's config folder.
    pub fn with_paths(mut self, paths: &Paths) -> Self {
        self.paths = Some(paths.clone());
        self
    }

    /// Sets the home folder, which `~` refers to.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Adds rules to those in the file.
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Sets the shell that runs commands, by name or path. The default is `sh`. Only `sh` and `bash` are
    /// supported: commands for other shells need approval.
    pub fn with_shell(mut self, shell: impl Into<String>) -> Self {
        self.shell = Some(shell.into());
        self
    }
}

/// Mode and rules of a session and its subtasks.
pub struct Permissions {
    mode: RwLock<Mode>,
    shared: Arc<Shared>,
}

struct Shared {
    file: Option<RulesFile>,
    approved_tools: PathBuf,
    home: Option<PathBuf>,
    given: Vec<Rule>,
    paths: Option<Paths>,
    /// Built-in list, created when the first call is judged.
    protected: OnceLock<Protected>,
    /// Shell that runs commands, if its syntax is not supported.
    unsupported_shell: Option<String>,
    cached: RwLock<Option<CachedRules>>,
    has_reported_problem: AtomicBool,
    has_checked_tools: AtomicBool,
    /// Decisions of the user for this session.
    session: RwLock<SessionDecisions>,
    /// External tools as they were when first seen.
    seen: Mutex<HashMap<String, Arc<ToolFingerprint>>>,
}

/// Decisions of the user that end with the session.
#[derive(Default)]
struct SessionDecisions {
    rules: Vec<Rule>,
    /// Calls that may be repeated, with the reasons that the user has seen.
    calls: Vec<(ApprovalSnapshot, Vec<String>)>,
}

/// Rules as of the last read.
#[derive(Clone)]
struct CachedRules {
    stamp: Stamp,
    rules: Result<Arc<[Rule]>, ConfigError>,
}

impl Permissions {
    /// Creates permissions. If the rules file cannot be read, every call needs approval, and
    /// [`problem`](Self::problem) reports it.
    pub fn new(options: PermissionOptions) -> Arc<Self> {
        let paths = options.paths.as_ref();
        let shared = Shared {
            file: paths.map(|paths| RulesFile::new(paths.config.join(FILE_NAME))),
            approved_tools: paths.map(|paths| paths.data.join("approved_tools")).unwrap_or_default(),
            protected: OnceLock::new(),
            home: options.home,
            given: options.rules,
            unsupported_shell: options.shell.filter(|shell| !shell.is_empty() && !shell::is_supported(shell)),
            cached: RwLock::default(),
            has_reported_problem: AtomicBool::new(false),
            has_checked_tools: AtomicBool::new(false),
            session: RwLock::default(),
            seen: Mutex::default(),
            paths: options.paths,
        };
        Arc::new(Self { mode: RwLock::new(options.mode), shared: Arc::new(shared) })
    }

    /// Returns the mode.
    pub fn mode(&self) -> Mode {
        *self.mode.read()
    }

    /// Changes the mode.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.write() = mode;
    }

    /// Returns the same rules in another mode, which may be more permissive. Only for explanations.
    pub(super) fn in_mode(&self, mode: Mode) -> Self {
        Self { mode: RwLock::new(mode), shared: Arc::clone(&self.shared) }
    }

    /// Decides about a call. If the check itself fails, the call needs approval.
    pub fn judge(&self, call: &CallToJudge<'_>) -> Verdict {
        self.judgement(call).verdict
    }

    /// Decides about a call, and returns the files that it may use.
    pub fn judgement(&self, call: &CallToJudge<'_>) -> Judgement {
        let known = KnownFolders::default();
        let judged = catch_unwind(AssertUnwindSafe(|| Judge::new(self, call, &known).judgement()));
        let judged = judged.map(|judgement| match self.is_repeated(&judgement.verdict) {
            true => Judgement { verdict: Verdict::Allow, ..judgement },
            false => judgement,
        });
        judged.unwrap_or_else(|_| {
            let reason = "the rules could not be applied to this call because of a bug in goose".to_owned();
            let reasons = vec![reason];
            let shown = self.shown(call);
            let verdict = Verdict::Ask { reasons, always: Vec::new(), session: Vec::new(), shown };
            Judgement { verdict, files: Vec::new(), writes: Vec::new(), hosts: None }
        })
    }

    /// Returns the reason if a rule denies a command that the user has configured, in whatever mode. Such a
    /// command needs no approval.
    pub fn denied_command(&self, command: &str, working_dir: &Path) -> Option<String> {
        let shell = Tool::new("developer__shell", "", JsonObject::new())
            .with_groups([ToolGroup::Command])
            .with_action(ToolAction::command("command"));
        let arguments = JsonObject::from_iter([("command".to_owned(), Value::from(command))]);
        match self.own_call(&shell, &arguments, working_dir).verdict {
            Verdict::Deny { reason } => Some(reason),
            Verdict::Allow | Verdict::Ask { .. } => None,
        }
    }

    /// Decides about a file that the user attaches to a message, as about a call of the tool that reads files.
    /// The user has named the file, so the mode has no effect.
    pub fn attached_file(&self, path: &str, working_dir: &Path) -> Judgement {
        let read = Tool::new("developer__read", "", JsonObject::new())
            .with_groups([ToolGroup::Read])
            .with_action(ToolAction::reads("path"));
        let arguments = JsonObject::from_iter([("path".to_owned(), Value::from(path))]);
        self.own_call(&read, &arguments, working_dir)
    }

    /// Decides about a call that the user has configured or named, in whatever mode.
    fn own_call(&self, tool: &Tool, arguments: &JsonObject, working_dir: &Path) -> Judgement {
        let bare_name = tool.name().rsplit("__").next().unwrap_or_default();
        let origin = Origin::Own;
        let call = CallToJudge { tool, bare_name, origin, arguments, working_dir, concern: None };
        self.in_mode(Mode::Auto).judgement(&call)
    }

    /// Returns the snapshot of a call that the user approves or has edited.
    pub fn shown(&self, call: &CallToJudge<'_>) -> ApprovalSnapshot {
        ApprovalSnapshot::new(call, self.home())
    }

    /// Checks right before a call that its approval is still valid.
    ///
    /// # Errors
    ///
    /// Fails if something has changed since the approval. The call must not run then.
    pub fn still_holds(
        &self,
        snapshot: &ApprovalSnapshot,
        call: &CallToJudge<'_>,
    ) -> Result<(), StaleApproval> {
        snapshot.check(call, self.home())?;
        match self.judge(call) {
            Verdict::Deny { reason } => Err(StaleApproval::Denied(reason)),
            Verdict::Allow | Verdict::Ask { .. } => Ok(()),
        }
    }

    /// Stores a rule in the file, for this and all later sessions.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if the rule cannot be added without changing other text. The file
    /// is left unchanged.
    pub fn remember(&self, rule: &Rule) -> Result<(), ConfigError> {
        let Some(file) = &self.shared.file else { return Err(ConfigError::NoHome) };
        file.add(rule)?;
        if let Some(tool) = rule.tool_fingerprint() {
            tool.save(&self.shared.approved_tools);
        }
        *self.shared.cached.write() = None;
        Ok(())
    }

    /// Returns true if the user has allowed exactly this call for the session, and no reason to ask is new.
    fn is_repeated(&self, verdict: &Verdict) -> bool {
        let Verdict::Ask { reasons, shown, .. } = verdict else { return false };
        let session = self.shared.session.read();
        session
            .calls
            .iter()
            .any(|(allowed, seen)| allowed == shown && reasons.iter().all(|reason| seen.contains(reason)))
    }

    /// Allows calls until the session ends: those that the offered rules allow, or exactly this call if there
    /// are none.
    pub fn allow_for_session(&self, rules: &[Rule], shown: &ApprovalSnapshot, reasons: &[String]) {
        let mut session = self.shared.session.write();
        session.rules.extend(rules.iter().cloned());
        if rules.is_empty() && session.calls.len() < MAX_SESSION_CALLS {
            session.calls.push((shown.clone(), reasons.to_vec()));
        }
    }

    /// Returns the rules that the user has added for this session.
    pub(super) fn session_rules(&self) -> Vec<Rule> {
        self.shared.session.read().rules.clone()
    }

    /// Returns the error in the rules file. Later calls return `None`.
    pub fn problem(&self) -> Option<String> {
        let error = self.rules().err()?;
        let is_first = !self.shared.has_reported_problem.swap(true, Ordering::Relaxed);
        is_first.then(|| format!("{error}. Until this is fixed, every tool call needs approval."))
    }

    /// Returns the restricting rules that match none of these tools, given by the names that the model sees.
    /// A misspelt rule protects nothing.
    pub fn rules_about_no_tool<'n>(&self, tools: impl Iterator<Item = &'n str> + Clone) -> Vec<Rule> {
        let rules = self.rules().unwrap_or_default();
        let is_unmatched = |rule: &&Rule| rule.restricts() && !rule.is_about_any(tools.clone());
        rules.iter().filter(is_unmatched).cloned().collect()
    }

    /// Returns a warning about [rules that match no tool](Self::rules_about_no_tool). Later calls return
    /// `None`.
    pub fn unmatched_rules_warning<'n>(
        &self,
        tools: impl Iterator<Item = &'n str> + Clone,
    ) -> Option<String> {
        let has_tools = tools.clone().next().is_some();
        if !has_tools || self.shared.has_checked_tools.swap(true, Ordering::Relaxed) {
            return None;
        }
        let rules: Vec<String> =
            self.rules_about_no_tool(tools).iter().map(|rule| format!("`{rule}`")).collect();
        (!rules.is_empty()).then(|| {
            let rules = rules.join(", ");
            format!(
                "These rules match no tool of this session, so they have no effect: {rules}. Check the names."
            )
        })
    }

    /// Returns the current rules of the file, and those of the options.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn rules(&self) -> Result<Arc<[Rule]>, ConfigError> {
        let shared = &self.shared;
        let Some(file) = &shared.file else { return Ok(shared.given.clone().into()) };
        let stamp = file.stamp();
        let cached = shared.cached.read().clone();
        if let Some(cached) = cached.filter(|cached| cached.stamp == stamp) {
            return cached.rules;
        }
        let rules = file.read().map(|rules| rules.into_iter().chain(shared.given.iter().cloned()).collect());
        *shared.cached.write() = Some(CachedRules { stamp, rules: rules.clone() });
        rules
    }

    /// Returns the path of the rules file.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_ref().map(RulesFile::path)
    }

    /// Returns the rules of the options, which apply even if the file cannot be read.
    pub(super) fn given(&self) -> &[Rule] {
        &self.shared.given
    }

    /// Returns the built-in list of protected files, in groups. It applies in every mode, in addition to the
    /// user's rules.
    pub fn protected_files(&self) -> Vec<ProtectedFile> {
        self.protected().files()
    }

    /// Creates the list of protected files, so that the first judgement does not wait for it.
    pub fn prepare(&self) {
        self.protected();
    }

    pub(super) fn protected(&self) -> &Protected {
        let Shared { protected, paths, home, .. } = &*self.shared;
        protected.get_or_init(|| Protected::new(paths.as_ref(), home.as_deref()))
    }

    /// Returns the home folder, which `~` refers to.
    pub fn home(&self) -> Option<&Path> {
        self.shared.home.as_deref()
    }

    /// Returns the shell that runs commands, if its syntax is not supported.
    pub(super) fn unsupported_shell(&self) -> Option<&str> {
        self.shared.unsupported_shell.as_deref()
    }

    pub(super) fn approved_tools(&self) -> &Path {
        &self.shared.approved_tools
    }

    /// Returns the tool as it was when first seen.
    pub(super) fn first_seen(&self, name: &str, now: &Arc<ToolFingerprint>) -> Arc<ToolFingerprint> {
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
