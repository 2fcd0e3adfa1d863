//! A turn as Anthropic's messages stream it.

use serde_json::{Value, json};

use super::turn::{Block, Turn, event, halves};

pub(super) fn frames(turn: &Turn, model: &Value) -> Vec<String> {
    let (input, output) = turn.usage;
    let mut frames = vec![event(&json!({
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": input, "output_tokens": 1},
        },
    }))];
    for (index, block) in turn.blocks().iter().enumerate() {
        frames.extend(self::block(index, block));
    }
    let usual = if turn.asks_for_tools() { "tool_use" } else { "end_turn" };
    frames.push(event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": turn.stop.as_deref().unwrap_or(usual), "stop_sequence": null},
        "usage": {"output_tokens": output},
    })));
    frames.push(event(&json!({"type": "message_stop"})));
    frames
}

pub(super) fn failure(message: &str) -> String {
    event(&json!({"type": "error", "error": {"type": "overloaded_error", "message": message}}))
}

fn block(index: usize, block: &Block<'_>) -> Vec<String> {
    let (start, deltas) = match block {
        Block::Text(texts) => {
            let deltas = texts.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Block::Thinking(texts) => {
            let mut deltas: Vec<Value> =
                texts.iter().map(|text| json!({"type": "thinking_delta", "thinking": text})).collect();
            deltas.push(json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Block::Call { id, name, arguments } => {
            let deltas = halves(arguments)
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .to_vec();
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas)
        }
    };
    let mut frames =
        vec![event(&json!({"type": "content_block_start", "index": index, "content_block": start}))];
    frames.extend(
        deltas
            .iter()
            .map(|delta| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))),
    );
    frames.push(event(&json!({"type": "content_block_stop", "index": index})));
    frames
}
