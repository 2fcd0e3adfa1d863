//! [`BoundedOutput`]: the output of a program, bounded; [`CallResult`]: the result of a call as programs see it.

use std::collections::VecDeque;

use goose_extension::{ContentBlock, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::limits::{MAX_HEAD_BYTES, MAX_TAIL_BYTES};

/// Beginning and end of the output of a program.
#[derive(Debug, Default)]
pub(crate) struct BoundedOutput {
    head: String,
    tail: VecDeque<u8>,
    bytes: usize,
}

impl BoundedOutput {
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes += text.len();
        let rest = match self.tail.is_empty() {
            true => {
                let fits = text.floor_char_boundary(MAX_HEAD_BYTES.saturating_sub(self.head.len()));
                self.head.push_str(&text[..fits]);
                &text[fits..]
            }
            false => text,
        };
        let kept = &rest.as_bytes()[rest.len().saturating_sub(MAX_TAIL_BYTES)..];
        self.tail.extend(kept);
        let surplus = self.tail.len().saturating_sub(MAX_TAIL_BYTES);
        self.tail.drain(..surplus);
    }

    /// Returns the number of printed bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the text, with a note if a part of it is missing.
    pub(crate) fn into_text(mut self) -> String {
        let omitted = self.bytes - self.head.len() - self.tail.len();
        let tail = self.tail.make_contiguous();
        if omitted == 0 {
            return self.head + &String::from_utf8_lossy(tail);
        }
        // The first character may have lost its first bytes.
        let whole = tail.iter().position(|byte| (*byte as i8) >= -0x40).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail[whole..]).into_owned();
        let omitted = omitted + whole;
        format!("{}\n… ({omitted} bytes are not shown: print less) …\n{tail}", self.head)
    }
}

/// Result of a call, as the program gets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallResult {
    Text(String),
    /// A value as JSON text.
    Json(String),
    /// Message of the error that the call throws.
    Failed(String),
}

impl CallResult {
    /// Converts the output of a tool into the type that the function declares.
    pub(crate) fn from_output(tool: &Tool, output: ToolOutput) -> Self {
        if output.is_error {
            return Self::Failed(text(&output));
        }
        match (tool.output_schema(), &output.structured) {
            (Some(schema), Some(value)) => Self::Json(match is_wrapped(schema, value) {
                true => json!({ WRAPPED: value }).to_string(),
                false => value.to_string(),
            }),
            _ => Self::Text(text(&output)),
        }
    }
}

/// Key of values that are not objects in MCP.
const WRAPPED: &str = "result";

/// Returns whether a schema describes the object that MCP wraps around a value, while the value itself is not
/// wrapped.
fn is_wrapped(schema: &serde_json::Map<String, Value>, value: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.len() == 1 && properties.contains_key(WRAPPED))
        && value.get(WRAPPED).is_none()
}

/// Returns all text of a result; images and audio are described.
fn text(output: &ToolOutput) -> String {
    let mut parts: Vec<String> = output.content.iter().map(block).collect();
    if parts.is_empty() {
        parts.extend(output.structured.as_ref().map(Value::to_string));
    }
    parts.join("\n")
}

fn block(block: &ContentBlock) -> String {
    let media = |kind: &str, mime_type: &str, data: &str| {
        let padding = data.len() - data.trim_end_matches('=').len();
        let kilobytes = (data.len() / 4 * 3).saturating_sub(padding).div_ceil(1024);
        format!("[{kind}: {mime_type}, {kilobytes} KB; call the tool directly to see it]")
    };
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => media("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            goose_extension::ResourceContents::TextResourceContents { text, .. } => text.clone(),
            goose_extension::ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                media(uri, mime_type.as_deref().unwrap_or("data"), blob)
            }
            _ => "[resource]".to_owned(),
        },
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use goose_extension::{Image, JsonObject};

    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut printed = BoundedOutput::default();
        for number in 0..100_000 {
            printed.push(&format!("{number} é\n"));
        }
        let text = printed.into_text();
        assert!(text.len() <= MAX_HEAD_BYTES + MAX_TAIL_BYTES + 100, "{}", text.len());
        assert!(text.starts_with("0 é\n1 é\n") && text.ends_with("99998 é\n99999 é\n"));
        assert!(text.contains("bytes are not shown") && !text.contains('\u{fffd}'));
    }

    #[test]
    fn small_output_is_complete() {
        let mut printed = BoundedOutput::default();
        let text = "ab\n".repeat((MAX_HEAD_BYTES + MAX_TAIL_BYTES) / 3);
        printed.push(&text);
        assert_eq!(printed.into_text(), text);
    }

    #[test]
    fn result_has_the_declared_type() {
        let plain = Tool::new("a", "", JsonObject::new());
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let typed = plain.clone().with_output_schema(object(json!({"type": "array"})));
        let wrapped =
            plain.clone().with_output_schema(object(json!({"properties": {"result": {"type": "array"}}})));
        let list = || ToolOutput::value(json!([1]));
        let result = CallResult::from_output;
        assert_eq!(result(&plain, list()), CallResult::Text("[1]".to_owned()));
        assert_eq!(result(&typed, list()), CallResult::Json("[1]".to_owned()));
        assert_eq!(result(&wrapped, list()), CallResult::Json(r#"{"result":[1]}"#.to_owned()));
        assert_eq!(result(&plain, ToolOutput::error("no")), CallResult::Failed("no".to_owned()));
    }

    #[test]
    fn images_are_described() {
        let tool = Tool::new("a", "", JsonObject::new());
        let output = ToolOutput::content([Image::png(vec![0; 5000]).into()]);
        let expected = "[image: image/png, 5 KB; call the tool directly to see it]";
        assert_eq!(CallResult::from_output(&tool, output), CallResult::Text(expected.to_owned()));
    }
}
