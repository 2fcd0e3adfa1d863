//! A request as OpenAI Responses wants it. Fields that say nothing are not sent.

use goose_extension::Tool;
use serde::Serialize;

use super::items;
use crate::{
    endpoint::Dialect,
    request::Effort,
    wires::{
        models,
        schema::Schema,
        wire::{Ask, write_element, write_json, write_list},
    },
};

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

#[derive(Serialize)]
struct Thinking {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Schema<'a>,
    /// The default is to demand schemas of a kind that few tools have.
    strict: bool,
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
    write_list(&mut out, "input", |out| {
        let sight = ask.sight();
        ask.history.write(request.messages, |message, _, out| items::write(message, sight, out), out);
    });
    out.push(b'}');
    out
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    let model = ask.model.name.as_str();
    let may_think = !models::is_openai_talker(model);
    let include: &[&str] =
        if may_think && ask.dialect != Dialect::Strict { &["reasoning.encrypted_content"] } else { &[] };
    Head {
        model,
        stream: true,
        store: false,
        include,
        reasoning: options.effort.filter(|_| may_think).map(|effort| thinking(effort, model)),
        max_output_tokens: options.max_tokens,
        temperature: options.temperature.filter(|_| !models::is_openai_thinker(model)),
        prompt_cache_key: ask.cache_key(),
        instructions: ask.request.system,
    }
}

/// Summaries are only asked for together with thinking: not every account may have them.
fn thinking(effort: Effort, model: &str) -> Thinking {
    let effort = match effort {
        Effort::None => return Thinking { effort: models::least_openai_effort(model), summary: None },
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    };
    Thinking { effort, summary: Some("auto") }
}

fn write_tool(tool: &Tool, out: &mut Vec<u8>) {
    let entry = ToolEntry {
        r#type: "function",
        name: tool.name(),
        description: tool.description(),
        parameters: Schema(tool.input_schema()),
        strict: false,
    };
    write_element(out, &entry);
}
