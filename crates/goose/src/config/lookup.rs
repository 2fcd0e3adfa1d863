//! [`Settings`] as the place where the providers look for addresses and keys.

use goose_providers::{ApiKey, Lookup};

use super::{Secrets as _, Settings};

/// What cannot be read counts as not set, and is said in the log: the error about what is missing names the places.
impl Lookup for Settings {
    fn value(&self, name: &str) -> Option<String> {
        known(name, self.get::<String>(name))
    }

    fn secret(&self, name: &str) -> Option<ApiKey> {
        known(name, self.secrets().get(name)).map(|secret| ApiKey::new(secret.expose()))
    }
}

fn known<T>(name: &str, found: Result<Option<T>, super::ConfigError>) -> Option<T> {
    found.unwrap_or_else(|error| {
        tracing::warn!(name, %error, "this cannot be looked up");
        None
    })
}
