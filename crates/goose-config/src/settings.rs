//! [`Settings`]: the layered configuration. Defaults < user < project < environment < command line; [`SettingsSource`]:
//! where the layers come from.

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
    Place, Secret, SecretChain, Secrets, SettingsSource, yaml,
};

/// Keys that hold mappings and lists of them. They are read from files alone: others use variables of these names.
const STRUCTURED: [&str; 6] =
    ["extensions", "models", "orchestrator", "profiles", "providers", "slash_commands"];

/// Variables with this beginning are goose's.
const OWN_VARIABLES: &str = "GOOSE_";

/// A snapshot of the configuration. Cheap to clone.
///
/// A key is looked for on the command line, in the environment (under its name or its upper-case name, unless it is a
/// structured one such as `models`), in the project's file and in the user's file; the first that has it counts. Secrets are looked up when they are asked for, and not before.
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

/// A layer that has a key.
enum Found<'a> {
    Text(&'a str, Origin),
    File(&'a ConfigFile),
}

impl Settings {
    /// Reads the files. A file that is not there is empty, but a `config_file` that was asked for has to be there.
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

    /// The value of a key, `None` if no layer has it. It is read as the type that is asked for; the error says
    /// where the value is and what was expected.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        match self.find(key) {
            Some(Found::Text(text, origin)) => {
                yaml::read_value(text).map(Some).map_err(|error| ConfigError::Setting {
                    key: key.to_owned(),
                    origin: origin.to_string(),
                    message: yaml::message(&error),
                })
            }
            Some(Found::File(file)) => file.get(key),
            None => Ok(None),
        }
    }

    /// Returns true if a switch is set: `true`, `1` and everything else that is not a clear no.
    pub fn is_on(&self, key: &str) -> bool {
        let text = self.get::<String>(key).unwrap_or_else(|error| Some(error.to_string()));
        text.is_some_and(|text| !is_no(&text))
    }

    /// The value of a key from the command line alone, which is stronger than a profile.
    pub(crate) fn get_flag<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        if self.0.source.flags.contains_key(key) { self.get(key) } else { Ok(None) }
    }

    /// Returns the origin of a key's value, `None` if no layer has it.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        match self.find(key)? {
            Found::Text(_, origin) => Some(origin),
            Found::File(file) => {
                let place = file.place(key)?;
                let is_user = std::ptr::eq(file, &*self.0.user);
                Some(if is_user { Origin::User(place) } else { Origin::Project(place) })
            }
        }
    }

    /// The value of a key as it can be shown, see [`shown_value`]: `None` if it is missing or no single value.
    pub fn shown(&self, key: &str) -> Option<String> {
        let value = self.get::<String>(key).ok().flatten()?;
        Some(shown_value(key, &value))
    }

    /// All keys that are set: those of the command line and the files, and goose's own variables.
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

    /// The configured extensions: those of the user's file in its order, then those that only the project has. Under
    /// the same key, the project's counts.
    pub fn extensions(&self) -> &[ConfiguredExtension] {
        &self.0.extensions
    }

    /// Returns the built-in services of the program.
    pub fn builtins(&self) -> &'static [Builtin] {
        self.0.source.builtins
    }

    /// Returns the built-in service of a name.
    pub fn builtin(&self, name: &str) -> Option<&'static Builtin> {
        self.builtins().iter().find(|builtin| builtin.name == name)
    }

    /// goose's folders.
    pub fn paths(&self) -> &Paths {
        &self.0.source.paths
    }

    /// The user's file.
    pub fn user_file(&self) -> &ConfigFile {
        &self.0.user
    }

    /// The project's file, where there is one that is trusted.
    pub fn project_file(&self) -> Option<&ConfigFile> {
        self.0.project.as_ref()
    }

    /// All services: those that goose knows, the user's own in `custom_providers`, and the program's own models. The folder
    /// is read when this is first asked for.
    pub fn registry(&self) -> &Registry {
        self.0.registry.get_or_init(|| self.0.source.registry())
    }

    /// Returns the user's facts about models: `GOOSE_CONTEXT_LIMIT`, and the mapping `models:`.
    pub fn model_overrides(&self) -> Result<ModelOverrides, ConfigError> {
        Ok(ModelOverrides {
            context_limit: self.get("GOOSE_CONTEXT_LIMIT")?,
            models: self.get("models")?.unwrap_or_default(),
        })
    }

    /// A variable of the environment that these settings were loaded with.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.0.source.variable(name)
    }

    /// The environment that these settings were loaded with.
    pub fn environment(&self) -> impl Iterator<Item = (String, String)> {
        self.0.source.environment.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// The secrets: those of the environment, of `secrets.yaml`, of `config.yaml`, and of the keyring, which is asked
    /// last because it can be slow.
    pub fn secrets(&self) -> Arc<SecretChain> {
        Arc::clone(&self.0.secrets)
    }

    /// Looks secrets up: on a thread of its own if that may take seconds, because the runtime must not wait for a keyring.
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
        // A lookup that panics does so again here.
        found.unwrap_or_else(|_| look_up(self))
    }

    /// Returns true if a file of the user's, `secrets.yaml` or `config.yaml`, has the secret. The keyring is not asked.
    pub fn has_stored_secret(&self, name: &str) -> bool {
        let file = FileSecrets::new(self.paths().secrets_file());
        file.get(name).is_ok_and(|secret| secret.is_some()) || self.0.user.has(name)
    }

    /// Returns whether the person does not want the keyring to be asked.
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

    fn find(&self, key: &str) -> Option<Found<'_>> {
        let Layers { source, project, user, .. } = &*self.0;
        if let Some(text) = source.flags.get(key) {
            return Some(Found::Text(text, Origin::Flag));
        }
        if let Some((name, text)) = self.in_environment(key) {
            return Some(Found::Text(text, Origin::Environment(name.to_owned())));
        }
        project.iter().chain([&**user]).find(|file| file.has(key)).map(Found::File)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("source", &self.0.source).finish_non_exhaustive()
    }
}

/// Returns true for a value that clearly means no.
fn is_no(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

/// The user's entries, with the project's in their places.
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

/// The keyring is asked last: one that does not answer has hidden nothing that is known to be there.
fn unknown(error: ConfigError) -> LookupError {
    match error {
        ConfigError::Keyring(_) => LookupError::NoAnswer(error.to_string()),
        error => LookupError::Unreadable(error.to_string()),
    }
}

/// Origin of a value, from the weakest to the strongest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The user's file.
    User(Place),
    /// The project's file.
    Project(Place),
    /// An environment variable, by its name.
    Environment(String),
    /// The command line.
    Flag,
}

impl Origin {
    /// The file, where it is one.
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

/// The key that switches the keyring off.
const DISABLE_KEYRING: &str = "GOOSE_DISABLE_KEYRING";

/// The environment, `secrets.yaml`, `config.yaml`, the keyring. Nothing is read yet.
fn secret_chain(source: &SettingsSource, user: &Arc<ConfigFile>) -> SecretChain {
    let variables = source.environment.iter().chain(&source.flags);
    let chain = SecretChain::default()
        .then(variables.map(|(name, value)| (name.as_str(), value.as_str())).collect::<EnvSecrets>())
        .then(FileSecrets::new(source.paths.secrets_file()))
        .then(InConfig(Arc::clone(user)));
    if is_keyring_disabled(source, user) {
        return chain;
    }
    chain.then(KeyringSecrets::new(Keyring::of_system(&source.environment)))
}

/// `true`, `1` and everything else that is not a clear no: naming it means that the keyring is not wanted.
fn is_keyring_disabled(source: &SettingsSource, user: &ConfigFile) -> bool {
    let written = source.variable(DISABLE_KEYRING).map(str::to_owned);
    let in_file = || user.get::<String>(DISABLE_KEYRING).unwrap_or_else(|error| Some(error.to_string()));
    let written = written.or_else(in_file);
    written.is_some_and(|text| !is_no(&text))
}

/// People do write keys into `config.yaml`.
struct InConfig(Arc<ConfigFile>);

impl Secrets for InConfig {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.0.get::<String>(name)?.map(Secret::new))
    }
}
