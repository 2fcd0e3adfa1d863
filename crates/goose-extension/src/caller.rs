//! [`Caller`]: the other side of a tool's call, which can be asked back.
//!
//! A tool may need an answer before it can go on: from the person ([`Question::Elicit`]), from a model
//! ([`Question::Sample`]), or about the folders it may work in ([`Question::Roots`]). Who answers depends on
//! the path: on a direct call the loop does; over MCP the client does, in one of two ways, see
//! [`CallContext`](crate::CallContext).

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, ErrorData, ToolError, ToolResult},
    questions::{Elicitation, Elicited, LogLevel, Root, Sampled, Sampling},
};

/// A question of a tool to its caller.
#[derive(Debug, Clone)]
pub enum Question {
    /// Ask the person.
    Elicit(Elicitation),
    /// Ask a model.
    Sample(Sampling),
    /// Ask which folders to work in.
    Roots,
}

/// The answer to a [`Question`], one variant for each.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// From the person.
    Elicited(Elicited),
    /// From the model.
    Sampled(Sampled),
    /// The folders.
    Roots(Vec<Root>),
}

impl Question {
    /// The kind of the question.
    pub fn kind(&self) -> QuestionKind {
        match self {
            Self::Elicit(Elicitation::UrlElicitationParams { .. }) => QuestionKind::ElicitUrl,
            Self::Elicit(_) => QuestionKind::ElicitForm,
            Self::Sample(_) => QuestionKind::Sample,
            Self::Roots => QuestionKind::Roots,
        }
    }
}

/// The kinds of questions that a caller may or may not be able to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// A form for the person.
    ElicitForm,
    /// A page that the person opens.
    ElicitUrl,
    /// A question to a model.
    Sample,
    /// The folders to work in.
    Roots,
}

impl QuestionKind {
    /// The MCP capability that a client needs for it.
    fn capability(self) -> &'static str {
        match self {
            Self::ElicitForm | Self::ElicitUrl => "elicitation",
            Self::Sample => "sampling",
            Self::Roots => "roots",
        }
    }
}

/// The progress of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The amount done. Grows from report to report.
    pub done: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// The current activity.
    pub message: Option<String>,
}

impl Progress {
    /// A report.
    pub fn new(done: f64, total: Option<f64>, message: Option<String>) -> Self {
        Self { done, total, message }
    }
}

/// A message for the caller's log.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The level.
    pub level: LogLevel,
    /// The part that logs.
    pub logger: Option<String>,
    /// A text, or data.
    pub data: Value,
}

impl LogEntry {
    /// A message at the `info` level.
    pub fn info(data: impl Into<Value>) -> Self {
        Self::new(LogLevel::Info, data)
    }

    /// A message.
    pub fn new(level: LogLevel, data: impl Into<Value>) -> Self {
        Self { level, logger: None, data: data.into() }
    }

    /// Says which part speaks.
    pub fn with_logger(mut self, logger: impl Into<String>) -> Self {
        self.logger = Some(logger.into());
        self
    }
}

/// Identity of a [`Caller`]. Callers with equal ids are the same, and may be asked for each other's calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerId(String);

impl CallerId {
    /// Returns an id that no other caller of this process has.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Returns the id of a caller that is the same only if all parts are.
    pub fn from_parts(parts: impl std::fmt::Debug) -> Self {
        Self(format!("{parts:?}"))
    }
}

/// The other side of a call. Everything is optional: what a caller does not do is refused or dropped.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Answers a question. `key` names it within the call.
    ///
    /// # Errors
    ///
    /// An execution error where the caller cannot answer such a question.
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        let _ = key;
        Err(unanswerable(question.kind()))
    }

    /// Returns whether [`ask`](Self::ask) can answer such a question.
    fn can_answer(&self, _kind: QuestionKind) -> bool {
        false
    }

    /// Returns the identity of this caller. One that only stands in front of another returns the other's; one without
    /// an identity is the same as itself only.
    fn id(&self) -> Option<CallerId> {
        None
    }

    /// Takes a progress report.
    fn progress(&self, _progress: Progress) {}

    /// Takes a log message.
    fn log(&self, _entry: LogEntry) {}
}

/// The error for a question that the other side cannot answer: the same on every path.
pub fn unanswerable(kind: QuestionKind) -> ToolError {
    let capability = kind.capability();
    ToolError::Protocol(ErrorData::new(
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        format!(
            "The tool needs to ask something, but this client does not support {capability}. \
             Pass what is needed as an argument, or use a client that supports it."
        ),
        Some(json!({ "requiredCapabilities": { capability: {} } })),
    ))
}
