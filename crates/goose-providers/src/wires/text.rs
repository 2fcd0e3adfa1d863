//! Parts that several wires encode alike: texts with or without images, arguments and images inside of strings, results without
//! a flag for failure.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::content::Part;

/// A message of OpenAI's wires.
#[derive(Serialize)]
pub(super) struct Said<'a, P> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a, P>,
}

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a, P> {
    Text(Cow<'a, str>),
    Parts(Vec<P>),
}

impl<'a, P: From<Part<'a>>> Content<'a, P> {
    /// Texts alone are one text: not everybody takes lists.
    pub(super) fn new(parts: Vec<Part<'a>>) -> Self {
        if parts.iter().all(Part::is_text) { Self::Text(joined(parts)) } else { Self::in_parts(parts) }
    }

    /// As a list, whatever it is.
    pub(super) fn in_parts(parts: Vec<Part<'a>>) -> Self {
        Self::Parts(parts.into_iter().map(P::from).collect())
    }
}

/// An image as a URL that holds it.
pub(super) struct DataUrl<'a> {
    pub(super) mime_type: &'static str,
    pub(super) data: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.mime_type, self.data))
    }
}

/// A call's arguments as an object. What was none is sent as an empty one.
pub(super) struct ArgumentObject<'a>(pub(super) &'a Value);

impl Serialize for ArgumentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_object() {
            self.0.serialize(serializer)
        } else {
            serializer.serialize_map(Some(0))?.end()
        }
    }
}

/// The same as JSON in a string.
pub(super) struct ArgumentText<'a>(pub(super) &'a Value);

impl Serialize for ArgumentText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_object() { serializer.collect_str(self.0) } else { serializer.serialize_str("{}") }
    }
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
