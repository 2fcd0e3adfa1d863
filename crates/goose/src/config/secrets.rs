//! Values that must not be seen, by name.

use std::{collections::BTreeMap, fmt};

use super::ConfigError;

/// A value that never prints. Its only way out is [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that needs it: a child's environment, a request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where secrets are looked up.
pub trait Secrets: Send + Sync {
    /// The secret of that name, `None` where there is none. An error where the place cannot be read.
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError>;
}

/// Secrets in environment variables. A variable that is empty counts as not set.
#[derive(Clone, Default)]
pub struct EnvSecrets {
    variables: BTreeMap<String, Secret>,
}

impl EnvSecrets {
    /// The variables of this process, as they are now. For programs; everything else is told.
    pub fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for EnvSecrets {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), Secret::new(value)));
        Self { variables: variables.filter(|(_, value)| !value.expose().is_empty()).collect() }
    }
}

impl fmt::Debug for EnvSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvSecrets({} variables)", self.variables.len())
    }
}

impl Secrets for EnvSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.variables.get(name).cloned())
    }
}

/// Several places, asked one after another; the first that knows the name answers. A place that cannot be read
/// ends the search, because a later one might have an older value.
///
/// ```
/// # use goose::config::{EnvSecrets, FileSecrets, SecretChain};
/// let secrets = SecretChain::default().then(EnvSecrets::from_process()).then(FileSecrets::new("secrets.yaml"));
/// ```
#[derive(Default)]
pub struct SecretChain {
    places: Vec<Box<dyn Secrets>>,
}

impl SecretChain {
    /// Asks this place after the others.
    pub fn then(mut self, place: impl Secrets + 'static) -> Self {
        self.places.push(Box::new(place));
        self
    }
}

impl fmt::Debug for SecretChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretChain({} places)", self.places.len())
    }
}

impl Secrets for SecretChain {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        for place in &self.places {
            if let Some(secret) = place.get(name)? {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }
}
