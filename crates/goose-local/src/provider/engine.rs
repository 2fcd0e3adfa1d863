//! [`Engine`]: the one model of a process and the conversation that it has in mind. Loaded when it is first needed; one
//! question at a time.

use std::sync::Arc;

use goose_engine::{LoadOptions, LoadedModel};
use goose_providers::{ProviderError, ProviderResult};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The model, whether it is loaded yet or not.
#[derive(Clone)]
pub(super) struct Engine {
    options: Arc<LoadOptions>,
    loaded: Arc<Mutex<Option<LoadedModel>>>,
}

/// The engine for the time of one question.
pub(super) struct EngineGuard {
    options: Arc<LoadOptions>,
    guard: OwnedMutexGuard<Option<LoadedModel>>,
}

impl Engine {
    pub(super) fn new(options: LoadOptions) -> Self {
        Self { options: Arc::new(options), loaded: Arc::default() }
    }

    /// Waits until no other question is being answered.
    pub(super) async fn enter(&self) -> EngineGuard {
        let guard = Arc::clone(&self.loaded).lock_owned().await;
        EngineGuard { options: Arc::clone(&self.options), guard }
    }

    /// Loads the model on a thread of its own, unless that has begun already.
    pub(super) fn warm(&self) {
        let Ok(guard) = Arc::clone(&self.loaded).try_lock_owned() else { return };
        let mut guard = EngineGuard { options: Arc::clone(&self.options), guard };
        let loading = move || {
            // What goes wrong is said when the model is asked.
            if let Ok(loaded) = guard.loaded() {
                let _ = loaded.prepare_grammars();
            }
        };
        let _ = std::thread::Builder::new().name("goose-local-load".to_owned()).spawn(loading);
    }
}

impl EngineGuard {
    /// The model, loaded now if it was not before. Blocks.
    pub(super) fn loaded(&mut self) -> ProviderResult<&mut LoadedModel> {
        if self.guard.is_none() {
            *self.guard = Some(LoadedModel::open(&self.options).map_err(|error| refused(&error))?);
        }
        self.guard.as_mut().ok_or_else(|| refused(&"the model is not there"))
    }
}

/// A model that cannot be used, however often it is asked.
pub(super) fn refused(error: &dyn std::fmt::Display) -> ProviderError {
    ProviderError::Refused { status: None, message: error.to_string() }
}
