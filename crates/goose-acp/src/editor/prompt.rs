//! The content of a prompt as a message: text, images, embedded files, and links to files.

use goose_extension::{
    ContentBlock, Message, MessageContent, Role, accepted_image_type, check_media, marked_file,
    media_type_for_message,
};
use serde_json::Value;

/// Maximum number of parts of a prompt.
const MAX_PARTS: usize = 1_000;

/// Returns the message of a prompt.
///
/// # Errors
///
/// Fails with the reason if a part cannot be sent.
pub(super) fn message(blocks: &Value) -> Result<Message, String> {
    let blocks = blocks.as_array().ok_or("the prompt is not a list")?;
    if blocks.len() > MAX_PARTS {
        return Err(format!("the prompt has {} parts; at most {MAX_PARTS} are read", blocks.len()));
    }
    let parts = blocks.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Message::new(Role::User, parts))
}

fn part(block: &Value) -> Result<MessageContent, String> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    match field("type").unwrap_or_default() {
        "text" => Ok(MessageContent::text(field("text").unwrap_or_default())),
        "image" => image(field("data").unwrap_or_default(), field("mimeType").unwrap_or_default()),
        "resource_link" => Ok(MessageContent::text(link(block))),
        "resource" => resource(block.get("resource").unwrap_or(&Value::Null)),
        other => Err(format!("goose cannot read `{}` in a prompt", media_type_for_message(other))),
    }
}

fn image(data: &str, media_type: &str) -> Result<MessageContent, String> {
    let Some(kind) = accepted_image_type(media_type) else {
        let kind = media_type_for_message(media_type);
        return Err(format!("images of type `{kind}` cannot be sent; use PNG, JPEG, GIF or WebP"));
    };
    check_media(data).map_err(|fault| format!("an image cannot be sent: {fault:?}"))?;
    Ok(MessageContent::Block(ContentBlock::image(data, kind)))
}

/// Returns a mention of a file or page, which the model can read with its tools.
fn link(block: &Value) -> String {
    let field = |name: &str| block.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let uri = field("uri").unwrap_or_default();
    let place = uri.strip_prefix("file://").unwrap_or(uri);
    match field("title").or(field("name")) {
        Some(name) if name != place => format!("[{name}]({place})"),
        _ => place.to_owned(),
    }
}

/// Returns the content of a file that the editor has embedded.
fn resource(resource: &Value) -> Result<MessageContent, String> {
    let field = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = field("uri").unwrap_or_default();
    let place = uri.strip_prefix("file://").unwrap_or(uri);
    if let Some(text) = field("text") {
        return Ok(MessageContent::text(marked_file(place, text)));
    }
    let media_type = field("mimeType").unwrap_or_default();
    match field("blob") {
        Some(data) if accepted_image_type(media_type).is_some() => image(data, media_type),
        _ => Ok(MessageContent::text(format!("(The content of {place} is not text and is left out.)"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_kinds_of_content_become_parts() {
        let png = "iVBORw0KGgo=";
        let prompt = json!([
            {"type": "text", "text": "Look"},
            {"type": "image", "data": png, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a.rs", "text": "fn a() {}"}},
            {"type": "resource", "resource": {"uri": "file:///a.png", "blob": png, "mimeType": "image/png"}},
            {"type": "resource", "resource": {"uri": "file:///a.zip", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///b.rs", "name": "b.rs"},
        ]);
        let message = message(&prompt).unwrap();
        let texts: Vec<&str> = message.content.iter().filter_map(MessageContent::as_text).collect();
        let expected = [
            "Look",
            "<file path=\"/a.rs\">\nfn a() {}\n</file>",
            "(The content of /a.zip is not text and is left out.)",
            "[b.rs](/b.rs)",
        ];
        assert_eq!(texts, expected);
        assert_eq!(message.content.len(), 6);
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        for (block, reason) in [
            (json!({"type": "audio", "data": "AAAA"}), "`audio`"),
            (json!({"type": "image", "data": "AAAA", "mimeType": "image/tiff"}), "`image/tiff`"),
            (json!({"type": "image", "data": "?", "mimeType": "image/png"}), "NotBase64"),
            (json!({}), "``"),
        ] {
            let error = message(&json!([block])).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(message(&json!("text")).is_err());
    }
}
