//! [`ExternalHost`]: the loop as host of an external agent that does a task in the model's place. Everything
//! that it requests of this machine passes the same toolset, permissions and approvals as goose's own calls.
//! The protocol is in `agents::external_agent`.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use goose_extension::{
    Answer as ToolAnswer, Caller as _, Elicitation, Elicited, FileError, JsonObject, Message, Question,
    RichRenderable, Tool, ToolCaller as _, ToolError, ToolOutput, ToolResult, visible,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    agent_loop::{Abort, AgentLoop, StepResult},
    call_path::{ApprovalQuestion, Approved, Call, Refusal, RunningCall},
    event::{Event, Outcome, ToolEnd},
    read_target::read_target,
    sanitize_output::sanitize_output,
};
use crate::{
    agents::external_agent::{
        ActionEffect, AgentAction, AgentEnd, AgentError, AgentHost, ExternalAgent, MAX_ACTION_FILES,
        MAX_ANSWER_BYTES, MAX_FILE_BYTES, Mentions,
    },
    permission::{CallToJudge, Origin},
    session::Step,
};

/// Extension whose tools stand for the agent's own actions.
const JUDGED_BY: &str = "developer";
const READ: &str = "developer__read";
const WRITE: &str = "developer__write";
const SHELL: &str = "developer__shell";

/// Answer of an agent that worked and said nothing.
const NO_TEXT: &str = "(no text)";

/// Maximum length of a line about an activity, in characters.
const ACTIVITY_CHARS: usize = 300;

/// Maximum number of activities that are shown for one task.
const MAX_ACTIVITIES: usize = 500;

/// Maximum size of the reasoning that is shown for one task, in bytes.
const MAX_THOUGHT_BYTES: usize = 1024 * 1024;

impl AgentLoop {
    /// Runs a task with an external agent in the model's place, and adds its answer to the conversation.
    pub(crate) async fn run_external(
        &mut self,
        agent: &Arc<ExternalAgent>,
        task: &str,
    ) -> StepResult<Outcome> {
        self.settle().await?;
        self.report_notices();
        self.progress.turn += 1;
        self.emit(Event::Asking { turn: self.progress.turn });
        // The permissions judge its requests by these tools, so they must be listed first.
        let _ = self.context.agent().toolset.list().await;
        let id = format!("agent-{}", self.events.reply());
        let call = RunningCall::of_agent(self.call_path(), id);
        let host = Arc::new(ExternalHost::new(agent.name().to_owned(), Arc::clone(&call)));
        let ended = agent.run(task, Arc::clone(&host) as _).await;
        if ended == Ok(AgentEnd::Done) {
            host.ensure_answer();
        }
        // Ends nested calls that the agent left running.
        call.cancellation.cancel();
        let answer = host.take_answer();
        let is_empty = answer.is_empty();
        if !is_empty {
            self.say(answer).await?;
        }
        match ended {
            Ok(AgentEnd::Cancelled) => Err(Abort::Cancelled),
            _ if self.cancellation.is_cancelled() => Err(Abort::Cancelled),
            Ok(AgentEnd::Done) if is_empty => Ok(Outcome::Empty),
            Ok(AgentEnd::Done) => Ok(Outcome::Done { structured: None }),
            Ok(AgentEnd::Limit) => Ok(Outcome::MaxTokens),
            Ok(AgentEnd::Refused) => Ok(Outcome::Refused),
            Err(error) => Err(Abort::failed(error.to_string(), None)),
        }
    }

    /// Adds an answer to the conversation that is not from the model.
    pub(crate) async fn say(&mut self, text: String) -> StepResult<()> {
        self.record(Step::Message { message: Message::assistant(text) }).await?;
        if let Some(message) = self.state.conversation.last() {
            self.emit(Event::Answered(Arc::clone(message)));
        }
        Ok(())
    }
}

/// Reply as the host of an external agent.
struct ExternalHost {
    /// Name of the agent.
    name: String,
    call: Arc<RunningCall>,
    answer: Mutex<String>,
    /// Set if the agent acted since it last spoke. Its next text starts a new paragraph.
    is_interrupted: AtomicBool,
    thought: AtomicUsize,
    activities: AtomicUsize,
}

impl ExternalHost {
    fn new(name: String, call: Arc<RunningCall>) -> Self {
        Self {
            name,
            call,
            answer: Mutex::default(),
            is_interrupted: AtomicBool::new(false),
            thought: AtomicUsize::new(0),
            activities: AtomicUsize::new(0),
        }
    }

    fn take_answer(&self) -> String {
        std::mem::take(&mut *self.answer.lock())
    }

    /// Adds an answer if the agent worked and said nothing: its task is done and must not be
    /// given to it again.
    fn ensure_answer(&self) {
        if self.is_interrupted.load(Ordering::Relaxed) && self.answer.lock().is_empty() {
            // Fails only for an answer that is too long.
            let _ = self.text(NO_TEXT);
        }
    }

    /// Waits for a decision about what a tool stands for, unless the task is cancelled first. A refusal is shown and
    /// counted like that of a call.
    async fn decided<T>(
        &self,
        tool: &str,
        decision: impl Future<Output = Result<T, Refusal>>,
    ) -> ToolResult<T> {
        self.is_interrupted.store(true, Ordering::Relaxed);
        let decided = self.call.cancellation.run_until_cancelled(decision).await;
        decided.unwrap_or_else(|| Err(cancelled())).map_err(|refused| {
            if refused.end != ToolEnd::Cancelled {
                let reason = refused.error.to_string();
                // The rest is advice for the agent.
                let reason = reason.split(". ").next().unwrap_or_default();
                let (id, output) = (self.call.next_id(), sanitize_output(ToolOutput::error(reason)));
                let (name, end) = (tool.to_owned(), refused.end);
                let refusal = Event::ToolFinished { id: id.id.clone(), name, output, end };
                self.call.path.events_of(&id).emit(refusal);
            }
            refused.error
        })
    }

    /// Decides about an action of the agent that is equivalent to a call of one of goose's tools.
    async fn permit_call(&self, tool: &str, arguments: Value) -> Result<Call, Refusal> {
        let Value::Object(arguments) = arguments else { return Err(Refusal::rejected("no arguments")) };
        let path = &self.call.path;
        path.permit(path.check(self.call.next_id(), tool, arguments)?).await
    }

    /// Decides about several such actions, all or none.
    async fn permit_calls(&self, tool: &str, calls: Vec<Value>) -> Result<(), Refusal> {
        if calls.len() > MAX_ACTION_FILES {
            return Err(Refusal::denied(format!("it is about more than {MAX_ACTION_FILES} files at once")));
        }
        // The user is not asked about one file of an action that is denied because of another.
        for arguments in calls.iter().skip(1) {
            self.check_not_denied(tool, arguments.clone()).await?;
        }
        let mut permitted = Vec::with_capacity(calls.len());
        for arguments in calls {
            let call = self.permit_call(tool, arguments).await?;
            if let Some(changed) = &call.note {
                return Err(Refusal::denied(format!(
                    "the user wants it otherwise, and the agent does it by itself. {changed}"
                )));
            }
            permitted.push(call);
        }
        self.call.path.claim_permitted(&permitted)
    }

    /// Decides about an action of a known kind without details, such as a write without a path. The
    /// permissions ask about such a call in every mode.
    async fn permit_unclear(&self, tool: &str, shown: &JsonObject) -> Result<(), Refusal> {
        let path = &self.call.path;
        let handle = path.resolve(tool)?.handle;
        handle.check_files(&JsonObject::new(), [], &path.working_dir).map_err(Refusal::denied)?;
        self.permit_shown(&handle.call(shown, &path.working_dir)).await?;
        if tool != READ {
            path.has_written.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Decides about an action that may have other effects than the one that it names: the user is asked in every
    /// mode, unless a rule denies something in it.
    async fn permit_mentioned(
        &self,
        effect: &ActionEffect,
        mentions: &Mentions,
        shown: &JsonObject,
    ) -> ToolResult<()> {
        let tool = match effect {
            ActionEffect::Reads(_) => READ,
            ActionEffect::Writes(_) => WRITE,
            ActionEffect::Other(_) if mentions.commands.is_empty() && !mentions.paths.is_empty() => WRITE,
            ActionEffect::Runs(_) | ActionEffect::Other(_) => SHELL,
        };
        let decision = async {
            self.check_mentions(mentions, tool != READ).await?;
            self.permit_unclear(tool, shown).await
        };
        self.decided(tool, decision).await
    }

    /// Fails if a rule denies something that an action mentions.
    async fn check_mentions(&self, mentions: &Mentions, may_write: bool) -> Result<(), Refusal> {
        if mentions.paths.len() > MAX_ACTION_FILES {
            return Err(Refusal::denied(format!("it is about more than {MAX_ACTION_FILES} files at once")));
        }
        let commands = mentions.commands.iter().map(|command| (SHELL, json!({ "command": command })));
        let reads = mentions.paths.iter().map(|path| (READ, json!({ "path": path })));
        let writes = mentions.paths.iter().filter(|_| may_write);
        let writes = writes.map(|path| (WRITE, json!({ "path": path, "content": "" })));
        for (tool, arguments) in commands.chain(reads).chain(writes) {
            self.check_not_denied(tool, arguments).await?;
        }
        Ok(())
    }

    /// Fails if a call is denied, and asks nothing. A tool that the mode does not have, or arguments that it does not
    /// take, are not checked.
    async fn check_not_denied(&self, tool: &str, arguments: Value) -> Result<(), Refusal> {
        if let Value::Object(arguments) = arguments
            && let Ok(call) = self.call.path.check(self.call.next_id(), tool, arguments)
        {
            self.call.path.judge(call).await?;
        }
        Ok(())
    }

    /// Decides about an action that none of goose's tools stands for, like about the tool of a server.
    async fn permit_other(&self, kind: &str, shown: &JsonObject) -> Result<(), Refusal> {
        let about = format!("An action of the agent {}", self.name);
        let tool = Tool::new(self.tool_name(kind), about, JsonObject::new());
        let call = CallToJudge {
            tool: &tool,
            bare_name: kind,
            origin: Origin::Foreign,
            arguments: shown,
            working_dir: &self.call.path.working_dir,
            concern: None,
        };
        self.permit_shown(&call).await
    }

    /// Decides about an action by the arguments that the user is shown.
    async fn permit_shown(&self, call: &CallToJudge<'_>) -> Result<(), Refusal> {
        let (path, id) = (&self.call.path, self.call.next_id());
        let question = ApprovalQuestion::of(path.guard.permissions.judge(call))?;
        let hooked = path.hooks_before(&id, call.name(), call.arguments).await?;
        let shown = || path.guard.permissions.shown(call);
        let Some(asked) = ApprovalQuestion::with_reason(question, hooked.ask, shown) else { return Ok(()) };
        match path.ask(&id, call.name(), call.arguments, None, &asked).await? {
            Approved::Once | Approved::Repeatedly => {
                path.guard.permissions.still_holds(&asked.shown, call).map_err(Refusal::denied)
            }
            Approved::Edited(_) => {
                Err(Refusal::denied("the user wants it otherwise, and the agent does it by itself"))
            }
        }
    }

    /// Returns the name of such an action in rules and questions.
    fn tool_name(&self, kind: &str) -> String {
        let word: String = kind.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        format!("{}__{}", self.name, if word.is_empty() { "other" } else { &word })
    }

    /// Reads the file that the permissions judged.
    async fn read_judged(&self, call: &Call) -> ToolResult<String> {
        let unreadable = |why: String| ToolError::execution(format!("The file cannot be read: {why}"));
        let judged = call.files.first().ok_or_else(|| unreadable("its place is not clear".to_owned()))?;
        let target = judged.target.clone().map_err(unreadable)?;
        let read = tokio::task::spawn_blocking(move || read_target(&target, MAX_FILE_BYTES)).await;
        let bytes = read.map_err(|error| unreadable(error.to_string()))?.map_err(|error| match error {
            FileError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                unreadable("there is no such file".to_owned())
            }
            error => unreadable(error.to_string()),
        })?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(unreadable(format!("it is larger than the {MAX_FILE_BYTES} bytes that are given")));
        }
        String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))
    }
}

/// Returns the agent's own description of an action as arguments.
fn shown(title: &str, input: Value) -> JsonObject {
    JsonObject::from_iter([("title".to_owned(), json!(visible(title))), ("input".to_owned(), input)])
}

fn cancelled() -> Refusal {
    Refusal { error: ToolError::Cancelled("The task was cancelled.".to_owned()), end: ToolEnd::Cancelled }
}

#[async_trait]
impl AgentHost for ExternalHost {
    fn cancellation(&self) -> CancellationToken {
        self.call.cancellation.clone()
    }

    fn text(&self, text: &str) -> Result<(), AgentError> {
        let mut answer = self.answer.lock();
        if text.is_empty() {
            return Ok(());
        }
        let is_interrupted = self.is_interrupted.swap(false, Ordering::Relaxed);
        let is_next = is_interrupted && !answer.is_empty() && !answer.ends_with("\n\n");
        let text = if is_next { format!("\n\n{text}") } else { text.to_owned() };
        let text = visible(&text).into_owned();
        if answer.len() + text.len() > MAX_ANSWER_BYTES {
            return Err(AgentError::Broken(format!(
                "The agent `{}` did not stop talking: its answer is longer than {MAX_ANSWER_BYTES} bytes.",
                self.name
            )));
        }
        answer.push_str(&text);
        self.call.emit(Event::Text(text));
        Ok(())
    }

    fn thought(&self, text: &str) {
        if self.thought.fetch_add(text.len(), Ordering::Relaxed) <= MAX_THOUGHT_BYTES {
            self.call.emit(Event::Thinking(visible(text).into_owned()));
        }
    }

    fn activity(&self, text: &str) {
        self.is_interrupted.store(true, Ordering::Relaxed);
        if self.activities.fetch_add(1, Ordering::Relaxed) < MAX_ACTIVITIES {
            let text = format!("{}: {}", self.name, text.replace(['\n', '\r'], " "));
            let text = goose_fs::truncate_chars(&text, ACTIVITY_CHARS).into_owned();
            let content = RichRenderable::from(visible(&text).into_owned());
            self.call.emit(Event::Log { call: None, content });
        }
    }

    async fn read_file(&self, path: &str, first: Option<u32>, lines: Option<u32>) -> ToolResult<String> {
        let call = self.decided(READ, self.permit_call(READ, json!({ "path": path }))).await?;
        let events = self.call.path.events_of(&call.id);
        let (id, name) = (call.id.id.clone(), call.name().to_owned());
        let arguments = call.arguments.as_object().clone();
        events.emit(Event::ToolStarted { id: id.clone(), name: name.clone(), arguments });
        let read = self.read_judged(&call).await;
        let output = match &read {
            Ok(text) => ToolOutput::text(format!("{} bytes for {}", text.len(), self.name)),
            Err(error) => ToolOutput::error(error.to_string()),
        };
        events.emit(Event::ToolFinished { id, name, output: sanitize_output(output), end: ToolEnd::Ran });
        self.is_interrupted.store(true, Ordering::Relaxed);
        Ok(selected(read?, first, lines))
    }

    async fn write_file(&self, path: &str, content: &str) -> ToolResult<()> {
        self.is_interrupted.store(true, Ordering::Relaxed);
        let arguments =
            JsonObject::from_iter([("path".to_owned(), json!(path)), ("content".to_owned(), json!(content))]);
        let output = self.call.call_tool(WRITE, arguments).await?;
        output.failure().map_or(Ok(()), Err)
    }

    async fn permit(&self, action: AgentAction) -> ToolResult<()> {
        let AgentAction { effect, unclear, title, input } = action;
        if let Some(mentions) = unclear {
            return self.permit_mentioned(&effect, &mentions, &shown(&title, input)).await;
        }
        let (tool, calls) = match effect {
            ActionEffect::Reads(paths) => {
                (READ, paths.into_iter().map(|path| json!({ "path": path })).collect::<Vec<_>>())
            }
            ActionEffect::Writes(files) => {
                let unsaid = || format!("({} does not say what it writes)", self.name);
                let call = |(path, content): (String, Option<String>)| json!({ "path": path, "content": content.unwrap_or_else(unsaid) });
                (WRITE, files.into_iter().map(call).collect())
            }
            ActionEffect::Runs(command) => {
                (SHELL, command.into_iter().map(|command| json!({ "command": command })).collect())
            }
            ActionEffect::Other(kind) => {
                let shown = shown(&title, input);
                return self.decided(&self.tool_name(&kind), self.permit_other(&kind, &shown)).await;
            }
        };
        match calls.is_empty() {
            true => self.decided(tool, self.permit_unclear(tool, &shown(&title, input))).await,
            false => self.decided(tool, self.permit_calls(tool, calls)).await,
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let toolset = Arc::clone(&self.call.path.agent.get().toolset);
        let is_given =
            |tool: &&Tool| toolset.resolve(tool.name()).is_ok_and(|handle| handle.extension != JUDGED_BY);
        toolset.tools().iter().filter(is_given).cloned().collect()
    }

    async fn call_tool(
        &self,
        name: &str,
        arguments: JsonObject,
        cancellation: &CancellationToken,
    ) -> ToolResult<ToolOutput> {
        self.is_interrupted.store(true, Ordering::Relaxed);
        if !self.tools().iter().any(|tool| tool.name() == name) {
            return Err(ToolError::NotFound(format!("There is no tool `{name}` here.")));
        }
        let both = self.call.cancellation.child_token();
        let call = self.call.path.call_nested(self.call.next_id(), name, arguments, both.clone());
        let mut call = std::pin::pin!(call);
        tokio::select! {
            ended = &mut call => ended,
            () = cancellation.cancelled() => {
                both.cancel();
                call.await
            }
        }
    }

    async fn ask(&self, question: Elicitation) -> ToolResult<Elicited> {
        let key = format!("{}/{}", self.name, self.call.next_id().id);
        let asked = self.call.ask(&key, Question::Elicit(question));
        match self.call.cancellation.run_until_cancelled(asked).await {
            Some(Ok(ToolAnswer::Elicited(answer))) => Ok(answer),
            Some(Ok(_)) => Err(ToolError::execution("The answer is of another kind than the question.")),
            Some(Err(error)) => Err(error),
            None => Err(cancelled().error),
        }
    }
}

/// Returns the requested lines of a text, with their line ends.
fn selected(text: String, first: Option<u32>, lines: Option<u32>) -> String {
    if first.is_none() && lines.is_none() {
        return text;
    }
    let skipped = first.unwrap_or(1).saturating_sub(1) as usize;
    let taken = lines.map_or(usize::MAX, |lines| lines as usize);
    text.split_inclusive('\n').skip(skipped).take(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_selected_as_editors_count_them() {
        let text = "a\nb\nc";
        let lines = |first, lines| selected(text.to_owned(), first, lines);
        assert_eq!(lines(None, None), text);
        assert_eq!(lines(Some(2), Some(1)), "b\n");
        assert_eq!(lines(Some(0), Some(1)), "a\n");
        assert_eq!(lines(Some(3), None), "c");
        assert_eq!(lines(Some(9), Some(5)), "");
    }
}
