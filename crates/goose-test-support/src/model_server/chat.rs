//! A turn as OpenAI's chat completions stream it.

use serde_json::{Value, json};

use super::turn::{Block, Turn, data, halves};

pub(super) fn frames(turn: &Turn, model: &Value) -> Vec<String> {
    let mut frames = vec![delta(model, &json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for block in turn.blocks() {
        match block {
            Block::Text(texts) => {
                frames.extend(texts.iter().map(|text| delta(model, &json!({"content": text}))));
            }
            Block::Thinking(texts) => {
                frames.extend(texts.iter().map(|text| delta(model, &json!({"reasoning_content": text}))));
            }
            Block::Call { id, name, arguments } => {
                frames.extend(call(model, calls, id, name, arguments));
                calls += 1;
            }
        }
    }
    let usual = if turn.asks_for_tools() { "tool_calls" } else { "stop" };
    frames.push(chunk(model, &json!({}), &json!(turn.stop.as_deref().unwrap_or(usual))));
    frames.push(usage(model, turn.usage));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

pub(super) fn failure(message: &str) -> String {
    data(&json!({"error": {"message": message, "type": "server_error", "code": 500}}))
}

fn call(model: &Value, index: usize, id: &str, name: &str, arguments: &str) -> Vec<String> {
    let start =
        json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let pieces = halves(arguments).map(|piece| json!({"index": index, "function": {"arguments": piece}}));
    [start].iter().chain(&pieces).map(|call| delta(model, &json!({"tool_calls": [call]}))).collect()
}

fn delta(model: &Value, delta: &Value) -> String {
    chunk(model, delta, &Value::Null)
}

fn chunk(model: &Value, delta: &Value, finish: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    data(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice],
    }))
}

fn usage(model: &Value, (input, output): (u64, u64)) -> String {
    data(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
    }))
}
