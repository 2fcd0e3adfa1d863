//! A request as OpenAI chat wants it. Fields that say nothing are not sent.

use goose_extension::Message;
use serde::Serialize;

use super::messages::{self, Reader, TextForm};
use crate::{
    endpoint::Dialect,
    request::Effort,
    wires::{
        body::RequestBody,
        caching::{self, Places},
        models,
        tools::ToolEntry,
        wire::Ask,
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

/// Only texts in parts can be marked for Claude's cache, which gateways pass on.
fn text_form(ask: &Ask<'_>) -> TextForm {
    let is_marked = ask.dialect == Dialect::Gateway && ask.model.name.contains("claude");
    if is_marked { TextForm::Parts } else { TextForm::Plain }
}

/// The body of a request.
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("messages", |out| write_messages(ask, out))
        .finish()
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let request = &ask.request;
    let reader = Reader { vision: ask.vision(), dialect: ask.dialect, form: text_form(ask) };
    if !request.system.is_empty() {
        messages::write_system(request.system, reader.form, out);
    }
    let start = out.len();
    let write =
        |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| messages::write(message, reader, out);
    let ends = ask.history.write(request.messages, write, out);
    if reader.form == TextForm::Parts {
        let places = Places { messages: request.messages, start, ends: &ends };
        caching::mark(&places, messages::ends_in_text, out);
    }
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

/// Returns the word for an effort, if the model takes one.
fn effort_word(effort: Effort, model: &str) -> Option<&'static str> {
    match effort {
        _ if models::is_openai_talker(model) => None,
        Effort::None => models::is_openai_thinker(model).then(|| models::least_openai_effort(model)),
        effort => effort.word(),
    }
}
