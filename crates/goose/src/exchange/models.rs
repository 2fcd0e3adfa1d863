//! [`ActiveModels`]: the models that an exchange asks, and changing them while the conversation goes on.

use std::sync::{Arc, PoisonError, RwLock};

use goose_providers::{ModelOverrides, ModelRef, Provider};

use super::{builder::BuildError, core::Core, handle::Exchange};
use crate::config::{Profile, Settings};

/// The setting with what people know better of models than goose.
const MODELS: &str = "models";

/// The working model and the fast one, which are the same where there is no other.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) processor: Arc<dyn Provider>,
    pub(super) accelerator: Arc<dyn Provider>,
}

impl Pair {
    /// The models of a profile. What they need is fetched, with the person's consent.
    pub(super) async fn open(settings: &Settings, profile: &Profile) -> Result<Self, BuildError> {
        let registry = settings.registry();
        let model = profile.processor.as_ref().ok_or(BuildError::NoModel)?;
        registry.fetch(model, settings).await?;
        let processor = working(settings, model, profile.context_limit)?;
        let fast = profile.accelerator.clone().map(|fast| match model.provider() {
            Some(service) => fast.or_provider(service),
            None => fast,
        });
        let accelerator = match fast {
            // The same model need not be there twice.
            Some(fast) if fast != *model => {
                registry.fetch(&fast, settings).await?;
                registry.provider(&fast, settings, &overrides(settings)?)?
            }
            _ => Arc::clone(&processor),
        };
        Ok(Self { processor, accelerator })
    }
}

fn overrides(settings: &Settings) -> Result<ModelOverrides, BuildError> {
    Ok(ModelOverrides { models: settings.get(MODELS)?.unwrap_or_default(), ..ModelOverrides::default() })
}

/// A working model, with the context that a person says it has.
fn working(
    settings: &Settings,
    model: &ModelRef,
    context_limit: Option<u64>,
) -> Result<Arc<dyn Provider>, BuildError> {
    let overrides = ModelOverrides { context_limit, ..overrides(settings)? };
    Ok(settings.registry().provider(model, settings, &overrides)?)
}

/// The models of an exchange, and what others are made with.
pub(super) struct ActiveModels {
    now: RwLock<Pair>,
    settings: Settings,
    /// How many tokens fit into the context, where a person says it.
    context_limit: Option<u64>,
}

impl ActiveModels {
    pub(super) fn new(now: Pair, settings: Settings, context_limit: Option<u64>) -> Self {
        Self { now: RwLock::new(now), settings, context_limit }
    }

    fn now(&self) -> Pair {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model that a person means by a name. Nothing is fetched.
    fn find(&self, name: &str, in_use: &ModelRef) -> Result<Arc<dyn Provider>, BuildError> {
        let model = self.settings.registry().parse_model(name, in_use);
        working(&self.settings, &model, self.context_limit)
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

    /// Continues with another working model: `service:model`, or a model of the service in use. Waits for a reply that is
    /// being made.
    ///
    /// # Errors
    ///
    /// Where it cannot be asked, because the service is unknown or its key is missing; the model stays as it was.
    pub async fn set_model(&self, name: &str) -> Result<ModelRef, BuildError> {
        let processor = self.core.models.find(name, &self.model())?;
        let state = self.core.state.lock().await;
        prepare(&processor);
        self.core.models.replace(processor);
        drop(state);
        Ok(self.model())
    }
}

/// Lets the model's connection be made ready while everything else is.
pub(super) fn prepare(processor: &Arc<dyn Provider>) {
    let processor = Arc::clone(processor);
    tokio::task::spawn_blocking(move || processor.prepare());
}
