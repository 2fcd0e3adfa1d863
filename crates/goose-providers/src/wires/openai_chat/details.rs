//! The details of thoughts as OpenRouter sends them: in pieces that are joined, and sent back as they came. The services
//! behind it want their signatures back.

use goose_extension::{Message, MessageContent, Opaque};
use serde_json::{Value, json};

use super::{WIRE, chunk::REASONING_DETAILS};
use crate::{
    error::ProviderResult,
    wires::{assembly::Assembly, content},
};

/// The fields of a detail that grow from piece to piece.
const GROWING: [&str; 2] = ["text", "summary"];

/// Takes a piece of the thought that is being said.
pub(super) fn add(piece: Value, reply: &mut Assembly) -> ProviderResult<()> {
    let bytes = piece.to_string().len();
    reply.annotate_thought(bytes, |opaque| {
        let new = || Opaque { wire: WIRE.to_owned(), data: json!({ REASONING_DETAILS: [] }) };
        let opaque = opaque.get_or_insert_with(new);
        if !opaque.data.is_object() {
            *opaque = new();
        }
        if let Some(details) = opaque.data.get_mut(REASONING_DETAILS).and_then(Value::as_array_mut) {
            join(details, piece);
        }
    })
}

fn join(details: &mut Vec<Value>, piece: Value) {
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
