//! [`Backend`]: what writes: the engine inside goose, or a server that takes a JSON Schema.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use goose_engine::{Ended, Turn};
use goose_providers::{ProviderResult, Usage};

use super::form::Form;

/// A text to continue.
#[derive(Clone, Copy)]
pub(super) struct Prompt<'a> {
    /// The turns that every such prompt begins with.
    pub(super) opening: &'a [Turn],
    pub(super) turns: &'a [Turn],
    /// True for a prompt apart from the conversation.
    pub(super) is_apart: bool,
    /// The form of what is written; none for free text.
    pub(super) form: Option<&'a Form>,
    /// A beginning of what is written that is made likelier, where the back end can do so, and by how much.
    pub(super) favoured: Option<(&'static str, f32)>,
    pub(super) max_tokens: usize,
    pub(super) temperature: f32,
}

/// The end of a text, and its tokens.
pub(super) struct Written {
    pub(super) ended: Ended,
    pub(super) usage: Usage,
}

/// Tells the user what the model is doing.
pub(super) type Report = Arc<dyn Fn(String) + Send + Sync>;

/// Reads the text as it comes, and says when that is enough.
pub(super) type Read<'a> = dyn FnMut(&str) -> ControlFlow<()> + Send + 'a;

/// A model that writes.
#[async_trait]
pub(super) trait Backend: Send {
    /// Does what comes before the first prompt, and checks that the conversation fits.
    async fn prepare(&mut self, _prompt: Prompt<'_>, _report: &Report) -> ProviderResult<()> {
        Ok(())
    }

    /// Writes what follows. Ends early, within a token, if it is dropped or `read` has enough.
    async fn write(&mut self, prompt: Prompt<'_>, read: &mut Read<'_>) -> ProviderResult<Written>;

    /// Keeps what was computed for the conversation.
    fn remember(&mut self, _conversation: &str) {}
}
