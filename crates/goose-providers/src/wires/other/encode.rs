//! A request in the library's form.

use genai::chat::{
    Binary, CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatRole, ContentPart,
    MessageContent as Content, ReasoningEffort, Tool, ToolCall, ToolName, ToolResponse,
};
use goose_extension::{JsonObject, Message, MessageContent, Opaque, Reasoning, Role, ToolOutput};
use serde_json::Value;

use super::{
    super::{
        content::{self, Part, Sight},
        names::{sent_id, sent_name},
        text::{joined, result_text},
        tools::Schema,
    },
    Style,
    relay::{PASS, Pass},
};
use crate::{
    provider::ModelInfo,
    request::{Effort, Request, RequestOptions},
};

pub(super) fn request(style: Style, model: &ModelInfo, request: Request<'_>) -> ChatRequest {
    let sight = Sight::of(model);
    let mut messages = Vec::with_capacity(request.messages.len());
    for message in request.messages {
        match message.role {
            Role::Assistant => messages.extend(said(style, message)),
            _ => heard(style, message, sight, &mut messages),
        }
    }
    let mut asked = match request.system {
        system if style.has_marks() => ChatRequest::new(marked(system, messages)),
        "" => ChatRequest::new(messages),
        system => ChatRequest::new(messages).with_system(system),
    };
    if !request.tools.is_empty() {
        asked = asked.with_tools(request.tools.iter().map(tool));
    }
    asked
}

/// With marks for Claude's cache: after the system prompt, and at the last messages that are not the model's own.
fn marked(system: &str, mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    const MARKED_MESSAGES: usize = 2;
    let heard = messages.iter_mut().rev().filter(|message| message.role != ChatRole::Assistant);
    for message in heard.take(MARKED_MESSAGES) {
        message.options = Some(CacheControl::Ephemeral.into());
    }
    if !system.is_empty() {
        messages.insert(0, ChatMessage::system(system).with_options(CacheControl::Ephemeral));
    }
    messages
}

fn tool(tool: &goose_extension::Tool) -> Tool {
    let schema = serde_json::to_value(Schema(tool.input_schema()))
        .unwrap_or_else(|_| Value::Object(JsonObject::new()));
    let name = ToolName::Custom(sent_name(tool.name()).into_owned());
    Tool::new(name).with_description(tool.description()).with_schema(schema)
}

/// What the model said.
fn said(style: Style, message: &Message) -> Option<ChatMessage> {
    let mut parts = Vec::new();
    for part in &message.content {
        match part {
            MessageContent::Block(block) => match content::part(block, Sight::Blind) {
                Some(Part::Text(text)) => parts.push(ContentPart::Text(text.into_owned())),
                _ => continue,
            },
            MessageContent::Reasoning(reasoning) => parts.extend(thought(style, reasoning)),
            MessageContent::ToolCall { id, name, arguments, opaque } => {
                parts.push(ContentPart::ToolCall(call(style, id, name, arguments, opaque)));
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| ChatMessage::assistant(Content::from_parts(parts)))
}

/// Thoughts go back to the wire that they came from, and only where it has signed them.
fn thought(style: Style, reasoning: &Reasoning) -> Vec<ContentPart> {
    let signatures = signatures(style, &reasoning.opaque);
    let Some(signature) = signatures.into_iter().flatten().next() else { return Vec::new() };
    let mut parts = vec![ContentPart::ThoughtSignature(signature)];
    if style != Style::Gemini && !reasoning.text.is_empty() {
        parts.push(ContentPart::ReasoningContent(reasoning.text.clone()));
    }
    parts
}

fn call(style: Style, id: &str, name: &str, arguments: &Value, opaque: &Option<Opaque>) -> ToolCall {
    ToolCall {
        call_id: their_id(style, id),
        fn_name: sent_name(name).into_owned(),
        fn_arguments: if arguments.is_object() {
            arguments.clone()
        } else {
            Value::Object(JsonObject::new())
        },
        thought_signatures: signatures(style, opaque),
    }
}

/// Gemini is not told ids that it did not give; the library leaves out those that look like its own.
fn their_id(style: Style, id: &str) -> String {
    let own = id.strip_prefix("call_").filter(|digits| digits.len() == 16);
    match own.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(number) if style == Style::Gemini => format!("call#tool#{number}"),
        _ => sent_id(id).into_owned(),
    }
}

fn signatures(style: Style, opaque: &Option<Opaque>) -> Option<Vec<String>> {
    let texts = content::kept(opaque, style.wire())?
        .as_array()?
        .iter()
        .filter_map(|text| Some(text.as_str()?.to_owned()));
    Some(texts.collect()).filter(|texts: &Vec<String>| !texts.is_empty())
}

/// What the user and the tools said: results first, then the rest, with the images that results cannot hold.
fn heard(style: Style, message: &Message, sight: Sight, messages: &mut Vec<ChatMessage>) {
    let mut results = Vec::new();
    let mut parts = Vec::new();
    for part in &message.content {
        match part {
            MessageContent::ToolResult { id, output } => {
                results.push(result(style, id, output, sight, &mut parts))
            }
            MessageContent::Block(block) => parts.extend(content::part(block, sight).map(content_part)),
            _ => {}
        }
    }
    if !results.is_empty() {
        let results = results.into_iter().map(ContentPart::ToolResponse).collect::<Vec<_>>();
        messages.push(ChatMessage::new(ChatRole::Tool, Content::from_parts(results)));
    }
    if !parts.is_empty() {
        messages.push(ChatMessage::user(Content::from_parts(parts)));
    }
}

fn result(
    style: Style,
    id: &str,
    output: &ToolOutput,
    sight: Sight,
    images: &mut Vec<ContentPart>,
) -> ToolResponse {
    let mut texts = Vec::new();
    for part in content::result_parts(output, sight) {
        match part {
            Part::Text(_) => texts.push(part),
            Part::Image { .. } => images.push(content_part(part)),
        }
    }
    if texts.is_empty() {
        texts.push(Part::Text("(the image follows)".into()));
    }
    ToolResponse::new(their_id(style, id), result_text(joined(texts), output.is_error).into_owned())
}

fn content_part(part: Part<'_>) -> ContentPart {
    match part {
        Part::Text(text) => ContentPart::Text(text.into_owned()),
        Part::Image { mime_type, data } => ContentPart::Binary(Binary::from_base64(mime_type, data, None)),
    }
}

pub(super) fn options(model: &ModelInfo, options: &RequestOptions, pass: &Pass) -> ChatOptions {
    let mut asked = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_reasoning_content(shows_thoughts(&model.name))
        .with_extra_headers([(PASS.as_str(), pass.token())]);
    if let Some(temperature) = options.temperature {
        asked = asked.with_temperature(f64::from(temperature));
    }
    if let Some(max_tokens) = options.max_tokens {
        asked = asked.with_max_tokens(u32::try_from(max_tokens).unwrap_or(u32::MAX));
    }
    if let Some(effort) = options.effort {
        asked = asked.with_reasoning_effort(match effort {
            Effort::None => ReasoningEffort::Zero,
            Effort::Low => ReasoningEffort::Low,
            Effort::Medium => ReasoningEffort::Medium,
            Effort::High => ReasoningEffort::High,
        });
    }
    asked
}

/// Geminis think from 2.5 on; older ones refuse to be asked for their thoughts.
fn shows_thoughts(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gemini-") else { return false };
    let number = version.split('-').next().unwrap_or_default();
    number.parse::<f32>().is_ok_and(|number| number >= 2.5) && !model.contains("image")
}
