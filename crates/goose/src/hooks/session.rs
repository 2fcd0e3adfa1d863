//! [`Hooks`]: the hooks of a session. Each event runs its matching hooks side by side.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsString,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use goose_config::{BaseEnvironment, is_ours, project_levels};
use goose_extension::{JsonObject, ToolOutput};
use goose_permission::{Mode, Permissions};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    file::{Hook, HookEvent},
    outcome::HookEffect,
    run::{CommandPlace, HookExit, HookRun, run},
    tool_shape::{Folders, ShapedCall},
};

/// Time limit of the hooks at the end of a session, which the user waits for.
const END_LIMIT: Duration = Duration::from_secs(4);

/// Maximum number of times in a row that hooks may keep a reply from ending.
pub(crate) const MAX_CONTINUATIONS: u32 = 10;

/// Surroundings of the hooks of a session.
#[derive(Debug, Clone)]
pub struct HookPlace {
    /// Id of the session.
    pub session_id: String,
    /// Working folder of the session.
    pub working_dir: PathBuf,
    /// Environment of the commands.
    pub environment: Arc<BaseEnvironment>,
    /// Permissions, whose rules may deny a command.
    pub permissions: Arc<Permissions>,
}

/// Hooks of a session.
#[derive(Debug)]
pub struct Hooks {
    hooks: Vec<Hook>,
    place: HookPlace,
    project_dir: PathBuf,
    home: Option<PathBuf>,
    environment: Arc<BTreeMap<OsString, OsString>>,
    /// Kind of the next start; `None` while the session runs.
    next_start: Mutex<Option<SessionSource>>,
    /// Texts for the next message.
    pending: Mutex<Vec<String>>,
}

/// Result of one hook.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct HookReport {
    /// Hook that ran.
    #[serde(flatten)]
    pub hook: Hook,
    /// Run of its command.
    pub run: HookRun,
    /// Effect of the run.
    pub effect: HookEffect,
}

/// Effects of all hooks of an event.
#[derive(Debug, Default)]
pub(crate) struct JoinedEffect {
    /// Reasons why the action is blocked, each with its origin.
    pub(crate) block: Option<String>,
    /// Reasons why the user is asked, each with its origin.
    pub(crate) ask: Option<String>,
    /// Texts for the model, each with its origin.
    pub(crate) context: Option<String>,
    pub(crate) notices: Vec<String>,
    pub(crate) stops: bool,
}

/// Beginning of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionSource {
    Startup,
    Resume,
    Clear,
}

/// Call of a tool, for hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolFacts<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a JsonObject,
}

impl Hooks {
    /// Creates the hooks of a session. Returns `None` if there are none, so that they cost nothing.
    pub fn new(hooks: Vec<Hook>, place: impl FnOnce() -> HookPlace) -> Option<Arc<Self>> {
        if hooks.is_empty() {
            return None;
        }
        let place = place();
        let variables = place.environment.iter();
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let project = project_levels(&place.working_dir, is_ours).last().map(|folder| folder.to_path_buf());
        Some(Arc::new(Self {
            hooks,
            project_dir: project.unwrap_or_else(|| place.working_dir.clone()),
            home: place.environment.get("HOME").map(PathBuf::from),
            environment: Arc::new(environment),
            place,
            next_start: Mutex::new(Some(SessionSource::Startup)),
            pending: Mutex::default(),
        }))
    }

    /// Returns true if the event has hooks.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Runs the hooks of the start of a session, once. Their texts are kept for the next message.
    pub(crate) async fn start(&self) -> Option<JoinedEffect> {
        let source = self.next_start.lock().take()?;
        let source = match source {
            SessionSource::Startup => "startup",
            SessionSource::Resume => "resume",
            SessionSource::Clear => "clear",
        };
        let fields = json!({ "source": source });
        let effect = self.joined(HookEvent::SessionStart, &[source], fields).await;
        self.pending.lock().extend(effect.context.clone());
        Some(effect)
    }

    /// Sets the kind of the next start: the session was resumed, or its conversation was cleared.
    pub(crate) fn starts_by(&self, source: SessionSource) {
        *self.next_start.lock() = Some(source);
    }

    /// Runs the hooks of a message of the user. Their texts are kept for the message.
    pub(crate) async fn submit(&self, prompt: &str) -> JoinedEffect {
        let effect = self.joined(HookEvent::UserPromptSubmit, &[], json!({ "prompt": prompt })).await;
        if effect.block.is_none() {
            self.pending.lock().extend(effect.context.clone());
        }
        effect
    }

    /// Takes the texts for the next message.
    pub(crate) fn take_pending(&self) -> Option<String> {
        let texts = std::mem::take(&mut *self.pending.lock());
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Runs the hooks before a call.
    pub(crate) async fn before_tool(&self, call: ToolFacts<'_>) -> JoinedEffect {
        let shaped = self.shaped(call.name, call.arguments);
        let fields = tool_fields(&shaped, call.id);
        self.joined(HookEvent::PreToolUse, &names(&shaped), fields).await
    }

    /// Runs the hooks after a call.
    pub(crate) async fn after_tool(&self, call: ToolFacts<'_>, output: &ToolOutput) -> JoinedEffect {
        let shaped = self.shaped(call.name, call.arguments);
        let mut fields = tool_fields(&shaped, call.id);
        fields["tool_response"] = shaped.response(output);
        self.joined(HookEvent::PostToolUse, &names(&shaped), fields).await
    }

    /// Runs the hooks at the end of a reply. `is_continued` is true if such a hook has continued it.
    pub(crate) async fn stop(&self, is_continued: bool) -> JoinedEffect {
        self.joined(HookEvent::Stop, &[], json!({ "stop_hook_active": is_continued })).await
    }

    /// Runs the hooks at the end of the session, if it has started.
    pub(crate) async fn end(&self, reason: &str) {
        if self.next_start.lock().is_some() {
            return;
        }
        let effect = self.joined(HookEvent::SessionEnd, &[reason], json!({ "reason": reason })).await;
        for notice in effect.notices {
            tracing::warn!(%notice, "a hook at the end of a session");
        }
    }

    /// Runs the hooks of an event with sample values, to show what they do. `fields` replace the sample's.
    pub async fn test(
        &self,
        event: HookEvent,
        tool: &str,
        input: &JsonObject,
        fields: Value,
    ) -> Vec<HookReport> {
        let shaped = self.shaped(tool, input);
        let (mut sample, matched) = match event {
            HookEvent::SessionStart => (json!({ "source": "startup" }), vec!["startup"]),
            HookEvent::SessionEnd => (json!({ "reason": "other" }), vec!["other"]),
            HookEvent::UserPromptSubmit => (json!({ "prompt": "This is a test." }), Vec::new()),
            HookEvent::Stop => (json!({ "stop_hook_active": false }), Vec::new()),
            HookEvent::PreToolUse | HookEvent::PostToolUse => {
                let mut sample = tool_fields(&shaped, "test");
                if event == HookEvent::PostToolUse {
                    sample["tool_response"] = shaped.response(&ToolOutput::text("This is a test."));
                }
                (sample, names(&shaped))
            }
        };
        if let (Value::Object(sample), Value::Object(fields)) = (&mut sample, fields) {
            sample.extend(fields);
        }
        self.fire(event, &matched, sample).await
    }

    fn shaped(&self, tool: &str, arguments: &JsonObject) -> ShapedCall {
        let folders = Folders { working_dir: &self.place.working_dir, home: self.home.as_deref() };
        ShapedCall::new(tool, arguments, folders)
    }

    async fn joined(&self, event: HookEvent, names: &[&str], fields: Value) -> JoinedEffect {
        if !self.has(event) {
            return JoinedEffect::default();
        }
        JoinedEffect::new(self.fire(event, names, fields).await)
    }

    /// Runs the matching hooks of an event, each command once.
    async fn fire(&self, event: HookEvent, names: &[&str], fields: Value) -> Vec<HookReport> {
        let is_meant =
            |hook: &&Hook| hook.event == event && (names.is_empty() || hook.matcher.matches(names));
        let mut matching: Vec<&Hook> = self.hooks.iter().filter(is_meant).collect();
        let mut commands = HashSet::new();
        matching.retain(|hook| commands.insert(&hook.command));
        if matching.is_empty() {
            return Vec::new();
        }
        let input = self.input(event, fields);
        join_all(matching.into_iter().map(|hook| self.run(hook, &input))).await
    }

    async fn run(&self, hook: &Hook, input: &str) -> HookReport {
        let HookPlace { working_dir, permissions, .. } = &self.place;
        let run = match permissions.denied_command(&hook.command, working_dir) {
            Some(reason) => HookRun::without_start(HookExit::Denied(reason)),
            None => {
                let limit = match hook.event {
                    HookEvent::SessionEnd => hook.time_limit.min(END_LIMIT),
                    _ => hook.time_limit,
                };
                let (project_dir, environment) = (&self.project_dir, &self.environment);
                run(&hook.command, input, &CommandPlace { working_dir, project_dir, environment }, limit)
                    .await
            }
        };
        let effect = HookEffect::new(hook, &run);
        HookReport { hook: hook.clone(), run, effect }
    }

    fn input(&self, event: HookEvent, fields: Value) -> String {
        let mode = match self.place.permissions.mode() {
            Mode::Auto => "bypassPermissions",
            Mode::Chat => "plan",
            _ => "default",
        };
        let mut input = json!({
            "session_id": self.place.session_id,
            "cwd": self.place.working_dir,
            "permission_mode": mode,
            "hook_event_name": event.name(),
        });
        if let (Value::Object(input), Value::Object(fields)) = (&mut input, fields) {
            input.extend(fields);
        }
        input.to_string()
    }
}

impl JoinedEffect {
    fn new(reports: Vec<HookReport>) -> Self {
        let mut joined = Self::default();
        for HookReport { hook, effect, .. } in reports {
            let origin = hook.origin();
            add(&mut joined.block, effect.block.map(|reason| format!("{origin} blocked it: {reason}")));
            add(&mut joined.ask, effect.ask.map(|reason| format!("{origin} wants you to decide: {reason}")));
            add(&mut joined.context, effect.context.map(|text| format!("Added by {origin}:\n{text}")));
            joined.notices.extend(effect.notice);
            joined.stops |= effect.stops;
        }
        joined
    }
}

fn add(texts: &mut Option<String>, text: Option<String>) {
    let Some(text) = text else { return };
    match texts {
        Some(texts) => {
            texts.push_str("\n\n");
            texts.push_str(&text);
        }
        None => *texts = Some(text),
    }
}

fn tool_fields(shaped: &ShapedCall, id: &str) -> Value {
    json!({ "tool_name": shaped.name(), "tool_input": shaped.input, "tool_use_id": id })
}

fn names(shaped: &ShapedCall) -> Vec<&str> {
    shaped.names.iter().map(String::as_str).collect()
}

/// Returns the tool that hooks know under a name.
pub fn own_tool(name: &str) -> &str {
    match name {
        "Bash" => "developer__shell",
        "Read" => "developer__read",
        "Write" => "developer__write",
        "Edit" | "MultiEdit" => "developer__edit",
        "Grep" => "developer__search",
        name => name.strip_prefix("mcp__").unwrap_or(name),
    }
}
