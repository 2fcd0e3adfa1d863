//! An answer of OpenAI chat, read with tolerance for its many dialects: nulls, missing indices, arguments as objects,
//! content in parts. Calls and thoughts have no end of their own: they end with the answer, or where something else
//! begins. A whole answer has the same form, with `message` where an event has `delta`; some events have both, and
//! repeat in `message` all that came so far.

use std::collections::HashMap;

use goose_extension::{Message, MessageContent, Opaque};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::ProviderResult,
    reply::{StopReason, Usage},
    wires::{
        assembly::Assembly,
        content,
        framing::StreamEvent,
        openai_chat::WIRE,
        stream::{self, Decoder, stop_reason},
    },
};

/// The last event of some services.
const DONE: &str = "[DONE]";

#[derive(Default)]
pub(in crate::wires) struct ChatDecoder {
    /// The calls by what the service calls them; never more than an answer may have.
    by_index: HashMap<String, OpenCall>,
    by_id: HashMap<String, usize>,
    last: Option<usize>,
}

struct OpenCall {
    call: usize,
    id: String,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let data = event.data.trim();
        if data == DONE {
            reply.done();
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        // Some name the event that holds an error, and put nothing around it.
        if event.name == "error" {
            return Err(reply.failure(&event.json()?));
        }
        self.chunk(event.json()?, reply)
    }

    fn whole(&mut self, answer: Value, reply: &mut Assembly) -> ProviderResult<()> {
        self.chunk(stream::whole(answer, "choices")?, reply)
    }
}

impl ChatDecoder {
    fn chunk(&mut self, chunk: Chunk, reply: &mut Assembly) -> ProviderResult<()> {
        if let Some(error) = &chunk.error {
            return Err(reply.failure(error));
        }
        let mut usage = chunk.usage.or_else(|| chunk.x_groq?.get_mut("usage").map(Value::take));
        // Only one answer was asked for.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            usage = usage.or_else(|| choice.usage.clone());
            self.choice(choice, reply)?;
        }
        if let Some(usage) = usage.as_ref().and_then(usage_of) {
            reply.usage(usage);
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, reply: &mut Assembly) -> ProviderResult<()> {
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(delta, reply)?;
        }
        let is_failed = choice.finish_reason.as_deref() == Some("error");
        if let Some(error) = choice.error.or_else(|| is_failed.then(|| "it stopped with an error".into())) {
            return Err(reply.failure(&error));
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            reply.stop(stop_reason(&reason));
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta, reply: &mut Assembly) -> ProviderResult<()> {
        if let Some(thought) = delta.reasoning_content {
            reply
                .think(&thought, || Some(Opaque { wire: WIRE.to_owned(), data: REASONING_CONTENT.into() }))?;
        } else if let Some(Value::String(thought)) = delta.reasoning {
            reply.think(&thought, || None)?;
        }
        for detail in delta.reasoning_details.into_iter().flatten() {
            add_detail(detail, reply)?;
        }
        match delta.content {
            Some(Value::String(text)) => reply.text(&text)?,
            Some(Value::Array(parts)) => parts.iter().try_for_each(|part| content_part(part, reply))?,
            _ => {}
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            reply.text(&refusal)?;
            reply.stop(StopReason::Refused);
        }
        delta.tool_calls.into_iter().flatten().try_for_each(|call| self.call(call, reply))
    }

    fn call(&mut self, delta: CallDelta, reply: &mut Assembly) -> ProviderResult<()> {
        let (name, arguments) =
            delta.function.map(|function| (function.name, function.arguments)).unwrap_or_default();
        let (id, name) = (delta.id.unwrap_or_default(), name.unwrap_or_default());
        let index = delta.index.map(|index| index.to_string());
        let call = match self.known(index.as_deref(), &id, &name) {
            Some(call) => call,
            None => self.begin(index, id, &name, reply)?,
        };
        self.last = Some(call);
        reply.name_call(call, &name);
        match arguments {
            Some(Value::String(more)) => reply.add_arguments(call, &more),
            None => {}
            Some(all) => reply.set_arguments(call, &all.to_string()),
        }
        match delta.extra_content {
            Some(extra) => reply.attach(call, Opaque { wire: WIRE.to_owned(), data: extra }),
            None => Ok(()),
        }
    }

    /// The call that a piece belongs to: by index; else by id; else the last one, unless it has a name of its own. Some
    /// give all calls the same index: a new id under it is a new call.
    fn known(&self, index: Option<&str>, id: &str, name: &str) -> Option<usize> {
        match index {
            Some(index) => {
                let open = self.by_index.get(index)?;
                let is_same = id.is_empty() || open.id.is_empty() || open.id == id || name.is_empty();
                is_same.then_some(open.call)
            }
            None if !id.is_empty() => self.by_id.get(id).copied(),
            None => self.last.filter(|_| name.is_empty()),
        }
    }

    fn begin(
        &mut self,
        index: Option<String>,
        id: String,
        name: &str,
        reply: &mut Assembly,
    ) -> ProviderResult<usize> {
        let call = reply.begin_call(&id, name)?;
        if let Some(index) = index {
            self.by_index.insert(index, OpenCall { call, id });
        } else if !id.is_empty() {
            self.by_id.insert(id, call);
        }
        Ok(call)
    }
}

/// A part of content that is a list: text, or thinking that is a list again.
fn content_part(part: &Value, reply: &mut Assembly) -> ProviderResult<()> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return reply.text(text);
    }
    match part.get("thinking") {
        Some(Value::String(text)) => reply.think(text, || None),
        Some(Value::Array(thoughts)) => {
            let texts = thoughts.iter().filter_map(|thought| thought.get("text")?.as_str());
            texts.into_iter().try_for_each(|text| reply.think(text, || None))
        }
        _ => Ok(()),
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let number = |field: &str| usage.get(field).and_then(Value::as_u64);
    let detail = |field: &str| usage.get("prompt_tokens_details")?.get(field)?.as_u64();
    let input = number("prompt_tokens")?;
    let cached = detail("cached_tokens")
        .or_else(|| number("prompt_cache_hit_tokens"))
        .or_else(|| number("cached_tokens"));
    Some(Usage {
        input,
        output: number("completion_tokens").unwrap_or(0),
        cached_input: cached.unwrap_or(0).min(input),
        cache_write: detail("cache_write_tokens").unwrap_or(0),
    })
}

/// Marks a thought whose service calls it `reasoning_content`.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

/// The key under which a thought's details are kept.
const REASONING_DETAILS: &str = "reasoning_details";

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    x_groq: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
    error: Option<Value>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    /// A text, by the book; some send a list of parts.
    content: Option<Value>,
    reasoning_content: Option<String>,
    reasoning: Option<Value>,
    /// OpenRouter's form of thoughts, with the signatures of the services behind it.
    reasoning_details: Option<Vec<Value>>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    /// A number, by the book.
    index: Option<Value>,
    id: Option<String>,
    function: Option<FunctionDelta>,
    /// Data that Gemini needs back.
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A text, by the book.
    arguments: Option<Value>,
}

/// The fields of a detail that grow from piece to piece.
const GROWING: [&str; 2] = ["text", "summary"];

/// Takes a piece of the thought that is being said.
fn add_detail(piece: Value, reply: &mut Assembly) -> ProviderResult<()> {
    let bytes = piece.to_string().len();
    reply.annotate_thought(bytes, |opaque| {
        let new = || Opaque { wire: WIRE.to_owned(), data: json!({ REASONING_DETAILS: [] }) };
        let opaque = opaque.get_or_insert_with(new);
        if !opaque.data.is_object() {
            *opaque = new();
        }
        if let Some(details) = opaque.data.get_mut(REASONING_DETAILS).and_then(Value::as_array_mut) {
            join_detail(details, piece);
        }
    })
}

fn join_detail(details: &mut Vec<Value>, piece: Value) {
    let is_same =
        |last: &&mut Value| ["type", "index", "id"].iter().all(|key| last.get(key) == piece.get(key));
    let grows = GROWING.iter().any(|key| piece.get(key).is_some_and(Value::is_string));
    let Some(last) = details.last_mut().filter(is_same).filter(|_| grows).and_then(Value::as_object_mut)
    else {
        details.push(piece);
        return;
    };
    let Value::Object(piece) = piece else { return };
    for (key, value) in piece {
        match (last.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&key.as_str()) => {
                text.push_str(&more)
            }
            (_, Value::Null) => {}
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}

/// All details of a message's thoughts.
pub(super) fn details_of(message: &Message) -> Vec<&Value> {
    let thoughts = message.content.iter().filter_map(|part| match part {
        MessageContent::Reasoning(thought) => content::opaque_data(&thought.opaque, WIRE),
        _ => None,
    });
    let details = thoughts.filter_map(|data| data.get(REASONING_DETAILS)?.as_array());
    details.flatten().collect()
}
