//! What a tool gave back, as text.

use std::{borrow::Cow, io};

use goose_extension::{ContentBlock, ResourceContents, ToolOutput};
use serde_json::{Value, json};

use crate::{output::Output, visible};

/// Writes the content: text as it is, everything else as one line that says what it is.
pub(super) fn print(out: &mut Output, output: &ToolOutput) -> io::Result<()> {
    for block in &output.content {
        let text = match block {
            ContentBlock::Text(text) => out.foreign(&text.text),
            other => Cow::Owned(placeholder(other)),
        };
        out.line(text.strip_suffix('\n').unwrap_or(&text))?;
    }
    match &output.structured {
        Some(value) if output.content.is_empty() => out.json(value),
        _ => Ok(()),
    }
}

fn placeholder(block: &ContentBlock) -> String {
    let line = match block {
        ContentBlock::Image(image) => {
            format!("[image: {}, {}]", image.mime_type, size(decoded_len(&image.data)))
        }
        ContentBlock::Audio(audio) => {
            format!("[audio: {}, {}]", audio.mime_type, size(decoded_len(&audio.data)))
        }
        ContentBlock::Resource(resource) => contents(&resource.resource),
        ContentBlock::ResourceLink(link) => format!("[link: {} {}]", link.name, link.uri),
        _ => "[content of a kind that this goose does not know]".to_owned(),
    };
    visible::line(&line).into_owned()
}

fn contents(contents: &ResourceContents) -> String {
    let (uri, mime_type, bytes) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => (uri, mime_type, text.len()),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            (uri, mime_type, decoded_len(blob))
        }
        _ => return "[resource of a kind that this goose does not know]".to_owned(),
    };
    let mime_type = mime_type.as_deref().unwrap_or("unknown type");
    format!("[resource: {uri}, {mime_type}, {}]", size(bytes))
}

/// The number of bytes that base64 stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// The result as MCP has it.
pub(super) fn as_json(output: &ToolOutput) -> Value {
    let mut result = json!({ "content": output.content, "isError": output.is_error });
    if let Some(value) = &output.structured {
        if output.content.is_empty() {
            result["content"] = json!([ContentBlock::text(value.to_string())]);
        }
        result["structuredContent"] = value.clone();
    }
    if let Some(meta) = &output.meta {
        result["_meta"] = json!(meta);
    }
    result
}
