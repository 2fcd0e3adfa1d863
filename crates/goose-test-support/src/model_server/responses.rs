//! A turn as OpenAI's Responses stream it.

use serde_json::{Value, json};

use super::turn::{Block, Turn, event, halves};

pub(super) fn frames(turn: &Turn, model: &Value) -> Vec<String> {
    let mut stream = Stream::default();
    stream.push(json!({"type": "response.created", "response": response(model, "in_progress", &[])}));
    for (index, block) in turn.blocks().iter().enumerate() {
        match block {
            Block::Text(texts) => stream.text(index, texts),
            Block::Thinking(texts) => stream.thinking(index, texts),
            Block::Call { id, name, arguments } => stream.call(index, id, name, arguments),
        }
    }
    let mut ended = response(model, "completed", &stream.items);
    let mut kind = "response.completed";
    if let Some(reason) = &turn.stop {
        kind = "response.incomplete";
        ended["status"] = json!("incomplete");
        ended["incomplete_details"] = json!({ "reason": reason });
    }
    let (input, output) = turn.usage;
    ended["usage"] = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output,
    });
    stream.push(json!({"type": kind, "response": ended}));
    stream.frames
}

pub(super) fn failure(message: &str) -> String {
    let mut failed = response(&Value::Null, "failed", &[]);
    failed["error"] = json!({"code": "server_error", "message": message});
    event(&json!({"type": "response.failed", "sequence_number": 99, "response": failed}))
}

fn response(model: &Value, status: &str, output: &[Value]) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 0, "model": model, "status": status, "output": output,
        "error": null, "incomplete_details": null, "usage": null,
    })
}

#[derive(Default)]
struct Stream {
    frames: Vec<String>,
    items: Vec<Value>,
}

impl Stream {
    fn push(&mut self, mut value: Value) {
        value["sequence_number"] = json!(self.frames.len());
        self.frames.push(event(&value));
    }

    fn added(&mut self, index: usize, item: &Value) {
        self.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
    }

    fn done(&mut self, index: usize, item: Value) {
        self.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        self.items.push(item);
    }

    fn text(&mut self, index: usize, texts: &[&str]) {
        let id = format!("msg_{index}");
        let place = |kind: &str, more: Value| {
            let mut value = json!({"type": kind, "item_id": id, "output_index": index, "content_index": 0});
            if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
                value.extend(more);
            }
            value
        };
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let item = |status: &str, content: &[Value]| json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content});
        let whole = texts.concat();
        self.added(index, &item("in_progress", &[]));
        self.push(place("response.content_part.added", json!({"part": part("")})));
        for text in texts {
            self.push(place("response.output_text.delta", json!({ "delta": text })));
        }
        self.push(place("response.output_text.done", json!({ "text": whole })));
        self.push(place("response.content_part.done", json!({"part": part(&whole)})));
        self.done(index, item("completed", &[part(&whole)]));
    }

    fn thinking(&mut self, index: usize, texts: &[&str]) {
        let id = format!("rs_{index}");
        self.added(index, &json!({"type": "reasoning", "id": id, "summary": []}));
        for text in texts {
            self.push(json!({
                "type": "response.reasoning_summary_text.delta", "item_id": id, "output_index": index,
                "summary_index": 0, "delta": text,
            }));
        }
        let summary = json!([{"type": "summary_text", "text": texts.concat()}]);
        let sealed = "c2VhbGVk";
        let item = json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": sealed});
        self.done(index, item);
    }

    fn call(&mut self, index: usize, call_id: &str, name: &str, arguments: &str) {
        let id = format!("fc_{index}");
        let item = |arguments: &str, status: &str| {
            json!({
                "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
                "status": status,
            })
        };
        self.added(index, &item("", "in_progress"));
        for piece in halves(arguments) {
            self.push(json!({
                "type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": piece,
            }));
        }
        self.push(json!({
            "type": "response.function_call_arguments.done", "item_id": id, "output_index": index,
            "arguments": arguments,
        }));
        self.done(index, item(arguments, "completed"));
    }
}
