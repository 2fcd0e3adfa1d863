//! What an exchange is made of: [`Core`], which replies share, and [`State`], which one reply at a time changes.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use goose_extension::{Caller, ExchangeView, Notifier, Tool};
use goose_providers::{RequestOptions, RetryPolicy};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    event_hub::EventHub, fullness::Fullness, models::ActiveModels, spent::Spent, structured::FinalOutput,
};
use crate::{
    agents::{
        extension_manager::{Events, ExtensionManager},
        toolset::Toolset,
    },
    context::{Moderator, hints::Hints},
    permission::Permissions,
    session::{Conversation, Session},
};

/// What does not change while the exchange lives, or looks after itself.
pub(super) struct Core {
    pub(super) models: ActiveModels,
    pub(super) options: RequestOptions,
    pub(super) retry: RetryPolicy,
    pub(super) limits: Limits,
    pub(super) moderator: Moderator,
    pub(super) prompt: Prompt,
    pub(super) final_output: Option<FinalOutput>,
    pub(super) manager: Arc<ExtensionManager>,
    pub(super) toolset: Arc<Toolset>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) session: Session,
    pub(super) events: Arc<EventHub>,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    pub(super) working_dir: PathBuf,
    pub(super) view: ExchangeView,
    /// What tools spent on the model, not yet in the books.
    pub(super) spent: Arc<Spent>,
    pub(super) state: Arc<tokio::sync::Mutex<State>>,
    /// Stops the reply that is being made.
    pub(super) current: Mutex<CancellationToken>,
    /// What still has to be done after a reply.
    pub(super) tasks: TaskTracker,
}

/// What of the system prompt does not change while the exchange lives.
#[derive(Debug)]
pub(super) struct Prompt {
    /// The day on which it began: a change would spoil the service's cache.
    pub(super) today: String,
    pub(super) hints: Hints,
    /// What the profile, the person or a recipe adds.
    pub(super) instructions: Vec<String>,
}

/// How far a reply may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How often the model is asked for one reply.
    pub(super) turns: u32,
    /// How often the same call is made in a row.
    pub(super) repetitions: u32,
    /// How many tokens the conversation may have, where that is said.
    pub(super) context: Option<u64>,
    /// The part of that from which on older messages make room, where that is said.
    pub(super) threshold: Option<f64>,
}

/// How often the model is asked for one reply, unless somebody says otherwise.
pub(super) const DEFAULT_MAX_TURNS: u32 = 1000;

/// What a reply changes.
pub(super) struct State {
    pub(super) conversation: Conversation,
    pub(super) fullness: Fullness,
    /// What happens to the extensions.
    pub(super) services: Events,
    /// What the model is offered, made once for each change.
    pub(super) offer: Offer,
    /// What a person should know that was found when the exchange was made.
    pub(super) notices: Vec<String>,
    /// Whether goose was ended in the middle of the last reply, and the log does not say so yet.
    pub(super) is_unfinished: bool,
}

/// The tools as the model sees them, and the prompt that goes with them.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// The toolset's list that this was made from.
    pub(super) made_from: Option<Arc<[Tool]>>,
    pub(super) tools: Vec<Tool>,
    pub(super) system: String,
    /// Whether the tools are ready for their first call.
    pub(super) is_ready: bool,
}

impl Core {
    /// Makes a token for the reply that begins now.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }

    /// Whether the last reply was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled()
    }

    /// Stops the reply that is being made.
    pub(super) fn stop(&self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.events.close();
    }
}
