//! The models of a profile: from their names to somebody who can be asked.

use std::{path::Path, sync::Arc};

use goose_providers::{
    CustomProviderError, CustomProviders, ModelOverrides, ModelRef, Provider, Registry, SetupError,
};

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
    /// The descriptions of services that are left out.
    problems: Vec<CustomProviderError>,
}

impl<'a> Models<'a> {
    /// # Errors
    ///
    /// Where the settings about models cannot be read.
    pub(super) fn new(settings: &'a Settings) -> Result<Self, BuildError> {
        let custom = CustomProviders::load(&settings.paths().config.join(CUSTOM_PROVIDERS));
        let overrides =
            ModelOverrides { models: settings.get(MODELS)?.unwrap_or_default(), ..ModelOverrides::default() };
        let (registry, problems) = (Registry::new(custom.providers), custom.problems);
        Ok(Self { settings, registry, overrides, problems })
    }

    /// What a person should know of the services that they described themselves.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        self.problems.iter().map(|problem| format!("A service cannot be used. {problem}."))
    }

    /// The model that works.
    pub(super) fn processor(&self, profile: &Profile) -> Result<Arc<dyn Provider>, BuildError> {
        let model = profile.processor.as_ref().ok_or(BuildError::NoModel)?;
        self.working(model, profile.context_limit)
    }

    /// A model that works, with the context that a person says it has.
    pub(super) fn working(
        &self,
        model: &ModelRef,
        context_limit: Option<u64>,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        self.provider(model, ModelOverrides { context_limit, ..self.overrides.clone() })
    }

    /// What a person means by a name. What stands before a colon is a service, be it known or not, unless models at the
    /// service in use may have colons in their names: then it must be one. `own` is what the program's own models are
    /// called.
    pub(super) fn named(&self, name: &str, in_use: &ModelRef, own: Option<&str>) -> ModelRef {
        let (name, service) = (name.trim(), in_use.provider().unwrap_or_default());
        let is_service = |other: &str| own == Some(other) || self.is_service(other);
        let may_be_model =
            |other: &str| own == Some(service) || self.has_colons(in_use) || !looks_like_service(other);
        match name.split_once(':') {
            Some((other, model)) if is_service(other) || !may_be_model(other) => ModelRef::new(other, model),
            _ => ModelRef::new(service, name),
        }
    }

    /// Whether models may have colons in their names where this one is.
    fn has_colons(&self, model: &ModelRef) -> bool {
        let known = model.provider().and_then(|service| self.registry.info(service));
        model.model().contains(':')
            || known.is_none_or(|info| info.is_custom || info.models.iter().any(|name| name.contains(':')))
    }

    /// Whether it is a service, or meant to be one.
    fn is_service(&self, name: &str) -> bool {
        self.registry.info(name).is_some() || self.problem(name).is_some()
    }

    /// What is wrong with the person's own description of a service.
    fn problem(&self, service: &str) -> Option<&CustomProviderError> {
        let describes = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(service));
        self.problems.iter().find(|problem| describes(&problem.path))
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
        let provider = self.registry.provider(&model, self.settings, &overrides);
        provider.map_err(|error| self.explained(error))
    }

    /// A service is not unknown where its description is only wrong.
    fn explained(&self, error: SetupError) -> BuildError {
        let SetupError::UnknownProvider { name, .. } = &error else { return error.into() };
        match self.problem(name) {
            Some(problem) => BuildError::Description { name: name.clone(), problem: problem.clone() },
            None => error.into(),
        }
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

/// Whether it is written as services are.
fn looks_like_service(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
