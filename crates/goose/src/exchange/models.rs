//! The models of a profile: from their names to somebody who can be asked.

use std::sync::Arc;

use goose_providers::{CustomProviders, ModelOverrides, ModelRef, Provider, Registry};

use super::builder::BuildError;
use crate::config::{Profile, Settings};

/// The folder of the services that people describe themselves.
const CUSTOM_PROVIDERS: &str = "custom_providers";

/// The setting with what people know better of models than goose.
const MODELS: &str = "models";

/// The models that can be had with some settings.
pub(super) struct Models<'a> {
    settings: &'a Settings,
    registry: Registry,
    overrides: ModelOverrides,
}

impl<'a> Models<'a> {
    /// # Errors
    ///
    /// Where the settings about models cannot be read.
    pub(super) fn new(settings: &'a Settings) -> Result<Self, BuildError> {
        let custom = CustomProviders::load(&settings.paths().config.join(CUSTOM_PROVIDERS));
        for problem in &custom.problems {
            tracing::warn!(%problem, "a description of a service is left out");
        }
        let overrides =
            ModelOverrides { models: settings.get(MODELS)?.unwrap_or_default(), ..ModelOverrides::default() };
        Ok(Self { settings, registry: Registry::new(custom.providers), overrides })
    }

    /// The model that works.
    pub(super) fn processor(&self, profile: &Profile) -> Result<Arc<dyn Provider>, BuildError> {
        let model = profile.processor.clone().ok_or(BuildError::NoModel)?;
        self.provider(
            &model,
            ModelOverrides { context_limit: profile.context_limit, ..self.overrides.clone() },
        )
    }

    /// The fast model, where the profile has one; at the working model's service, unless it says another.
    pub(super) fn accelerator(&self, profile: &Profile) -> Result<Option<Arc<dyn Provider>>, BuildError> {
        let Some(mut model) = profile.accelerator.clone() else { return Ok(None) };
        if let Some(service) = profile.processor.as_ref().and_then(ModelRef::provider) {
            model = model.or_provider(service);
        }
        self.provider(&model, self.overrides.clone()).map(Some)
    }

    fn provider(&self, model: &ModelRef, overrides: ModelOverrides) -> Result<Arc<dyn Provider>, BuildError> {
        let model = self.with_default(model);
        Ok(self.registry.provider(&model, self.settings, &overrides)?)
    }

    /// A service without a model means the one that it is known for.
    fn with_default(&self, model: &ModelRef) -> ModelRef {
        let known = model.provider().filter(|_| model.model().is_empty());
        let default = known.and_then(|name| Some((name, self.registry.info(name)?.default_model.clone()?)));
        match default {
            Some((name, default)) => ModelRef::new(name, default),
            None => model.clone(),
        }
    }
}
