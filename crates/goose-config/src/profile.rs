//! [`Profile`]: the models, extensions and limits of an exchange.

use std::{collections::BTreeMap, fmt};

use goose_providers::{Effort, ModelRef};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{ConfigError, ExtensionConfig, Moderator};

/// Extensions that are enabled unless the configuration switches them off.
pub const DEFAULT_EXTENSIONS: [&str; 2] = ["developer", "memory"];

/// Settings of an exchange. [`Settings::profile`](crate::Settings::profile) creates one from the
/// configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Profile {
    /// Name of the profile, if it has one.
    pub name: Option<String>,
    /// Model that does the work.
    pub processor: Option<ModelRef>,
    /// Fast model for names, summaries and routing. Without one, the processor does it.
    pub accelerator: Option<ModelRef>,
    /// Compaction strategy.
    pub moderator: Moderator,
    /// Extensions, in order.
    pub extensions: Vec<ProfileExtension>,
    /// True if the dependencies of a mode are added to the extensions. A profile that lists its extensions
    /// gets no others.
    #[serde(skip)]
    pub adds_dependencies: bool,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Reasoning effort: `none`, `low`, `medium`, `high`. Without it, the provider's default.
    pub effort: Option<Effort>,
    /// Maximum number of tokens in an answer.
    pub max_tokens: Option<u64>,
    /// Context limit of the model in tokens, if it is unknown or should be lower.
    pub context_limit: Option<u64>,
    /// Share of the context at which compaction starts.
    pub compact_threshold: Option<f64>,
    /// Maximum number of requests to the model for one reply.
    pub max_turns: Option<u32>,
    /// Maximum number of repetitions of the same call in a row.
    pub max_tool_repetitions: Option<u32>,
    /// Permission mode: `auto`, `approve`, `smart_approve`, `chat`.
    pub mode: Option<String>,
    /// Additional instructions for the model.
    pub instructions: Option<String>,
}

/// Extension of a profile, with the providers of its requirements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileExtension {
    /// Name of the extension.
    pub name: String,
    /// Extension that provides each requirement, by the name of the requirement.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, String>,
}

impl ProfileExtension {
    /// Creates an extension without requirements.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), requires: BTreeMap::new() }
    }
}

/// Name in a profile that the configuration does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// An extension of the profile.
    Extension(String),
    /// A requirement of an extension of the profile.
    Requirement {
        /// Extension that requires it.
        extension: String,
        /// Name of the requirement.
        requirement: String,
        /// Extension that should provide it.
        provider: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extension(name) => write!(f, "the extension '{name}'"),
            Self::Requirement { extension, requirement, provider } if requirement == provider => {
                write!(f, "'{provider}', which '{extension}' requires")
            }
            Self::Requirement { extension, requirement, provider } => {
                write!(f, "'{provider}', which '{extension}' requires as '{requirement}'")
            }
        }
    }
}

impl Profile {
    /// Returns the names that are not in `available`, in the order of the profile. A requirement is met by an
    /// available extension of the profile.
    pub fn missing<S: AsRef<str>>(&self, available: &[S]) -> Vec<Missing> {
        let is_available = |name: &str| available.iter().any(|there| there.as_ref() == name);
        let is_here = |name: &str| is_available(name) && self.extensions.iter().any(|it| it.name == name);
        let mut missing = Vec::new();
        for extension in &self.extensions {
            if !is_available(&extension.name) {
                missing.push(Missing::Extension(extension.name.clone()));
            }
            for (requirement, provider) in
                extension.requires.iter().filter(|(_, provider)| !is_here(provider))
            {
                missing.push(Missing::Requirement {
                    extension: extension.name.clone(),
                    requirement: requirement.clone(),
                    provider: provider.clone(),
                });
            }
        }
        missing
    }

    /// Returns the extensions whose requirements are among these extensions. Without one extension, others
    /// may lack a requirement, so they are left out, too.
    pub(crate) fn with_requirements_met<'a>(&self, mut names: Vec<&'a str>) -> Vec<&'a str> {
        loop {
            let is_met = |name: &&str| {
                let extension = self.extensions.iter().find(|it| it.name == *name);
                let mut providers = extension.into_iter().flat_map(|it| it.requires.values());
                providers.all(|provider| names.contains(&provider.as_str()))
            };
            let met: Vec<&str> = names.iter().copied().filter(is_met).collect();
            if met.len() == names.len() {
                return met;
            }
            names = met;
        }
    }
}

/// Extensions of a profile, as far as the configuration has them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ProfileExtensions {
    /// Configurations of the extensions that can be used, in the order of the profile. An extension with a
    /// requirement that cannot be used is not among them.
    pub found: Vec<ExtensionConfig>,
    /// Extensions and requirements that are neither configured nor built in.
    pub missing: Vec<Missing>,
    /// Errors of extensions that are switched off or whose entry is wrong.
    pub unusable: Vec<ConfigError>,
}

impl ProfileExtensions {
    /// Returns the extensions if all of the profile's can be used.
    ///
    /// # Errors
    ///
    /// Fails with one error that names everything that is missing, or with the first unusable extension.
    pub fn all(self, profile: &Profile) -> Result<Vec<ExtensionConfig>, ConfigError> {
        if !self.missing.is_empty() {
            return Err(incomplete(profile, &self.missing));
        }
        match self.unusable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.found),
        }
    }
}

fn incomplete(profile: &Profile, missing: &[Missing]) -> ConfigError {
    let names: Vec<String> = missing.iter().map(Missing::to_string).collect();
    ConfigError::Profile {
        profile: profile.name.clone().unwrap_or_else(|| "default".to_owned()),
        message: format!(
            "these are missing: {}; add them under 'extensions:' in config.yaml and to the profile, \
             or remove them from the profile",
            names.join(", ")
        ),
    }
}

/// Reads a name, or a mapping with `name` and `requires`.
impl<'de> Deserialize<'de> for ProfileExtension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrMapping)
    }
}

struct NameOrMapping;

#[derive(Deserialize)]
struct Mapping {
    name: String,
    requires: Option<BTreeMap<String, String>>,
}

impl<'de> Visitor<'de> for NameOrMapping {
    type Value = ProfileExtension;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an extension, or a mapping with 'name' and 'requires'")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(ProfileExtension::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let Mapping { name, requires } = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ProfileExtension { name, requires: requires.unwrap_or_default() })
    }
}
