//! [`Settings`] as the providers need them: where they look for addresses and keys, and what the user says of models.

use std::sync::Arc;

use goose_providers::{ApiKey, CustomProviders, LookedUp, Lookup, LookupError, ModelOverrides, Registry};

use super::{ConfigError, Secrets as _, Settings, SettingsSource};

impl Lookup for Settings {
    fn value(&self, name: &str) -> LookedUp<String> {
        self.get::<String>(name).map_err(unknown)
    }

    fn secret(&self, name: &str) -> LookedUp<ApiKey> {
        let found = self.secrets().get(name).map_err(unknown)?;
        Ok(found.map(|secret| ApiKey::new(secret.expose())))
    }
}

/// The keyring is asked last: one that does not answer has hidden nothing that is known to be there.
fn unknown(error: ConfigError) -> LookupError {
    match error {
        ConfigError::Keyring(_) => LookupError::NoAnswer(error.to_string()),
        error => LookupError::Unreadable(error.to_string()),
    }
}

impl SettingsSource {
    /// Reads the user's descriptions of services.
    pub(super) fn registry(&self) -> Registry {
        let custom = CustomProviders::load(&self.paths.custom_providers());
        for problem in &custom.problems {
            tracing::warn!(%problem, "a custom provider is left out");
        }
        let registry = Registry::new(custom);
        self.factories.iter().fold(registry, |registry, factory| registry.with_factory(Arc::clone(factory)))
    }
}

impl Settings {
    /// What the user says of models: `GOOSE_CONTEXT_LIMIT`, and the mapping `models:`.
    pub fn model_overrides(&self) -> Result<ModelOverrides, ConfigError> {
        Ok(ModelOverrides {
            context_limit: self.get("GOOSE_CONTEXT_LIMIT")?,
            models: self.get("models")?.unwrap_or_default(),
        })
    }
}
