//! A reply by an agent of another maker: it gets the words of the person in place of the model, and whatever it wants from this
//! machine passes the same toolset, permissions and approvals as a call of our own.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use goose_extension::{
    Answer as ToolAnswer, Caller as _, Elicitation, Elicited, FileRead, JsonObject, Message, Question,
    RichRenderable, Tool, ToolCaller as _, ToolError, ToolOutput, ToolResult, visible,
};
use goose_mcp::LocalBackend;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    call_path::{Call, DECLINED, Refused, RunningCall},
    event::{Answer, Approval, Decision, Event, Outcome, ToolEnd},
    reply_task::{Abort, ReplyTask, StepResult},
    sanitize_output::sanitize_output,
};
use crate::{
    agent_manager::acp_mcp_adapter::{
        AgentAction, AgentEnd, AgentError, AgentHost, ExternalAgent, MAX_ANSWER_BYTES, MAX_FILE_BYTES,
    },
    permission::{CallToJudge, Mode, Origin, Verdict},
    session::{Step, said},
};

/// Our tools that an agent's own actions are judged by.
const READ: &str = "developer__read";
const WRITE: &str = "developer__write";
const SHELL: &str = "developer__shell";

/// The longest line about something that an agent does, in characters.
const ACTIVITY_CHARS: usize = 300;

/// The lines about things that an agent does that are kept for one task.
const MAX_ACTIVITIES: usize = 500;

/// The most reasoning that is shown of one task, in bytes.
const MAX_THOUGHT_BYTES: usize = 1024 * 1024;

impl ReplyTask {
    /// Lets an agent of another maker make the reply.
    pub(super) async fn reply_by_external(
        &mut self,
        agent: &Arc<ExternalAgent>,
        words: Option<String>,
    ) -> StepResult<Outcome> {
        self.report_notices();
        let name = agent.name();
        if self.core.final_output.is_some() {
            let reason =
                format!("The agent `{name}` is another maker's and cannot be held to a response schema.");
            return Err(Abort::failed(reason, "Use one of goose's own agents for that.".to_owned()));
        }
        if self.core.permissions.mode() == Mode::Chat {
            let reason =
                format!("In the mode `chat` the agent `{name}`, which has tools of its own, is not asked.");
            return Err(Abort::failed(reason, "Use another mode, or one of goose's own agents.".to_owned()));
        }
        let last = || self.state.conversation.last().map(|message| said(message));
        let task = words.or_else(last).unwrap_or_default();
        self.turn += 1;
        self.emit(Event::Asking { turn: self.turn });
        // The tools that its requests are judged by must be known.
        let _ = self.core.agent().toolset.list().await;
        let id = format!("agent-{}", self.events.reply());
        let call = RunningCall::of_agent(self.call_path(), id);
        let host = Arc::new(Host::new(name.to_owned(), Arc::clone(&call)));
        let ended = agent.run(&task, Arc::clone(&host) as _).await;
        // What it left behind ends with the reply.
        call.cancellation.cancel();
        self.record_external(host.take_answer()).await?;
        match ended {
            Ok(AgentEnd::Cancelled) => Err(Abort::Cancelled),
            _ if self.cancellation.is_cancelled() => Err(Abort::Cancelled),
            Ok(AgentEnd::Done) if host.is_empty() => Ok(Outcome::Empty),
            Ok(AgentEnd::Done) => Ok(Outcome::Done { structured: None }),
            Ok(AgentEnd::Limit) => Ok(Outcome::MaxTokens),
            Ok(AgentEnd::Refused) => Ok(Outcome::Refused),
            Err(error) => Err(Abort::failed(error.to_string(), None)),
        }
    }

    /// Takes the agent's answer into the conversation, as the model's answers are.
    async fn record_external(&mut self, text: String) -> StepResult<()> {
        if text.is_empty() {
            return Ok(());
        }
        let message = Message::assistant(text);
        self.record(Step::Message { message }).await?;
        if let Some(message) = self.state.conversation.last() {
            self.emit(Event::Answered(Arc::clone(message)));
        }
        Ok(())
    }
}

/// The reply as the agent's host.
struct Host {
    /// The agent.
    name: String,
    call: Arc<RunningCall>,
    answer: Mutex<String>,
    /// Set when the agent did something since it last spoke: what it says next is a new paragraph.
    is_interrupted: AtomicBool,
    is_empty: AtomicBool,
    thought: AtomicUsize,
    activities: AtomicUsize,
}

impl Host {
    fn new(name: String, call: Arc<RunningCall>) -> Self {
        Self {
            name,
            call,
            answer: Mutex::default(),
            is_interrupted: AtomicBool::new(false),
            is_empty: AtomicBool::new(true),
            thought: AtomicUsize::new(0),
            activities: AtomicUsize::new(0),
        }
    }

    fn take_answer(&self) -> String {
        std::mem::take(&mut *self.answer.lock())
    }

    fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Relaxed)
    }

    /// Decides about a call of one of our tools that the agent makes in its own way.
    async fn permit_call(&self, tool: &str, arguments: Value) -> Result<Call, Refused> {
        let Value::Object(arguments) = arguments else { return Err(Refused::rejected("no arguments")) };
        let permitted = self.call.path.permit(self.call.next_id(), tool, arguments);
        let permitted = self.call.cancellation.run_until_cancelled(permitted).await;
        let refused = permitted.unwrap_or_else(|| Err(cancelled()));
        if let Err(refused) = &refused
            && refused.end == ToolEnd::Denied
        {
            self.activity(&format!("{tool} was not allowed: {}", refused.error));
        }
        refused
    }

    /// Decides about an action that none of our tools stands for, like about the tool of a server.
    async fn permit_other(&self, kind: &str, title: &str, input: Value) -> ToolResult<()> {
        let title = visible(title).into_owned();
        let arguments =
            JsonObject::from_iter([("title".to_owned(), json!(title)), ("input".to_owned(), input)]);
        let word: String = kind.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let name = format!("{}__{}", self.name, if word.is_empty() { "other" } else { &word });
        let about = format!("An action of the agent {}", self.name);
        let tool = Tool::new(name, about, JsonObject::new());
        let path = &self.call.path;
        let call = CallToJudge {
            tool: &tool,
            bare_name: kind,
            origin: Origin::Foreign,
            arguments: &arguments,
            working_dir: &path.working_dir,
        };
        let (reasons, always, shown) = match path.permissions.judge(&call) {
            Verdict::Allow => return Ok(()),
            Verdict::Deny { reason } => return Err(ToolError::Denied(reason)),
            Verdict::Ask { reasons, always, shown } => (reasons, always, shown),
        };
        let _turn = self.call.events.question_turn().await;
        let id = self.call.next_id();
        let approval = Approval {
            id: id.id.clone(),
            tool: tool.name().to_owned(),
            arguments: arguments.clone(),
            reasons,
            always: always.as_ref().map(ToString::to_string),
        };
        let events = path.events_of(&id);
        let answer = events.ask(id.id, Event::Approval(approval)).answer().await;
        match answer {
            Some(Answer::Decision(Decision::Allow)) => {}
            Some(Answer::Decision(Decision::Always)) => {
                if let Some(Err(error)) = always.as_ref().map(|rule| path.permissions.remember(rule)) {
                    events.emit(Event::Notice(format!("The rule could not be stored: {error}")));
                }
            }
            _ => return Err(ToolError::Denied(DECLINED.to_owned())),
        }
        path.permissions.still_holds(&shown, &call).map_err(|void| ToolError::Denied(void.to_string()))
    }

    /// Reads the place that a call was judged by.
    async fn read_judged(&self, call: &Call) -> ToolResult<String> {
        let unreadable = |why: String| ToolError::execution(format!("The file cannot be read: {why}"));
        let judged = call.files.first().ok_or_else(|| unreadable("its place is not clear".to_owned()))?;
        let target = judged.target.clone().map_err(unreadable)?;
        let path = &self.call.path;
        let backend = path.context.backend().cloned().unwrap_or_else(|| Arc::new(LocalBackend));
        let read = tokio::task::spawn_blocking(move || backend.read(&target, MAX_FILE_BYTES)).await;
        match read.map_err(|error| unreadable(error.to_string()))? {
            Ok(FileRead::Content { bytes, .. }) => {
                String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))
            }
            Ok(FileRead::Missing) => Err(unreadable("there is no such file".to_owned())),
            Ok(FileRead::TooLarge { size, .. }) => {
                Err(unreadable(format!("it has {size} bytes; at most {MAX_FILE_BYTES} are given")))
            }
            Err(error) => Err(unreadable(error.to_string())),
        }
    }
}

fn cancelled() -> Refused {
    Refused { error: ToolError::Cancelled("The task was cancelled.".to_owned()), end: ToolEnd::Cancelled }
}

#[async_trait]
impl AgentHost for Host {
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
        self.is_empty.store(false, Ordering::Relaxed);
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
        let call = self.permit_call(READ, json!({ "path": path })).await.map_err(|refused| refused.error)?;
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
        match action {
            AgentAction::Read { paths } => {
                for path in paths {
                    self.permit_call(READ, json!({ "path": path })).await.map_err(|refused| refused.error)?;
                }
                Ok(())
            }
            AgentAction::Write { files } => {
                for (path, content) in files {
                    let unsaid = || format!("({} does not say what it writes)", self.name);
                    let arguments = json!({ "path": path, "content": content.unwrap_or_else(unsaid) });
                    self.permit_call(WRITE, arguments).await.map_err(|refused| refused.error)?;
                }
                Ok(())
            }
            AgentAction::Run { command } => {
                let permitted = self.permit_call(SHELL, json!({ "command": command })).await;
                permitted.map(drop).map_err(|refused| refused.error)
            }
            AgentAction::Other { kind, title, input } => {
                let permitted = self.permit_other(&kind, &title, input);
                let permitted = self.call.cancellation.run_until_cancelled(permitted).await;
                permitted.unwrap_or_else(|| Err(cancelled().error))
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

/// The lines of a text that were asked for, with their ends.
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
