//! Requests to OpenAI chat, and to the many services that speak it; `decode` reads their answers.
//!
//! Results are messages of their own, and contain only text; their images follow in a message of the user.

mod decode;

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Role};
use serde::Serialize;
use serde_json::{Value, json};

use self::decode::{REASONING_CONTENT, details_of};
use crate::{
    endpoint::Dialect,
    provider::Effort,
    wires::{
        body::{self, Places, RequestBody, ToolEntry, cache_mark, write_element},
        content::{self, Part, data_url, joined, sent_arguments},
        models,
        names::{sent_id, sent_name},
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "openai-chat";

/// A model behind OpenAI's chat completions, or behind a service that offers the same.
pub type OpenAiChat = Wire<Chat>;

/// The codec.
pub struct Chat;

impl Codec for Chat {
    type Decoder = decode::ChatDecoder;

    const MAX_TOOLS: Option<usize> = Some(128);

    const MAX_IMAGE_BYTES: usize = content::LARGE_IMAGE_BYTES;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        RequestBody::begin(&head(ask))
            .tools(ask, |tool, out| write_element(out, &ToolEntry::from(tool)))
            .written_list("messages", |out| write_messages(ask, out))
            .finish()
    }
}

/// Returns whether texts are marked for Claude's cache, which gateways pass on. Only texts in lists can be marked.
fn is_marked(ask: &Ask<'_>) -> bool {
    ask.dialect == Dialect::Gateway && ask.model.name.contains("claude")
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let (system, messages) = (ask.request.system, ask.request.messages);
    if !system.is_empty() {
        let write = |out: &mut Vec<u8>| {
            let marked = || json!([{ "type": "text", "text": system, "cache_control": cache_mark() }]);
            let content = if is_marked(ask) { marked() } else { json!(system) };
            write_element(out, &json!({ "role": "system", "content": content }));
        };
        ask.history.write_system(system, write, out);
    }
    let start = out.len();
    let ends = ask.history.write(messages, |message, _, out| write(ask, message, out), out);
    if is_marked(ask) {
        body::mark(&Places { messages, start, ends: &ends }, ends_in_text, out);
    }
}

fn head<'a>(ask: &'a Ask<'_>) -> Head<'a> {
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
        temperature: ask.temperature().filter(|_| !thinks),
        reasoning_effort: options.effort.and_then(|effort| effort_word(effort, model)),
        prompt_cache_key: ask.cache_key(),
        response_format: options.schema.as_ref().map(|schema| {
            json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": schema } })
        }),
    }
}

/// The fields of a request before its lists.
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
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Returns the word for an effort, if the model takes one.
fn effort_word(effort: Effort, model: &str) -> Option<&'static str> {
    match effort {
        _ if models::is_openai_talker(model) => None,
        Effort::None => models::is_openai_thinker(model).then(|| models::least_openai_effort(model)),
        effort => effort.word(),
    }
}

fn content_part(part: Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime_type, data } => {
            json!({ "type": "image_url", "image_url": { "url": data_url(mime_type, data) } })
        }
    }
}

/// Returns whether the last message is a text in a list. Results are not.
fn ends_in_text(written: &[u8]) -> bool {
    written.ends_with(br#""}]}"#)
}

/// Writes a message, as none, one or several of the wire's.
fn write(ask: &Ask<'_>, message: &Message, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, ask.dialect, out),
        _ => write_user(ask, message, out),
    }
}

fn write_user(ask: &Ask<'_>, message: &Message, out: &mut Vec<u8>) {
    let mut parts = Vec::new();
    for content in &message.content {
        if let MessageContent::ToolResult { id, output } = content {
            let (text, images) = content::split_result(output, ask.vision(), "(see the next message)");
            write_element(out, &ResultEntry { role: "tool", tool_call_id: sent_id(id), content: text });
            parts.extend(images);
        }
    }
    parts.extend(content::parts(message, ask.vision()));
    if parts.is_empty() {
        return;
    }
    let content = match is_marked(ask) {
        true => parts.into_iter().map(content_part).collect(),
        false => content::text_or_list(parts, content_part),
    };
    write_element(out, &json!({ "role": "user", "content": content }));
}

fn write_assistant(message: &Message, dialect: Dialect, out: &mut Vec<u8>) {
    let texts = content::own_texts(message);
    let tool_calls: Vec<_> = message.content.iter().filter_map(|part| call_entry(part, dialect)).collect();
    if texts.is_empty() && tool_calls.is_empty() {
        return;
    }
    let is_strict = dialect == Dialect::Strict;
    let said = AnswerEntry {
        role: "assistant",
        content: (!texts.is_empty()).then(|| joined(texts)),
        reasoning_content: wanted_thoughts(message).filter(|_| !is_strict && !tool_calls.is_empty()),
        reasoning_details: if is_strict { Vec::new() } else { details_of(message) },
        tool_calls,
    };
    write_element(out, &said);
}

fn call_entry(part: &MessageContent, dialect: Dialect) -> Option<CallEntry<'_>> {
    let MessageContent::ToolCall { id, name, arguments, opaque } = part else { return None };
    Some(CallEntry {
        id: sent_id(id),
        r#type: "function",
        function: CalledFunction { name: sent_name(name), arguments: sent_arguments(arguments).to_string() },
        extra_content: content::opaque_data(opaque, WIRE).filter(|_| dialect != Dialect::Strict),
    })
}

/// The result of a call, as a message of its own.
#[derive(Serialize)]
struct ResultEntry<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

/// A message of the model.
#[derive(Serialize)]
struct AnswerEntry<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallEntry<'a>>,
}

#[derive(Serialize)]
struct CallEntry<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

/// Services that call it `reasoning_content` want to see again what the model thought before it asked for tools.
/// Everybody else either ignores or refuses it.
fn wanted_thoughts(message: &Message) -> Option<String> {
    let mut thoughts = String::new();
    for content in &message.content {
        if let MessageContent::Reasoning(thought) = content
            && content::opaque_data(&thought.opaque, WIRE).is_some_and(|data| data == REASONING_CONTENT)
        {
            thoughts.push_str(&content::sendable(&thought.text));
        }
    }
    (!thoughts.is_empty()).then_some(thoughts)
}
