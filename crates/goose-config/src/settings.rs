//! [`Settings`]: the layered configuration. Defaults < user < project < environment < command line.

use std::{
    collections::BTreeSet,
    fmt,
    path::Path,
    sync::{Arc, OnceLock},
};

use goose_extension::{Builtin, shown_value};
use goose_providers::{ApiKey, LookedUp, Lookup, LookupError, ModelOverrides, Registry};
use serde::de::DeserializeOwned;

use crate::{
    ConfigError, ConfigFile, ConfiguredExtension, EnvSecrets, FileSecrets, Keyring, KeyringSecrets, Paths,
    Place, Secret, SecretChain, Secrets, SettingsSource, TrustStore, yaml,
};

/// Keys with mappings or lists of them. They are read from files only, because other programs use variables
/// with these names.
const STRUCTURED: [&str; 7] =
    ["extensions", "hooks", "models", "orchestrator", "profiles", "providers", "slash_commands"];

/// Prefix of goose's variables.
const OWN_VARIABLES: &str = "GOOSE_";

/// Snapshot of the configuration. Cheap to clone.
///
/// A key is looked up on the command line, in the environment (under its name or its upper-case name, unless
/// it is a structured one such as `models`), in the project's file and in the user's file; the first that has
/// it counts. Secrets are looked up only when they are needed.
#[derive(Clone)]
pub struct Settings(Arc<Layers>);

struct Layers {
    source: SettingsSource,
    project: Option<ConfigFile>,
    user: Arc<ConfigFile>,
    extensions: Vec<ConfiguredExtension>,
    secrets: Arc<SecretChain>,
    registry: OnceLock<Registry>,
}

/// Layer that has a key.
enum Layer<'a> {
    /// Text on the command line or in the environment.
    Text(&'a str, Origin),
    File(&'a ConfigFile),
}

impl Settings {
    /// Reads the files. A missing file is empty, except for `config_file`, which must exist.
    pub fn load(mut source: SettingsSource) -> Result<Self, ConfigError> {
        if let Some(file) = source.config_file.as_ref().filter(|file| !file.exists()) {
            return Err(ConfigError::Absent(file.clone()));
        }
        let user = Arc::new(ConfigFile::load(&source.user_file())?);
        let project = source.project.take().map(|file| file.parse()).transpose()?;
        let mut extensions = merged(user.extensions(), project.as_ref().map(ConfigFile::extensions));
        extensions.iter_mut().for_each(|entry| entry.resolve(source.builtins));
        let secrets = Arc::new(secret_chain(&source, &user));
        Ok(Self(Arc::new(Layers { source, project, user, extensions, secrets, registry: OnceLock::new() })))
    }

    /// Loads the settings of another folder, with the file of its project if the user trusts it. Command line,
    /// environment and providers stay; the user's files are read again.
    ///
    /// # Errors
    ///
    /// Fails if a file that is used cannot be read or parsed.
    pub fn in_folder(&self, working_dir: &Path) -> Result<Self, ConfigError> {
        let mut source = self.0.source.clone();
        source.project = TrustStore::new(&source.paths).trusted_config(working_dir)?;
        Self::load(source)
    }

    /// Returns the value of a key; `None` if no layer has it. It is read as the requested type. The error has
    /// the position of the value and what was expected.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        match self.find(key) {
            Some(Layer::Text(text, origin)) => {
                yaml::read_value(text).map(Some).map_err(|error| ConfigError::Setting {
                    key: key.to_owned(),
                    origin: origin.to_string(),
                    message: yaml::message(&error),
                })
            }
            Some(Layer::File(file)) => file.get(key),
            None => Ok(None),
        }
    }

    /// Returns true if a switch is set. Everything but `false`, `no`, `off`, `0` and an empty text sets it.
    pub fn is_on(&self, key: &str) -> bool {
        let text = self.get::<String>(key).unwrap_or_else(|error| Some(error.to_string()));
        text.is_some_and(|text| !is_no(&text))
    }

    /// Returns the value of a key on the command line, which takes precedence over a profile.
    pub(crate) fn get_flag<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        if self.0.source.flags.contains_key(key) { self.get(key) } else { Ok(None) }
    }

    /// Returns the origin of a value; `None` if no layer has the key.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        match self.find(key)? {
            Layer::Text(_, origin) => Some(origin),
            Layer::File(file) => {
                let place = file.place(key)?;
                let is_user = std::ptr::eq(file, &*self.0.user);
                Some(if is_user { Origin::User(place) } else { Origin::Project(place) })
            }
        }
    }

    /// Returns the value of a key for display, see [`shown_value`]; `None` if it is missing or not a single
    /// value.
    pub fn shown(&self, key: &str) -> Option<String> {
        let value = self.get::<String>(key).ok().flatten()?;
        Some(shown_value(key, &value))
    }

    /// Returns all keys that are set on the command line and in files, and the names of goose's variables.
    pub fn keys(&self) -> BTreeSet<&str> {
        let Layers { source, project, user, .. } = &*self.0;
        let own = source.environment.keys().filter(|name| name.starts_with(OWN_VARIABLES));
        let files = user.keys().chain(project.iter().flat_map(ConfigFile::keys));
        source
            .flags
            .keys()
            .chain(own)
            .map(String::as_str)
            .chain(files)
            .filter(|key| !key.is_empty())
            .collect()
    }

    /// Returns the configured extensions: those of the user's file in its order, then those that only the
    /// project has. An entry of the project replaces the user's entry with the same key.
    pub fn extensions(&self) -> &[ConfiguredExtension] {
        &self.0.extensions
    }

    /// Returns the built-in services of the program.
    pub fn builtins(&self) -> &'static [Builtin] {
        self.0.source.builtins
    }

    /// Returns the built-in service with this name.
    pub fn builtin(&self, name: &str) -> Option<&'static Builtin> {
        self.builtins().iter().find(|builtin| builtin.name == name)
    }

    /// Returns the folders of goose.
    pub fn paths(&self) -> &Paths {
        &self.0.source.paths
    }

    /// Returns the user's file.
    pub fn user_file(&self) -> &ConfigFile {
        &self.0.user
    }

    /// Returns the project's file, if there is one and the user trusts it.
    pub fn project_file(&self) -> Option<&ConfigFile> {
        self.0.project.as_ref()
    }

    /// Returns all providers: the known ones, the user's in `custom_providers`, and the program's. The folder
    /// is read at the first call.
    pub fn registry(&self) -> &Registry {
        self.0.registry.get_or_init(|| self.0.source.registry())
    }

    /// Returns the user's values for models: `GOOSE_CONTEXT_LIMIT`, and the mapping `models:`.
    pub fn model_overrides(&self) -> Result<ModelOverrides, ConfigError> {
        Ok(ModelOverrides {
            context_limit: self.get("GOOSE_CONTEXT_LIMIT")?,
            models: self.get("models")?.unwrap_or_default(),
        })
    }

    /// Returns a variable of the environment that these settings were loaded with.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.0.source.variable(name)
    }

    /// Returns the environment that these settings were loaded with.
    pub fn environment(&self) -> impl Iterator<Item = (String, String)> {
        self.0.source.environment.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Returns the secrets of the environment, `secrets.yaml`, `config.yaml` and the keyring, which is asked
    /// last because it can be slow.
    pub fn secrets(&self) -> Arc<SecretChain> {
        Arc::clone(&self.0.secrets)
    }

    /// Calls `look_up`, on another thread if it may take seconds: the runtime must not wait for a keyring.
    pub async fn look_up<T: Send + 'static>(
        &self,
        look_up: impl Fn(&Self) -> T + Send + Sync + 'static,
    ) -> T {
        if !self.0.secrets.may_wait() {
            return look_up(self);
        }
        let (settings, look_up) = (self.clone(), Arc::new(look_up));
        let on_thread = Arc::clone(&look_up);
        let found = tokio::task::spawn_blocking(move || on_thread(&settings)).await;
        // A lookup that panicked on the thread panics again here.
        found.unwrap_or_else(|_| look_up(self))
    }

    /// Returns true if a file of the user, `secrets.yaml` or `config.yaml`, has the secret. The keyring is
    /// not asked.
    pub fn has_stored_secret(&self, name: &str) -> bool {
        let file = FileSecrets::new(self.paths().secrets_file());
        file.get(name).is_ok_and(|secret| secret.is_some()) || self.0.user.has(name)
    }

    /// Returns whether the user has switched the keyring off.
    pub fn is_keyring_disabled(&self) -> bool {
        is_keyring_disabled(&self.0.source, &self.0.user)
    }

    fn in_environment(&self, key: &str) -> Option<(&str, &str)> {
        if STRUCTURED.contains(&key) {
            return None;
        }
        let environment = &self.0.source.environment;
        let found = environment.get_key_value(key);
        let found = found.or_else(|| environment.get_key_value(&*key.to_ascii_uppercase()));
        found.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    fn find(&self, key: &str) -> Option<Layer<'_>> {
        let Layers { source, project, user, .. } = &*self.0;
        if let Some(text) = source.flags.get(key) {
            return Some(Layer::Text(text, Origin::Flag));
        }
        if let Some((name, text)) = self.in_environment(key) {
            return Some(Layer::Text(text, Origin::Environment(name.to_owned())));
        }
        project.iter().chain([&**user]).find(|file| file.has(key)).map(Layer::File)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("source", &self.0.source).finish_non_exhaustive()
    }
}

/// Returns true for a value that means no.
fn is_no(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

/// Returns the user's entries, with those of the project in place of entries with the same key.
fn merged(user: &[ConfiguredExtension], project: Option<&[ConfiguredExtension]>) -> Vec<ConfiguredExtension> {
    let project = project.unwrap_or_default();
    let replaced = |entry: &ConfiguredExtension| project.iter().find(|own| own.key == entry.key);
    let mut entries: Vec<_> = user.iter().map(|entry| replaced(entry).unwrap_or(entry)).cloned().collect();
    let is_new = |own: &&ConfiguredExtension| !user.iter().any(|entry| entry.key == own.key);
    entries.extend(project.iter().filter(is_new).cloned());
    entries
}

impl Lookup for Settings {
    fn value(&self, name: &str) -> LookedUp<String> {
        self.get::<String>(name).map_err(unknown)
    }

    fn secret(&self, name: &str) -> LookedUp<ApiKey> {
        let found = self.secrets().get(name).map_err(unknown)?;
        Ok(found.map(|secret| ApiKey::new(secret.expose())))
    }
}

/// Translates an error. The keyring is asked last, so all other sources have been read when it does not
/// answer.
fn unknown(error: ConfigError) -> LookupError {
    match error {
        ConfigError::Keyring(_) => LookupError::NoAnswer(error.to_string()),
        error => LookupError::Unreadable(error.to_string()),
    }
}

/// Origin of a value, from the weakest to the strongest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Position in the user's file.
    User(Place),
    /// Position in the project's file.
    Project(Place),
    /// Name of an environment variable.
    Environment(String),
    /// Command line.
    Flag,
}

impl Origin {
    /// Returns the file, if the origin is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::User(place) | Self::Project(place) => Some(&place.path),
            Self::Environment(_) | Self::Flag => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(place) | Self::Project(place) => write!(f, "{place}"),
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// Key that switches the keyring off.
const DISABLE_KEYRING: &str = "GOOSE_DISABLE_KEYRING";

/// Returns the secrets of the environment, `secrets.yaml`, `config.yaml` and the keyring. Nothing is read
/// yet.
fn secret_chain(source: &SettingsSource, user: &Arc<ConfigFile>) -> SecretChain {
    let variables = source.environment.iter().chain(&source.flags);
    let chain = SecretChain::default()
        .then(variables.map(|(name, value)| (name.as_str(), value.as_str())).collect::<EnvSecrets>())
        .then(FileSecrets::new(source.paths.secrets_file()))
        .then(ConfigSecrets(Arc::clone(user)));
    if is_keyring_disabled(source, user) {
        return chain;
    }
    chain.then(KeyringSecrets::new(Keyring::of_system(&source.environment)))
}

/// Returns whether the keyring is switched off. Everything that does not mean no counts, even a value that
/// cannot be read.
fn is_keyring_disabled(source: &SettingsSource, user: &ConfigFile) -> bool {
    let written = source.variable(DISABLE_KEYRING).map(str::to_owned);
    let in_file = || user.get::<String>(DISABLE_KEYRING).unwrap_or_else(|error| Some(error.to_string()));
    let written = written.or_else(in_file);
    written.is_some_and(|text| !is_no(&text))
}

/// Secrets in `config.yaml`, where users write them, too.
struct ConfigSecrets(Arc<ConfigFile>);

impl Secrets for ConfigSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.0.get::<String>(name)?.map(Secret::new))
    }
}
