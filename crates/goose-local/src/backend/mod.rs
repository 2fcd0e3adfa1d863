//! [`Backend`]: a model that continues prompts. Either the engine inside goose ([`Engine`]) or a server
//! that accepts a JSON Schema ([`Server`]).

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

/// Prompt to continue.
#[derive(Clone, Copy)]
pub(crate) struct Prompt<'a> {
    /// First turns, which are the same in every prompt of this kind.
    pub(crate) opening: &'a [Turn],
    pub(crate) turns: &'a [Turn],
    /// True for a prompt outside of the conversation.
    pub(crate) is_detached: bool,
    /// Required form of the text; none for free text.
    pub(crate) form: Option<&'a Form>,
    /// Preferred beginning of the text, and the bonus on its logit. Servers ignore it.
    pub(crate) favoured: Option<(&'static str, f32)>,
    pub(crate) max_tokens: usize,
    pub(crate) temperature: f32,
}

/// End of a text, and its token counts.
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

    /// Returns the reason why a call is incomplete, worded for the model.
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

/// Function that shows a status message to the user.
pub(crate) type Report = Arc<dyn Fn(String) + Send + Sync>;

/// Receiver of the text that a model writes.
#[async_trait]
pub(crate) trait TextSink: Send {
    /// Takes the next piece of text. The model waits meanwhile. A break ends the text within a token.
    async fn push(&mut self, text: &str) -> ControlFlow<()>;
}

/// Model that continues prompts.
#[async_trait]
pub(crate) trait Backend: Send {
    /// Prepares the model for the first prompt, and checks that the conversation fits.
    async fn prepare(&mut self, _prompt: Prompt<'_>, _report: &Report) -> ProviderResult<()> {
        Ok(())
    }

    /// Continues a prompt. Ends early, within a token, if the future is dropped or the sink breaks.
    async fn write(&mut self, prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion>;

    /// Saves the computed state of the conversation.
    fn remember(&mut self, _conversation: &str) {}
}
