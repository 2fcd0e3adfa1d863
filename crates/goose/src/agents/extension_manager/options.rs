//! Settings of a manager, from the agent that owns it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goose_extension::{CallerId, Model, Sampling};

use crate::services::{BindingContext, ServicePool};

/// The time that a list waits for extensions. Some take twenty seconds to start, twice where they speak the older MCP.
const PATIENCE: Duration = Duration::from_secs(60);

/// Decides whether an extension may use the model.
#[async_trait]
pub trait Consent: Send + Sync {
    /// Returns whether the extension may ask the model this.
    async fn allow_sampling(&self, extension: &str, request: &Sampling) -> bool;
}

/// The model that extensions may ask.
#[derive(Clone)]
pub(super) struct SamplingModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) consent: Arc<dyn Consent>,
    /// Identity of this pair. Calls with the same one share their answers.
    pub(super) id: CallerId,
}

/// Settings of a manager.
#[derive(Clone)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// The pool, and what surrounds the services in it; by default the process's own.
    pub(super) pool: Option<(Arc<ServicePool>, BindingContext)>,
    /// The time that a list waits for extensions that are not known yet, or that do not answer; `None` until they have
    /// started, answered or failed, which a login can hold up for minutes.
    pub patience: Option<Duration>,
    pub(super) sampling: Option<SamplingModel>,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self { pool: None, patience: Some(PATIENCE), sampling: None }
    }
}

impl ManagerOptions {
    /// Uses a pool of the program's own, with services in this context.
    pub fn in_pool(pool: Arc<ServicePool>, context: BindingContext) -> Self {
        Self { pool: Some((pool, context)), ..Self::default() }
    }

    /// Bounds how long a list of tools waits.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Waits for all extensions, however long they take to start.
    pub fn with_endless_patience(mut self) -> Self {
        self.patience = None;
        self
    }

    /// Lets extensions ask a model, each time with consent. Without this, only a caller that answers such questions
    /// itself is asked.
    pub fn with_sampling(mut self, model: Arc<dyn Model>, consent: Arc<dyn Consent>) -> Self {
        self.sampling = Some(SamplingModel { model, consent, id: CallerId::unique() });
        self
    }
}
