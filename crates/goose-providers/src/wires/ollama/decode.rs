//! An answer of Ollama: each line is a piece, the last one says that it is done and what it cost.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    error::ProviderResult,
    failure,
    reply::StopReason,
    usage::Usage,
    wires::{
        assembly::Assembly,
        framing::{Framing, StreamEvent},
        stream::{Decoder, unreadable},
    },
};

/// Longest unknown stop reason.
const MAX_REASON_CHARS: usize = 100;

#[derive(Deserialize)]
struct Piece {
    message: Option<Said>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    prompt_eval_cached_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    thinking: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<Asked>>,
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

pub(in crate::wires) struct OllamaDecoder {
    endpoint: Endpoint,
}

impl Decoder for OllamaDecoder {
    const FRAMING: Framing = Framing::Lines;

    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let piece = serde_json::from_str(&event.data).map_err(|error| unreadable(&error, &event.data))?;
        self.piece(piece, reply)
    }
}

impl OllamaDecoder {
    fn piece(&self, piece: Piece, reply: &mut Assembly) -> ProviderResult<()> {
        if let Some(error) = piece.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure::from_value(&self.endpoint, error));
        }
        if let Some(said) = &piece.message {
            take(said, reply)?;
        }
        if piece.done {
            end(&piece, reply);
        }
        Ok(())
    }
}

fn take(said: &Said, reply: &mut Assembly) -> ProviderResult<()> {
    let thinking = said.thinking.as_deref().or(said.reasoning_content.as_deref());
    reply.think(thinking.unwrap_or_default(), || None)?;
    reply.text(said.content.as_deref().unwrap_or_default())?;
    for asked in said.tool_calls.iter().flatten() {
        let Some(function) = &asked.function else { continue };
        let call = reply.begin_call(asked.id.as_deref().unwrap_or_default(), &function.name)?;
        match &function.arguments {
            Value::Null => {}
            Value::String(text) => reply.set_arguments(call, text),
            value => reply.set_arguments(call, &value.to_string()),
        }
        reply.end_call(call);
    }
    Ok(())
}

fn end(piece: &Piece, reply: &mut Assembly) {
    if piece.prompt_eval_count.is_some() || piece.eval_count.is_some() {
        let input = piece.prompt_eval_count.unwrap_or(0);
        reply.usage(Usage {
            input,
            output: piece.eval_count.unwrap_or(0),
            cached_input: piece.prompt_eval_cached_count.unwrap_or(0).min(input),
            cache_write: 0,
        });
    }
    reply.stop(match piece.done_reason.as_deref() {
        None | Some("stop" | "") => StopReason::EndTurn,
        Some("length") => StopReason::MaxTokens,
        Some(other) => StopReason::Other(other.chars().take(MAX_REASON_CHARS).collect()),
    });
    reply.done();
}
