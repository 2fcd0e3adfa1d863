//! [`Settings`] as the providers need them: where they look for addresses and keys, and what the user says of models.

use goose_providers::{ApiKey, CustomProviders, LookedUp, Lookup, LookupError, ModelOverrides, Registry};

use super::{ConfigError, Secrets as _, Settings};

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
