//! Untrusted results, made fit to be passed on: no NUL, no endless texts, no invalid media. Descriptions have no invisible
//! characters either.
//!
//! A model's provider refuses a whole conversation for one bad block in it, so what is bad becomes a text that says so.

use std::borrow::Cow;

use goose_extension::{
    JsonObject, MAX_MEDIA_BYTES, MediaFault, check_media, media_type_for_message, visible,
};
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ResourceContents};
use serde_json::Value;

/// Maximum length of a description or an instruction.
pub(super) const MAX_PROSE_BYTES: usize = 64 * 1024;

/// The end of a text that was cut.
const CUT: &str = "\n[… cut: the server's text is too long]";

/// A server's description or instruction, cut where it is too long.
pub(super) fn prose(mut text: String) -> String {
    make_visible(&mut text);
    if text.len() > MAX_PROSE_BYTES {
        let end = text.floor_char_boundary(MAX_PROSE_BYTES - CUT.len());
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

/// A tool's result with every block fit to be passed on.
pub(super) fn result(mut result: CallToolResult) -> CallToolResult {
    result.content.iter_mut().for_each(fit_block);
    if result.is_error == Some(true) && result.content.is_empty() && result.structured_content.is_none() {
        result.content.push(ContentBlock::text("The tool failed and did not say why."));
    }
    result
}

/// A prompt with every message fit to be passed on.
pub(super) fn prompt(mut prompt: GetPromptResult) -> GetPromptResult {
    prompt.description = prompt.description.map(prose);
    prompt.messages.iter_mut().for_each(|message| fit_block(&mut message.content));
    prompt
}

/// A resource without what a provider refuses. Where that is all of it, a text says so.
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

/// The text in place of a resource that cannot be passed on. An empty file can be.
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

/// Shows what the model sees and people do not. For descriptions alone: results stay as they are until they go to a model.
fn make_visible(text: &mut String) {
    remove_nul(text);
    if let Cow::Owned(safe) = visible(text) {
        *text = safe;
    }
}

/// Makes the words of a schema visible: its titles and descriptions. Everything else in it has a meaning to validators.
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

/// The text in place of a picture or sound that cannot be shown. Line breaks within base64 are common, and removed.
fn fault_of_media(kind: &str, mime_type: &str, data: &mut String) -> Option<String> {
    if data.len() <= MAX_MEDIA_BYTES && data.contains(|c: char| c.is_ascii_whitespace()) {
        data.retain(|c| !c.is_ascii_whitespace());
    }
    let fault = match check_media(data) {
        Ok(()) => return None,
        Err(MediaFault::TooLarge) => format!(
            "too large: {} bytes as base64, at most {MAX_MEDIA_BYTES} are allowed. Ask for a smaller one, or for a file.",
            data.len()
        ),
        Err(MediaFault::NotBase64) => "broken: its data is not base64.".to_owned(),
    };
    Some(format!("[The {kind} ({}) that the server sent is {fault}]", media_type_for_message(mime_type)))
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
