//! A request as OpenAI chat wants it. Fields that say nothing are not sent.

use goose_extension::Tool;
use serde::Serialize;

use super::messages::{self, Reader, TextForm};
use crate::{
    endpoint::Dialect,
    request::Effort,
    wires::{
        caching::{self, CacheControl, Places},
        models,
        schema::Schema,
        wire::{Ask, write_element, write_json, write_list},
    },
};

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
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
    content: SystemText<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SystemText<'a> {
    Plain(&'a str),
    Marked([MarkedText<'a>; 1]),
}

#[derive(Serialize)]
struct MarkedText<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

impl<'a> SystemText<'a> {
    fn of(text: &'a str, form: TextForm) -> Self {
        match form {
            TextForm::Plain => Self::Plain(text),
            TextForm::Parts => {
                Self::Marked([MarkedText { r#type: "text", text, cache_control: CacheControl::MARK }])
            }
        }
    }
}

/// Only texts in parts can be marked for Claude's cache, which gateways pass on.
fn text_form(ask: &Ask<'_>) -> TextForm {
    let is_marked = ask.dialect == Dialect::Gateway && ask.model.name.contains("claude");
    if is_marked { TextForm::Parts } else { TextForm::Plain }
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
    let form = text_form(ask);
    write_list(&mut out, "messages", |out| {
        if !request.system.is_empty() {
            write_element(out, &System { role: "system", content: SystemText::of(request.system, form) });
        }
        let reader = Reader { sight: ask.sight(), dialect: ask.dialect, form };
        let start = out.len();
        let ends =
            ask.history.write(request.messages, |message, _, out| messages::write(message, reader, out), out);
        if form == TextForm::Parts {
            let places = Places { messages: request.messages, start, ends: &ends };
            caching::mark(&places, messages::ends_in_text, out);
        }
    });
    out.push(b'}');
    out
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    let model = ask.model.name.as_str();
    let thinks = models::is_openai_thinker(model);
    let counts_thoughts = thinks || ask.dialect == Dialect::Full;
    Head {
        model,
        stream: true,
        stream_options: (ask.dialect != Dialect::Strict).then_some(StreamOptions { include_usage: true }),
        max_tokens: options.max_tokens.filter(|_| !counts_thoughts),
        max_completion_tokens: options.max_tokens.filter(|_| counts_thoughts),
        temperature: options.temperature.filter(|_| !thinks),
        reasoning_effort: options.effort.and_then(|effort| effort_word(effort, model)),
        prompt_cache_key: ask.cache_key(),
    }
}

/// Who does not think, cannot be asked to think less.
fn effort_word(effort: Effort, model: &str) -> Option<&'static str> {
    match effort {
        _ if models::is_openai_talker(model) => None,
        Effort::None => models::is_openai_thinker(model).then(|| models::least_openai_effort(model)),
        Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
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
