//! Tasks, messages and events in the JSON of A2A. The versions differ in names only.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    agent_communication::models::{Encoding, Event, Message, MessagePart, Run, RunStatus},
    error::{ApiError, ApiResult},
};

/// Version of the protocol that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Version 0.3: objects have a `kind`.
    Kinds,
    /// Version 1.0: objects are in a field of their kind.
    Fields,
}

impl Form {
    pub(super) fn state(self, status: RunStatus) -> &'static str {
        match (self, status) {
            (Self::Kinds, RunStatus::Created) => "submitted",
            (Self::Kinds, RunStatus::InProgress | RunStatus::Cancelling) => "working",
            (Self::Kinds, RunStatus::Awaiting) => "input-required",
            (Self::Kinds, RunStatus::Completed) => "completed",
            (Self::Kinds, RunStatus::Failed) => "failed",
            (Self::Kinds, RunStatus::Cancelled) => "canceled",
            (Self::Fields, RunStatus::Created) => "TASK_STATE_SUBMITTED",
            (Self::Fields, RunStatus::InProgress | RunStatus::Cancelling) => "TASK_STATE_WORKING",
            (Self::Fields, RunStatus::Awaiting) => "TASK_STATE_INPUT_REQUIRED",
            (Self::Fields, RunStatus::Completed) => "TASK_STATE_COMPLETED",
            (Self::Fields, RunStatus::Failed) => "TASK_STATE_FAILED",
            (Self::Fields, RunStatus::Cancelled) => "TASK_STATE_CANCELED",
        }
    }

    /// Puts an object where a client of this version looks for it.
    fn wrapped(self, field: &str, kind: &str, mut object: Value) -> Value {
        match self {
            Self::Kinds => {
                object["kind"] = kind.into();
                object
            }
            Self::Fields => json!({ field: object }),
        }
    }

    fn part(self, part: &MessagePart) -> Value {
        let content = part.content.as_deref().unwrap_or_default();
        let media = part.content_type.as_deref().unwrap_or("text/plain");
        let is_raw = part.content_encoding == Some(Encoding::Base64);
        match self {
            Self::Kinds if is_raw => {
                let mut file = json!({"bytes": content, "mimeType": media});
                if let Some(name) = &part.name {
                    file["name"] = name.as_str().into();
                }
                json!({"kind": "file", "file": file})
            }
            Self::Kinds => json!({"kind": "text", "text": content}),
            Self::Fields => {
                let mut value = if is_raw { json!({"raw": content}) } else { json!({"text": content}) };
                value["mediaType"] = media.into();
                if let Some(name) = &part.name {
                    value["filename"] = name.as_str().into();
                }
                value
            }
        }
    }

    fn message(self, message: &Message, id: &str, run: &Run) -> Value {
        let role = match (self, message.role == "user") {
            (Self::Kinds, true) => "user",
            (Self::Kinds, false) => "agent",
            (Self::Fields, true) => "ROLE_USER",
            (Self::Fields, false) => "ROLE_AGENT",
        };
        let parts: Vec<Value> = message.parts.iter().map(|part| self.part(part)).collect();
        let mut value = json!({
            "messageId": id, "role": role, "parts": parts, "taskId": run.run_id, "contextId": run.session_id,
        });
        if self == Self::Kinds {
            value["kind"] = "message".into();
        }
        value
    }

    fn status(self, run: &Run, said: Option<&Message>) -> Value {
        let mut status = json!({"state": self.state(run.status), "timestamp": Timestamp::now().to_string()});
        let question = run.await_request.as_ref().map(|request| &request.message);
        let failure = run.error.as_ref().map(|error| Message {
            role: "agent".to_owned(),
            parts: vec![MessagePart::text(&error.message)],
            created_at: None,
            completed_at: None,
        });
        if let Some(message) = said.or(question).or(failure.as_ref()) {
            status["message"] = self.message(message, &format!("{}-status", run.run_id), run);
        }
        status
    }

    /// Returns a run as a task.
    pub(super) fn task(self, run: &Run) -> Value {
        let artifacts = run.output.iter().zip(1_u64..);
        let artifacts: Vec<Value> =
            artifacts.map(|(message, number)| self.artifact(&message.parts, number)).collect();
        let mut task = json!({
            "id": run.run_id,
            "contextId": run.session_id,
            "status": self.status(run, None),
            "artifacts": artifacts,
        });
        if self == Self::Kinds {
            task["kind"] = "task".into();
        }
        task
    }

    fn artifact(self, parts: &[MessagePart], number: u64) -> Value {
        let mut artifact = json!({
            "artifactId": format!("message-{number}"),
            "parts": parts.iter().map(|part| self.part(part)).collect::<Vec<_>>(),
        });
        if let [part] = parts
            && let Some(name) = &part.name
        {
            artifact["name"] = name.as_str().into();
        }
        artifact
    }

    /// Returns the answer to a message that is not streamed.
    pub(super) fn sent(self, run: &Run) -> Value {
        match self {
            Self::Kinds => self.task(run),
            Self::Fields => json!({"task": self.task(run)}),
        }
    }

    fn status_update(self, run: &Run, said: Option<&Message>) -> Value {
        let mut update =
            json!({"taskId": run.run_id, "contextId": run.session_id, "status": self.status(run, said)});
        if self == Self::Kinds {
            update["final"] = (run.status.is_terminal() || run.status == RunStatus::Awaiting).into();
        }
        self.wrapped("statusUpdate", "status-update", update)
    }
}

/// Translation of the events of a run.
#[derive(Debug)]
pub(super) struct Translation {
    form: Form,
    run: Run,
    /// Number of messages so far.
    messages: u64,
    /// True if the present message has brought a part.
    has_part: bool,
}

impl Translation {
    pub(super) fn new(form: Form, run: Run) -> Self {
        Self { form, run, messages: 0, has_part: false }
    }

    /// Returns an event as the client reads it, if the protocol has one.
    pub(super) fn event(&mut self, event: &Event) -> Option<Value> {
        match event {
            Event::RunCreated { run } => {
                self.run = run.clone();
                let task = self.form.task(run);
                Some(match self.form {
                    Form::Kinds => task,
                    Form::Fields => json!({"task": task}),
                })
            }
            Event::RunInProgress { run }
            | Event::RunAwaiting { run }
            | Event::RunCompleted { run }
            | Event::RunFailed { run }
            | Event::RunCancelled { run } => {
                self.run = run.clone();
                Some(self.form.status_update(run, None))
            }
            Event::MessageCreated { .. } => {
                self.messages += 1;
                self.has_part = false;
                None
            }
            Event::MessagePart { part } => {
                let artifact = self.form.artifact(std::slice::from_ref(part), self.messages);
                let update = json!({
                    "taskId": self.run.run_id, "contextId": self.run.session_id,
                    "artifact": artifact, "append": std::mem::replace(&mut self.has_part, true), "lastChunk": false,
                });
                Some(self.form.wrapped("artifactUpdate", "artifact-update", update))
            }
            Event::MessageCompleted { .. } => None,
            Event::Generic { generic } => {
                let text = generic.get("message").and_then(Value::as_str)?;
                let parts = vec![MessagePart::text(text)];
                let said = Message { role: "agent".to_owned(), parts, created_at: None, completed_at: None };
                Some(self.form.status_update(&self.run, Some(&said)))
            }
        }
    }
}

/// Reads the parts of a client's message, in either version.
pub(super) fn parts(message: &Map<String, Value>) -> ApiResult<Vec<MessagePart>> {
    let parts = message.get("parts").and_then(Value::as_array);
    let parts = parts.ok_or_else(|| ApiError::bad_request("A message has `parts`."))?;
    parts.iter().map(part).collect()
}

fn part(part: &Value) -> ApiResult<MessagePart> {
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    if let Some(content) = text(part, "text") {
        return Ok(MessagePart::text(content));
    }
    if let Some(data) = part.get("data").filter(|data| !data.is_null()) {
        return Ok(MessagePart::text(data.to_string()).with_type("application/json"));
    }
    let file = part.get("file").unwrap_or(part);
    let media = text(file, "mimeType").or(text(file, "mediaType")).unwrap_or_default();
    let name = text(file, "name").or(text(file, "filename"));
    let data = text(file, "bytes").or(text(file, "raw"));
    let data = data.ok_or_else(|| ApiError::bad_request("A part has text, data or the bytes of a file."))?;
    let read = MessagePart::base64(&media, data);
    Ok(match name {
        Some(name) => read.named(name),
        None => read,
    })
}
