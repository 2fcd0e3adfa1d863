//! [`Notifier`]: how a tool tells the person what is happening.
//!
//! `log` is durable: something concrete happened and stays on record. `status` is fleeting: what is going on
//! right now, replaced by the next one. Each UX implements the trait; extensions hold a `Box<dyn Notifier>`.

use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// If a UX shows what tools report.
pub trait Notifier: Send + Sync {
    /// Records something that happened.
    fn log(&self, content: RichRenderable);

    /// Shows what is happening now.
    fn status(&self, message: String);
}

/// Something a UX can show as well as it is able to. A plain string turns into [`RichRenderable::Text`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RichRenderable {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Markdown.
    Markdown {
        /// The source.
        text: String,
    },
    /// A piece of code.
    Code {
        /// The language, as in a Markdown fence.
        language: String,
        /// The code.
        text: String,
    },
    /// A change to a file.
    Diff {
        /// The file.
        path: String,
        /// The change as a unified diff.
        unified: String,
    },
    /// Data.
    Json {
        /// The value.
        value: Value,
    },
}

impl From<String> for RichRenderable {
    fn from(text: String) -> Self {
        Self::Text { text }
    }
}

impl From<&str> for RichRenderable {
    fn from(text: &str) -> Self {
        Self::Text { text: text.to_owned() }
    }
}

impl From<Value> for RichRenderable {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text { text },
            value => Self::Json { value },
        }
    }
}

impl RichRenderable {
    /// The content without any markup.
    pub fn plain(&self) -> String {
        match self {
            Self::Text { text } | Self::Markdown { text } | Self::Code { text, .. } => text.clone(),
            Self::Diff { unified, .. } => unified.clone(),
            Self::Json { value } => value.to_string(),
        }
    }

    /// The content as the data of an MCP log message: a plain text is a string, the rest keeps its type.
    pub fn into_wire(self) -> Value {
        match self {
            Self::Text { text } => Value::String(text),
            Self::Json { value } => value,
            rich => serde_json::to_value(rich).unwrap_or_default(),
        }
    }

    /// The inverse of [`into_wire`](Self::into_wire); foreign data is shown as it is.
    pub fn from_wire(data: Value) -> Self {
        Self::deserialize(&data).unwrap_or_else(|_| Self::from(data))
    }
}

impl dyn Notifier + '_ {
    /// Records something that happened. Takes a plain string too: `self.notifier.log(format!("…"))`.
    // By the box, as extensions hold it: with `&self` a call would be ambiguous between this and the trait's own `log`.
    #[expect(clippy::borrowed_box, reason = "the receiver decides which `log` a call means")]
    pub fn log(self: &Box<Self>, content: impl Into<RichRenderable>) {
        Notifier::log(&**self, content.into());
    }
}

/// The same for other pointers to a notifier, such as an `Arc`.
pub trait NotifierExt {
    /// Records something that happened.
    fn log(&self, content: impl Into<RichRenderable>);
}

impl<N: Deref<Target = dyn Notifier>> NotifierExt for N {
    fn log(&self, content: impl Into<RichRenderable>) {
        Notifier::log(&**self, content.into());
    }
}

/// A notifier that several extensions share.
pub(crate) struct SharedNotifier(pub(crate) Arc<dyn Notifier>);

impl Notifier for SharedNotifier {
    fn log(&self, content: RichRenderable) {
        Notifier::log(self.0.as_ref(), content);
    }

    fn status(&self, message: String) {
        self.0.status(message);
    }
}

/// A notifier that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentNotifier;

impl Notifier for SilentNotifier {
    fn log(&self, _content: RichRenderable) {}

    fn status(&self, _message: String) {}
}
