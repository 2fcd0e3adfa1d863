//! The same things said in each wire's own bytes.

use serde_json::{Value, json};

use crate::bedrock::frame as amazon_frame;

/// The wires that stream with one form of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tongue {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Converse,
}

pub(crate) const ALL: [Tongue; 5] =
    [Tongue::Chat, Tongue::Responses, Tongue::Anthropic, Tongue::Gemini, Tongue::Converse];

/// Those whose answers are text; Converse frames are binary.
pub(crate) const TEXTUAL: [Tongue; 4] = [Tongue::Chat, Tongue::Responses, Tongue::Anthropic, Tongue::Gemini];

/// Those that send arguments as text, which need not be JSON; Gemini sends them as a value.
pub(crate) const WITH_RAW_ARGUMENTS: [Tongue; 4] =
    [Tongue::Chat, Tongue::Responses, Tongue::Anthropic, Tongue::Converse];

/// Why an answer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    End,
    Tools,
    Length,
    Filter,
}

/// A call as it is said in pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) place: u64,
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
}

pub(crate) fn frame(event: &str, data: &Value) -> Vec<u8> {
    let name = if event.is_empty() { String::new() } else { format!("event: {event}\n") };
    format!("{name}data: {data}\n\n").into_bytes()
}

fn typed(data: Value) -> Vec<u8> {
    frame(data["type"].as_str().unwrap(), &data)
}

fn delta(delta: Value) -> Vec<u8> {
    frame(
        "",
        &json!({ "id": "c", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta }] }),
    )
}

fn gemini_parts(parts: Value) -> Vec<u8> {
    frame("", &json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] }))
}

fn amazon(event: &str, payload: Value) -> Vec<u8> {
    amazon_frame("event", event, &payload)
}

fn amazon_delta(index: u64, delta: Value) -> Vec<u8> {
    amazon("contentBlockDelta", json!({ "contentBlockIndex": index, "delta": delta }))
}

impl Tongue {
    pub(crate) fn start(self) -> Vec<u8> {
        match self {
            Self::Gemini => gemini_parts(json!([])),
            Self::Converse => amazon("messageStart", json!({ "role": "assistant" })),
            Self::Chat => delta(json!({ "role": "assistant", "content": "" })),
            Self::Responses => typed(json!({ "type": "response.created", "response": { "id": "r" } })),
            Self::Anthropic => {
                typed(json!({ "type": "message_start", "message": { "id": "m", "role": "assistant",
                "usage": { "input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1 } } }))
            }
        }
    }

    /// A piece of text; the block around it is left to tolerance where the wire has one.
    pub(crate) fn text(self, text: &str) -> Vec<u8> {
        match self {
            Self::Gemini => gemini_parts(json!([{ "text": text }])),
            Self::Converse => amazon_delta(0, json!({ "text": text })),
            Self::Chat => delta(json!({ "content": text })),
            Self::Responses => {
                typed(json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }))
            }
            Self::Anthropic => typed(
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
            ),
        }
    }

    /// A whole thought, in two pieces, with what the wire wants to see again.
    pub(crate) fn thought(self, one: &str, two: &str) -> Vec<Vec<u8>> {
        match self {
            Self::Gemini => vec![
                gemini_parts(json!([{ "text": one, "thought": true }])),
                gemini_parts(json!([{ "text": two, "thought": true, "thoughtSignature": "c2VhbGVk" }])),
            ],
            Self::Converse => vec![
                amazon_delta(90, json!({ "reasoningContent": { "text": one } })),
                amazon_delta(90, json!({ "reasoningContent": { "text": two } })),
                amazon_delta(90, json!({ "reasoningContent": { "signature": "c2Vh" } })),
                amazon_delta(90, json!({ "reasoningContent": { "signature": "bGVk" } })),
                amazon("contentBlockStop", json!({ "contentBlockIndex": 90 })),
            ],
            Self::Chat => {
                vec![delta(json!({ "reasoning_content": one })), delta(json!({ "reasoning_content": two }))]
            }
            Self::Responses => {
                let piece = |text: &str| {
                    typed(
                        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 90, "delta": text }),
                    )
                };
                let item = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
                    "summary": [{ "type": "summary_text", "text": format!("{one}{two}") }] });
                let done =
                    typed(json!({ "type": "response.output_item.done", "output_index": 90, "item": item }));
                vec![piece(one), piece(two), done]
            }
            Self::Anthropic => {
                let piece = |delta: Value| {
                    typed(json!({ "type": "content_block_delta", "index": 90, "delta": delta }))
                };
                vec![
                    typed(
                        json!({ "type": "content_block_start", "index": 90, "content_block": { "type": "thinking", "thinking": "" } }),
                    ),
                    piece(json!({ "type": "thinking_delta", "thinking": one })),
                    piece(json!({ "type": "thinking_delta", "thinking": two })),
                    piece(json!({ "type": "signature_delta", "signature": "c2VhbGVk" })),
                    typed(json!({ "type": "content_block_stop", "index": 90 })),
                ]
            }
        }
    }

    pub(crate) fn begin(self, call: Call<'_>) -> Vec<u8> {
        let Call { place, id, name } = call;
        match self {
            Self::Gemini => Vec::new(),
            Self::Converse => amazon(
                "contentBlockStart",
                json!({ "contentBlockIndex": place, "start": { "toolUse": { "toolUseId": id, "name": name } } }),
            ),
            Self::Chat => delta(json!({ "tool_calls": [{ "index": place, "id": id, "type": "function",
                "function": { "name": name, "arguments": "" } }] })),
            Self::Responses => typed(json!({ "type": "response.output_item.added", "output_index": place,
                "item": { "type": "function_call", "id": format!("fc_{place}"), "call_id": id, "name": name, "arguments": "" } })),
            Self::Anthropic => typed(json!({ "type": "content_block_start", "index": place,
                "content_block": { "type": "tool_use", "id": id, "name": name, "input": {} } })),
        }
    }

    pub(crate) fn arguments(self, place: u64, more: &str) -> Vec<u8> {
        match self {
            Self::Gemini => Vec::new(),
            Self::Converse => amazon_delta(place, json!({ "toolUse": { "input": more } })),
            Self::Chat => {
                delta(json!({ "tool_calls": [{ "index": place, "function": { "arguments": more } }] }))
            }
            Self::Responses => typed(
                json!({ "type": "response.function_call_arguments.delta", "output_index": place, "delta": more }),
            ),
            Self::Anthropic => typed(json!({ "type": "content_block_delta", "index": place,
                "delta": { "type": "input_json_delta", "partial_json": more } })),
        }
    }

    /// The end of a call; chat has none, and Gemini says the whole call here.
    pub(crate) fn end(self, call: Call<'_>, arguments: &str) -> Vec<u8> {
        let Call { place, id, name } = call;
        match self {
            Self::Gemini => {
                let mut function = json!({ "id": id, "name": name });
                if let Ok(args) = serde_json::from_str::<Value>(arguments) {
                    function["args"] = args;
                }
                gemini_parts(json!([{ "functionCall": function }]))
            }
            Self::Converse => amazon("contentBlockStop", json!({ "contentBlockIndex": place })),
            Self::Chat => Vec::new(),
            Self::Responses => typed(json!({ "type": "response.output_item.done", "output_index": place,
                "item": { "type": "function_call", "id": format!("fc_{place}"), "call_id": id, "name": name, "arguments": arguments } })),
            Self::Anthropic => typed(json!({ "type": "content_block_stop", "index": place })),
        }
    }

    /// A whole call.
    pub(crate) fn call(self, call: Call<'_>, arguments: &str) -> Vec<Vec<u8>> {
        vec![self.begin(call), self.arguments(call.place, arguments), self.end(call, arguments)]
    }

    /// The end of an answer, with what it cost: 105 in, of which 90 from the cache, and 7 out.
    pub(crate) fn stop(self, stop: Stop) -> Vec<Vec<u8>> {
        match self {
            Self::Gemini => {
                let reason = match stop {
                    Stop::End | Stop::Tools => "STOP",
                    Stop::Length => "MAX_TOKENS",
                    Stop::Filter => "SAFETY",
                };
                let usage = json!({ "promptTokenCount": 105, "candidatesTokenCount": 4, "thoughtsTokenCount": 3,
                    "cachedContentTokenCount": 90 });
                vec![frame(
                    "",
                    &json!({ "candidates": [{ "finishReason": reason }], "usageMetadata": usage }),
                )]
            }
            Self::Converse => {
                let reason = match stop {
                    Stop::End => "end_turn",
                    Stop::Tools => "tool_use",
                    Stop::Length => "max_tokens",
                    Stop::Filter => "content_filtered",
                };
                let usage = json!({ "inputTokens": 10, "cacheReadInputTokens": 90, "cacheWriteInputTokens": 5,
                    "outputTokens": 7 });
                vec![
                    amazon("messageStop", json!({ "stopReason": reason })),
                    amazon("metadata", json!({ "usage": usage })),
                ]
            }
            Self::Chat => {
                let reason = match stop {
                    Stop::End => "stop",
                    Stop::Tools => "tool_calls",
                    Stop::Length => "length",
                    Stop::Filter => "content_filter",
                };
                let usage = json!({ "prompt_tokens": 105, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 90 } });
                vec![
                    frame("", &json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })),
                    frame("", &json!({ "choices": [], "usage": usage })),
                    b"data: [DONE]\n\n".to_vec(),
                ]
            }
            Self::Responses => {
                let usage = json!({ "input_tokens": 105, "output_tokens": 7, "input_tokens_details": { "cached_tokens": 90 } });
                let incomplete = |reason: &str| {
                    typed(json!({ "type": "response.incomplete", "response": { "status": "incomplete",
                    "incomplete_details": { "reason": reason }, "usage": usage } }))
                };
                vec![match stop {
                    Stop::End | Stop::Tools => typed(json!({ "type": "response.completed",
                        "response": { "status": "completed", "incomplete_details": null, "usage": usage } })),
                    Stop::Length => incomplete("max_output_tokens"),
                    Stop::Filter => incomplete("content_filter"),
                }]
            }
            Self::Anthropic => {
                let reason = match stop {
                    Stop::End => "end_turn",
                    Stop::Tools => "tool_use",
                    Stop::Length => "max_tokens",
                    Stop::Filter => "refusal",
                };
                vec![
                    typed(
                        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } }),
                    ),
                    typed(json!({ "type": "message_stop" })),
                ]
            }
        }
    }

    /// A failure in the middle of an answer.
    pub(crate) fn failure(self) -> Vec<u8> {
        match self {
            Self::Gemini => frame(
                "",
                &json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } }),
            ),
            Self::Converse => {
                amazon_frame("exception", "serviceUnavailableException", &json!({ "message": "Overloaded" }))
            }
            Self::Chat => frame(
                "",
                &json!({ "error": { "message": "Overloaded", "type": "server_error", "code": 503 } }),
            ),
            Self::Responses => typed(json!({ "type": "response.failed",
                "response": { "status": "failed", "error": { "code": "server_error", "message": "Overloaded" } } })),
            Self::Anthropic => typed(
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            ),
        }
    }

    /// A sign of life.
    pub(crate) fn keep_alive(self) -> Vec<u8> {
        match self {
            Self::Gemini => b": ping\n\n".to_vec(),
            Self::Converse => amazon("somethingNew", json!({})),
            Self::Chat => b": OPENROUTER PROCESSING\n\n".to_vec(),
            Self::Responses => b":\n\n".to_vec(),
            Self::Anthropic => typed(json!({ "type": "ping" })),
        }
    }

    /// An answer that comes whole: text and a call. Converse has none.
    pub(crate) fn whole(self) -> Value {
        let arguments = r#"{"command":"ls"}"#;
        match self {
            Self::Converse => Value::Null,
            Self::Gemini => {
                json!([{ "candidates": [{ "content": { "parts": [{ "text": "Looking." }] } }] },
                    { "candidates": [{ "finishReason": "STOP", "content": { "parts": [
                        { "functionCall": { "id": "call_a", "name": "shell", "args": { "command": "ls" } } }] } }],
                    "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 4 } }])
            }
            Self::Chat => {
                json!({ "object": "chat.completion", "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "Looking.",
                "tool_calls": [{ "id": "call_a", "type": "function", "function": { "name": "shell", "arguments": arguments } }] } }],
                "usage": { "prompt_tokens": 3, "completion_tokens": 4 } })
            }
            Self::Responses => {
                json!({ "object": "response", "status": "completed", "error": null, "output": [
                { "type": "message", "content": [{ "type": "output_text", "text": "Looking." }] },
                { "type": "function_call", "call_id": "call_a", "name": "shell", "arguments": arguments }],
                "usage": { "input_tokens": 3, "output_tokens": 4 } })
            }
            Self::Anthropic => {
                json!({ "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
                { "type": "text", "text": "Looking." },
                { "type": "tool_use", "id": "call_a", "name": "shell", "input": { "command": "ls" } }],
                "usage": { "input_tokens": 3, "output_tokens": 4 } })
            }
        }
    }
}
