//! Tool calls of one answer. They are checked one by one, then run in parallel. The user is asked about one
//! call at a time, while others already run. Every call gets a result.

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt as _, StreamExt as _, stream};
use goose_extension::{CallContext, JsonObject, Model, Tool, ToolError, ToolOutput, ToolResult};
use goose_providers::{Arguments, StopReason, ToolCall};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    agent_loop::{Abort, AgentLoop, LoopFunction, StepResult},
    ask_model::{ModelAnswer, as_value},
    call_path::{ApprovalQuestion, Call, CallId, CallPath, JudgedCall, Refusal, as_output},
    event::{Event, Failure, ToolEnd},
    final_output::{ACCEPTED, FINAL_OUTPUT},
    loop_context::LoopContext,
    repetition::RepetitionVerdict,
};

/// Time limit for tools to end after they were cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Result of a call that was waiting for approval when the reply was cancelled.
const NOT_RUN: &str = "Cancelled by the user. It was not run.";

/// Maximum number of fields of a tool that an error names.
const MAX_FIELDS: usize = 20;

/// Calls of one answer, checked but not run.
pub(super) struct CheckedCalls {
    running: RunningCalls,
    calls: Vec<CheckedCall>,
}

/// Next step for a call.
enum CheckedCall {
    Run(Call),
    Ask(Call, ApprovalQuestion),
    /// The call already has a result.
    Finished {
        id: String,
        name: String,
        output: ToolOutput,
        end: ToolEnd,
    },
}

/// Call that passed the checks before the permissions.
enum PassedCall {
    /// The permissions are next.
    Call(Box<Call>),
    /// The loop has answered the call.
    Answered(&'static str),
}

/// Call that has ended.
struct EndedCall {
    id: String,
    name: String,
    result: Result<ToolResult<ToolOutput>, Refusal>,
}

/// Running calls of one answer.
struct RunningCalls {
    path: Arc<CallPath>,
    calls: JoinSet<EndedCall>,
}

impl Drop for RunningCalls {
    fn drop(&mut self) {
        self.path.cancellation.cancel();
    }
}

impl AgentLoop {
    /// Checks the calls of an answer. The order of the checks is fixed: repetition, toolset, arguments,
    /// permissions, hooks.
    pub(super) async fn check(
        &mut self,
        answer: &ModelAnswer,
        calls: Vec<ToolCall>,
    ) -> StepResult<CheckedCalls> {
        self.repetition.next_turn();
        let running = RunningCalls { path: Arc::new(self.call_path()), calls: JoinSet::new() };
        let mut checked = Vec::with_capacity(calls.len());
        for call in calls {
            checked.push(self.check_call(answer, call, &running.path).await?);
        }
        Ok(CheckedCalls { running, calls: checked })
    }

    /// Returns the path of this reply to the agent's tools.
    pub(super) fn call_path(&self) -> CallPath {
        let LoopContext { folder, outlets, .. } = &*self.context;
        let model: Arc<dyn Model> = Arc::new(self.context.sampling_model());
        let context = CallContext::new()
            .with_model(Arc::clone(&model))
            .with_working_dir(&folder.working_dir)
            .with_session_id(self.context.session.id().to_string())
            .with_exchange_view(self.state.conversation.view());
        let context = match &folder.backend {
            Some(backend) => context.with_backend(Arc::clone(backend)),
            None => context,
        };
        CallPath {
            agent: self.context.agent.clone(),
            guard: self.context.guard.clone(),
            working_dir: folder.working_dir.clone(),
            context,
            notifier: Arc::clone(&outlets.notifier),
            caller: outlets.caller.clone(),
            model,
            events: self.events.clone(),
            cancellation: self.cancellation.child_token(),
            has_written: Arc::clone(&self.has_written),
            agents: Arc::clone(&self.context.agents),
        }
    }

    async fn check_call(
        &mut self,
        answer: &ModelAnswer,
        call: ToolCall,
        path: &CallPath,
    ) -> StepResult<CheckedCall> {
        let ToolCall { id, name, arguments, .. } = call;
        let judged = match self.check_before_permissions(
            answer,
            CallId::top_level(id.clone()),
            &name,
            arguments,
            path,
        ) {
            Ok(PassedCall::Call(call)) => path.decide(*call).await,
            Ok(PassedCall::Answered(text)) => {
                let output = ToolOutput::text(text);
                return Ok(CheckedCall::Finished { id, name, output, end: ToolEnd::Ran });
            }
            Err(refused) => Err(refused),
        };
        Ok(match judged {
            Ok(JudgedCall { call, question: Some(asked) }) => CheckedCall::Ask(call, asked),
            Ok(JudgedCall { call, question: None }) => CheckedCall::Run(call),
            Err(refused) if refused.end == ToolEnd::Cancelled => return Err(Abort::Cancelled),
            Err(refused) => CheckedCall::Finished { id, name, output: refused.output(), end: refused.end },
        })
    }

    /// Checks everything but the permissions.
    fn check_before_permissions(
        &mut self,
        answer: &ModelAnswer,
        id: CallId,
        name: &str,
        arguments: Arguments,
        path: &CallPath,
    ) -> Result<PassedCall, Refusal> {
        if answer.stop == StopReason::Refused {
            return Err(Refusal::rejected("Not run: the answer was refused before it was complete."));
        }
        self.check_repetition(name, &arguments).map_err(Refusal::rejected)?;
        if !self.has_tools && name != FINAL_OUTPUT {
            return Err(Refusal::rejected(
                "Not run: there are no tools here. Answer from the results above.",
            ));
        }
        if name == FINAL_OUTPUT
            && let Some(output) = &self.context.final_output
        {
            let arguments = well_formed(answer, output.tool(), arguments).map_err(Refusal::rejected)?;
            self.progress.structured = Some(output.accept(arguments).map_err(Refusal::rejected)?);
            return Ok(PassedCall::Answered(ACCEPTED));
        }
        if let Some(LoopFunction { tool, answer: said }) =
            self.functions.iter().find(|function| function.tool.name() == name)
        {
            let arguments = well_formed(answer, tool, arguments).map_err(Refusal::rejected)?;
            let arguments = tool.validate(arguments).map_err(Refusal::rejected)?;
            self.progress.called = Some(arguments.as_object().clone());
            return Ok(PassedCall::Answered(said));
        }
        // Before the arguments are parsed, because the error about them describes the tool.
        let resolved = path.resolve(name)?;
        let arguments = well_formed(answer, &resolved.handle.tool, arguments).map_err(Refusal::rejected)?;
        Call::check(id, resolved, arguments).map(|call| PassedCall::Call(Box::new(call)))
    }

    fn check_repetition(&mut self, name: &str, arguments: &Arguments) -> Result<(), String> {
        let times = match self.repetition.count(name, &as_value(arguments)) {
            RepetitionVerdict::Fine => return Ok(()),
            RepetitionVerdict::TooOften(times) => times,
            RepetitionVerdict::Hopeless(times) => {
                self.progress.stuck = Some(Failure {
                    message: format!(
                        "The model asked for `{name}` with the same arguments {times} times in a row."
                    ),
                    hint: Some("Tell it what to do differently, or use another model.".to_owned()),
                });
                times
            }
        };
        Err(format!(
            "Not run: this is call number {times} in a row of `{name}` with exactly these arguments, and the result \
             will be the same. Use the results that you have, do something else, or say what keeps you from going on."
        ))
    }

    /// Runs the checked calls until all have a result.
    pub(super) async fn run_tools(&mut self, checked: CheckedCalls) -> StepResult<()> {
        let CheckedCalls { mut running, calls } = checked;
        if calls.is_empty() {
            return Ok(());
        }
        let mut to_ask = Vec::new();
        for checked in calls {
            match checked {
                CheckedCall::Ask(call, asked) => to_ask.push((call, asked)),
                CheckedCall::Run(call) => self.begin_call(call, &mut running).await?,
                CheckedCall::Finished { id, name, output, end } => {
                    self.finish_call(id, name, output, end).await?;
                }
            }
        }
        let ended = self.until_all_ended(&mut running, to_ask).await;
        if let Err(Abort::Cancelled) = ended {
            self.drain_cancelled(&mut running).await?;
        }
        self.flush_usage().await?;
        ended
    }

    async fn until_all_ended(
        &mut self,
        running: &mut RunningCalls,
        to_ask: Vec<(Call, ApprovalQuestion)>,
    ) -> StepResult<()> {
        let mut unanswered: VecDeque<(String, String)> =
            to_ask.iter().map(|(call, _)| (call.id.id.clone(), call.name().to_owned())).collect();
        let path = Arc::clone(&running.path);
        let answers = stream::iter(to_ask).then(|(call, asked)| path.approve(call, asked).boxed());
        let mut answers = pin!(answers);
        let cancellation = self.cancellation.clone();
        while !unanswered.is_empty() || !running.calls.is_empty() {
            self.settle().await?;
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {
                    for (id, name) in unanswered {
                        self.finish_call(id, name, ToolOutput::error(NOT_RUN), ToolEnd::Cancelled).await?;
                    }
                    return Err(Abort::Cancelled);
                }
                Some(ended) = running.calls.join_next(), if !running.calls.is_empty() => {
                    self.take_ended(ended).await?;
                }
                Some(answer) = answers.next() => {
                    let Some((id, name)) = unanswered.pop_front() else { continue };
                    match answer {
                        Ok(call) => self.begin_call(call, running).await?,
                        Err(refused) => self.finish_call(id, name, refused.output(), refused.end).await?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts a call, once the answer that contains it is stored.
    async fn begin_call(&mut self, call: Call, running: &mut RunningCalls) -> StepResult<()> {
        self.settle().await?;
        let (id, name) = (call.id.id.clone(), call.name().to_owned());
        let arguments = call.arguments.as_object().clone();
        self.emit(Event::ToolStarted { id: id.clone(), name: name.clone(), arguments });
        let (path, cancellation) = (Arc::clone(&running.path), running.path.cancellation.child_token());
        // Boxed: the runtime would move the 5 KB of the future several times.
        let ended = async move { EndedCall { result: path.run(call, cancellation).await, id, name } };
        running.calls.spawn(ended.boxed());
        Ok(())
    }

    async fn take_ended(&mut self, ended: Result<EndedCall, tokio::task::JoinError>) -> StepResult<()> {
        // An aborted task has no result; the end of the reply adds one.
        let Ok(EndedCall { id, name, result }) = ended else { return Ok(()) };
        let is_cancelled = self.cancellation.is_cancelled();
        let (output, end) = match result {
            Ok(Ok(output)) => (output, ToolEnd::Ran),
            Ok(Err(ToolError::Cancelled(_))) if is_cancelled => return Ok(()),
            Ok(Err(error)) => (as_output(error), ToolEnd::Ran),
            Err(refused) if is_cancelled && refused.end == ToolEnd::Cancelled => return Ok(()),
            Err(refused) => (refused.output(), refused.end),
        };
        self.finish_call(id, name, output, end).await
    }

    /// Ends all calls after the reply was cancelled. Calls that end within the time limit with a result keep
    /// it.
    async fn drain_cancelled(&mut self, running: &mut RunningCalls) -> StepResult<()> {
        running.path.cancellation.cancel();
        let deadline = tokio::time::Instant::now() + CANCEL_GRACE;
        while let Ok(Some(ended)) = tokio::time::timeout_at(deadline, running.calls.join_next()).await {
            self.take_ended(ended).await?;
        }
        running.calls.abort_all();
        Ok(())
    }
}

/// Returns the arguments as an object.
fn well_formed(answer: &ModelAnswer, tool: &Tool, arguments: Arguments) -> Result<JsonObject, String> {
    match arguments {
        Arguments::Object(object) => Ok(object),
        Arguments::Malformed { .. } if answer.stop == StopReason::MaxTokens => Err(format!(
            "Not run: your answer reached its greatest length in the middle of this call of `{}`. \
             Do less in one call, for example write a long file in several parts.",
            tool.name()
        )),
        Arguments::Malformed { why, .. } => Err(format!(
            "Not run: the arguments of `{}` cannot be read: {why}. Call it again with one JSON object. {}",
            tool.name(),
            fields(tool)
        )),
    }
}

/// Returns a text about the fields of a tool.
fn fields(tool: &Tool) -> String {
    let schema = tool.input_schema();
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object).filter(|it| !it.is_empty());
    let Some(properties) = properties else { return "It takes no arguments: use {}.".to_owned() };
    let fields = properties.iter().take(MAX_FIELDS).map(|(name, field)| {
        let kind = field.get("type").and_then(Value::as_str).unwrap_or("any");
        let is_required = required.is_some_and(|names| names.iter().any(|required| required == name));
        let need = if is_required { ", required" } else { "" };
        format!("`{name}` ({kind}{need})")
    });
    format!("It takes: {}.", fields.collect::<Vec<_>>().join(", "))
}
