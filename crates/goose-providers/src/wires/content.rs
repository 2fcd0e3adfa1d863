//! The content of messages in the form that all wires share: texts and images. The rest becomes text, and what a
//! service would refuse (empty texts, NUL, damaged or oversized images) is never sent.

use std::borrow::Cow;

use goose_extension::{
    ContentBlock, MediaFault, Message, MessageContent, Opaque, ResourceContents, ToolOutput,
    accepted_image_type, check_media_of, media_type_for_message,
};
use serde_json::{Value, json};

use crate::provider::ModelInfo;

/// Largest text. Results of tools are truncated well below this; it is the last guard.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Largest image for services that take 20 MB and more, as base64: 10 MB in a file.
pub(super) const LARGE_IMAGE_BYTES: usize = 14 * 1024 * 1024;

/// Stands for an empty result.
const NO_OUTPUT: &str = "(no output)";

/// A piece of content.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { mime_type: &'static str, data: &'a str },
}

impl Part<'_> {
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// The ability of a model to see images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisionSupport {
    /// Images of at most this size, as base64.
    Supported {
        max_bytes: usize,
    },
    Unsupported,
}

impl VisionSupport {
    pub(super) fn from_model(model: &ModelInfo, max_bytes: usize) -> Self {
        if model.sees_images { Self::Supported { max_bytes } } else { Self::Unsupported }
    }
}

/// Returns the texts and images of a message, without thoughts, calls and results.
pub(super) fn parts(message: &Message, vision: VisionSupport) -> impl Iterator<Item = Part<'_>> {
    message.content.iter().filter_map(move |content| match content {
        MessageContent::Block(block) => part(block, vision),
        _ => None,
    })
}

/// Returns the texts of a model's message. Other content is replaced by a note.
pub(super) fn own_texts(message: &Message) -> Vec<Part<'_>> {
    parts(message, VisionSupport::Unsupported).collect()
}

/// Returns the data that a wire has stored in a message. Data of other wires is ignored.
pub(super) fn opaque_data<'a>(opaque: &'a Option<Opaque>, wire: &str) -> Option<&'a Value> {
    opaque.as_ref().filter(|opaque| opaque.wire == wire).map(|opaque| &opaque.data)
}

/// A block as it is sent; `None` if there is nothing to say.
pub(super) fn part(block: &ContentBlock, vision: VisionSupport) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text(text) => text_part(&text.text),
        ContentBlock::Image(image) => Some(image_part(&image.data, &image.mime_type, vision)),
        ContentBlock::Audio(audio) => {
            Some(left_out("audio", &audio.mime_type, audio.data.len(), "it cannot be sent"))
        }
        ContentBlock::Resource(resource) => resource_part(&resource.resource, vision),
        ContentBlock::ResourceLink(link) => {
            Some(Part::Text(Cow::Owned(format!("[link to {}]", sendable(&link.uri)))))
        }
        _ => None,
    }
}

/// A tool's answer as it is sent; never empty.
pub(super) fn result_parts(output: &ToolOutput, vision: VisionSupport) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = output.content.iter().filter_map(|block| part(block, vision)).collect();
    if parts.is_empty()
        && let Some(value) = &output.structured
    {
        parts.push(Part::Text(Cow::Owned(sendable(&value.to_string()).into_owned())));
    }
    if parts.is_empty() {
        parts.push(Part::Text(Cow::Borrowed(NO_OUTPUT)));
    }
    parts
}

/// A text as it is sent: within the cap and without NUL, which some services cannot store.
pub(super) fn sendable(text: &str) -> Cow<'_, str> {
    if text.len() > MAX_TEXT_BYTES {
        let head = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default();
        let note = format!("\n[cut here: the text has {} bytes]", text.len());
        return Cow::Owned(head.replace('\0', "\u{fffd}") + &note);
    }
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Texts with nothing but white space are refused by Anthropic as empty ones are.
fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.trim().is_empty()).then(|| Part::Text(sendable(text)))
}

fn image_part<'a>(data: &'a str, mime_type: &str, vision: VisionSupport) -> Part<'a> {
    let VisionSupport::Supported { max_bytes } = vision else {
        return left_out("image", mime_type, data.len(), "the model cannot look at images");
    };
    let reason = match (accepted_image_type(mime_type), check_media_of(data, max_bytes)) {
        (None, _) => "only PNG, JPEG, GIF and WebP can be sent",
        (_, Err(MediaFault::TooLarge)) => "it is too large; make it smaller, or show a part of it",
        (_, Err(MediaFault::NotBase64)) => "its data is damaged",
        (Some(mime_type), Ok(())) => return Part::Image { mime_type, data },
    };
    left_out("image", mime_type, data.len(), reason)
}

fn left_out(what: &str, mime_type: &str, base64_bytes: usize, reason: &str) -> Part<'static> {
    let mime_type = media_type_for_message(mime_type);
    let kilobytes = (base64_bytes / 4 * 3).div_ceil(1024);
    Part::Text(Cow::Owned(format!("[{what} ({mime_type}, {kilobytes} KiB) left out: {reason}]")))
}

fn resource_part(resource: &ResourceContents, vision: VisionSupport) -> Option<Part<'_>> {
    match resource {
        ResourceContents::TextResourceContents { text, .. } => text_part(text),
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            let mime_type = mime_type.as_deref().unwrap_or("unknown type");
            match accepted_image_type(mime_type) {
                Some(_) => Some(image_part(blob, mime_type, vision)),
                None => Some(left_out("file", mime_type, blob.len(), "it cannot be sent")),
            }
        }
        _ => None,
    }
}

/// Texts alone become one text, because not every service takes lists; everything else is a list.
pub(super) fn text_or_list<'a>(parts: Vec<Part<'a>>, entry: fn(Part<'a>) -> Value) -> Value {
    if parts.iter().all(Part::is_text) {
        joined(parts).into()
    } else {
        parts.into_iter().map(entry).collect()
    }
}

/// An image as a URL that holds it.
pub(super) fn data_url(mime_type: &str, data: &str) -> String {
    format!("data:{mime_type};base64,{data}")
}

/// A call's arguments as they are sent. Malformed ones become an empty object.
pub(super) fn sent_arguments(arguments: &Value) -> Cow<'_, Value> {
    if arguments.is_object() { Cow::Borrowed(arguments) } else { Cow::Owned(json!({})) }
}

/// A tool's answer as one text, and its images; `stand_in` is the text of an answer that has only images.
pub(super) fn split_result<'a>(
    output: &'a ToolOutput,
    vision: VisionSupport,
    stand_in: &'static str,
) -> (Cow<'a, str>, Vec<Part<'a>>) {
    let (texts, images): (Vec<_>, Vec<_>) = result_parts(output, vision).into_iter().partition(Part::is_text);
    let text = if texts.is_empty() { Cow::Borrowed(stand_in) } else { joined(texts) };
    (result_text(text, output.is_error), images)
}

/// Texts in lines; images are passed over.
pub(super) fn joined(parts: Vec<Part<'_>>) -> Cow<'_, str> {
    let mut texts = parts.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Image { .. } => None,
    });
    let mut all = texts.next().unwrap_or_default();
    for text in texts {
        let all = all.to_mut();
        all.push('\n');
        all.push_str(&text);
    }
    all
}

/// A result's text, which says itself where it is a failure.
pub(super) fn result_text(text: Cow<'_, str>, is_error: bool) -> Cow<'_, str> {
    const FAILURE: &str = "Error";
    if is_error && !text.starts_with(FAILURE) { Cow::Owned(format!("{FAILURE}: {text}")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEES: VisionSupport = VisionSupport::Supported { max_bytes: goose_extension::MAX_MEDIA_BYTES };

    fn text(part: Option<Part<'_>>) -> String {
        match part {
            Some(Part::Text(text)) => text.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    /// Whatever a tool gives back, what is sent is valid and bounded.
    #[test]
    fn strange_content_becomes_text() {
        let block = |block: ContentBlock| text(part(&block, SEES));
        let huge = ContentBlock::image("A".repeat(28 * 1024 * 1024), "image/png");
        assert_eq!(
            block(huge),
            "[image (image/png, 21504 KiB) left out: it is too large; make it smaller, or show a part of it]"
        );
        assert!(block(ContentBlock::image("AAAA", "image/svg+xml")).contains("only PNG"));
        assert!(block(ContentBlock::image("AA!A", "image/png")).contains("damaged"));
        assert!(block(ContentBlock::image("", "image/png")).contains("damaged"));
        assert!(block(ContentBlock::audio("AAAA", "audio/wav")).contains("audio/wav"));
        assert_eq!(block(ContentBlock::text("a\0b")), "a\u{fffd}b");
        assert_eq!(block(ContentBlock::embedded_text("file:///a", "inside")), "inside");
        let long = block(ContentBlock::text("é".repeat(MAX_TEXT_BYTES)));
        assert!(long.len() < MAX_TEXT_BYTES + 100 && long.contains("8388608 bytes"));
    }

    #[test]
    fn nothing_is_said_where_nothing_is_there() {
        assert_eq!(part(&ContentBlock::text(" \n"), SEES), None);
        let empty = ToolOutput::content([ContentBlock::text("")]);
        assert_eq!(result_parts(&empty, SEES), [Part::Text(Cow::Borrowed(NO_OUTPUT))]);
        let structured = ToolOutput::value(serde_json::json!({"a": 1}));
        assert_eq!(result_parts(&structured, SEES), [Part::Text(Cow::Borrowed("{\"a\":1}"))]);
    }

    #[test]
    fn images_go_where_they_can_be_seen() {
        let block = ContentBlock::image("iVBORw0=", "image/JPG");
        let image = Part::Image { mime_type: "image/jpeg", data: "iVBORw0=" };
        assert_eq!(part(&block, SEES), Some(image));
        assert!(text(part(&block, VisionSupport::Unsupported)).contains("cannot look at images"));
        let larger = ContentBlock::image("A".repeat(12 * 1024 * 1024), "image/png");
        assert!(text(part(&larger, SEES)).contains("too large"));
        let sees_more = VisionSupport::Supported { max_bytes: LARGE_IMAGE_BYTES };
        assert!(part(&larger, sees_more).is_some_and(|part| !part.is_text()));
    }
}
