//! [`ProviderInfo`]: what can be chosen, for people.

use super::service::{Key, Service};
use crate::custom::CustomProvider;

/// A service that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// The name to write in `GOOSE_PROVIDER`.
    pub name: String,
    /// Other names that it goes by.
    pub aliases: Vec<String>,
    /// The name that people see.
    pub display_name: String,
    /// The variables that may hold its key, the usual one first.
    pub key_variables: Vec<String>,
    /// True if it needs a key.
    pub needs_key: bool,
    /// Its other settings.
    pub settings: Vec<SettingInfo>,
    /// The model to begin with.
    pub default_model: Option<String>,
    /// Well-known models; there are more.
    pub models: Vec<String>,
    /// The page for keys, or the documentation.
    pub docs_url: Option<String>,
    /// True if it comes from `custom_providers`.
    pub is_custom: bool,
}

/// Something that can be set for a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingInfo {
    /// The variable.
    pub name: String,
    /// True if there is no default.
    pub is_required: bool,
    /// The default, if it does not depend on other settings.
    pub default: Option<String>,
    /// An example, or its purpose.
    pub example: Option<String>,
}

impl ProviderInfo {
    /// Models that a program has inside, and that no service offers; the first one is the one to begin with.
    pub fn embedded(name: impl Into<String>, display_name: impl Into<String>, models: Vec<String>) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            display_name: display_name.into(),
            key_variables: Vec::new(),
            needs_key: false,
            settings: Vec::new(),
            default_model: models.first().cloned(),
            models,
            docs_url: None,
            is_custom: false,
        }
    }

    pub(super) fn from_service(service: &Service) -> Self {
        let (keys, needs_key) = match service.key {
            Key::Required(keys) => (keys, true),
            Key::Optional(keys) => (keys, false),
        };
        let mut settings: Vec<SettingInfo> = service
            .settings
            .iter()
            .map(|setting| SettingInfo {
                name: setting.name.to_owned(),
                is_required: setting.default.is_none(),
                default: setting.default.filter(|default| !default.contains("${")).map(str::to_owned),
                example: Some(setting.example.to_owned()),
            })
            .collect();
        if !service.host.contains("${") {
            let host = service.host.to_owned();
            settings.push(SettingInfo {
                name: format!("{}_HOST", service.prefix),
                is_required: false,
                default: Some(host.clone()),
                example: Some(host),
            });
        }
        Self {
            name: service.name.to_owned(),
            aliases: owned(service.aliases),
            display_name: service.display.to_owned(),
            key_variables: owned(keys),
            needs_key,
            settings,
            default_model: service.models.first().map(|model| (*model).to_owned()),
            models: owned(service.models),
            docs_url: Some(service.docs.to_owned()),
            is_custom: false,
        }
    }

    pub(super) fn from_custom(custom: &CustomProvider) -> Self {
        let settings = custom.env_vars.iter().map(|variable| SettingInfo {
            name: variable.name.clone(),
            is_required: variable.default.is_none() && variable.required != Some(false),
            default: variable.default.clone(),
            example: variable.description.clone(),
        });
        Self {
            name: custom.name.clone(),
            aliases: Vec::new(),
            display_name: custom.shown_name().to_owned(),
            key_variables: custom.key_variable().map(str::to_owned).into_iter().collect(),
            needs_key: custom.key_variable().is_some() && custom.requires_auth != Some(false),
            settings: settings.collect(),
            default_model: custom.first_model().map(str::to_owned),
            models: custom.models.iter().map(|model| model.name.clone()).collect(),
            docs_url: custom.model_doc_link.clone(),
            is_custom: true,
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
