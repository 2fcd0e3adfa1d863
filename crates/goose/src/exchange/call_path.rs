//! [`CallPath`]: the one way to a tool.
//!
//! ```text
//! toolset ─► arguments ─► permissions ─► hooks ─► approval ─► dispatch ─► hooks
//!    ▲                                                            │ the definition changed since it was checked
//!    └────────────────────────────────────────────────────────────┘
//! ```
//!
//! The loop sends the calls of an answer through it, and a running tool its nested calls, by
//! [`CallContext::call_tool`]. Both pass the same steps, share one queue of approvals, and end with their
//! parent.

mod call_hooks;
mod claims;
mod command_writes;
mod running_call;

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use futures::FutureExt as _;
use goose_extension::{
    CallContext, Caller, CheckedArguments, ContentBlock, HostPolicy, JsonObject, JudgedPath, Model, Notifier,
    RichRenderable, ToolError, ToolOutput, ToolResult,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::command_writes::CommandWrites;
pub(super) use self::running_call::{CallId, RunningCall};
use super::{
    delegates,
    event::{self, Approval, Decision, Event, ToolEnd},
    event_hub::EventSink,
    loop_context::CallGuard,
    sanitize_output::{brief, make_visible, sanitize_output},
};
use crate::{
    agents::{
        ToolHandle,
        agent::{ActiveAgent, AgentSource},
        toolset::Toolset,
    },
    permission::{ApprovalSnapshot, CallToJudge, Origin, Permissions, Rule, Verdict},
};

/// Maximum number of times that a call is checked because its tool's definition changed.
const MAX_CHECKS: usize = 3;

/// Result of a call that the user declined, for the model.
const DECLINED: &str = "the user did not allow this call. Do not try it again in another form; \
                        ask what they would like instead, or go on without it.";

/// Path from a tool's name and arguments to a result, for the calls of one answer and their nested calls.
pub(super) struct CallPath {
    pub(super) agent: ActiveAgent,
    pub(super) guard: CallGuard,
    pub(super) working_dir: PathBuf,
    /// Context that all calls share.
    pub(super) context: CallContext,
    pub(super) notifier: Arc<dyn Notifier>,
    /// Answers the questions of tools. Without it, the user is asked.
    pub(super) caller: Option<Arc<dyn Caller>>,
    /// Model that tools may use with the user's consent.
    pub(super) model: Arc<dyn Model>,
    pub(super) events: EventSink,
    /// Cancels all calls.
    pub(super) cancellation: CancellationToken,
    /// Set once a call has changed a file.
    pub(super) has_written: Arc<AtomicBool>,
    /// Source of the agents that tasks can be delegated to.
    pub(super) agents: Arc<dyn AgentSource>,
}

/// Tool, and the toolset that contains it.
pub(super) struct ResolvedTool {
    toolset: Arc<Toolset>,
    pub(super) handle: Arc<ToolHandle>,
}

/// Call of a known tool with valid arguments.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) handle: Arc<ToolHandle>,
    pub(super) arguments: CheckedArguments,
    /// Toolset that resolved the tool.
    toolset: Arc<Toolset>,
    /// Text for the model after the result, if the user changed the arguments.
    pub(super) note: Option<String>,
    /// Files that the permissions judged.
    pub(super) files: Vec<JudgedPath>,
    /// Files that the call is known to write.
    writes: Vec<PathBuf>,
    /// Hosts that the call may reach, if it fetches.
    hosts: Option<Arc<HostPolicy>>,
    /// Reason to ask the user, besides the reasons of the permissions.
    concern: Option<String>,
}

/// Refusal to run a call. The text is for the model.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: ToolError,
    pub(super) end: ToolEnd,
}

impl Refusal {
    /// Creates the refusal of a call that is malformed or unknown.
    pub(super) fn rejected(error: impl Into<ToolError>) -> Self {
        Self { error: error.into(), end: ToolEnd::Rejected }
    }

    /// Creates the refusal of a call because of a rule or the user.
    pub(super) fn denied(reason: impl std::fmt::Display) -> Self {
        Self { error: ToolError::Denied(format!("Not run: {reason}")), end: ToolEnd::Denied }
    }

    fn cancelled(name: &str) -> Self {
        let error = ToolError::Cancelled(format!("The call of `{name}` was cancelled."));
        Self { error, end: ToolEnd::Cancelled }
    }

    /// Returns the result that the model reads.
    pub(super) fn output(&self) -> ToolOutput {
        ToolOutput::error(self.error.to_string())
    }
}

/// Call that the permissions do not deny.
pub(super) struct JudgedCall {
    pub(super) call: Call,
    /// Set if the user must be asked first.
    pub(super) question: Option<ApprovalQuestion>,
}

/// Question to the user if a call may run.
pub(super) struct ApprovalQuestion {
    pub(super) reasons: Vec<String>,
    /// Rules that "always" would store.
    pub(super) always: Vec<Rule>,
    /// Rules that "for this session" would add.
    pub(super) session: Vec<Rule>,
    /// Exact subject of the question, to detect a change before the call runs.
    pub(super) shown: ApprovalSnapshot,
}

impl ApprovalQuestion {
    /// Returns the question of a verdict; none if the call is allowed.
    pub(super) fn of(verdict: Verdict) -> Result<Option<Self>, Refusal> {
        match verdict {
            Verdict::Allow => Ok(None),
            Verdict::Ask { reasons, always, session, shown } => {
                Ok(Some(Self { reasons, always, session, shown }))
            }
            Verdict::Deny { reason } => Err(Refusal::denied(reason)),
        }
    }

    /// Adds the reason of a hook, which turns an allowed call into a question about `shown`.
    pub(super) fn with_reason(
        question: Option<Self>,
        reason: Option<String>,
        shown: impl FnOnce() -> ApprovalSnapshot,
    ) -> Option<Self> {
        let Some(reason) = reason else { return question };
        let new = || Self { reasons: Vec::new(), always: Vec::new(), session: Vec::new(), shown: shown() };
        let mut question = question.unwrap_or_else(new);
        question.reasons.push(reason);
        Some(question)
    }
}

/// Consent of the user to a call.
pub(super) enum Approved {
    /// For this call.
    Once,
    /// For this call and others.
    Repeatedly,
    /// With these arguments.
    Edited(JsonObject),
}

impl Call {
    /// Checks the arguments of a call.
    pub(super) fn check(id: CallId, resolved: ResolvedTool, arguments: JsonObject) -> Result<Self, Refusal> {
        let ResolvedTool { toolset, handle } = resolved;
        let arguments = handle.tool.validate(arguments).map_err(Refusal::rejected)?;
        let (files, writes) = (Vec::new(), Vec::new());
        Ok(Self { id, handle, arguments, toolset, note: None, files, writes, hosts: None, concern: None })
    }

    pub(super) fn name(&self) -> &str {
        self.handle.tool.name()
    }

    fn to_judge<'a>(&'a self, working_dir: &'a Path) -> CallToJudge<'a> {
        let call = self.handle.call(self.arguments.as_object(), working_dir);
        CallToJudge { concern: self.concern.as_deref(), ..call }
    }
}

impl CallPath {
    /// Finds a tool in the toolset of the current agent.
    pub(super) fn resolve(&self, name: &str) -> Result<ResolvedTool, Refusal> {
        let toolset = Arc::clone(&self.agent.get().toolset);
        let handle = toolset.resolve(name).map_err(Refusal::rejected)?;
        Ok(ResolvedTool { toolset, handle })
    }

    /// Finds a tool and checks the arguments.
    pub(super) fn check(&self, id: CallId, name: &str, arguments: JsonObject) -> Result<Call, Refusal> {
        Call::check(id, self.resolve(name)?, arguments)
    }

    /// Asks the permissions if a call may run.
    pub(super) async fn judge(&self, mut call: Call) -> Result<JudgedCall, Refusal> {
        if call.handle.delegates() {
            call.concern = delegates::concern(call.arguments.as_object(), || self.agents.catalog());
        }
        let (call, judgement) = self.consult(call, Permissions::judgement).await?;
        let hosts = judgement.hosts.map(Arc::new);
        let call = Call { files: judgement.files, writes: judgement.writes, hosts, ..call };
        let files = call.files.iter().filter_map(|file| file.target.as_ref().ok());
        let files = files.map(|target| target.path.as_path());
        call.handle
            .check_files(call.arguments.as_object(), files, &self.working_dir)
            .map_err(Refusal::denied)?;
        Ok(JudgedCall { call, question: ApprovalQuestion::of(judgement.verdict)? })
    }

    /// Asks the permissions and then the hooks if a call may run.
    pub(super) async fn decide(&self, call: Call) -> Result<JudgedCall, Refusal> {
        let judged = self.judge(call).await?;
        self.with_hooks_before(judged).await
    }

    /// Asks the permissions about a call, on a blocking thread if that takes long.
    async fn consult<T: Send + 'static>(
        &self,
        call: Call,
        question: impl FnOnce(&Permissions, &CallToJudge<'_>) -> T + Send + 'static,
    ) -> Result<(Call, T), Refusal> {
        let to_judge = call.to_judge(&self.working_dir);
        if !to_judge.takes_long() {
            let answer = question(&self.guard.permissions, &to_judge);
            return Ok((call, answer));
        }
        let name = call.name().to_owned();
        let (permissions, folder) = (Arc::clone(&self.guard.permissions), self.working_dir.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let answer = question(&permissions, &call.to_judge(&folder));
            (call, answer)
        });
        let answered = self.cancellation.run_until_cancelled(asked).await;
        let answered = answered.ok_or_else(|| Refusal::cancelled(&name))?;
        answered.map_err(|error| Refusal::denied(format!("the call could not be judged: {error}")))
    }

    /// Asks the user if a call may run. Only the first answer counts; no answer is a refusal. If the call
    /// would change something else by the time of the answer, the user is asked again.
    pub(super) async fn approve(
        self: &Arc<Self>,
        call: Call,
        asked: ApprovalQuestion,
    ) -> Result<Call, Refusal> {
        let mut preview = self.preview(&call).await;
        for _ in 0..MAX_CHECKS {
            let arguments = call.arguments.as_object();
            match self.ask(&call.id, call.name(), arguments, preview.clone(), &asked).await? {
                Approved::Edited(arguments) => return self.edited(call, &asked, arguments).await,
                Approved::Repeatedly => return self.still_holds(call, &asked).await,
                Approved::Once => {
                    let now = self.preview(&call).await;
                    if now == preview {
                        return self.still_holds(call, &asked).await;
                    }
                    preview = now;
                }
            }
        }
        Err(Refusal::denied("the files that it changes keep changing. Look at them again."))
    }

    /// Returns what a call would change, if its tool is part of goose and can tell.
    async fn preview(self: &Arc<Self>, call: &Call) -> Option<RichRenderable> {
        if call.handle.origin == Origin::Foreign {
            return None;
        }
        let running = Arc::new(RunningCall::new(self, call, self.cancellation.child_token()));
        let manager = call.toolset.manager();
        manager.preview(&call.handle, call.arguments.clone(), &running.context()).await
    }

    /// Asks the user about a call.
    pub(super) async fn ask(
        &self,
        id: &CallId,
        tool: &str,
        arguments: &JsonObject,
        preview: Option<RichRenderable>,
        asked: &ApprovalQuestion,
    ) -> Result<Approved, Refusal> {
        let _turn = self.events.question_turn().await;
        let texts = |rules: &[Rule]| rules.iter().map(ToString::to_string).collect();
        let approval = Approval {
            id: id.id.clone(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            reasons: asked.reasons.clone(),
            always: texts(&asked.always),
            session: texts(&asked.session),
            preview,
        };
        let events = self.events_of(id);
        let answer = events.ask(id.id.clone(), Event::Approval(approval)).answer().await;
        let Some(event::Answer::Decision(decision)) = answer else { return Err(Refusal::denied(DECLINED)) };
        match decision {
            Decision::Allow => Ok(Approved::Once),
            Decision::Always => {
                self.remember(&asked.always, &events);
                Ok(Approved::Repeatedly)
            }
            Decision::Session => {
                self.guard.permissions.allow_for_session(&asked.session, &asked.shown, &asked.reasons);
                Ok(Approved::Repeatedly)
            }
            Decision::Edited(arguments) => Ok(Approved::Edited(arguments)),
            Decision::Deny { instead: Some(words) } => {
                Err(Refusal::denied(format!("the user did not allow this call and says: {words}")))
            }
            Decision::Deny { instead: None } => Err(Refusal::denied(DECLINED)),
        }
    }

    /// Stores the rules of "always", and reports where.
    fn remember(&self, rules: &[Rule], events: &EventSink) {
        let file = self.guard.permissions.file().map(|file| file.display().to_string()).unwrap_or_default();
        for rule in rules {
            events.emit(Event::Notice(match self.guard.permissions.remember(rule) {
                Ok(()) => format!("Stored `{rule}` in {file}."),
                Err(error) => format!("The rule `{rule}` could not be stored: {error}"),
            }));
        }
    }

    /// Returns the call, if the tool and its context are unchanged since the approval.
    async fn still_holds(&self, call: Call, asked: &ApprovalQuestion) -> Result<Call, Refusal> {
        let handle = call.toolset.resolve(call.name()).map_err(Refusal::denied)?;
        let shown = asked.shown.clone();
        let call = Call { handle, ..call };
        let (call, holds) =
            self.consult(call, move |permissions, now| permissions.still_holds(&shown, now)).await?;
        holds.map_err(Refusal::denied)?;
        Ok(call)
    }

    /// Returns the call with the arguments that the user wrote. They are validated and judged like the
    /// model's, but the user is not asked again.
    async fn edited(
        &self,
        call: Call,
        asked: &ApprovalQuestion,
        arguments: JsonObject,
    ) -> Result<Call, Refusal> {
        let call = self.still_holds(call, asked).await?;
        let arguments = call.handle.tool.validate(arguments).map_err(|error| {
            Refusal::denied(format!("the user changed the arguments, and they do not fit. {error}"))
        })?;
        let changed = Value::Object(arguments.as_object().clone());
        let note = format!("(The user changed the arguments of this call to {}.)", brief(&changed));
        Ok(self.decide(Call { arguments, note: Some(note), ..call }).await?.call)
    }

    /// Runs a call that was allowed. If the agent was replaced or the tool's definition changed since, the
    /// call is checked again from the start, because the decision was about another tool. A panic fails the
    /// call only.
    pub(super) async fn run(
        self: &Arc<Self>,
        mut call: Call,
        cancellation: CancellationToken,
    ) -> Result<ToolResult<ToolOutput>, Refusal> {
        // Also ends nested calls that outlive this one.
        let _ends = cancellation.clone().drop_guard();
        for _ in 0..MAX_CHECKS {
            if !Arc::ptr_eq(&call.toolset, &self.agent.get().toolset) {
                call = self.check_again(call).await?;
            }
            let claim = self.claim(&call.writes)?;
            let running = Arc::new(RunningCall::new(self, &call, cancellation.clone()));
            let context = running.context();
            let writes = CommandWrites::before(&call);
            let dispatch = call.toolset.manager().dispatch(&call.handle, call.arguments.clone(), &context);
            let ended = AssertUnwindSafe(dispatch).catch_unwind().await;
            let paths = writes.changed(&self.working_dir);
            if !paths.is_empty() {
                running.emit(Event::FilesWritten { call: call.id.id.clone(), paths });
            }
            self.note_writes(&call, claim, matches!(&ended, Ok(Ok(Ok(output))) if !output.is_error));
            match ended {
                Ok(Ok(mut result)) => {
                    if let Ok(output) = &mut result {
                        if call.handle.origin == Origin::Foreign {
                            make_visible(output);
                        }
                        output.content.extend(call.note.as_deref().map(ContentBlock::text));
                    }
                    return Ok(self.with_hooks_after(&call, result).await);
                }
                Ok(Err(changed)) => {
                    tracing::debug!(%changed, "a call is checked again");
                    call = self.check_again(call).await?;
                }
                Err(_) => {
                    return Ok(Err(ToolError::ExecutionError(format!(
                        "`{}` failed because of a bug in goose. Try another way.",
                        call.name()
                    ))));
                }
            }
        }
        Err(Refusal::denied(format!(
            "the definition of `{}` keeps changing. Try again later, or do without it.",
            call.name()
        )))
    }

    async fn check_again(self: &Arc<Self>, call: Call) -> Result<Call, Refusal> {
        let Call { id, handle, arguments, note, .. } = call;
        let checked = self.check(id, handle.tool.name(), arguments.into_object())?;
        self.permit(Call { note, ..checked }).await
    }

    /// Checks, approves and runs a nested call. The hub stores its start and its end.
    pub(super) async fn call_nested(
        self: &Arc<Self>,
        id: CallId,
        name: &str,
        arguments: JsonObject,
        cancellation: CancellationToken,
    ) -> ToolResult<ToolOutput> {
        let events = self.events_of(&id);
        let call = async {
            let call = self.permit(self.check(id.clone(), name, arguments)?).await?;
            let (name, arguments) = (call.name().to_owned(), call.arguments.as_object().clone());
            events.emit(Event::ToolStarted { id: id.id.clone(), name, arguments });
            self.run(call, cancellation.clone()).await
        };
        let ended = cancellation.run_until_cancelled(call).await;
        let ended = ended.unwrap_or_else(|| Err(Refusal::cancelled(name)));
        let (output, end) = match &ended {
            Ok(Ok(output)) => (output.clone(), ToolEnd::Ran),
            Ok(Err(error)) => (as_output(error.clone()), ToolEnd::Ran),
            Err(refused) => (refused.output(), refused.end),
        };
        let output = sanitize_output(output);
        events.emit(Event::ToolFinished { id: id.id, name: name.to_owned(), output, end });
        match ended {
            Ok(result) => result,
            Err(refused) => Err(refused.error),
        }
    }

    /// Asks the permissions, the hooks and, if they want it, the user if a call may run.
    pub(super) async fn permit(self: &Arc<Self>, call: Call) -> Result<Call, Refusal> {
        match self.decide(call).await? {
            JudgedCall { call, question: None } => Ok(call),
            JudgedCall { call, question: Some(asked) } => self.approve(call, asked).boxed().await,
        }
    }

    /// Returns the sink for the events of a call.
    pub(super) fn events_of(&self, id: &CallId) -> EventSink {
        match &id.parent {
            Some(parent) => self.events.inside(parent),
            None => self.events.clone(),
        }
    }
}

/// Returns a failure as the result that the model reads.
pub(super) fn as_output(error: ToolError) -> ToolOutput {
    let mut output =
        ToolOutput::from_error(error).unwrap_or_else(|error| ToolOutput::error(error.to_string()));
    make_visible(&mut output);
    output
}
