//! [`Request`]: what a model is asked.

use std::sync::Arc;

use goose_extension::{Message, Tool};
use serde::{Deserialize, Serialize};

/// One question to a model: the whole conversation, and the tools it may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation, oldest first. Valid: each tool call has exactly one result, in the message after it.
    pub messages: &'a [Arc<Message>],
    /// The tools, under the names that the model uses.
    pub tools: &'a [Tool],
    /// The options.
    pub options: &'a RequestOptions,
}

/// Options for an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The reasoning effort.
    pub effort: Option<Effort>,
    /// The conversation's id: services that cache by a key use it.
    pub conversation: Option<String>,
    /// True if the conversation is not saved: then nothing of it may be written to the disk.
    pub is_ephemeral: bool,
}

/// The reasoning effort of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, where that can be had.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Long.
    High,
}

impl Effort {
    /// As services say it; there is no common word for no thinking at all.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
        }
    }
}
