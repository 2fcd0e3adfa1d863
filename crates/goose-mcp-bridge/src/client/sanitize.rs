//! Makes untrusted results safe to pass on: no NUL, no unbounded texts, no invalid media. Descriptions have
//! no invisible characters either.
//!
//! Model providers reject a whole conversation for one bad block, so a bad block is replaced by a text that
//! says so.

use std::borrow::Cow;

use goose_extension::{
    JsonObject, MAX_MEDIA_BYTES, MediaFault, check_media, media_type_for_message, visible,
};
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ResourceContents};
use serde_json::Value;

/// Maximum length of a description or of instructions.
pub(super) const MAX_PROSE_BYTES: usize = 64 * 1024;

/// Suffix of a text that was cut.
const CUT: &str = "\n[… cut: the server's text is too long]";

/// Sanitizes a description or instructions.
pub(super) fn prose(mut text: String) -> String {
    make_visible(&mut text);
    if text.len() > MAX_PROSE_BYTES {
        let end = text.floor_char_boundary(MAX_PROSE_BYTES - CUT.len());
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

/// Sanitizes a tool result.
pub(super) fn result(mut result: CallToolResult) -> CallToolResult {
    result.content.iter_mut().for_each(fit_block);
    if result.is_error == Some(true) && result.content.is_empty() && result.structured_content.is_none() {
        result.content.push(ContentBlock::text("The tool failed and did not say why."));
    }
    result
}

/// Sanitizes a prompt.
pub(super) fn prompt(mut prompt: GetPromptResult) -> GetPromptResult {
    prompt.description = prompt.description.map(prose);
    prompt.messages.iter_mut().for_each(|message| fit_block(&mut message.content));
    prompt
}

/// Sanitizes a resource. Invalid contents become a text that says so.
pub(super) fn contents(mut contents: ResourceContents) -> ResourceContents {
    match fault_of_contents(&mut contents) {
        Some(fault) => {
            let (ResourceContents::TextResourceContents { uri, .. }
            | ResourceContents::BlobResourceContents { uri, .. }) = contents
            else {
                return contents;
            };
            ResourceContents::text(fault, uri)
        }
        None => contents,
    }
}

fn fit_block(block: &mut ContentBlock) {
    let fault = match block {
        ContentBlock::Text(text) => return remove_nul(&mut text.text),
        ContentBlock::Resource(resource) => fault_of_contents(&mut resource.resource),
        ContentBlock::Image(image) => fault_of_media("image", &image.mime_type, &mut image.data),
        ContentBlock::Audio(audio) => fault_of_media("sound", &audio.mime_type, &mut audio.data),
        _ => return,
    };
    if let Some(text) = fault {
        *block = ContentBlock::text(text);
    }
}

/// Returns the text that replaces an invalid resource. An empty blob is valid.
fn fault_of_contents(contents: &mut ResourceContents) -> Option<String> {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => {
            remove_nul(text);
            None
        }
        ResourceContents::BlobResourceContents { blob, mime_type, .. } if !blob.is_empty() => {
            fault_of_media("resource", mime_type.as_deref().unwrap_or("of no type"), blob)
        }
        _ => None,
    }
}

fn remove_nul(text: &mut String) {
    if text.contains('\0') {
        text.retain(|c| c != '\0');
    }
}

/// Escapes characters that a model reads and a person cannot see. For descriptions only; results are escaped
/// when they are sent to a model.
fn make_visible(text: &mut String) {
    remove_nul(text);
    if let Cow::Owned(safe) = visible(text) {
        *text = safe;
    }
}

/// Escapes titles and descriptions in a schema. Its other strings have a meaning for validators.
pub(super) fn make_schema_visible(schema: &mut JsonObject) {
    for (name, value) in schema.iter_mut() {
        match value {
            Value::String(text) if name == "description" || name == "title" => make_visible(text),
            Value::Object(object) => make_schema_visible(object),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(make_schema_visible)
            }
            _ => {}
        }
    }
}

/// Returns the text that replaces invalid media. Line breaks in base64 are common, and removed.
fn fault_of_media(kind: &str, mime_type: &str, data: &mut String) -> Option<String> {
    if data.len() <= MAX_MEDIA_BYTES && data.contains(|c: char| c.is_ascii_whitespace()) {
        data.retain(|c| !c.is_ascii_whitespace());
    }
    let fault = match check_media(data) {
        Ok(()) => return None,
        Err(MediaFault::TooLarge) => format!(
            "too large: {} bytes as base64, at most {MAX_MEDIA_BYTES} are allowed. Ask for a smaller one, or \
             for a file.",
            data.len()
        ),
        Err(MediaFault::NotBase64) => "broken: its data is not base64.".to_owned(),
    };
    Some(format!("[The {kind} ({}) that the server sent is {fault}]", media_type_for_message(mime_type)))
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
