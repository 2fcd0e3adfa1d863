//! An answer of OpenAI Responses. Its last event contains the whole answer once more.

use std::collections::{HashMap, HashSet};

use goose_extension::{Opaque, Reasoning};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::{ProviderError, ProviderResult},
    failure,
    reply::{StopReason, Usage},
    wires::{
        assembly::{Assembly, too_much},
        framing::StreamEvent,
        openai_responses::WIRE,
        stream::{self, Decoder, unreadable},
    },
};

#[derive(Default)]
pub(in crate::wires) struct ResponsesDecoder {
    /// The calls by where they stand in the answer; never more than an answer may have.
    calls: HashMap<String, usize>,
    last_call: Option<usize>,
    /// The items of which text or thinking has come in pieces, by where they stand; without a place all of them.
    heard: HashSet<String>,
    items: usize,
}

/// Most items of an answer.
const MAX_ITEMS: usize = 1024;

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(event) => self.take(event, reply),
            Err(error) => {
                // An event without a type that we know how to read: an error, or nothing of this wire.
                let value = serde_json::from_str(data).unwrap_or_default();
                reply.fail_on_error(&value)?;
                Err(unreadable(&error, data))
            }
        }
    }

    fn whole(&mut self, answer: Value, reply: &mut Assembly) -> ProviderResult<()> {
        if answer.get("status").is_some_and(|status| status == "failed") {
            return Err(failed(&answer, reply));
        }
        self.finish(stream::whole(answer, "output")?, reply)
    }
}

impl ResponsesDecoder {
    fn take(&mut self, event: Event, reply: &mut Assembly) -> ProviderResult<()> {
        match event {
            Event::ItemAdded { output_index, item } if item.r#type == "function_call" => {
                self.begin_call(output_index, &item, reply).map(|_| ())
            }
            Event::ItemDone { output_index, item } => self.done(output_index, item, reply),
            Event::Text { output_index, delta } => {
                self.hear(output_index.as_ref())?;
                reply.text(&delta)
            }
            Event::Thinking { output_index, delta } => {
                self.hear(output_index.as_ref())?;
                reply.show_thinking(&delta)
            }
            Event::ThinkingPart { summary_index: 0 } => Ok(()),
            Event::ThinkingPart { .. } => reply.show_thinking("\n\n"),
            Event::Arguments { output_index, delta } => {
                let known = output_index.and_then(|index| self.calls.get(&index.to_string()).copied());
                if let Some(call) = known.or(self.last_call) {
                    reply.add_arguments(call, &delta);
                }
                Ok(())
            }
            Event::Completed { response } | Event::Incomplete { response } => self.finish(response, reply),
            Event::Failed { response } => Err(failed(&response, reply)),
            Event::Error(event) => {
                // The code and the message, or the same inside of `error`.
                reply.fail_on_error(&event)?;
                Err(reply.failure(&json!({ "code": event["code"], "message": event["message"] })))
            }
            Event::ItemAdded { .. } | Event::Other => Ok(()),
        }
    }

    fn hear(&mut self, index: Option<&Value>) -> ProviderResult<()> {
        let place = place(index);
        if !self.heard.contains(&place) {
            self.heard.insert(place);
        }
        if self.heard.len() > MAX_ITEMS { Err(too_many_items()) } else { Ok(()) }
    }

    fn was_heard(&self, index: Option<&Value>) -> bool {
        self.heard.contains(&place(index)) || self.heard.contains(&place(None))
    }

    fn begin_call(
        &mut self,
        index: Option<Value>,
        item: &Item,
        reply: &mut Assembly,
    ) -> ProviderResult<usize> {
        let id = item.call_id.as_deref().or(item.id.as_deref()).unwrap_or_default();
        let call = reply.begin_call(id, item.name.as_deref().unwrap_or_default())?;
        if let Some(index) = index {
            self.calls.insert(index.to_string(), call);
        }
        self.last_call = Some(call);
        Ok(call)
    }

    /// Takes the final content of an item, whether or not its pieces came before.
    fn done(&mut self, index: Option<Value>, item: Item, reply: &mut Assembly) -> ProviderResult<()> {
        self.items += 1;
        if self.items > MAX_ITEMS {
            return Err(too_many_items());
        }
        let was_heard = self.was_heard(index.as_ref());
        match item.r#type.as_str() {
            "function_call" => self.end_call(index, &item, reply),
            "reasoning" => {
                let thought = thought_of(item);
                if !was_heard {
                    reply.show_thinking(&thought.text)?;
                }
                reply.thought(thought)
            }
            "message" => {
                let pieces = item.content.unwrap_or_default();
                if !was_heard {
                    pieces.iter().try_for_each(|piece| reply.text(piece.text()))?;
                }
                if pieces.iter().any(|piece| piece.r#type == "refusal") {
                    reply.stop(StopReason::Refused);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end_call(&mut self, index: Option<Value>, item: &Item, reply: &mut Assembly) -> ProviderResult<()> {
        let key = index.as_ref().map(ToString::to_string);
        let open = match key {
            Some(key) => self.calls.remove(&key),
            None => self.last_call.take(),
        };
        let call = match open {
            Some(call) => call,
            None => self.begin_call(None, item, reply)?,
        };
        if self.last_call == Some(call) {
            self.last_call = None;
        }
        reply.name_call(call, item.name.as_deref().unwrap_or_default());
        match item.arguments.as_deref() {
            Some(all) if !all.is_empty() => reply.set_arguments(call, all),
            _ => {}
        }
        reply.end_call(call);
        Ok(())
    }

    fn finish(&mut self, answer: Answer, reply: &mut Assembly) -> ProviderResult<()> {
        // Some send no items but only the whole.
        if self.items == 0 {
            for (index, item) in answer.output.into_iter().flatten().enumerate() {
                self.done(Some(index.into()), item, reply)?;
            }
        }
        if let Some(usage) = answer.usage.as_ref().and_then(usage_of) {
            reply.usage(usage);
        }
        if answer.status.as_deref() == Some("incomplete")
            || answer.incomplete_details.as_ref().is_some_and(Value::is_object)
        {
            reply.stop(incomplete(answer.incomplete_details.as_ref()));
        }
        reply.done();
        Ok(())
    }
}

fn failed(response: &Value, reply: &Assembly) -> ProviderError {
    reply.failure(failure::error_in(response).unwrap_or(response))
}

fn thought_of(item: Item) -> Reasoning {
    let mut texts = texts_of(item.summary);
    if texts.is_empty() {
        texts = texts_of(item.content);
    }
    let opaque = item.encrypted_content.map(|sealed| {
        let mut data = json!({ "encrypted_content": sealed });
        if let Some(id) = item.id {
            data["id"] = id.into();
        }
        Opaque { wire: WIRE.to_owned(), data }
    });
    Reasoning { text: texts.join("\n\n"), opaque }
}

fn texts_of(pieces: Option<Vec<Piece>>) -> Vec<String> {
    let texts = pieces.into_iter().flatten().map(|piece| piece.text().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns the key of an item.
fn place(index: Option<&Value>) -> String {
    index.map(ToString::to_string).unwrap_or_default()
}

fn too_many_items() -> ProviderError {
    too_much(&format!("it has more than {MAX_ITEMS} items"))
}

fn incomplete(details: Option<&Value>) -> StopReason {
    match details.and_then(|details| details.get("reason")).and_then(Value::as_str) {
        Some("max_output_tokens") | None => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refused,
        Some(reason) => StopReason::Other(failure::clean(reason)),
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let input = number("/input_tokens")?;
    Some(Usage {
        input,
        output: number("/output_tokens").unwrap_or(0),
        cached_input: number("/input_tokens_details/cached_tokens").unwrap_or(0).min(input),
        cache_write: 0,
    })
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
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
struct Answer {
    status: Option<String>,
    output: Option<Vec<Item>>,
    usage: Option<Value>,
    incomplete_details: Option<Value>,
}

/// A part of an answer. All kinds in one, as their fields do not contradict each other.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    r#type: String,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    encrypted_content: Option<String>,
    summary: Option<Vec<Piece>>,
    content: Option<Vec<Piece>>,
}

/// A piece of text.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Piece {
    r#type: String,
    text: Option<String>,
    refusal: Option<String>,
}

impl Piece {
    fn text(&self) -> &str {
        self.text.as_deref().or(self.refusal.as_deref()).unwrap_or_default()
    }
}
