//! [`Work`]: one reply being made, as a sequence of small steps.
//!
//! ```text
//! begin ─► prepare ─► ask ─► record ─► check ─► run tools ─► decide ─┬─► end
//!             ▲                                                      │
//!             └──────────────────────────────────────────────────────┘
//! ```

use std::sync::Arc;

use goose_extension::{Message, Role};
use goose_providers::ProviderError;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::{
    core::{Core, State},
    decide::Next,
    event::{Failure, Outcome},
    event_hub::EventSink,
    repetition::Repetition,
};
use crate::session::{GO_ON, Step, StoreError, aside_message, says_nothing};

/// One reply being made.
pub(super) struct Work {
    pub(super) core: Arc<Core>,
    pub(super) state: OwnedMutexGuard<State>,
    pub(super) events: EventSink,
    pub(super) cancellation: CancellationToken,
    pub(super) repetition: Repetition,
    /// How often the model was asked.
    pub(super) turn: u32,
    /// How often it was reminded that it has to say something.
    pub(super) reminders: u32,
    /// The final answer, where it was given.
    pub(super) structured: Option<serde_json::Value>,
    /// How often the service said that the conversation is too long, since it last answered.
    pub(super) overflows: u32,
    /// Set when the model does the same for ever.
    pub(super) hopeless: Option<Failure>,
}

/// Why a reply does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    Cancelled,
    Failed(Failure),
}

/// The result of a step.
pub(super) type Going<T> = Result<T, Stop>;

impl Stop {
    pub(super) fn failed(message: impl Into<String>, hint: impl Into<Option<String>>) -> Self {
        Self::Failed(Failure { message: message.into(), hint: hint.into() })
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::failed(format!("The session could not be written: {error}"), error.hint())
    }
}

impl From<ProviderError> for Stop {
    fn from(error: ProviderError) -> Self {
        Self::failed(error.to_string(), error.hint())
    }
}

impl Work {
    pub(super) fn new(
        core: Arc<Core>,
        state: OwnedMutexGuard<State>,
        events: EventSink,
        cancellation: CancellationToken,
    ) -> Self {
        let repetition = Repetition::new(core.limits.repetitions);
        Self {
            core,
            state,
            events,
            cancellation,
            repetition,
            turn: 0,
            reminders: 0,
            structured: None,
            overflows: 0,
            hopeless: None,
        }
    }

    /// Makes the reply.
    pub(super) async fn reply(mut self, message: Option<Message>) -> Outcome {
        let outcome = match self.turns(message).await {
            Ok(outcome) => outcome,
            Err(Stop::Cancelled) => Outcome::Cancelled,
            Err(Stop::Failed(failure)) => Outcome::Failed(failure),
        };
        self.end(outcome).await
    }

    async fn turns(&mut self, message: Option<Message>) -> Going<Outcome> {
        self.begin(message).await?;
        loop {
            self.prepare().await?;
            let answer = self.ask().await?;
            let calls = self.take(&answer).await?;
            let checked = self.check(&answer, calls).await?;
            self.run_tools(checked).await?;
            match self.decide(&answer).await? {
                Next::Ask => {}
                Next::End(outcome) => return Ok(outcome),
            }
        }
    }

    /// What was left open is closed, and the person's words are stored.
    async fn begin(&mut self, message: Option<Message>) -> Going<()> {
        self.close_interrupted().await?;
        let last = self.state.conversation.last().map(|last| last.role.clone());
        let message = match (message, last) {
            (Some(message), _) if says_nothing(&message) => return Err(empty()),
            (Some(message), _) => self.core.with_surroundings(message),
            (None, Some(Role::Assistant)) => aside_message(GO_ON),
            (None, Some(_)) => return Ok(()),
            (None, None) => return Err(Stop::failed("Nobody has said anything yet.", None)),
        };
        self.record(Step::Message { message }).await?;
        match self.state.conversation.messages().is_empty() {
            true => Err(empty()),
            false => Ok(()),
        }
    }
}

fn empty() -> Stop {
    Stop::failed("The message is empty.", "Say what is to be done.".to_owned())
}
