//! [`Message`]: what a person, a model and tools say to each other, as one form for the loop, the providers, the store
//! and the tools that look at the conversation.
//!
//! As JSON a message is `{"role": …, "content": [{"type": "text" | "image" | … | "reasoning" | "tool_call" |
//! "tool_result", …}]}`. Sessions are stored that way, so a change here needs a migration there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::output::{ContentBlock, ToolOutput};
use rmcp::model::MetaObject;
pub use rmcp::model::Role;

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The speaker. Results of tools are said by the user.
    pub role: Role,
    /// The content, in order.
    pub content: Vec<MessageContent>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageContent {
    /// The model thought aloud.
    Reasoning(Reasoning),
    /// The model asked for a tool.
    ToolCall {
        /// Ties the call to its result.
        id: String,
        /// The tool, as the model named it.
        name: String,
        /// The arguments: an object, or the text as it came if it was not one.
        arguments: Value,
        /// Data that the provider wants to see again with this call, such as a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A tool answered.
    ToolResult {
        /// The call it answers.
        id: String,
        /// The result.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
    },
    /// Text, an image, audio or a resource.
    #[serde(untagged)]
    Block(ContentBlock),
}

/// A model's reasoning before its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The readable part; often a summary, sometimes empty.
    pub text: String,
    /// Data that the provider wants to see again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// Data of a provider's own, kept as it came and sent back to the same wire only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The wire that understands it, such as `anthropic`.
    pub wire: String,
    /// The data.
    pub data: Value,
}

impl Message {
    /// A message made of parts.
    pub fn new(role: Role, content: impl IntoIterator<Item = MessageContent>) -> Self {
        Self { role, content: content.into_iter().collect() }
    }

    /// A text by the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, [MessageContent::text(text)])
    }

    /// A text by the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, [MessageContent::text(text)])
    }

    /// All text of the message.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(MessageContent::as_text).collect();
        texts.join("\n")
    }

    /// The text of the message, without what goose has added for the model.
    pub fn own_text(&self) -> String {
        let own = self.content.iter().filter(|part| !part.is_aside());
        own.filter_map(MessageContent::as_text).collect::<Vec<_>>().join("\n")
    }

    /// The ids of the tools that the message asks for, in order.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|part| match part {
            MessageContent::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

impl MessageContent {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Block(ContentBlock::text(text))
    }

    /// A tool's answer.
    pub fn tool_result(id: impl Into<String>, output: ToolOutput) -> Self {
        Self::ToolResult { id: id.into(), output }
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Block(block) => block.as_text().map(|text| text.text.as_str()),
            _ => None,
        }
    }

    /// Returns whether it is for the model alone: what goose itself says in the user's place. MCP's mark for "not for
    /// the user" tells it from what a person said.
    pub fn is_aside(&self) -> bool {
        let Self::Block(ContentBlock::Text(text)) = self else { return false };
        let audience = text.annotations.as_ref().and_then(|annotations| annotations.audience.as_deref());
        audience == Some(&[Role::Assistant])
    }
}

/// For `#[serde(with = "StoredOutput")]`: a tool's output as it is stored, as MCP writes it, but with nothing said
/// twice.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolOutput", rename_all = "camelCase")]
pub struct StoredOutput {
    content: Vec<ContentBlock>,
    #[serde(rename = "structuredContent", default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    meta: Option<MetaObject>,
}

/// The largest image or sound, as base64. Anthropic's limit, the smallest of the services'.
pub const MAX_MEDIA_BYTES: usize = 5 * 1024 * 1024;

/// The longest media type that a message quotes.
const MAX_TYPE_CHARS: usize = 64;

/// The reason why a medium cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaFault {
    /// It is larger than the service takes.
    TooLarge,
    /// Its data is not base64.
    NotBase64,
}

/// Checks the base64 data of an image or a sound.
///
/// # Errors
///
/// The reason why it cannot be sent.
pub fn check_media(data: &str) -> Result<(), MediaFault> {
    check_media_of(data, MAX_MEDIA_BYTES)
}

/// Checks the base64 data of an image or a sound for a service that takes at most `limit` bytes of it.
///
/// # Errors
///
/// The reason why it cannot be sent.
pub fn check_media_of(data: &str, limit: usize) -> Result<(), MediaFault> {
    if data.len() > limit {
        return Err(MediaFault::TooLarge);
    }
    is_base64(data).then_some(()).ok_or(MediaFault::NotBase64)
}

/// Returns the canonical name of an image type that model services accept.
pub fn accepted_image_type(media_type: &str) -> Option<&'static str> {
    match media_type.to_ascii_lowercase().as_str() {
        "image/png" => Some("image/png"),
        "image/jpeg" | "image/jpg" => Some("image/jpeg"),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

/// Images that models can see, by how their files begin.
const IMAGE_STARTS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// Returns the type of an image that model services accept, from the content of its file.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let (_, kind) = IMAGE_STARTS.iter().find(|(start, _)| bytes.starts_with(start))?;
    let is_webp = || bytes.get(8..12) == Some(b"WEBP".as_slice());
    (*kind != "image/webp" || is_webp()).then_some(kind)
}

/// Returns the text of a file in a message, between marks that name its path.
pub fn marked_file(path: &str, text: &str) -> String {
    format!("<file path=\"{path}\">\n{text}\n</file>")
}

/// Returns a media type as a message may quote it: it comes from outside.
pub fn media_type_for_message(media_type: &str) -> String {
    media_type.chars().filter(|c| !c.is_control()).take(MAX_TYPE_CHARS).collect()
}

/// Checks length, alphabet and padding; nothing is decoded.
fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && body.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_survives_being_stored() {
        let failed = ToolOutput::error("no such file").with_structured(json!({"path": "/x"}));
        let parts = [
            MessageContent::Reasoning(Reasoning {
                text: "hm".into(),
                opaque: Some(Opaque { wire: "anthropic".into(), data: json!({"signature": "s"}) }),
            }),
            MessageContent::text("hello"),
            MessageContent::Block(ContentBlock::image("aGk=", "image/png")),
            MessageContent::ToolCall {
                id: "1".into(),
                name: "developer__shell".into(),
                arguments: json!({"command": "ls"}),
                opaque: None,
            },
            MessageContent::tool_result("1", failed),
        ];
        let message = Message::new(Role::Assistant, parts);

        let stored = serde_json::to_string(&message).unwrap();

        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message, "{stored}");
    }
}
