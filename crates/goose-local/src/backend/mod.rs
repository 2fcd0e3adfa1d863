//! [`Backend`]: what writes: the engine inside goose ([`Engine`]), or a server that takes a JSON Schema ([`Server`]).

mod engine;
mod server;

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use goose_engine::{EndReason, Turn};
use goose_providers::{ProviderResult, StopReason, Usage};

pub(crate) use self::{
    engine::{Engine, EngineGuard, sampling},
    server::Server,
};
use crate::provider::Form;

/// A text to continue.
#[derive(Clone, Copy)]
pub(crate) struct Prompt<'a> {
    /// The turns that every such prompt begins with.
    pub(crate) opening: &'a [Turn],
    pub(crate) turns: &'a [Turn],
    /// True for a prompt apart from the conversation.
    pub(crate) is_detached: bool,
    /// The form of what is written; none for free text.
    pub(crate) form: Option<&'a Form>,
    /// A beginning of what is written that is made likelier, where the back end can do so, and by how much.
    pub(crate) favoured: Option<(&'static str, f32)>,
    pub(crate) max_tokens: usize,
    pub(crate) temperature: f32,
}

/// The end of a text, and its tokens.
pub(crate) struct Completion {
    pub(crate) end: EndReason,
    pub(crate) usage: Usage,
}

impl Completion {
    pub(crate) fn stop_reason(&self) -> StopReason {
        match self.end {
            EndReason::Complete | EndReason::Cancelled => StopReason::EndTurn,
            EndReason::TokenLimit => StopReason::MaxTokens,
            EndReason::Repetition => StopReason::Other("the text repeated itself without end".to_owned()),
        }
    }

    /// Why a call is not whole.
    pub(crate) fn why_cut(&self) -> Option<&'static str> {
        match self.end {
            EndReason::Complete | EndReason::Cancelled => None,
            EndReason::TokenLimit => {
                Some("it was too long and cut off, so nothing was done. Do it in smaller pieces")
            }
            EndReason::Repetition => Some(
                "it repeated itself without end and was cut off, so nothing was done. Do it in another way",
            ),
        }
    }
}

/// Tells the user what the model is doing.
pub(crate) type Report = Arc<dyn Fn(String) + Send + Sync>;

/// Receiver of the text that a model writes.
#[async_trait]
pub(crate) trait TextSink: Send {
    /// Takes the next piece. The model waits meanwhile; a break ends the text within a token.
    async fn push(&mut self, text: &str) -> ControlFlow<()>;
}

/// A model that writes.
#[async_trait]
pub(crate) trait Backend: Send {
    /// Does what comes before the first prompt, and checks that the conversation fits.
    async fn prepare(&mut self, _prompt: Prompt<'_>, _report: &Report) -> ProviderResult<()> {
        Ok(())
    }

    /// Continues a prompt. Ends early, within a token, if it is dropped or the sink breaks.
    async fn write(&mut self, prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion>;

    /// Keeps what was computed for the conversation.
    fn remember(&mut self, _conversation: &str) {}
}
