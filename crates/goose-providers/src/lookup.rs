//! [`Lookup`]: where the registry finds what the user has set. The core reads no environment of its own.

use std::collections::{BTreeMap, HashMap};

use crate::api_key::ApiKey;

/// What the user has set, by name. Programs give their configuration; a plain map will do.
pub trait Lookup {
    /// A setting, such as `OPENAI_HOST`.
    fn value(&self, name: &str) -> Option<String>;

    /// A secret, such as `OPENAI_API_KEY`.
    fn secret(&self, name: &str) -> Option<ApiKey>;
}

impl Lookup for BTreeMap<String, String> {
    fn value(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }

    fn secret(&self, name: &str) -> Option<ApiKey> {
        self.get(name).map(ApiKey::new)
    }
}

impl Lookup for HashMap<String, String> {
    fn value(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }

    fn secret(&self, name: &str) -> Option<ApiKey> {
        self.get(name).map(ApiKey::new)
    }
}
