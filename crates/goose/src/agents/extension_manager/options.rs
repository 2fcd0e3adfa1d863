//! Settings of an extension manager.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goose_extension::{CallerId, Model, Sampling};

use crate::services::{BindingContext, ServicePool};

/// Default time that a list waits for extensions. Some take twenty seconds to start, and twice that if they
/// speak the older MCP.
const PATIENCE: Duration = Duration::from_secs(60);

/// Decides whether an extension may use the model.
#[async_trait]
pub trait Consent: Send + Sync {
    /// Returns true if the extension may send this request to the model.
    async fn allow_sampling(&self, extension: &str, request: &Sampling) -> bool;
}

/// Model for the sampling requests of extensions.
#[derive(Clone)]
pub(super) struct SamplingModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) consent: Arc<dyn Consent>,
    /// Identity of this model and consent. Calls with the same identity share their answers.
    pub(super) id: CallerId,
}

/// Settings of a manager.
#[derive(Clone)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// Service pool, with the context that its services are bound in. `None` uses the shared pool of the
    /// process.
    pub(super) pool: Option<(Arc<ServicePool>, BindingContext)>,
    /// Time that a list waits for extensions that are not known yet or do not answer. `None` waits until they
    /// have started, answered or failed, which may take minutes if a login is required.
    pub patience: Option<Duration>,
    pub(super) sampling: Option<SamplingModel>,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self { pool: None, patience: Some(PATIENCE), sampling: None }
    }
}

impl ManagerOptions {
    /// Uses the given pool, with services in this context.
    pub fn in_pool(pool: Arc<ServicePool>, context: BindingContext) -> Self {
        Self { pool: Some((pool, context)), ..Self::default() }
    }

    /// Limits the time that a list of tools waits.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Waits for all extensions without a time limit.
    pub fn with_endless_patience(mut self) -> Self {
        self.patience = None;
        self
    }

    /// Lets extensions ask a model, with consent for each request. Otherwise only a caller that supports
    /// sampling is asked.
    pub fn with_sampling(mut self, model: Arc<dyn Model>, consent: Arc<dyn Consent>) -> Self {
        self.sampling = Some(SamplingModel { model, consent, id: CallerId::unique() });
        self
    }
}
