//! Runs, messages and events of the Agent Communication Protocol, as JSON has them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use goose_extension::{ContentBlock, Message as GooseMessage, MessageContent, Role, accepted_image_type};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{ApiError, ApiResult, ErrorBody},
    ids::Uuid,
};

/// Content type of text.
pub(crate) const PLAIN: &str = "text/plain";
/// Content type of a question for programs.
pub(crate) const JSON: &str = "application/json";

/// Maximum number of messages of a request.
const MAX_MESSAGES: usize = 100;
/// Maximum number of parts of a message.
const MAX_PARTS: usize = 1_000;

/// Message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Message {
    /// `user`, `agent`, or `agent/NAME`.
    #[serde(default = "user")]
    #[schemars(regex(pattern = r"^(user|agent(\/[a-zA-Z0-9_\-]+)?)$"))]
    pub(crate) role: String,
    pub(crate) parts: Vec<MessagePart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) completed_at: Option<Timestamp>,
}

fn user() -> String {
    "user".to_owned()
}

/// Part of a message. A part with a name is an artifact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MessagePart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Media type; `text/plain` if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_encoding: Option<Encoding>,
    /// Address of the content. Not read by this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
}

/// Encoding of the content of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    Plain,
    Base64,
}

impl MessagePart {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            content_type: Some(PLAIN.to_owned()),
            content: Some(text.into()),
            content_encoding: Some(Encoding::Plain),
            ..Self::default()
        }
    }

    pub(crate) fn json(name: &str, value: &Value) -> Self {
        Self::text(value.to_string()).named(name).with_type(JSON)
    }

    pub(crate) fn base64(content_type: &str, data: impl Into<String>) -> Self {
        Self { content_encoding: Some(Encoding::Base64), ..Self::text(data) }.with_type(content_type)
    }

    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(crate) fn with_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }

    fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(PLAIN)
    }

    /// Returns the text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        let is_plain = self.content_encoding != Some(Encoding::Base64);
        self.content.as_deref().filter(|_| is_plain && self.content_type().starts_with("text/"))
    }

    /// Returns the part as goose reads it.
    fn to_goose(&self) -> ApiResult<MessageContent> {
        let kind = self.content_type();
        let Some(content) = &self.content else {
            let what = if self.content_url.is_some() {
                "`content_url` is not fetched"
            } else {
                "it has no `content`"
            };
            return Err(ApiError::bad_request(format!(
                "A part cannot be read: {what}. Send the content itself."
            )));
        };
        let is_base64 = self.content_encoding == Some(Encoding::Base64);
        if let Some(image) = accepted_image_type(kind).filter(|_| is_base64) {
            goose_extension::check_media(content)
                .map_err(|fault| ApiError::bad_request(format!("An image cannot be read: {fault:?}.")))?;
            return Ok(MessageContent::Block(ContentBlock::image(content.clone(), image)));
        }
        let is_text = kind.starts_with("text/") || kind == JSON || kind == "*/*";
        if !is_text {
            return Err(ApiError::bad_request(format!(
                "A part of the type `{}` cannot be read. Send text, JSON, or an image as base64.",
                goose_extension::media_type_for_message(kind)
            )));
        }
        let text = match is_base64 {
            false => content.clone(),
            true => BASE64_STANDARD
                .decode(content)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .ok_or_else(|| ApiError::bad_request("A part is not text in base64."))?,
        };
        Ok(MessageContent::text(match &self.name {
            Some(name) => format!("{name}:\n{text}"),
            None => text,
        }))
    }
}

/// Returns the last message of a request, with the earlier ones before it as text.
pub(crate) fn to_goose(messages: &[Message]) -> ApiResult<GooseMessage> {
    let parts: usize = messages.iter().map(|message| message.parts.len()).sum();
    if messages.is_empty() || messages.len() > MAX_MESSAGES || parts == 0 || parts > MAX_PARTS {
        let message = format!("`input` has 1 to {MAX_MESSAGES} messages with 1 to {MAX_PARTS} parts.");
        return Err(ApiError::bad_request(message));
    }
    let mut content = Vec::with_capacity(parts);
    for message in messages {
        if message.role != "user" && messages.len() > 1 {
            content.push(MessageContent::text(format!("{}:", message.role)));
        }
        for part in &message.parts {
            content.push(part.to_goose()?);
        }
    }
    let is_blank = |part: &MessageContent| part.as_text().is_some_and(|text| text.trim().is_empty());
    if content.iter().all(is_blank) {
        return Err(ApiError::bad_request("`input` has no text."));
    }
    Ok(GooseMessage::new(Role::User, content))
}

/// Returns a message of goose as the protocol has it: without what is meant for the model alone.
pub(crate) fn from_goose(message: &GooseMessage, agent: &str, at: Timestamp) -> Message {
    let shown = message.content.iter().filter(|part| !part.is_aside());
    let part = |part: &MessageContent| match part {
        MessageContent::Block(ContentBlock::Text(text)) if text.text.is_empty() => None,
        MessageContent::Block(ContentBlock::Text(text)) => Some(MessagePart::text(&text.text)),
        MessageContent::Block(ContentBlock::Image(image)) => {
            Some(MessagePart::base64(&image.mime_type, &image.data))
        }
        _ => None,
    };
    let role = match message.role {
        Role::User => user(),
        _ => role_of(agent),
    };
    Message { role, parts: shown.filter_map(part).collect(), created_at: Some(at), completed_at: Some(at) }
}

/// Returns the role of an agent.
pub(crate) fn role_of(agent: &str) -> String {
    format!("agent/{agent}")
}

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunStatus {
    Created,
    InProgress,
    Awaiting,
    Cancelling,
    Cancelled,
    Completed,
    Failed,
}

impl RunStatus {
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}

/// Question of a run, or the answer to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MessageAwait {
    /// Always `message`.
    #[serde(rename = "type")]
    pub(crate) kind: AwaitKind,
    pub(crate) message: Message,
}

/// Kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AwaitKind {
    Message,
}

/// Run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Run {
    pub(crate) run_id: Uuid,
    pub(crate) agent_name: String,
    pub(crate) session_id: Uuid,
    pub(crate) status: RunStatus,
    pub(crate) await_request: Option<MessageAwait>,
    pub(crate) output: Vec<Message>,
    pub(crate) error: Option<ErrorBody>,
    #[schemars(with = "String")]
    pub(crate) created_at: Timestamp,
    #[schemars(with = "Option<String>")]
    pub(crate) finished_at: Option<Timestamp>,
}

/// Event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum Event {
    #[serde(rename = "run.created")]
    RunCreated { run: Run },
    #[serde(rename = "run.in-progress")]
    RunInProgress { run: Run },
    #[serde(rename = "run.awaiting")]
    RunAwaiting { run: Run },
    #[serde(rename = "run.completed")]
    RunCompleted { run: Run },
    #[serde(rename = "run.failed")]
    RunFailed { run: Run },
    #[serde(rename = "run.cancelled")]
    RunCancelled { run: Run },
    #[serde(rename = "message.created")]
    MessageCreated { message: Message },
    #[serde(rename = "message.part")]
    MessagePart { part: MessagePart },
    #[serde(rename = "message.completed")]
    MessageCompleted { message: Message },
    /// An event of goose that the protocol does not have: `{event, data, …}`, with `message` where it has a text.
    #[serde(rename = "generic")]
    Generic { generic: Value },
}

impl Event {
    /// Returns true if a run stops here: because it ended, or waits for an answer.
    pub(crate) fn is_stop(&self) -> bool {
        self.is_end() || matches!(self, Self::RunAwaiting { .. })
    }

    /// Returns true for the last event of a run.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::RunCompleted { .. } | Self::RunFailed { .. } | Self::RunCancelled { .. })
    }
}

/// Mode of the answer to a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunMode {
    /// The run, once it has stopped.
    #[default]
    Sync,
    /// The run at once.
    Async,
    /// The events.
    Stream,
}

/// Session as its clients know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// Addresses of the messages.
    #[serde(default)]
    pub(crate) history: Vec<String>,
    /// Address of a state. goose keeps none.
    #[serde(default)]
    pub(crate) state: Option<String>,
}
