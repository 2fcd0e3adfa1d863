//! [`ActiveModels`]: the models that an exchange asks, and changing them in an open conversation.

use std::sync::Arc;

use async_trait::async_trait;
use goose_providers::{
    ModelInfo, ModelRef, Provider, ProviderError, ProviderResult, ReplyStream, Request, SetupError,
    model_info,
};
use parking_lot::RwLock;

use super::{
    event::Failure,
    handle::Exchange,
    loop_context::LoopContext,
    usage_ledger::{SamplingModel, SessionModel},
};

/// The source of models for an open conversation.
#[async_trait]
pub(crate) trait ModelSource: Send + Sync {
    /// The model that a person means by a name while another one is in use. Nothing is fetched.
    async fn find(&self, name: &str, in_use: &ModelRef) -> Result<Arc<dyn Provider>, SetupError>;

    /// The working model and the fast one of the configuration. What they need is fetched.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if there is none, or it cannot be had.
    async fn configured(&self) -> Result<(Arc<dyn Provider>, Arc<dyn Provider>), Failure>;
}

/// The working model and the fast one, which are the same where there is no other.
#[derive(Clone)]
struct Pair {
    processor: Arc<dyn Provider>,
    accelerator: Arc<dyn Provider>,
    /// False while nothing has needed a model: then these only have a name.
    is_open: bool,
}

/// The models before others were put in their place.
pub(crate) struct EarlierModels(Pair);

/// The models of an exchange. Clones are the same.
#[derive(Clone)]
pub(crate) struct ActiveModels {
    now: Arc<RwLock<Pair>>,
    source: Arc<dyn ModelSource>,
    /// Held while they are opened.
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

    /// The models of a session that may need none: they are opened with the first question.
    pub(crate) fn unopened(name: &ModelRef, source: Arc<dyn ModelSource>) -> Self {
        let provider = name.provider().unwrap_or_default().to_owned();
        let model: Arc<dyn Provider> = Arc::new(UnopenedModel { provider, info: model_info(name.model()) });
        let pair = Pair { processor: Arc::clone(&model), accelerator: model, is_open: false };
        Self { now: Arc::new(RwLock::new(pair)), source, opening: Arc::default() }
    }

    /// Opens the models, where that was not done yet.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if there is none, or it cannot be had.
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

    /// Puts another working model in the place of the present one. The fast one stays.
    pub(crate) fn swap_processor(&self, processor: Arc<dyn Provider>) -> EarlierModels {
        let mut now = self.now.write();
        let before = now.clone();
        (now.processor, now.is_open) = (processor, true);
        EarlierModels(before)
    }

    /// Goes back to earlier models.
    pub(crate) fn restore(&self, EarlierModels(before): EarlierModels) {
        *self.now.write() = before;
    }

    /// The working model and the fast one.
    pub(crate) fn pair(&self) -> (Arc<dyn Provider>, Arc<dyn Provider>) {
        let Pair { processor, accelerator, .. } = self.now();
        (processor, accelerator)
    }

    /// The model of a name: `service:model`, or a model of the service in use.
    pub(crate) async fn find(&self, name: &str) -> Result<Arc<dyn Provider>, SetupError> {
        self.source.find(name, &self.in_use()).await
    }

    /// The working model's name.
    pub(crate) fn in_use(&self) -> ModelRef {
        let processor = self.now().processor;
        ModelRef::new(processor.name(), processor.model().name.as_str())
    }

    /// Replaces the working model, and the fast one if that is the same.
    fn replace(&self, processor: Arc<dyn Provider>) {
        let mut now = self.now.write();
        if Arc::ptr_eq(&now.processor, &now.accelerator) {
            now.accelerator = Arc::clone(&processor);
        }
        now.processor = processor;
        now.is_open = true;
    }
}

/// The name of a model that nothing has needed yet.
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
    /// The working model.
    pub(crate) fn processor(&self) -> Arc<dyn Provider> {
        self.models.processor()
    }

    /// The working model for short questions beside the conversation, on the session's bill.
    pub(crate) fn sampling_model(&self) -> SessionModel {
        SessionModel { models: self.models.clone(), usage: Arc::clone(&self.usage) }
    }

    /// The fast model for such questions, if it is another one than the working model.
    pub(crate) fn fast_model(&self) -> Option<SamplingModel> {
        let (processor, model) = self.models.pair();
        let is_other = !Arc::ptr_eq(&processor, &model);
        is_other.then(|| SamplingModel { model, usage: Arc::clone(&self.usage) })
    }

    /// The fast model, for what is not the work itself; the working one where there is no other.
    pub(super) fn accelerator(&self) -> Arc<dyn Provider> {
        self.models.now().accelerator
    }
}

impl Exchange {
    /// The working model.
    pub fn model(&self) -> ModelRef {
        self.context.models.in_use()
    }

    /// Continues with another working model: `service:model`, or a model of the service in use. Waits for a reply that is
    /// being made.
    ///
    /// # Errors
    ///
    /// Fails if the service is unknown or its key is missing; the model stays as it was.
    pub async fn set_model(&self, name: &str) -> Result<ModelRef, SetupError> {
        let processor = self.context.models.find(name).await?;
        let state = self.context.conversation.state.lock().await;
        prepare(&processor);
        self.context.models.replace(processor);
        drop(state);
        Ok(self.model())
    }
}

/// Lets the model's connection be made ready while everything else is.
pub(crate) fn prepare(processor: &Arc<dyn Provider>) {
    let processor = Arc::clone(processor);
    tokio::task::spawn_blocking(move || processor.prepare());
}
