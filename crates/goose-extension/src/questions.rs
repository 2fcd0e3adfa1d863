//! Questions of a tool to its caller: [`Elicitation`] (the person), [`Sampling`] (a model), [`Root`]s (folders),
//! and the levels of its log.
//!
//! MCP deprecates sampling, roots and logging from 2026-07-28 on, while everything older uses them. These types
//! keep that out of the authors' code; nothing of a request or answer is lost in them.

#![expect(deprecated, reason = "the one place that names MCP's deprecated types")]

use rmcp::model as mcp;
use serde_json::Value;

use crate::message::Role;

/// A question to the person: a form to fill in, or a page to open.
pub type Elicitation = mcp::ElicitRequestParams;
/// The person's answer.
pub type Elicited = mcp::ElicitResult;
/// The person's reaction to a question.
pub type ElicitAction = mcp::ElicitationAction;
/// The form of an [`Elicitation`].
pub type ElicitationSchema = mcp::ElicitationSchema;

/// A question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling(mcp::CreateMessageRequestParams);

impl Sampling {
    /// A single question of the user; `max_tokens` bounds the answer.
    pub fn new(prompt: impl Into<String>, max_tokens: u32) -> Self {
        Self(mcp::CreateMessageRequestParams::new(vec![mcp::SamplingMessage::user_text(prompt)], max_tokens))
    }

    /// Adds a message after the others.
    pub fn with_message(mut self, role: Role, text: impl Into<String>) -> Self {
        let content = mcp::SamplingMessageContentBlock::text(text);
        self.0.messages.push(mcp::SamplingMessage::new(role, content));
        self
    }

    /// Sets the system prompt.
    pub fn with_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.0.system_prompt = Some(text.into());
        self
    }

    /// The messages as role and text.
    pub fn messages(&self) -> impl Iterator<Item = (Role, String)> {
        self.0.messages.iter().map(|message| (message.role.clone(), text_of(message)))
    }

    /// The system prompt.
    pub fn system_prompt(&self) -> Option<&str> {
        self.0.system_prompt.as_deref()
    }

    /// The longest answer that is wanted.
    pub fn max_tokens(&self) -> u32 {
        self.0.max_tokens
    }

    /// The same question with an answer that is at most so long.
    pub fn with_tokens_at_most(mut self, most: u32) -> Self {
        self.0.max_tokens = self.0.max_tokens.min(most);
        self
    }

    /// The request as MCP has it, with everything in it.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    /// Converts from the protocol's type.
    pub fn from_mcp(request: mcp::CreateMessageRequestParams) -> Self {
        Self(request)
    }

    /// Converts to the protocol's type.
    pub fn into_mcp(self) -> mcp::CreateMessageRequestParams {
        self.0
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled(mcp::CreateMessageResult);

impl Sampled {
    /// A text by a model.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        let message = mcp::SamplingMessage::assistant_text(text);
        Self(mcp::CreateMessageResult::new(message, model.into()).with_stop_reason("endTurn"))
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.0.model
    }

    /// All text of the answer.
    pub fn text(&self) -> String {
        text_of(&self.0.message)
    }

    /// Why the model stopped.
    pub fn stop_reason(&self) -> Option<&str> {
        self.0.stop_reason.as_deref()
    }

    /// Converts from the protocol's type.
    pub fn from_mcp(answer: mcp::CreateMessageResult) -> Self {
        Self(answer)
    }

    /// Converts to the protocol's type.
    pub fn into_mcp(self) -> mcp::CreateMessageResult {
        self.0
    }
}

fn text_of(message: &mcp::SamplingMessage) -> String {
    let texts: Vec<&str> = message
        .content
        .iter()
        .filter_map(|block| match block {
            mcp::SamplingMessageContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// A folder or address that the caller lets the tool work in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Root {
    /// For example `file:///home/ada/project`.
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
}

impl Root {
    /// A root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Adds a name for people.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Converts from the protocol's type.
    pub fn from_mcp(root: mcp::Root) -> Self {
        Self { uri: root.uri, name: root.name }
    }

    /// Converts to the protocol's type.
    pub fn into_mcp(self) -> mcp::Root {
        let mut root = mcp::Root::new(self.uri);
        root.name = self.name;
        root
    }
}

/// The importance of a log message, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal events.
    Info,
    /// Normal, but worth attention.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// Something important failed.
    Critical,
    /// Immediate action is needed.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// Converts from the protocol's type.
    pub fn from_mcp(level: mcp::LoggingLevel) -> Self {
        match level {
            mcp::LoggingLevel::Debug => Self::Debug,
            mcp::LoggingLevel::Info => Self::Info,
            mcp::LoggingLevel::Notice => Self::Notice,
            mcp::LoggingLevel::Warning => Self::Warning,
            mcp::LoggingLevel::Error => Self::Error,
            mcp::LoggingLevel::Critical => Self::Critical,
            mcp::LoggingLevel::Alert => Self::Alert,
            mcp::LoggingLevel::Emergency => Self::Emergency,
        }
    }

    /// Converts to the protocol's type.
    pub fn into_mcp(self) -> mcp::LoggingLevel {
        match self {
            Self::Debug => mcp::LoggingLevel::Debug,
            Self::Info => mcp::LoggingLevel::Info,
            Self::Notice => mcp::LoggingLevel::Notice,
            Self::Warning => mcp::LoggingLevel::Warning,
            Self::Error => mcp::LoggingLevel::Error,
            Self::Critical => mcp::LoggingLevel::Critical,
            Self::Alert => mcp::LoggingLevel::Alert,
            Self::Emergency => mcp::LoggingLevel::Emergency,
        }
    }
}
