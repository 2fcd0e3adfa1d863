//! What the events of OpenAI chat look like, read with tolerance for its many dialects: nulls, missing indices, arguments
//! as objects, content in parts. A whole answer has the same form, with `message` where an event has `delta`; some events
//! have both, and repeat in `message` all that came so far.

use serde::Deserialize;
use serde_json::Value;

/// What a thought is kept with whose service calls it `reasoning_content`.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

/// The key under which a thought's details are kept.
pub(super) const REASONING_DETAILS: &str = "reasoning_details";

#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) x_groq: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) delta: Option<Delta>,
    #[serde(default)]
    pub(super) message: Option<Delta>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Value>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Delta {
    /// A text, by the book; some send a list of parts.
    #[serde(default)]
    pub(super) content: Option<Value>,
    #[serde(default)]
    pub(super) reasoning_content: Option<String>,
    #[serde(default)]
    pub(super) reasoning: Option<Value>,
    /// OpenRouter's form of thoughts, with the signatures of the services behind it.
    #[serde(default)]
    pub(super) reasoning_details: Option<Vec<Value>>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    /// A number, by the book.
    #[serde(default)]
    pub(super) index: Option<Value>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<FunctionDelta>,
    /// What Gemini wants to see again.
    #[serde(default)]
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// A text, by the book.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}
