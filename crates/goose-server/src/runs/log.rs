//! [`RunLog`]: the events of goose as events of the Agent Communication Protocol.

use std::{
    collections::{BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
    time::Instant,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use goose::exchange::{Event as GooseEvent, EventRecord, Outcome};
use goose_extension::{ContentBlock, Message as GooseMessage, RichRenderable};
use goose_fs::{read_regular, resolve, truncate_chars};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    agent_communication::models::{Event, Message, MessagePart, RunStatus, from_goose, role_of},
    error::{ApiError, ErrorBody},
};

/// Maximum number of events that are kept. The oldest are dropped.
const MAX_EVENTS: usize = 50_000;
/// Maximum size of the events that are kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of messages of the output.
const MAX_OUTPUT: usize = 1_000;
/// Maximum number of files that are artifacts of a run.
const MAX_FILES: usize = 50;
/// Maximum size of a file whose content is an artifact.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Maximum number of images of tools that are artifacts of a run.
const MAX_IMAGES: usize = 20;
/// Characters of a tool's output in an event.
const SHOWN_OUTPUT: usize = 8_000;

/// Event, or an event about the run itself, which is made once everything else has changed.
pub(super) enum Change {
    Event(Box<Event>),
    Status(fn(crate::agent_communication::models::Run) -> Event),
}

/// Events of a run, and its state.
pub(super) struct RunLog {
    pub(super) epoch: String,
    agent: String,
    pub(super) status: RunStatus,
    pub(super) output: Vec<Message>,
    pub(super) error: Option<ErrorBody>,
    pub(super) finished_at: Option<Timestamp>,
    pub(super) ended: Option<Instant>,
    events: VecDeque<(Arc<Event>, usize)>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
    changes: Vec<Change>,
    /// True while a message was created and not completed.
    is_open: bool,
    /// Questions that wait, oldest first.
    questions: Vec<Arc<EventRecord>>,
    outcome: Option<Outcome>,
    files: BTreeSet<String>,
    images: Vec<MessagePart>,
}

impl RunLog {
    pub(super) fn new(agent: &str) -> Self {
        // Two logs of a run differ by the time at which they were made.
        let epoch = format!("{:x}", Timestamp::now().as_microsecond());
        Self {
            epoch,
            agent: agent.to_owned(),
            status: RunStatus::Created,
            output: Vec::new(),
            error: None,
            finished_at: None,
            ended: None,
            events: VecDeque::new(),
            bytes: 0,
            last: 0,
            changes: Vec::new(),
            is_open: false,
            questions: Vec::new(),
            outcome: None,
            files: BTreeSet::new(),
            images: Vec::new(),
        }
    }

    /// Returns the number of the last event.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of the last event that was dropped; 0 if none was.
    pub(super) fn dropped(&self) -> u64 {
        self.last - self.events.len() as u64
    }

    /// Returns the events after a number.
    pub(super) fn events(&self, after: u64) -> Vec<(u64, Arc<Event>)> {
        let first = self.dropped() + 1;
        let skipped = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let numbered = (first..).zip(&self.events).skip(skipped);
        numbered.map(|(number, (event, _))| (number, Arc::clone(event))).collect()
    }

    pub(super) fn question(&self) -> Option<&Arc<EventRecord>> {
        self.questions.first()
    }

    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    pub(super) fn push(&mut self, event: Event) {
        let size = size_of::<Event>() + weight(&event);
        self.last += 1;
        self.bytes += size;
        self.events.push_back((Arc::new(event), size));
        while self.events.len() > MAX_EVENTS || (self.bytes > MAX_BYTES && self.events.len() > 1) {
            self.bytes -= self.events.pop_front().map_or(0, |(_, size)| size);
        }
    }

    fn emit(&mut self, event: Event) {
        self.changes.push(Change::Event(Box::new(event)));
    }

    /// Reports that the run was created and has begun.
    pub(super) fn begin(&mut self) {
        self.changes.push(Change::Status(|mut run| {
            run.status = RunStatus::Created;
            Event::RunCreated { run }
        }));
        self.status = RunStatus::InProgress;
        self.changes.push(Change::Status(|run| Event::RunInProgress { run }));
    }

    /// Takes an event of goose.
    pub(super) fn take(&mut self, record: &Arc<EventRecord>) {
        let is_own = record.parent_call.is_none() && record.task.is_none();
        if let Some(id) = record.event.question_id() {
            if !self.questions.iter().any(|question| question.event.question_id() == Some(id)) {
                self.questions.push(Arc::clone(record));
                self.update_status();
            }
            return;
        }
        match &record.event {
            GooseEvent::Text(text) if is_own => self.text(text),
            GooseEvent::Answered(message) if is_own => self.answered_with(message),
            GooseEvent::Restarted if is_own => {
                // The text so far is void; the new text is another message.
                self.is_open = false;
                self.generic(record);
            }
            GooseEvent::QuestionClosed { id } => self.answered(&id.clone()),
            GooseEvent::Finished(outcome) => self.outcome = Some(outcome.clone()),
            GooseEvent::Prompt(_)
            | GooseEvent::Asking { .. }
            | GooseEvent::Cost(_)
            | GooseEvent::Answered(_) => {}
            event => {
                self.note_artifacts(event);
                self.generic(record);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if !self.is_open {
            self.is_open = true;
            let now = Some(Timestamp::now());
            let message = Message {
                role: role_of(&self.agent),
                parts: Vec::new(),
                created_at: now,
                completed_at: None,
            };
            self.emit(Event::MessageCreated { message });
        }
        self.emit(Event::MessagePart { part: MessagePart::text(text) });
    }

    fn answered_with(&mut self, message: &GooseMessage) {
        let message = from_goose(message, &self.agent, Timestamp::now());
        if message.parts.is_empty() {
            self.is_open = false;
            return;
        }
        self.complete(message);
    }

    /// Reports a complete message, with the parts that were not streamed.
    fn complete(&mut self, message: Message) {
        if !self.is_open {
            let created = Message { parts: Vec::new(), completed_at: None, ..message.clone() };
            self.emit(Event::MessageCreated { message: created });
        }
        for part in &message.parts {
            if !self.is_open || part.as_text().is_none() {
                self.emit(Event::MessagePart { part: part.clone() });
            }
        }
        self.is_open = false;
        self.emit(Event::MessageCompleted { message: message.clone() });
        if self.output.len() < MAX_OUTPUT {
            self.output.push(message);
        }
    }

    /// Reports an event that the protocol does not have.
    fn generic(&mut self, record: &EventRecord) {
        let mut generic = match &record.event {
            GooseEvent::ToolFinished { id, name, output, end } => {
                let text: Vec<&str> = output
                    .content
                    .iter()
                    .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
                    .collect();
                let text = text.join("\n");
                let data = json!({
                    "id": id, "name": name, "end": end, "is_error": output.is_error,
                    "text": truncate_chars(&text, SHOWN_OUTPUT),
                });
                json!({"event": "tool_finished", "data": data})
            }
            event => serde_json::to_value(event).unwrap_or_default(),
        };
        if let Some(text) = said(&record.event) {
            generic["message"] = text.into();
        }
        if let Some(call) = &record.parent_call {
            generic["parent_call"] = (&**call).into();
        }
        if let Some(task) = &record.task {
            generic["task"] = (&**task).into();
        }
        self.emit(Event::Generic { generic });
    }

    fn note_artifacts(&mut self, event: &GooseEvent) {
        match event {
            GooseEvent::Log { content: RichRenderable::Diff { path, .. }, .. }
                if self.files.len() < MAX_FILES =>
            {
                self.files.insert(path.clone());
            }
            GooseEvent::ToolFinished { output, .. } => {
                for block in &output.content {
                    if let ContentBlock::Image(image) = block
                        && self.images.len() < MAX_IMAGES
                    {
                        let name = format!("image-{}", self.images.len() + 1);
                        self.images.push(MessagePart::base64(&image.mime_type, &image.data).named(name));
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn changed_files(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }

    /// Removes a question that was answered or withdrawn.
    pub(super) fn answered(&mut self, id: &str) {
        let before = self.questions.len();
        self.questions.retain(|question| question.event.question_id() != Some(id));
        if self.questions.len() < before {
            self.status = if self.status.is_terminal() { self.status } else { RunStatus::InProgress };
            self.changes.push(Change::Status(|run| Event::RunInProgress { run }));
            self.update_status();
        }
    }

    /// Reports that the run waits, if it does.
    fn update_status(&mut self) {
        let is_running = matches!(self.status, RunStatus::InProgress | RunStatus::Created);
        if is_running && !self.questions.is_empty() {
            self.status = RunStatus::Awaiting;
            self.changes.push(Change::Status(|run| Event::RunAwaiting { run }));
        }
    }

    /// Reports the end, after the files and images that the run made.
    pub(super) fn end(&mut self, files: Vec<MessagePart>) {
        let mut parts = files;
        parts.append(&mut self.images);
        if !parts.is_empty() {
            let now = Some(Timestamp::now());
            self.is_open = false;
            self.complete(Message { role: role_of(&self.agent), parts, created_at: now, completed_at: now });
        }
        self.questions.clear();
        self.finished_at = Some(Timestamp::now());
        self.ended = Some(Instant::now());
        let outcome = self.outcome.take();
        let (status, make): (_, fn(_) -> Event) = match &outcome {
            Some(Outcome::Done { .. }) => (RunStatus::Completed, |run| Event::RunCompleted { run }),
            Some(Outcome::Cancelled) => (RunStatus::Cancelled, |run| Event::RunCancelled { run }),
            _ => (RunStatus::Failed, |run| Event::RunFailed { run }),
        };
        if let Some(Outcome::Done { structured: Some(value) }) = &outcome {
            self.output.push(Message {
                role: role_of(&self.agent),
                parts: vec![MessagePart::json("result", value)],
                created_at: self.finished_at,
                completed_at: self.finished_at,
            });
        }
        if status == RunStatus::Failed {
            self.error = Some(ApiError::internal(failure(outcome.as_ref())).body());
        }
        self.status = status;
        self.changes.push(Change::Status(make));
    }

    /// Fails a run that its process did not end.
    pub(super) fn set_interrupted(&mut self) {
        let message = "The server ended during this run. The session has everything until then; continue it with a message.";
        self.outcome =
            Some(Outcome::Failed(goose::exchange::Failure { message: message.to_owned(), hint: None }));
    }
}

/// Returns the reason why a run failed.
fn failure(outcome: Option<&Outcome>) -> String {
    match outcome {
        Some(Outcome::Failed(failure)) => match &failure.hint {
            Some(hint) => format!("{} {hint}", failure.message),
            None => failure.message.clone(),
        },
        Some(Outcome::MaxTurns(turns)) => {
            format!("The model was asked {turns} times, which is the limit of one reply.")
        }
        Some(Outcome::MaxTokens) => "The answer was cut at the model's maximum length.".to_owned(),
        Some(Outcome::Refused) => "The model refused to answer.".to_owned(),
        Some(Outcome::Empty) => "The model answered without text.".to_owned(),
        _ => "The session was closed before the run ended.".to_owned(),
    }
}

/// Returns an event in words, for clients that show only these.
fn said(event: &GooseEvent) -> Option<String> {
    Some(match event {
        GooseEvent::Routed { agent, mode, reason, .. } => format!("{agent}/{mode} answers: {reason}"),
        GooseEvent::Thinking(text) | GooseEvent::Notice(text) => text.clone(),
        GooseEvent::Retrying { reason, .. } => format!("The model is asked again: {reason}"),
        GooseEvent::ToolStarted { name, .. } => format!("calls {name}"),
        GooseEvent::ToolProgress { message, .. } | GooseEvent::Status { message, .. } => message.clone(),
        GooseEvent::Log { content, .. } => truncate_chars(&content.plain(), SHOWN_OUTPUT).into_owned(),
        _ => return None,
    })
}

fn weight(event: &Event) -> usize {
    let part = |part: &MessagePart| size_of::<MessagePart>() + part.content.as_ref().map_or(0, String::len);
    let message = |message: &Message| message.parts.iter().map(part).sum::<usize>();
    match event {
        Event::MessageCreated { message: it } | Event::MessageCompleted { message: it } => message(it),
        Event::MessagePart { part: it } => part(it),
        Event::Generic { generic } => json_weight(generic),
        Event::RunCreated { run }
        | Event::RunInProgress { run }
        | Event::RunAwaiting { run }
        | Event::RunCompleted { run }
        | Event::RunFailed { run }
        | Event::RunCancelled { run } => run.output.iter().map(message).sum(),
    }
}

fn json_weight(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(json_weight).sum(),
            Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + json_weight(value)).sum(),
            _ => 0,
        }
}

/// Reads the files that a run has changed, as they are at its end. Files outside of the folder are left out.
pub(super) fn read_artifacts(folder: &Path, files: &[String]) -> Vec<MessagePart> {
    let part = |file: &String| {
        let path = resolve(&folder.join(file)).ok()?;
        let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        let bytes =
            read_regular(&path, MAX_FILE_BYTES).ok().filter(|bytes| bytes.len() as u64 <= MAX_FILE_BYTES)?;
        Some(match String::from_utf8(bytes) {
            Ok(text) => MessagePart::text(text).named(name),
            Err(error) => {
                let data = BASE64_STANDARD.encode(error.as_bytes());
                MessagePart::base64("application/octet-stream", data).named(name)
            }
        })
    };
    files.iter().filter_map(part).collect()
}
