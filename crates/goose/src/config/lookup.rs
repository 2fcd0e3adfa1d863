//! [`Settings`] as the providers need them: where they look for addresses and keys, and what the user says of models.

use goose_providers::{ApiKey, CustomProviders, Lookup, ModelOverrides, Registry};

use super::{ConfigError, Secrets as _, Settings};

/// What cannot be read counts as not set, and is said in the log: the error about what is missing names the places.
impl Lookup for Settings {
    fn value(&self, name: &str) -> Option<String> {
        known(name, self.get::<String>(name))
    }

    fn secret(&self, name: &str) -> Option<ApiKey> {
        known(name, self.secrets().get(name)).map(|secret| ApiKey::new(secret.expose()))
    }
}

impl Settings {
    /// The services that the user describes in `custom_providers`. The folder is read now.
    pub fn custom_providers(&self) -> CustomProviders {
        CustomProviders::load(&self.paths().custom_providers())
    }

    /// All services: those that goose knows, and the user's own. Their folder is read now; what cannot be read there is
    /// left out, and said in the log.
    pub fn registry(&self) -> Registry {
        let custom = self.custom_providers();
        for problem in &custom.problems {
            tracing::warn!(%problem, "a custom provider is left out");
        }
        Registry::new(custom.providers)
    }

    /// What the user says of models: `GOOSE_CONTEXT_LIMIT`, and the mapping `models:`.
    pub fn model_overrides(&self) -> Result<ModelOverrides, ConfigError> {
        Ok(ModelOverrides {
            context_limit: self.get("GOOSE_CONTEXT_LIMIT")?,
            models: self.get("models")?.unwrap_or_default(),
        })
    }
}

fn known<T>(name: &str, found: Result<Option<T>, ConfigError>) -> Option<T> {
    found.unwrap_or_else(|error| {
        tracing::warn!(name, %error, "this cannot be looked up");
        None
    })
}
