//! Messages of an agent while it works on a task: what it says and does, and what it asks of us.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use goose::agent_manager::acp_mcp_adapter::{AgentError, AgentHost};
use goose_extension::{ElicitAction, Elicitation, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::actions::{self, ToolCalls};
use crate::rpc::{INTERNAL_ERROR, Incoming, RpcError, invalid, text, unknown};

/// The messages about one task. An agent that sends more does not come to an end.
const MAX_UPDATES: usize = 100_000;

/// The options of a permission request that are looked at.
const MAX_OPTIONS: usize = 32;

/// The task that an agent works on, if it works on one. Messages outside of a task are passed over.
#[derive(Default)]
pub(super) struct CurrentTask(Mutex<Option<Arc<Task>>>);

/// A task that an agent works on.
pub(super) struct Task {
    agent: String,
    session: String,
    /// The folder that the agent works in.
    folder: PathBuf,
    host: Arc<dyn AgentHost>,
    calls: Mutex<ToolCalls>,
    updates: AtomicUsize,
    failure: Mutex<Option<AgentError>>,
    /// Cancelled when the agent does something that ends the task.
    pub(super) failed: CancellationToken,
}

impl CurrentTask {
    /// Begins a task.
    pub(super) fn begin(
        &self,
        agent: &str,
        session: &str,
        folder: &Path,
        host: Arc<dyn AgentHost>,
    ) -> Arc<Task> {
        let task = Arc::new(Task {
            agent: agent.to_owned(),
            session: session.to_owned(),
            folder: folder.to_owned(),
            host,
            calls: Mutex::default(),
            updates: AtomicUsize::new(0),
            failure: Mutex::default(),
            failed: CancellationToken::new(),
        });
        *self.0.lock() = Some(Arc::clone(&task));
        task
    }

    /// Ends the task.
    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    /// The session around the task.
    pub(super) fn host(&self) -> Option<Arc<dyn AgentHost>> {
        self.0.lock().as_ref().map(|task| Arc::clone(&task.host))
    }

    /// The task, if a message is about it.
    fn find(&self, params: &Value) -> Option<Arc<Task>> {
        let session = params.get("sessionId").and_then(Value::as_str);
        self.0.lock().clone().filter(|task| session == Some(task.session.as_str()))
    }
}

#[async_trait]
impl Incoming for CurrentTask {
    async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let Some(task) = self.find(&params) else {
            return Err(invalid("there is no task in this session now"));
        };
        match method {
            "session/request_permission" => task.permission(&params).await,
            "fs/read_text_file" => task.read_file(&params).await,
            "fs/write_text_file" => task.write_file(&params).await,
            "elicitation/create" => task.elicit(params).await,
            _ => Err(unknown(method)),
        }
    }

    fn notification(&self, method: &str, params: Value) {
        if method == "session/update"
            && let Some(task) = self.find(&params)
            && let Some(update) = params.get("update")
        {
            task.update(update);
        }
    }
}

impl Task {
    /// The reason why the task was ended, once.
    pub(super) fn take_failure(&self) -> Option<AgentError> {
        self.failure.lock().take()
    }

    fn fail(&self, error: AgentError) {
        self.failure.lock().get_or_insert(error);
        self.failed.cancel();
    }

    fn update(&self, update: &Value) {
        if self.updates.fetch_add(1, Ordering::Relaxed) >= MAX_UPDATES {
            return self.fail(AgentError::Broken(format!(
                "The agent `{}` does not come to an end: it sent more than {MAX_UPDATES} messages about one task.",
                self.agent
            )));
        }
        if self.failed.is_cancelled() {
            return;
        }
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "agent_message_chunk" => {
                if let Err(error) = self.host.text(&content_text(update)) {
                    self.fail(error);
                }
            }
            "agent_thought_chunk" => self.host.thought(&content_text(update)),
            "tool_call" | "tool_call_update" => {
                let mut calls = self.calls.lock();
                let (call, is_new) = calls.update(update);
                if is_new {
                    self.host.activity(actions::title(call));
                }
            }
            // Plans, commands, modes and costs are the agent's own business.
            _ => {}
        }
    }

    async fn permission(&self, params: &Value) -> Result<Value, RpcError> {
        let call = params.get("toolCall").ok_or_else(|| invalid("toolCall is missing"))?;
        let options = params.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
        let action = {
            let mut calls = self.calls.lock();
            let (call, _) = calls.update(call);
            if call.is_empty() {
                return Err(invalid("toolCall does not say what the agent wants to do"));
            }
            actions::action(call, &self.folder)
        };
        let permitted = self.host.permit(action).await;
        let option = |kinds: &[&str]| {
            let of_kind = |kind: &&str| {
                let is_kind = |option: &&Value| option.get("kind").and_then(Value::as_str) == Some(*kind);
                options.iter().take(MAX_OPTIONS).find(is_kind)?.get("optionId")?.as_str().map(str::to_owned)
            };
            kinds.iter().find_map(of_kind)
        };
        let chosen = match permitted {
            // Never "always": the next action is judged by itself.
            Ok(()) => option(&["allow_once"]),
            Err(ToolError::Cancelled(_)) => None,
            Err(_) => option(&["reject_once", "reject_always"]),
        };
        Ok(match chosen {
            Some(id) => json!({"outcome": {"outcome": "selected", "optionId": id}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        })
    }

    async fn read_file(&self, params: &Value) -> Result<Value, RpcError> {
        let number =
            |field: &str| params.get(field)?.as_u64().map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let read = self.host.read_file(text(params, "path")?, number("line"), number("limit")).await;
        read.map(|content| json!({ "content": content })).map_err(refused)
    }

    async fn write_file(&self, params: &Value) -> Result<Value, RpcError> {
        let written = self.host.write_file(text(params, "path")?, text(params, "content")?).await;
        written.map(|()| json!({})).map_err(refused)
    }

    async fn elicit(&self, params: Value) -> Result<Value, RpcError> {
        if params.get("mode").and_then(Value::as_str) != Some("form") {
            return Err(invalid("goose offers forms only"));
        }
        let message = text(&params, "message")?.to_owned();
        let schema = params.get("requestedSchema").cloned().unwrap_or_default();
        let requested_schema = serde_json::from_value(schema)
            .map_err(|error| invalid(format!("the requestedSchema cannot be shown as a form: {error}")))?;
        let question = Elicitation::FormElicitationParams { meta: None, message, requested_schema };
        let answer = self.host.ask(question).await.map_err(refused)?;
        Ok(match answer.action {
            ElicitAction::Accept => json!({"action": "accept", "content": answer.content}),
            ElicitAction::Decline => json!({"action": "decline"}),
            _ => json!({"action": "cancel"}),
        })
    }
}

/// The text of a piece of a message.
fn content_text(update: &Value) -> String {
    let content = &update["content"];
    match content["type"].as_str() {
        Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
        Some("resource_link") => format!("[{}]", content["uri"].as_str().unwrap_or("a resource")),
        Some("resource") => {
            content["resource"]["text"].as_str().unwrap_or("[a resource that is not text]").to_owned()
        }
        Some(kind) => format!("[{kind}, not shown]"),
        None => String::new(),
    }
}

fn refused(error: ToolError) -> RpcError {
    RpcError { code: INTERNAL_ERROR, message: error.to_string() }
}
