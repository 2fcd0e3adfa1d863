//! [`Request`]: what a model is asked.

use std::sync::Arc;

use goose_extension::{Message, Tool};
use serde::{Deserialize, Serialize};

/// One question to a model: the whole conversation, and the tools it may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Who the model is and how it works.
    pub system: &'a str,
    /// The conversation, oldest first. Valid: each tool call has exactly one result, in the message after it.
    pub messages: &'a [Arc<Message>],
    /// The tools, under the names that the model uses.
    pub tools: &'a [Tool],
    /// How to answer.
    pub options: &'a RequestOptions,
}

/// How a model is to answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// How freely it chooses its words.
    pub temperature: Option<f32>,
    /// How many tokens it may write.
    pub max_tokens: Option<u64>,
    /// How long it thinks.
    pub effort: Option<Effort>,
    /// The conversation's id: services that cache by a key use it.
    pub conversation: Option<String>,
    /// Whether the conversation is not kept: then nothing of it may be written to the disk.
    pub is_ephemeral: bool,
}

/// How long a model thinks before it answers.
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
