//! Opens the models of a profile.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Model, Sampled, Sampling, ToolError, ToolResult};
use goose_providers::{ModelOverrides, ModelRef, Provider, ProviderModel, SetupError};

use super::{OpenError, OpenOptions};
use crate::{
    config::{Profile, Settings},
    exchange::{ActiveModels, Failure, ModelSource, prepare},
};

/// Setting with the user's corrections of model metadata.
const MODELS: &str = "models";

/// Models of a conversation: the working model and the fast model. Both are the same if there is only one.
type Pair = (Arc<dyn Provider>, Arc<dyn Provider>);

/// Opens the models of the options, or of the profile. Missing files are fetched with the user's consent. A
/// session with an external agent opens no model before it is needed.
pub(super) async fn open_models(
    settings: &Settings,
    options: &OpenOptions,
) -> Result<ActiveModels, OpenError> {
    let profile = &options.profile;
    let overrides =
        ModelOverrides { models: settings.get(MODELS)?.unwrap_or_default(), ..ModelOverrides::default() };
    let source = Source { settings: settings.clone(), profile: profile.clone(), overrides };
    let (processor, accelerator) = match options.models.clone() {
        Some(given) => given,
        None if options.agent.manifest.connection.is_some() => {
            let name = profile.processor.clone().unwrap_or_else(|| ModelRef::new("none", "none"));
            return Ok(ActiveModels::unopened(&name, Arc::new(source)));
        }
        None => source.of_profile().await?,
    };
    prepare(&processor);
    Ok(ActiveModels::new(processor, accelerator, Arc::new(source)))
}

/// Settings and profile that models are opened from.
struct Source {
    settings: Settings,
    profile: Profile,
    /// The user's corrections of model metadata.
    overrides: ModelOverrides,
}

impl Source {
    /// Returns the corrections for working models.
    fn of_working_model(&self) -> ModelOverrides {
        ModelOverrides { context_limit: self.profile.context_limit, ..self.overrides.clone() }
    }

    async fn of_profile(&self) -> Result<Pair, OpenError> {
        let (profile, registry) = (&self.profile, self.settings.registry());
        let model = profile.processor.as_ref().ok_or(OpenError::NoModel)?;
        registry.fetch(model, &self.settings).await?;
        let processor = self.provider(model.clone(), self.of_working_model()).await?;
        let fast = profile.accelerator.clone().map(|fast| match model.provider() {
            Some(service) => fast.or_provider(service),
            None => fast,
        });
        let accelerator = match fast {
            // A fast model that equals the working model is not opened twice.
            Some(fast) if fast != *model => {
                registry.fetch(&fast, &self.settings).await?;
                self.provider(fast, self.overrides.clone()).await?
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
        self.provider(model, self.of_working_model()).await
    }

    async fn configured(&self) -> Result<Pair, Failure> {
        self.of_profile().await.map_err(|error| Failure { message: error.to_string(), hint: error.hint() })
    }
}

/// The configured working model, for extensions outside of a session. It is opened when it is first asked.
pub(super) struct ConfiguredModel(pub(super) Settings);

#[async_trait]
impl Model for ConfiguredModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let Self(settings) = self;
        let open = async { open_models(settings, &OpenOptions::new(settings.profile(None)?)).await };
        let models = open.await.map_err(|error: OpenError| {
            let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
            ToolError::execution(format!("No model can be asked: {error}{hint}"))
        })?;
        ProviderModel::new(models.pair().0).sample(request).await
    }
}
