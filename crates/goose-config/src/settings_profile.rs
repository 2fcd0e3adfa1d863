//! Profiles from the layers of [`Settings`]: the command line, then the named profile, then the flat keys.

use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
};

use goose_providers::{BadModelRef, Effort, ModelRef};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    ConfigError, ConfigFile, ConfiguredExtension, ExtensionConfig, Moderator, Origin, Profile,
    ProfileExtension, ProfileExtensions, Settings,
    file::read_capped,
    keys::{ACTIVE_PROVIDER, MODEL, PROVIDER},
    profile::DEFAULT_EXTENSIONS,
    yaml::{self, Pick},
};

/// Key with the name of the profile, if the command line has none.
const PROFILE: &str = "GOOSE_PROFILE";

/// Key of the mapping with profiles, and name of their folder.
const PROFILES: &str = "profiles";

/// Used part of an entry under `providers:`.
#[derive(Debug, Deserialize)]
struct ActiveProvider {
    #[serde(default)]
    model: Option<String>,
}

/// Maximum size of a profile.
const MAX_PROFILE_BYTES: u64 = 1024 * 1024;

/// Profile as it is written. Everything may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenProfile {
    processor: Option<ModelRef>,
    accelerator: Option<ModelRef>,
    moderator: Option<Moderator>,
    extensions: Option<Vec<ProfileExtension>>,
    temperature: Option<f32>,
    effort: Option<Effort>,
    max_tokens: Option<u64>,
    context_limit: Option<u64>,
    compact_threshold: Option<f64>,
    max_turns: Option<u32>,
    max_tool_repetitions: Option<u32>,
    mode: Option<String>,
    instructions: Option<String>,
}

impl Settings {
    /// Returns a profile. A name is looked up under `profiles:` in the project's and the user's file, then as
    /// `profiles/NAME.yaml` in the config folder; a path (with a `/`, or ending in `.yaml`) is a file.
    /// Without a name, the profile is the one that `GOOSE_PROFILE` names, or the default one, which consists
    /// of the flat keys.
    ///
    /// The flat keys (`GOOSE_MODEL`, …) are used for what the profile does not set. The command line takes
    /// precedence over both.
    pub fn profile(&self, name: Option<&str>) -> Result<Profile, ConfigError> {
        let name = match name {
            Some(name) => Some(name.to_owned()),
            None => self.named_profile()?,
        };
        let written = match &name {
            Some(name) => self.written(name)?.ok_or_else(|| self.no_profile(name))?,
            None => WrittenProfile::default(),
        };
        Ok(Profile {
            processor: self.processor(written.processor)?,
            accelerator: self.layered("GOOSE_ACCELERATOR", written.accelerator)?,
            moderator: self.layered("GOOSE_MODERATOR", written.moderator)?.unwrap_or_default(),
            adds_dependencies: written.extensions.is_none(),
            extensions: written.extensions.unwrap_or_else(|| self.enabled_extensions()),
            temperature: self.layered("GOOSE_TEMPERATURE", written.temperature)?,
            effort: self.layered("GOOSE_REASONING_EFFORT", written.effort)?,
            max_tokens: self.layered("GOOSE_MAX_TOKENS", written.max_tokens)?,
            context_limit: self.layered("GOOSE_CONTEXT_LIMIT", written.context_limit)?,
            compact_threshold: self.layered("GOOSE_AUTO_COMPACT_THRESHOLD", written.compact_threshold)?,
            max_turns: self.layered("GOOSE_MAX_TURNS", written.max_turns)?,
            max_tool_repetitions: self.layered("GOOSE_MAX_TOOL_REPETITIONS", written.max_tool_repetitions)?,
            mode: self.layered("GOOSE_MODE", written.mode)?,
            instructions: written.instructions,
            name,
        })
    }

    /// Returns the profile that the layers name. A project may name an existing profile, but not a file: that
    /// could change after the user has agreed to the project's configuration.
    fn named_profile(&self) -> Result<Option<String>, ConfigError> {
        let name = self.get::<String>(PROFILE)?;
        match (self.origin(PROFILE), name.as_deref()) {
            (Some(Origin::Project(place)), Some(name)) if is_path(name) => Err(ConfigError::malformed(
                place,
                format!(
                    "'{PROFILE}' names the file '{name}', which a project may not do; put the profile under \
                     '{PROFILES}:' in this file and name it, or use --profile"
                ),
            )),
            _ => Ok(name),
        }
    }

    /// Returns the configurations of all extensions of a profile, in its order.
    ///
    /// # Errors
    ///
    /// Fails as [`ProfileExtensions::all`] does. [`find_profile_extensions`](Self::find_profile_extensions)
    /// returns the usable ones together with the problems of the others.
    pub fn profile_extensions(&self, profile: &Profile) -> Result<Vec<ExtensionConfig>, ConfigError> {
        self.find_profile_extensions(profile).all(profile)
    }

    /// Returns the extensions of a profile that can be used, and the reasons why the others cannot.
    pub fn find_profile_extensions(&self, profile: &Profile) -> ProfileExtensions {
        let (mut configs, mut available, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        for ProfileExtension { name, .. } in &profile.extensions {
            match self.extension(name) {
                Ok(Some(config)) => configs.push((name.as_str(), config)),
                Ok(None) => continue,
                Err(error) => unusable.push(error),
            }
            available.push(name.as_str());
        }
        let missing = profile.missing(&available);
        let usable = profile.with_requirements_met(configs.iter().map(|(name, _)| *name).collect());
        configs.retain(|(name, _)| usable.contains(name));
        let found = configs.into_iter().map(|(_, config)| config).collect();
        ProfileExtensions { found, missing, unusable }
    }

    /// Returns the extension with this name: a configured one, or a built-in.
    fn extension(&self, name: &str) -> Result<Option<ExtensionConfig>, ConfigError> {
        let is_called = |config: &ExtensionConfig| config.name() == name || config.key() == name;
        let by_key = self.extensions().iter().find(|entry| entry.key == name);
        let entry = by_key
            .or_else(|| self.extensions().iter().find(|entry| entry.config.as_ref().is_ok_and(is_called)));
        match entry {
            Some(entry) if entry.enabled => entry.checked().cloned().map(Some),
            Some(entry) => Err(ConfigError::malformed(
                entry.place.clone(),
                format!(
                    "the profile names the extension '{name}', which is switched off; set 'enabled: true'"
                ),
            )),
            None => Ok(self.builtin(name).map(|builtin| ExtensionConfig::builtin(builtin.name))),
        }
    }

    /// Returns the default extensions without an entry, then the enabled entries. Entries that cannot be used
    /// are left out; commands that list extensions report them.
    fn enabled_extensions(&self) -> Vec<ProfileExtension> {
        let can_start =
            |entry: &&ConfiguredExtension| entry.enabled && !entry.is_switch() && entry.checked().is_ok();
        let usable = self.extensions().iter().filter(can_start).map(|entry| entry.key.as_str());
        let defaults = DEFAULT_EXTENSIONS.into_iter().filter(|name| self.is_default(name));
        defaults.chain(usable).map(ProfileExtension::new).collect()
    }

    /// Returns true for an extension that is enabled although the configuration does not mention it.
    pub fn is_default(&self, name: &str) -> bool {
        DEFAULT_EXTENSIONS.contains(&name) && !self.extensions().iter().any(|entry| entry.is_called(name))
    }

    /// Returns a value of the command line, of the profile, or of the other layers.
    fn layered<T: DeserializeOwned>(&self, key: &str, written: Option<T>) -> Result<Option<T>, ConfigError> {
        match (self.get_flag(key)?, written) {
            (Some(flag), _) => Ok(Some(flag)),
            (None, Some(written)) => Ok(Some(written)),
            (None, None) => self.get(key),
        }
    }

    fn processor(&self, written: Option<ModelRef>) -> Result<Option<ModelRef>, ConfigError> {
        let (provider, model) = match written {
            Some(written) => (written.provider().map(str::to_owned), Some(written.model().to_owned())),
            None => self.configured_model()?,
        };
        let provider_flag: Option<String> = self.get_flag(PROVIDER)?;
        let model_flag: Option<String> = self.get_flag(MODEL)?;
        // A model belongs to the provider that it was configured for.
        let model = match (&provider_flag, &provider) {
            (Some(flag), Some(provider)) if flag != provider => None,
            _ => model,
        };
        self.joined(provider_flag.or(provider), model_flag.or(model))
    }

    /// Returns the configured provider and model: `GOOSE_PROVIDER` and `GOOSE_MODEL`, or the keys that goose
    /// 1.52 writes: `active_provider`, which takes precedence in a file, and `providers.NAME.model`.
    pub fn configured_model(&self) -> Result<(Option<String>, Option<String>), ConfigError> {
        let (provider, model) = (self.get::<String>(PROVIDER)?, self.get::<String>(MODEL)?);
        let is_in_file = |key| !matches!(self.origin(key), Some(Origin::Flag | Origin::Environment(_)));
        let Some((active, its_model)) = self.active_provider()?.filter(|_| is_in_file(PROVIDER)) else {
            return Ok((provider, model));
        };
        let model = if is_in_file(MODEL) { its_model.or(model) } else { model };
        Ok((Some(active), model))
    }

    /// Returns `active_provider` of the first file that has it, and that provider's model.
    fn active_provider(&self) -> Result<Option<(String, Option<String>)>, ConfigError> {
        let mut files = self.project_file().into_iter().chain([self.user_file()]);
        // A project that names a provider in the older way overrides the user's file.
        let Some(file) = files.find(|file| file.has(ACTIVE_PROVIDER) || file.has(PROVIDER)) else {
            return Ok(None);
        };
        let Some(active) = file.get::<String>(ACTIVE_PROVIDER)? else { return Ok(None) };
        let entry: Option<Option<Option<ActiveProvider>>> =
            file.get_with("providers", Pick::value(&active))?;
        Ok(Some((active, entry.flatten().flatten().and_then(|entry| entry.model))))
    }

    /// Joins provider and model. Without a model, the provider's default is used.
    fn joined(
        &self,
        provider: Option<String>,
        model: Option<String>,
    ) -> Result<Option<ModelRef>, ConfigError> {
        let bad = |error: BadModelRef| ConfigError::Setting {
            key: MODEL.to_owned(),
            origin: self.origin(MODEL).map_or("the profile".to_owned(), |origin| origin.to_string()),
            message: error.to_string(),
        };
        Ok(match (provider, model.filter(|model| !model.trim().is_empty())) {
            (None, None) => None,
            (None, Some(model)) => Some(model.parse().map_err(bad)?),
            (Some(provider), Some(model)) => Some(ModelRef::new(provider, model)),
            (Some(provider), None) => Some(self.registry().with_default_model(&ModelRef::new(provider, ""))),
        })
    }

    fn written(&self, name: &str) -> Result<Option<WrittenProfile>, ConfigError> {
        if is_path(name) {
            return read_profile(Path::new(name))?.map(Some).ok_or_else(|| self.no_profile(name));
        }
        for file in self.project_file().into_iter().chain([self.user_file()]) {
            if let Some(found) = in_file(file, name)? {
                return Ok(Some(found));
            }
        }
        read_profile(&self.profile_path(name))
    }

    fn profile_path(&self, name: &str) -> PathBuf {
        self.paths().config.join(PROFILES).join(format!("{name}.yaml"))
    }

    fn no_profile(&self, name: &str) -> ConfigError {
        let message = if is_path(name) {
            "there is no such file; check the path".to_owned()
        } else {
            format!(
                "there is no such profile; add it under '{PROFILES}:' in {} or as {}",
                self.user_file().path().display(),
                self.profile_path(name).display()
            )
        };
        ConfigError::Profile { profile: name.to_owned(), message }
    }
}

fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".yaml") || name.ends_with(".yml")
}

fn in_file(file: &ConfigFile, name: &str) -> Result<Option<WrittenProfile>, ConfigError> {
    if !file.has(PROFILES) {
        return Ok(None);
    }
    let found: Option<Option<Option<WrittenProfile>>> = file.get_with(PROFILES, Pick::value(name))?;
    Ok(found.flatten().flatten())
}

fn read_profile(path: &Path) -> Result<Option<WrittenProfile>, ConfigError> {
    let Some(text) = read_capped(path, MAX_PROFILE_BYTES)? else { return Ok(None) };
    let written = yaml::read(&text, PhantomData::<Option<WrittenProfile>>);
    written.map(|written| Some(written.unwrap_or_default())).map_err(|error| yaml::malformed(path, &error))
}
