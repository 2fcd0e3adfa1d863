//! From a profile to the models that are asked.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Model, Sampled, Sampling, ToolError, ToolResult};
use goose_providers::{ModelOverrides, ModelRef, Provider, SetupError};

use super::OpenError;
use crate::{
    config::{Profile, Settings},
    exchange::ModelSource,
    platform::ProviderModel,
};

/// The setting with the user's corrections of what goose knows about models.
const MODELS: &str = "models";

/// The models of a conversation, and where others come from.
pub(super) struct Models {
    /// The working model.
    pub(super) processor: Arc<dyn Provider>,
    /// The fast model; the working one where there is no other.
    pub(super) accelerator: Arc<dyn Provider>,
    pub(super) source: Arc<dyn ModelSource>,
}

impl Models {
    /// The models of a profile, or the given ones in their place. What they need is fetched, with the person's consent.
    pub(super) async fn open(
        settings: &Settings,
        profile: &Profile,
        given: Option<(Arc<dyn Provider>, Arc<dyn Provider>)>,
    ) -> Result<Self, OpenError> {
        let overrides =
            ModelOverrides { models: settings.get(MODELS)?.unwrap_or_default(), ..ModelOverrides::default() };
        let source = Source {
            settings: settings.clone(),
            overrides: ModelOverrides { context_limit: profile.context_limit, ..overrides.clone() },
        };
        let (processor, accelerator) = match given {
            Some(given) => given,
            None => source.of_profile(profile, &overrides).await?,
        };
        Ok(Self { processor, accelerator, source: Arc::new(source) })
    }
}

/// The models that can be had with some settings.
struct Source {
    settings: Settings,
    /// The user's corrections for working models.
    overrides: ModelOverrides,
}

impl Source {
    async fn of_profile(
        &self,
        profile: &Profile,
        overrides: &ModelOverrides,
    ) -> Result<(Arc<dyn Provider>, Arc<dyn Provider>), OpenError> {
        let registry = self.settings.registry();
        let model = profile.processor.as_ref().ok_or(OpenError::NoModel)?;
        registry.fetch(model, &self.settings).await?;
        let processor = self.provider(model.clone(), self.overrides.clone()).await?;
        let fast = profile.accelerator.clone().map(|fast| match model.provider() {
            Some(service) => fast.or_provider(service),
            None => fast,
        });
        let accelerator = match fast {
            // The same model need not be there twice.
            Some(fast) if fast != *model => {
                registry.fetch(&fast, &self.settings).await?;
                self.provider(fast, overrides.clone()).await?
            }
            _ => Arc::clone(&processor),
        };
        Ok((processor, accelerator))
    }

    async fn provider(
        &self,
        model: ModelRef,
        overrides: ModelOverrides,
    ) -> Result<Arc<dyn Provider>, SetupError> {
        let build = move |settings: &Settings| settings.registry().provider(&model, settings, &overrides);
        self.settings.look_up(build).await
    }
}

#[async_trait]
impl ModelSource for Source {
    async fn find(&self, name: &str, in_use: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        let model = self.settings.registry().parse_model(name, in_use);
        self.provider(model, self.overrides.clone()).await
    }
}

/// The working model of the configuration, for extensions outside of a session. It is looked for when it is asked.
pub(super) struct ConfiguredModel(pub(super) Settings);

#[async_trait]
impl Model for ConfiguredModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let Self(settings) = self;
        let open = async { Models::open(settings, &settings.profile(None)?, None).await };
        let models = open.await.map_err(|error: OpenError| {
            let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
            ToolError::execution(format!("No model can be asked: {error}{hint}"))
        })?;
        ProviderModel::new(models.processor).sample(request).await
    }
}
