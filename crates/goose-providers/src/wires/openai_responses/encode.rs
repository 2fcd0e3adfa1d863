//! A request as OpenAI Responses wants it. Fields that say nothing are not sent.

use goose_extension::{Message, Tool};
use serde::Serialize;

use super::items;
use crate::{
    endpoint::Dialect,
    request::Effort,
    wires::{body::RequestBody, models, tools::Function, wire::Ask},
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
    #[serde(flatten)]
    function: Function<'a>,
    /// The default is to demand schemas of a kind that few tools have.
    strict: bool,
}

impl<'a> From<&'a Tool> for ToolEntry<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { r#type: "function", function: tool.into(), strict: false }
    }
}

/// The body of a request.
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let vision = ask.vision();
    let write =
        |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| items::write(message, vision, out);
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("input", |out| {
            ask.history.write(ask.request.messages, write, out);
        })
        .finish()
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
    match effort.word() {
        Some(effort) => Thinking { effort, summary: Some("auto") },
        None => Thinking { effort: models::least_openai_effort(model), summary: None },
    }
}
