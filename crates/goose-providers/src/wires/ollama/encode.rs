//! A request as Ollama wants it. Fields that say nothing are not sent.

use goose_extension::Message;
use serde::Serialize;

use super::messages;
use crate::{
    request::Effort,
    wires::{body::RequestBody, tools::ToolEntry, wire::Ask},
};

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    /// Makes Ollama refuse what does not fit instead of truncating it silently. Old versions ignore it.
    truncate: bool,
    options: Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
}

#[derive(Serialize)]
struct Options {
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Think {
    Switch(bool),
    Level(&'static str),
}

/// The body of a request.
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("messages", |out| write_messages(ask, out))
        .finish()
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let (request, vision) = (&ask.request, ask.vision());
    if !request.system.is_empty() {
        messages::write_system(request.system, out);
    }
    let write = |message: &Message, before: Option<&Message>, out: &mut Vec<u8>| {
        messages::write(message, before, vision, out);
    };
    ask.history.write(request.messages, write, out);
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    Head {
        model: &ask.model.name,
        stream: true,
        truncate: false,
        options: Options {
            num_ctx: ask.model.context_limit,
            num_predict: options.max_tokens,
            temperature: options.temperature,
        },
        think: options.effort.map(|effort| think(effort, &ask.model.name)),
    }
}

/// Most can only be told to think or not to; one family knows levels, and cannot be stopped.
fn think(effort: Effort, model: &str) -> Think {
    match effort {
        _ if !model.contains("gpt-oss") => Think::Switch(effort != Effort::None),
        effort => Think::Level(effort.word().unwrap_or("low")),
    }
}
