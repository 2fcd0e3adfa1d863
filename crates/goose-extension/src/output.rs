//! [`ToolOutput`]: what a tool gives back. Text, images, audio, resources, a structured value, or a failure.
//!
//! The simple form is a JSON value; [`IntoToolOutput`] is what `#[tool]` methods may return.

use std::any::Any;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rmcp::model::{CallToolResult, MetaObject};
pub use rmcp::model::{ContentBlock, Resource, ResourceContents};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    arguments::{WORST_ESTIMATE, json_len},
    error::{ToolError, ToolResult},
};

/// Maximum size of a result, as JSON. Below the wire's line cap, so that it arrives on every path.
pub const MAX_OUTPUT_BYTES: usize = 7 * 1024 * 1024;

/// The `_meta` key under which a failed result keeps its kind.
const ERROR_META: &str = "goose/error";

/// The key under which a structured value that is not an object travels; MCP before 2026-07-28 wants an object.
pub(crate) const WRAPPED: &str = "result";

/// The result of a call that was carried out, well or not.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content for the model, in order.
    pub content: Vec<ContentBlock>,
    /// A JSON value for programs. Shown to the model as JSON where there is no other content.
    pub structured: Option<Value>,
    /// The tool ran and failed; the content says why.
    pub is_error: bool,
    /// Protocol metadata.
    pub meta: Option<MetaObject>,
}

impl ToolOutput {
    /// An output that says nothing; a tool that returns `()` gives it.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A single text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content([ContentBlock::text(text)])
    }

    /// Several blocks: text, images, audio, resources, links.
    pub fn content(content: impl IntoIterator<Item = ContentBlock>) -> Self {
        Self { content: content.into_iter().collect(), ..Self::default() }
    }

    /// A JSON value. A string is a text, `null` is nothing, everything else is structured.
    pub fn value(value: Value) -> Self {
        match value {
            Value::Null => Self::empty(),
            Value::String(text) => Self::text(text),
            value => Self { structured: Some(value), ..Self::default() },
        }
    }

    /// Adds a structured value to the content.
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// A failure that the model reads.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// The failure as an output, with its kind kept.
    ///
    /// # Errors
    ///
    /// Errors that mean that the tool was not run, and so are no results, are handed back.
    pub fn from_error(error: ToolError) -> ToolResult<Self> {
        let Some(kind) = error.result_kind() else { return Err(error) };
        let mut output = Self::error(error.to_string());
        if kind != "execution" {
            output.meta.get_or_insert_default().0.insert(ERROR_META.to_owned(), json!(kind));
        }
        Ok(output)
    }

    /// All text of the content, block by block; the structured value as JSON where there is none.
    pub fn as_text(&self) -> String {
        let texts: Vec<&str> =
            self.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect();
        match &self.structured {
            Some(value) if texts.is_empty() => value.to_string(),
            _ => texts.join("\n"),
        }
    }

    /// The output as one JSON value: the structured value, else the text, else the content blocks.
    ///
    /// # Errors
    ///
    /// The [`ToolError`] that this output stands for, where it is a failure.
    pub fn into_value(mut self) -> ToolResult<Value> {
        if self.is_error {
            return Err(self.as_error());
        }
        if let Some(value) = self.structured {
            return Ok(value);
        }
        match self.content.as_mut_slice() {
            [] => Ok(Value::Null),
            [ContentBlock::Text(text)] => Ok(Value::String(std::mem::take(&mut text.text))),
            blocks => Ok(serde_json::to_value(blocks)?),
        }
    }

    /// The error that this output stands for, where it is a failure.
    pub fn failure(&self) -> Option<ToolError> {
        self.is_error.then(|| self.as_error())
    }

    fn as_error(&self) -> ToolError {
        let kind = self.meta.as_ref().and_then(|meta| meta.0.get(ERROR_META)).and_then(Value::as_str);
        ToolError::from_result_kind(kind, self.as_text())
    }

    /// The output itself, or a failure that says it was too large.
    pub fn within_cap(self) -> Self {
        // What is clearly small needs no exact count.
        if self.estimate() <= MAX_OUTPUT_BYTES / (3 * WORST_ESTIMATE) {
            return self;
        }
        let size = self.json_len();
        if size <= MAX_OUTPUT_BYTES {
            return self;
        }
        Self::error(format!(
            "The tool's result is too large: {size} bytes, at most {MAX_OUTPUT_BYTES} are allowed. \
             Ask for less (a range, a filter, a page), or write it to a file."
        ))
    }

    /// Returns its approximate size in bytes.
    pub fn estimate(&self) -> usize {
        let blocks: usize = self.content.iter().map(estimate_block).sum();
        let meta = self.meta.as_ref().map_or(0, json_len);
        blocks + meta + self.structured.as_ref().map_or(0, estimate_value)
    }

    /// The size on the wire, where a structured value that stands alone travels twice: as itself, and as text.
    fn json_len(&self) -> usize {
        let structured = self.structured.as_ref().map_or(0, |value| {
            let mirrored = if self.content.is_empty() { json_len(&value.to_string()) } else { 0 };
            json_len(value) + mirrored
        });
        structured + json_len(&self.content) + self.meta.as_ref().map_or(0, json_len)
    }

    /// The output as MCP carries it.
    pub fn into_mcp(self) -> CallToolResult {
        let mut content = self.content;
        let structured = self.structured.map(|value| {
            if content.is_empty() {
                content.push(ContentBlock::text(value.to_string()));
            }
            if value.is_object() { value } else { json!({ WRAPPED: value }) }
        });
        let mut result = CallToolResult::success(content);
        result.is_error = Some(self.is_error);
        result.structured_content = structured;
        result.meta = self.meta;
        result
    }

    /// The output as a server sent it; the inverse of [`into_mcp`](Self::into_mcp).
    pub fn from_mcp(result: CallToolResult) -> Self {
        let mut output = Self {
            content: result.content,
            structured: result.structured_content.filter(|value| !value.is_null()),
            is_error: result.is_error.unwrap_or(false),
            meta: result.meta.filter(|meta| !meta.0.is_empty()),
        };
        output.drop_mirrored_text();
        output
    }

    /// Servers repeat a structured value as text for older clients; one of the two is enough here.
    fn drop_mirrored_text(&mut self) {
        let (Some(value), [ContentBlock::Text(text)]) = (&self.structured, self.content.as_slice()) else {
            return;
        };
        if is_written_as(value, &text.text) {
            self.content.clear();
        } else if let Some(inner) = sole_entry(value, WRAPPED)
            && is_written_as(inner, &text.text)
        {
            self.structured = Some(inner.clone());
            self.content.clear();
        }
    }
}

/// Returns whether `text` is the JSON text of `value`, as opposed to a string with the same characters.
fn is_written_as(value: &Value, text: &str) -> bool {
    let written = value.to_string();
    written == text
}

fn sole_entry<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.as_object().filter(|map| map.len() == 1)?.get(key)
}

fn estimate_block(block: &ContentBlock) -> usize {
    64 + match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.len(),
            ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
            _ => 0,
        },
        _ => json_len(block),
    }
}

fn estimate_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => 2 + items.iter().map(estimate_value).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, item)| key.len() + 4 + estimate_value(item)).sum::<usize>()
        }
    }
}

/// A picture as a tool's result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// For example `image/png`.
    pub mime_type: String,
}

impl Image {
    /// An image from a file's bytes.
    pub fn new(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self { bytes: bytes.into(), mime_type: mime_type.into() }
    }

    /// A PNG image from a file's bytes.
    pub fn png(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(bytes, "image/png")
    }
}

/// Sound as a tool's result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Audio {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// For example `audio/wav`.
    pub mime_type: String,
}

impl Audio {
    /// Sound from a file's bytes.
    pub fn new(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self { bytes: bytes.into(), mime_type: mime_type.into() }
    }
}

impl From<Image> for ContentBlock {
    fn from(image: Image) -> Self {
        Self::image(BASE64.encode(image.bytes), image.mime_type)
    }
}

impl From<Audio> for ContentBlock {
    fn from(audio: Audio) -> Self {
        Self::audio(BASE64.encode(audio.bytes), audio.mime_type)
    }
}

/// Results of a `#[tool]` method: anything that serializes, and the rich forms of this module.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "this is not a result of a tool",
    note = "a tool returns what serializes (`#[derive(Serialize)]`) and borrows nothing, a `ToolOutput`, an `Image` \
            or an `Audio`, or a `Result` with one of these"
)]
pub trait IntoToolOutput {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// An execution error where the value cannot be represented as JSON.
    fn into_tool_output(self) -> ToolResult<ToolOutput>;
}

impl<T: Serialize + 'static> IntoToolOutput for T {
    fn into_tool_output(self) -> ToolResult<ToolOutput> {
        // What already is a value, a text or content needs no round through serde.
        let mut slot = Some(self);
        let any: &mut dyn Any = &mut slot;
        if let Some(value) = any.downcast_mut::<Option<Value>>() {
            return Ok(ToolOutput::value(value.take().unwrap_or_default()));
        }
        if let Some(text) = any.downcast_mut::<Option<String>>() {
            return Ok(ToolOutput::text(text.take().unwrap_or_default()));
        }
        if let Some(block) = any.downcast_mut::<Option<ContentBlock>>() {
            return Ok(ToolOutput::content(block.take()));
        }
        if let Some(blocks) = any.downcast_mut::<Option<Vec<ContentBlock>>>() {
            return Ok(ToolOutput::content(blocks.take().unwrap_or_default()));
        }
        Ok(ToolOutput::value(to_json(slot)?))
    }
}

/// A result as JSON.
///
/// # Errors
///
/// An execution error that says why it has no such form.
pub(crate) fn to_json(result: impl Serialize) -> ToolResult<Value> {
    serde_json::to_value(result).map_err(|error| {
        ToolError::ExecutionError(format!("The tool's result cannot be written as JSON: {error}"))
    })
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolResult<ToolOutput> {
        Ok(self)
    }
}

impl IntoToolOutput for Image {
    fn into_tool_output(self) -> ToolResult<ToolOutput> {
        Ok(ToolOutput::content([self.into()]))
    }
}

impl IntoToolOutput for Audio {
    fn into_tool_output(self) -> ToolResult<ToolOutput> {
        Ok(ToolOutput::content([self.into()]))
    }
}
