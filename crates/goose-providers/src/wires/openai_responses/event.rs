//! The events of OpenAI Responses, as far as they are read. The last event contains the whole answer.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Event {
    #[serde(rename = "response.output_item.added")]
    ItemAdded { output_index: Option<Value>, item: Item },
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: Option<Value>, item: Item },
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { output_index: Option<Value>, delta: String },
    #[serde(rename = "response.reasoning_summary_text.delta", alias = "response.reasoning_text.delta")]
    Thinking { output_index: Option<Value>, delta: String },
    #[serde(rename = "response.reasoning_summary_part.added")]
    ThinkingPart {
        #[serde(default)]
        summary_index: u64,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: Option<Value>, delta: String },
    #[serde(rename = "response.completed", alias = "response.done")]
    Completed { response: Answer },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Answer },
    #[serde(rename = "response.failed")]
    Failed { response: Value },
    #[serde(rename = "error")]
    Error(Value),
    #[serde(other)]
    Other,
}

/// The answer itself.
#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) status: Option<String>,
    pub(super) output: Option<Vec<Item>>,
    pub(super) usage: Option<Value>,
    pub(super) incomplete_details: Option<Value>,
}

/// A part of an answer. All kinds in one, as their fields do not contradict each other.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Item {
    pub(super) r#type: String,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
    pub(super) encrypted_content: Option<String>,
    pub(super) summary: Option<Vec<Piece>>,
    pub(super) content: Option<Vec<Piece>>,
}

/// A piece of text.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Piece {
    pub(super) r#type: String,
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
}

impl Piece {
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().or(self.refusal.as_deref()).unwrap_or_default()
    }
}
