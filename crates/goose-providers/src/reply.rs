//! A model's answer: [`ReplyEvent`]s as it streams, a [`Reply`] when it is complete.

use std::pin::Pin;

use futures::Stream;
use goose_extension::{JsonObject, Message, Opaque, Reasoning};

use crate::{error::ProviderResult, usage::Usage};

/// An answer as it comes. It ends after [`ReplyEvent::Finished`], which comes exactly once, or after an error.
pub type ReplyStream = Pin<Box<dyn Stream<Item = ProviderResult<ReplyEvent>> + Send>>;

/// A piece of an answer. Joined in order they make the message, see [`Reply`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyEvent {
    /// More text; never empty.
    Text(String),
    /// More of what it thinks, to be shown.
    Thinking(String),
    /// A block of thinking is complete: the whole of it, to be kept.
    Thought(Reasoning),
    /// It begins to ask for a tool; what it passes is still to come.
    CallStarted {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
    },
    /// It asks for a tool.
    Call(ToolCall),
    /// The usage so far; the last one counts.
    Usage(Usage),
    /// It is done.
    Finished(StopReason),
}

/// A tool that the model asks for. The id is unique within the answer and never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Ties the call to its result.
    pub id: String,
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Data that the service needs back in later requests.
    pub opaque: Option<Opaque>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// As it should be.
    Object(JsonObject),
    /// Something else.
    Malformed {
        /// The text as received, truncated.
        raw: String,
        /// The problem, worded for the model.
        why: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It has said everything.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It may not write more, or the context is full.
    MaxTokens,
    /// It, or a filter of the service, refuses to go on.
    Refused,
    /// Something else, in the service's words.
    Other(String),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The message.
    pub message: Message,
    /// The usage.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
}
