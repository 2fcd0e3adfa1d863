//! [`ActiveModels`]: the models of an exchange, which can be changed while it is open. Tools use them through
//! [`SamplingModel`].

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Model, Sampled, Sampling, ToolError, ToolResult};
use goose_providers::{
    ModelInfo, ModelRef, Provider, ProviderError, ProviderModel, ProviderResult, ReplyStream, Request,
    SetupError, model_info,
};
use parking_lot::RwLock;

use super::{event::Failure, handle::Exchange, loop_context::LoopContext, usage_ledger::UsageLedger};

/// Source of models for an open conversation.
#[async_trait]
pub(crate) trait ModelSource: Send + Sync {
    /// Returns the model of a name that the user gave while another one is in use. Does not download
    /// anything.
    async fn find(&self, name: &str, in_use: &ModelRef) -> Result<Arc<dyn Provider>, SetupError>;

    /// Returns the working model and the fast model of the configuration. Downloads what they need.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if no model is configured or available.
    async fn configured(&self) -> Result<(Arc<dyn Provider>, Arc<dyn Provider>), Failure>;
}

/// Working model and fast model, which are the same if only one is configured.
#[derive(Clone)]
struct Pair {
    processor: Arc<dyn Provider>,
    accelerator: Arc<dyn Provider>,
    /// False for placeholders that only have a name, before the first use.
    is_open: bool,
}

/// Models that were replaced, to be restored.
pub(crate) struct EarlierModels(Pair);

/// Models of an exchange. Clones share them.
#[derive(Clone)]
pub(crate) struct ActiveModels {
    now: Arc<RwLock<Pair>>,
    source: Arc<dyn ModelSource>,
    /// Held while the models are opened.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl ActiveModels {
    pub(crate) fn new(
        processor: Arc<dyn Provider>,
        accelerator: Arc<dyn Provider>,
        source: Arc<dyn ModelSource>,
    ) -> Self {
        Self {
            now: Arc::new(RwLock::new(Pair { processor, accelerator, is_open: true })),
            source,
            opening: Arc::default(),
        }
    }

    /// Creates placeholders for a session that may need no model. They are opened before the first request.
    pub(crate) fn unopened(name: &ModelRef, source: Arc<dyn ModelSource>) -> Self {
        let provider = name.provider().unwrap_or_default().to_owned();
        let model: Arc<dyn Provider> = Arc::new(UnopenedModel { provider, info: model_info(name.model()) });
        let pair = Pair { processor: Arc::clone(&model), accelerator: model, is_open: false };
        Self { now: Arc::new(RwLock::new(pair)), source, opening: Arc::default() }
    }

    /// Opens the models if they are not open yet.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if no model is configured or available.
    pub(crate) async fn open(&self) -> Result<(), Failure> {
        if self.now.read().is_open {
            return Ok(());
        }
        let _opening = self.opening.lock().await;
        if self.now.read().is_open {
            return Ok(());
        }
        let (processor, accelerator) = self.source.configured().await?;
        prepare(&processor);
        *self.now.write() = Pair { processor, accelerator, is_open: true };
        Ok(())
    }

    fn now(&self) -> Pair {
        self.now.read().clone()
    }

    pub(super) fn processor(&self) -> Arc<dyn Provider> {
        self.now().processor
    }

    /// Replaces the working model only. Returns the earlier models.
    pub(crate) fn swap_processor(&self, processor: Arc<dyn Provider>) -> EarlierModels {
        let mut now = self.now.write();
        let before = now.clone();
        (now.processor, now.is_open) = (processor, true);
        EarlierModels(before)
    }

    /// Restores earlier models.
    pub(crate) fn restore(&self, EarlierModels(before): EarlierModels) {
        *self.now.write() = before;
    }

    /// Returns the working model and the fast model.
    pub(crate) fn pair(&self) -> (Arc<dyn Provider>, Arc<dyn Provider>) {
        let Pair { processor, accelerator, .. } = self.now();
        (processor, accelerator)
    }

    /// Returns the model of a name: `service:model`, or a model of the service in use.
    pub(crate) async fn find(&self, name: &str) -> Result<Arc<dyn Provider>, SetupError> {
        self.source.find(name, &self.in_use()).await
    }

    /// Returns the working model's name.
    pub(crate) fn in_use(&self) -> ModelRef {
        let processor = self.now().processor;
        ModelRef::new(processor.name(), processor.model().name.as_str())
    }

    /// Replaces the working model, and the fast model if both are the same.
    fn replace(&self, processor: Arc<dyn Provider>) {
        let mut now = self.now.write();
        if Arc::ptr_eq(&now.processor, &now.accelerator) {
            now.accelerator = Arc::clone(&processor);
        }
        now.processor = processor;
        now.is_open = true;
    }
}

/// Placeholder for a model that was not opened yet.
struct UnopenedModel {
    provider: String,
    info: ModelInfo,
}

#[async_trait]
impl Provider for UnopenedModel {
    fn name(&self) -> &str {
        &self.provider
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(&self, _: Request<'_>) -> ProviderResult<ReplyStream> {
        Err(ProviderError::Refused { status: None, message: "the model is not open".to_owned() })
    }
}

impl LoopContext {
    /// Returns the working model.
    pub(crate) fn processor(&self) -> Arc<dyn Provider> {
        self.models.processor()
    }

    /// Returns the working model for short requests outside of the conversation, charged to the session.
    pub(crate) fn sampling_model(&self) -> SessionModel {
        SessionModel::new(&self.models, &self.usage)
    }

    /// Returns the fast model for such requests, if it differs from the working model.
    pub(crate) fn fast_model(&self) -> Option<SamplingModel> {
        let (processor, model) = self.models.pair();
        let is_other = !Arc::ptr_eq(&processor, &model);
        is_other.then(|| SamplingModel { model, usage: Arc::clone(&self.usage) })
    }

    /// Returns the fast model for secondary work, or the working model if only one is configured.
    pub(super) fn accelerator(&self) -> Arc<dyn Provider> {
        self.models.now().accelerator
    }
}

impl Exchange {
    /// Returns the name of the working model.
    pub fn model(&self) -> ModelRef {
        self.context.models.in_use()
    }

    /// Continues with another working model: `service:model`, or a model of the service in use. Waits for a
    /// running reply.
    ///
    /// # Errors
    ///
    /// Fails if the service is unknown or its key is missing. The current model stays.
    pub async fn set_model(&self, name: &str) -> Result<ModelRef, SetupError> {
        let processor = self.context.models.find(name).await?;
        let state = self.context.conversation.state.lock().await;
        prepare(&processor);
        self.context.models.replace(processor);
        drop(state);
        Ok(self.model())
    }
}

/// Prepares the model's connection in the background.
pub(crate) fn prepare(processor: &Arc<dyn Provider>) {
    let processor = Arc::clone(processor);
    tokio::task::spawn_blocking(move || processor.prepare());
}

/// Model that tools may use. Its usage is charged to the session.
pub(crate) struct SamplingModel {
    model: Arc<dyn Provider>,
    usage: Arc<UsageLedger>,
}

#[async_trait]
impl Model for SamplingModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let (provider, ledger) = (Arc::clone(&self.model), Arc::clone(&self.usage));
        let model = ProviderModel::new(Arc::clone(&self.model));
        model.on_usage(move |usage| ledger.add(provider.as_ref(), usage)).sample(request).await
    }
}

/// Current working model of a session.
pub(crate) struct SessionModel {
    models: ActiveModels,
    usage: Arc<UsageLedger>,
}

impl SessionModel {
    pub(super) fn new(models: &ActiveModels, usage: &Arc<UsageLedger>) -> Self {
        Self { models: models.clone(), usage: Arc::clone(usage) }
    }
}

#[async_trait]
impl Model for SessionModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        self.models.open().await.map_err(|failure| ToolError::execution(failure.message))?;
        let (model, usage) = (self.models.processor(), Arc::clone(&self.usage));
        SamplingModel { model, usage }.sample(request).await
    }
}
