//! Sanitizing of tool results for the conversation: limited in size, valid, and never empty.

use std::borrow::Cow;

use goose_extension::{
    ContentBlock, MAX_MEDIA_BYTES, MediaFault, ResourceContents, ToolOutput, check_media,
    media_type_for_message, visible,
};
use goose_fs::{HeadTail, head_tail_bytes};
use serde_json::Value;

/// Maximum size of the text of one result, about 32,000 tokens.
pub(super) const MAX_RESULT_TEXT: usize = 128 * 1024;

/// Maximum size of all images and sounds of one result together, in base64.
pub(super) const MAX_ALL_MEDIA: usize = 2 * MAX_MEDIA_BYTES;

/// Maximum number of blocks of one result.
pub(super) const MAX_BLOCKS: usize = 64;

/// Maximum size of data that the model does not read.
const MAX_UNREAD_DATA: usize = 64 * 1024;

/// Text for the model if a tool returned nothing.
const NO_OUTPUT: &str = "(no output)";

/// Limits and repairs a result before it is stored and sent.
pub(super) fn sanitize_output(mut output: ToolOutput) -> ToolOutput {
    let too_many = output.content.len().saturating_sub(MAX_BLOCKS);
    output.content.truncate(MAX_BLOCKS);
    let mut left = RemainingSize { text: MAX_RESULT_TEXT, media: MAX_ALL_MEDIA };
    output.content = output.content.into_iter().filter_map(|block| bounded_block(block, &mut left)).collect();
    if too_many > 0 {
        output.content.push(ContentBlock::text(format!("[{too_many} more parts were left out]")));
    }
    bound_data(&mut output);
    if output.content.is_empty() && output.structured.is_none() {
        output.content.push(ContentBlock::text(NO_OUTPUT));
    }
    output
}

/// Makes invisible characters in a server's result visible. goose's own tools are exempt: edits need the
/// exact content of files.
pub(super) fn make_visible(output: &mut ToolOutput) {
    for block in &mut output.content {
        match block {
            ContentBlock::Text(text) => show(&mut text.text),
            ContentBlock::Resource(resource) => {
                if let ResourceContents::TextResourceContents { text, .. } = &mut resource.resource {
                    show(text);
                }
            }
            _ => {}
        }
    }
    if let Some(data) = &mut output.structured {
        show_data(data);
    }
}

fn show(text: &mut String) {
    if let Cow::Owned(safe) = visible(text) {
        *text = safe;
    }
}

// Keys stay unchanged, because programs look them up.
fn show_data(data: &mut Value) {
    match data {
        Value::String(text) => show(text),
        Value::Array(items) => items.iter_mut().for_each(show_data),
        Value::Object(object) => object.values_mut().for_each(show_data),
        _ => {}
    }
}

/// Limits structured data. The model reads it only if there is no text; otherwise it is kept only if it is
/// small.
fn bound_data(output: &mut ToolOutput) {
    if output.meta.as_ref().is_some_and(|meta| written(meta).len() > MAX_UNREAD_DATA) {
        output.meta = None;
    }
    let Some(data) = output.structured.take() else { return };
    let text = data.to_string();
    let is_read = output.content.is_empty();
    let is_clean = !text.contains("\\u0000");
    if is_clean && text.len() <= if is_read { MAX_RESULT_TEXT } else { MAX_UNREAD_DATA } {
        output.structured = Some(data);
    } else if is_read {
        output.content.push(ContentBlock::text(shortened(&clean(&text), MAX_RESULT_TEXT)));
    }
}

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Sizes that are left for the next blocks.
struct RemainingSize {
    text: usize,
    media: usize,
}

/// Limits one block. Returns `None` for an empty text.
fn bounded_block(block: ContentBlock, left: &mut RemainingSize) -> Option<ContentBlock> {
    let missing = match &block {
        ContentBlock::Image(image) => missing_media("image", &image.mime_type, &image.data, left),
        ContentBlock::Audio(audio) => missing_media("sound", &audio.mime_type, &audio.data, left),
        other => return readable(other, left),
    };
    Some(missing.map_or(block, ContentBlock::text))
}

/// Limits a block that is read as text.
fn readable(block: &ContentBlock, left: &mut RemainingSize) -> Option<ContentBlock> {
    match block {
        ContentBlock::Text(text) => text_block(&text.text, left),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                text_block(&format!("{uri}:\n{text}"), left)
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                text_block(&format!("[{uri}: {} bytes of binary data, not shown]", decoded_size(blob)), left)
            }
            _ => text_block("[a resource of a kind that cannot be shown]", left),
        },
        ContentBlock::ResourceLink(link) => {
            let about = link.description.as_deref().unwrap_or(&link.name);
            text_block(&format!("[link to {}: {about}]", link.uri), left)
        }
        other => text_block(&written(other), left),
    }
}

fn text_block(text: &str, left: &mut RemainingSize) -> Option<ContentBlock> {
    let text = shortened(&clean(text), left.text);
    left.text = left.text.saturating_sub(text.len());
    (!text.is_empty()).then(|| ContentBlock::text(text))
}

/// Returns the text in place of an image or a sound that is too large or cannot be decoded.
fn missing_media(kind: &str, mime_type: &str, data: &str, left: &mut RemainingSize) -> Option<String> {
    let reason = match check_media(data) {
        Err(MediaFault::TooLarge) => {
            format!("it has {} bytes, at most {} can be sent", decoded_size(data), MAX_MEDIA_BYTES / 4 * 3)
        }
        _ if data.len() > left.media => {
            format!("all of this result together have more than {} bytes", MAX_ALL_MEDIA / 4 * 3)
        }
        Err(MediaFault::NotBase64) => "its data is damaged".to_owned(),
        Ok(()) => {
            left.media -= data.len();
            return None;
        }
    };
    let mime_type = media_type_for_message(mime_type);
    let article = if kind == "image" { "an" } else { "a" };
    Some(format!("[{article} {kind} ({mime_type}) was left out: {reason}]"))
}

fn decoded_size(base64: &str) -> usize {
    base64.len() / 4 * 3
}

/// Replaces NUL characters, which databases and some services refuse.
fn clean(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Shortens a text to its beginning and end, with the number of omitted bytes between them.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match head_tail_bytes(text, most / 2, most / 2) {
        Some(HeadTail { head, tail, omitted_bytes }) if text.len() > most => {
            format!("{head}\n[… {omitted_bytes} bytes left out …]\n{tail}")
        }
        _ => text.to_owned(),
    }
}

/// Returns the arguments of a call, short enough for an error message.
pub(super) fn brief(arguments: &Value) -> String {
    shortened(&arguments.to_string(), 200)
}

#[cfg(test)]
mod tests {
    use goose_extension::Resource;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_said_in_words() {
        assert_eq!(sanitize_output(ToolOutput::empty()).as_text(), NO_OUTPUT);
        assert_eq!(sanitize_output(ToolOutput::text("")).as_text(), NO_OUTPUT);
    }

    /// NUL characters and undecodable media are replaced by text.
    #[test]
    fn what_no_service_takes_is_replaced() {
        assert_eq!(sanitize_output(ToolOutput::text("a\0b")).as_text(), "a\u{fffd}b");
        let bad = ToolOutput::content([ContentBlock::image("***", "image/png")]);
        assert_eq!(
            sanitize_output(bad).as_text(),
            "[an image (image/png) was left out: its data is damaged]"
        );
        let huge = ToolOutput::content([ContentBlock::image("A".repeat(MAX_MEDIA_BYTES + 4), "image/png")]);
        assert!(sanitize_output(huge).as_text().contains("at most"));
        let data = sanitize_output(ToolOutput::value(json!({"text": "a\0b"})));
        assert!(data.structured.is_none() && !data.as_text().contains('\0'), "{data:?}");
    }

    #[test]
    fn a_link_is_its_address_and_purpose() {
        let link = Resource::new("ui://apps/timer", "timer").with_description("Counts down.");
        let output = ToolOutput::content([ContentBlock::resource_link(link)]);
        assert_eq!(sanitize_output(output).as_text(), "[link to ui://apps/timer: Counts down.]");
    }

    #[test]
    fn what_cannot_be_seen_is_shown_as_its_code() {
        let hidden = "a\u{202e}b\u{e0041}\n";
        let mut output = ToolOutput::text(hidden).with_structured(json!({ "a\u{202e}": [hidden, 1] }));
        make_visible(&mut output);
        let shown = "a\\u{202e}b\\u{e0041}\n";
        assert_eq!(output, ToolOutput::text(shown).with_structured(json!({ "a\u{202e}": [shown, 1] })));
    }

    #[test]
    fn what_is_fine_is_kept_as_it_is() {
        let fine = ToolOutput::content([ContentBlock::text("hi"), ContentBlock::image("aGk=", "image/png")])
            .with_structured(json!({"a": 1}));
        assert_eq!(sanitize_output(fine.clone()), fine);
    }

    #[test]
    fn images_are_bounded_together_too() {
        let image = ContentBlock::image("A".repeat(MAX_MEDIA_BYTES), "image/png");
        let output = sanitize_output(ToolOutput::content([image.clone(), image.clone(), image]));
        let kept = output.content.iter().filter(|block| block.as_image().is_some()).count();
        assert_eq!(kept, 2);
        assert!(output.as_text().contains("together"), "{}", output.as_text());
    }

    proptest! {
        /// Shortening never splits a character.
        #[test]
        fn a_cut_keeps_both_ends(text in "[a-zé€😀]{0,60}", most in 0_usize..60) {
            let cut = shortened(&text, most);
            prop_assert!(cut == text || cut.contains("left out"));
            prop_assert!(cut.len() <= most + 64);
        }
    }
}
