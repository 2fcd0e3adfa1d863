//! A request as Ollama wants it. Fields that say nothing are not sent.

use goose_extension::Tool;
use serde::Serialize;

use super::messages;
use crate::{
    request::Effort,
    wires::{
        schema::Schema,
        wire::{Ask, write_element, write_json, write_list},
    },
};

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    /// What does not fit is refused, where it would else be cut off without a word. Old versions do not look at it.
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

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Schema<'a>,
}

#[derive(Serialize)]
struct System<'a> {
    role: &'static str,
    content: &'a str,
}

/// The body of a request. What changes from turn to turn comes last.
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let request = &ask.request;
    let mut out = Vec::with_capacity(8 * 1024);
    write_json(&mut out, &head(ask));
    // The head is an object that goes on.
    out.pop();
    if !request.tools.is_empty() {
        out.push(b',');
        write_list(&mut out, "tools", |out| request.tools.iter().for_each(|tool| write_tool(tool, out)));
    }
    out.push(b',');
    write_list(&mut out, "messages", |out| {
        if !request.system.is_empty() {
            write_element(out, &System { role: "system", content: request.system });
        }
        let sight = ask.sight();
        ask.history.write(
            request.messages,
            |message, before, out| messages::write(message, before, sight, out),
            out,
        );
    });
    out.push(b'}');
    out
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
        Effort::None | Effort::Low => Think::Level("low"),
        Effort::Medium => Think::Level("medium"),
        Effort::High => Think::Level("high"),
    }
}

fn write_tool(tool: &Tool, out: &mut Vec<u8>) {
    let function = Function {
        name: tool.name(),
        description: tool.description(),
        parameters: Schema(tool.input_schema()),
    };
    write_element(out, &ToolEntry { r#type: "function", function });
}
