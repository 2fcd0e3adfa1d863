//! Requests to OpenAI chat, and to the many services that speak it; `decode` reads their answers.
//!
//! Results are messages of their own, and contain only text; their images follow in a message of the user. Empty fields
//! are not sent.

mod decode;

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use self::decode::{REASONING_CONTENT, details_of};
use crate::{
    endpoint::Dialect,
    provider::Effort,
    wires::{
        body::{self, CacheControl, Places, RequestBody, ToolEntry, write_element},
        content::{self, ArgumentText, Content, DataUrl, Part, Said, VisionSupport, joined, result_text},
        models, names,
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

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        body(ask)
    }
}

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
fn body(ask: &Ask<'_>) -> Vec<u8> {
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("messages", |out| write_messages(ask, out))
        .finish()
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let request = &ask.request;
    let reader = Reader { vision: ask.vision(), dialect: ask.dialect, form: text_form(ask) };
    if !request.system.is_empty() {
        write_system(request.system, reader.form, out);
    }
    let start = out.len();
    let write = |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| write(message, reader, out);
    let ends = ask.history.write(request.messages, write, out);
    if reader.form == TextForm::Parts {
        let places = Places { messages: request.messages, start, ends: &ends };
        body::mark(&places, ends_in_text, out);
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

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
}

impl<'a> From<Part<'a>> for ContentPart<'a> {
    fn from(part: Part<'a>) -> Self {
        match part {
            Part::Text(text) => Self::Text { text, cache_control: None },
            Part::Image { mime_type, data } => {
                Self::ImageUrl { image_url: ImageUrl { url: DataUrl { mime_type, data } } }
            }
        }
    }
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
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
    function: FunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: Cow<'a, str>,
    arguments: ArgumentText<'a>,
}

/// The abilities of the receiver.
#[derive(Clone, Copy)]
struct Reader {
    vision: VisionSupport,
    dialect: Dialect,
    form: TextForm,
}

/// The form of messages that are only text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextForm {
    /// As such: not everybody takes lists.
    Plain,
    /// As a list of one.
    Parts,
}

/// Returns whether the last message is a text in parts. Results are not.
fn ends_in_text(written: &[u8]) -> bool {
    written.ends_with(br#""}]}"#)
}

/// Writes who the model is and how it works; in parts it is marked for the cache.
fn write_system(text: &str, form: TextForm, out: &mut Vec<u8>) {
    let text = Cow::Borrowed(text);
    let content = match form {
        TextForm::Plain => Content::Text(text),
        TextForm::Parts => {
            Content::Parts(vec![ContentPart::Text { text, cache_control: Some(CacheControl::MARK) }])
        }
    };
    write_element(out, &Said { role: "system", content });
}

/// Writes a message, as none, one or several of the wire's.
fn write(message: &Message, reader: Reader, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, reader.dialect, out),
        _ => write_user(message, reader, out),
    }
}

fn write_user(message: &Message, reader: Reader, out: &mut Vec<u8>) {
    let vision = reader.vision;
    let mut parts = Vec::new();
    for content in &message.content {
        if let MessageContent::ToolResult { id, output } = content {
            parts.extend(write_result(id, output, vision, out));
        }
    }
    parts.extend(content::parts(message, vision));
    if parts.is_empty() {
        return;
    }
    let content: Content<'_, ContentPart<'_>> = match reader.form {
        TextForm::Plain => Content::new(parts),
        TextForm::Parts => Content::in_parts(parts),
    };
    write_element(out, &Said { role: "user", content });
}

/// Writes a result, and gives back its images.
fn write_result<'a>(
    id: &'a str,
    output: &'a ToolOutput,
    vision: VisionSupport,
    out: &mut Vec<u8>,
) -> Vec<Part<'a>> {
    let (texts, images): (Vec<Part<'a>>, Vec<Part<'a>>) =
        content::result_parts(output, vision).into_iter().partition(Part::is_text);
    let text = if texts.is_empty() { Cow::Borrowed("(see the next message)") } else { joined(texts) };
    let content = result_text(text, output.is_error);
    write_element(out, &ToolMessage { role: "tool", tool_call_id: names::sent_id(id), content });
    images
}

fn write_assistant(message: &Message, dialect: Dialect, out: &mut Vec<u8>) {
    let texts = content::own_texts(message);
    let mut tool_calls: Vec<CallEntry<'_>> = message.content.iter().filter_map(call_entry).collect();
    if texts.is_empty() && tool_calls.is_empty() {
        return;
    }
    let (mut reasoning_content, mut reasoning_details) = (None, Vec::new());
    if dialect == Dialect::Strict {
        tool_calls.iter_mut().for_each(|call| call.extra_content = None);
    } else {
        reasoning_content = wanted_thoughts(message).filter(|_| !tool_calls.is_empty());
        reasoning_details = details_of(message);
    }
    let content = (!texts.is_empty()).then(|| joined(texts));
    let said =
        AssistantMessage { role: "assistant", content, reasoning_content, reasoning_details, tool_calls };
    write_element(out, &said);
}

fn call_entry(content: &MessageContent) -> Option<CallEntry<'_>> {
    let MessageContent::ToolCall { id, name, arguments, opaque } = content else { return None };
    Some(CallEntry {
        id: names::sent_id(id),
        r#type: "function",
        function: FunctionCall { name: names::sent_name(name), arguments: ArgumentText(arguments) },
        extra_content: content::opaque_data(opaque, WIRE),
    })
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
