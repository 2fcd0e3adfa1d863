//! The events of OpenAI chat, read with tolerance for its many dialects: nulls, missing indices, arguments
//! as objects, content in parts. A whole answer has the same form, with `message` where an event has `delta`; some events
//! have both, and repeat in `message` all that came so far.

use serde::Deserialize;
use serde_json::Value;

/// Marks a thought whose service calls it `reasoning_content`.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

/// The key under which a thought's details are kept.
pub(super) const REASONING_DETAILS: &str = "reasoning_details";

#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<Value>,
    pub(super) x_groq: Option<Value>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) delta: Option<Delta>,
    pub(super) message: Option<Delta>,
    pub(super) finish_reason: Option<String>,
    pub(super) error: Option<Value>,
    pub(super) usage: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Delta {
    /// A text, by the book; some send a list of parts.
    pub(super) content: Option<Value>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<Value>,
    /// OpenRouter's form of thoughts, with the signatures of the services behind it.
    pub(super) reasoning_details: Option<Vec<Value>>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    /// A number, by the book.
    pub(super) index: Option<Value>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
    /// Data that Gemini needs back.
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    /// A text, by the book.
    pub(super) arguments: Option<Value>,
}
