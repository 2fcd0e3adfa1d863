//! [`Secrets`] by name, from the environment, files, or several sources in order.

use std::{
    collections::BTreeMap,
    fmt,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    ConfigError, Place,
    file::read_capped,
    process_environment::text_variables,
    yaml::{self, Pick},
};

/// Value that is never printed. Only [`expose`](Self::expose) returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for the place that needs it: a child's environment, a request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Source of secrets.
pub trait Secrets: Send + Sync {
    /// Returns the secret with this name; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the source cannot be read.
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError>;

    /// Returns true if the next lookup may take seconds, because another program is asked.
    fn may_wait(&self) -> bool {
        false
    }
}

/// Secrets in environment variables. An empty variable counts as not set.
#[derive(Debug, Clone, Default)]
pub struct EnvSecrets(BTreeMap<String, Secret>);

impl EnvSecrets {
    /// Takes the variables of this process, as they are now. For programs; everything else gets them as
    /// arguments.
    pub fn from_process() -> Self {
        text_variables().collect()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for EnvSecrets {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), Secret::new(value)));
        Self(variables.filter(|(_, value)| !value.expose().is_empty()).collect())
    }
}

impl Secrets for EnvSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.0.get(name).cloned())
    }
}

/// Several sources, asked in order; the first that knows the name answers. A source that cannot be read ends
/// the search, because a later one might have an older value.
///
/// ```
/// # use goose_config::{EnvSecrets, FileSecrets, SecretChain};
/// let secrets =
///     SecretChain::default().then(EnvSecrets::from_process()).then(FileSecrets::new("secrets.yaml"));
/// ```
#[derive(Default)]
pub struct SecretChain {
    sources: Vec<Box<dyn Secrets>>,
}

impl SecretChain {
    /// Adds a source, which is asked after the others.
    pub fn then(mut self, source: impl Secrets + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }
}

impl fmt::Debug for SecretChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretChain({} sources)", self.sources.len())
    }
}

impl Secrets for SecretChain {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        for source in &self.sources {
            if let Some(secret) = source.get(name)? {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }

    fn may_wait(&self) -> bool {
        self.sources.iter().any(|source| source.may_wait())
    }
}

/// Maximum size of `secrets.yaml`.
pub const MAX_SECRETS_BYTES: u64 = 1024 * 1024;

/// Secrets in a file. It is read for each lookup, so that a changed secret is used from the next start on,
/// and is never written. Messages about it contain names and lines, never values.
#[derive(Debug)]
pub struct FileSecrets {
    path: PathBuf,
    warned: AtomicBool,
}

impl FileSecrets {
    /// Returns the secrets of a file, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), warned: AtomicBool::new(false) }
    }

    /// Returns whether other users of this machine may read the file.
    pub fn is_readable_by_others(&self) -> bool {
        const GROUP_AND_OTHERS: u32 = 0o077;
        self.path.metadata().is_ok_and(|found| found.permissions().mode() & GROUP_AND_OTHERS != 0)
    }

    fn warn_once(&self) {
        if self.is_readable_by_others() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                path = %self.path.display(),
                "other users of this machine can read the secrets in this file; run 'chmod 600' on it"
            );
        }
    }

    fn malformed(&self, name: &str, error: &serde_saphyr::Error) -> ConfigError {
        let message = format!(
            "cannot look up '{name}': expected 'NAME: value' lines, each with a text; fix this line, \
             goose leaves the file as it is"
        );
        ConfigError::malformed(Place::new(&self.path, yaml::position(error)), message)
    }
}

impl Secrets for FileSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        let Some(text) = read_capped(&self.path, MAX_SECRETS_BYTES)? else { return Ok(None) };
        self.warn_once();
        let found: Option<Option<String>> =
            yaml::read(&text, Pick::value(name)).map_err(|error| self.malformed(name, &error))?;
        Ok(found.flatten().map(Secret::new))
    }
}
