//! [`InUse`]: the models that are asked now, and changing them while the conversation goes on.

use std::sync::{Arc, PoisonError, RwLock};

use goose_providers::{ModelRef, Provider};

use super::{assemble::prepare, builder::BuildError, core::Core, handle::Exchange, models::Models};
use crate::config::Settings;

/// Models that a program has besides those of services, such as one inside it.
pub trait OwnModels: Send + Sync {
    /// What they are called as a service.
    fn service(&self) -> &str;

    /// The model of that name; the usual one where the name is empty.
    ///
    /// # Errors
    ///
    /// Why it cannot be asked, and what to do about it.
    fn model(&self, name: &str) -> Result<Arc<dyn Provider>, String>;
}

/// The working model and the fast one.
#[derive(Clone)]
struct Pair {
    processor: Arc<dyn Provider>,
    accelerator: Arc<dyn Provider>,
}

/// The models of an exchange, and what others are made with.
pub(super) struct InUse {
    now: RwLock<Pair>,
    settings: Settings,
    /// How many tokens fit into the context, where a person says it.
    context_limit: Option<u64>,
    own: Option<Arc<dyn OwnModels>>,
}

impl InUse {
    pub(super) fn new(
        processor: Arc<dyn Provider>,
        accelerator: Arc<dyn Provider>,
        settings: Settings,
        context_limit: Option<u64>,
    ) -> Self {
        Self { now: RwLock::new(Pair { processor, accelerator }), settings, context_limit, own: None }
    }

    pub(super) fn with_own(self, own: Option<Arc<dyn OwnModels>>) -> Self {
        Self { own, ..self }
    }

    fn now(&self) -> Pair {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model that a person means by a name.
    fn named(&self, name: &str, in_use: &ModelRef) -> Result<Arc<dyn Provider>, BuildError> {
        let models = Models::new(&self.settings)?;
        let own = self.own.as_deref();
        let model = models.named(name, in_use, own.map(OwnModels::service));
        match own.filter(|own| model.provider() == Some(own.service())) {
            Some(own) => own.model(model.model()).map_err(BuildError::OwnModel),
            None => models.working(&model, self.context_limit),
        }
    }

    /// Where there is no fast model of its own, the new one is that, too.
    fn replace(&self, processor: Arc<dyn Provider>) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&now.processor, &now.accelerator) {
            now.accelerator = Arc::clone(&processor);
        }
        now.processor = processor;
    }
}

impl Core {
    /// The working model.
    pub(super) fn processor(&self) -> Arc<dyn Provider> {
        self.models.now().processor
    }

    /// The fast model, for what is not the work itself; the working one where there is no other.
    pub(super) fn accelerator(&self) -> Arc<dyn Provider> {
        self.models.now().accelerator
    }
}

impl Exchange {
    /// The working model.
    pub fn model(&self) -> ModelRef {
        let processor = self.core.processor();
        ModelRef::new(processor.name(), processor.model().name.as_str())
    }

    /// Goes on with another working model: `service:model`, or a model of the service in use. Waits for a reply that is
    /// being made.
    ///
    /// # Errors
    ///
    /// Where it cannot be asked, because the service is unknown or its key is missing; the model stays as it was.
    pub async fn set_model(&self, name: &str) -> Result<ModelRef, BuildError> {
        let processor = self.core.models.named(name, &self.model())?;
        let state = self.core.state.lock().await;
        prepare(&processor);
        self.core.models.replace(processor);
        drop(state);
        Ok(self.model())
    }
}
