//! [`Service`], one description of a service: a row of `services.json`, or the user's own; [`ProviderInfo`], the same
//! for lists and dialogs.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::Deserializer;

use crate::{
    catalogue::ModelOverride,
    custom::{CustomProvider, Engine, WireApi},
    endpoint::Dialect,
    login::LoginMethod,
};

/// Services and their variables as goose users write them (`GOOSE_PROVIDER`, `…_API_KEY`, `…_HOST`): makers of models,
/// local servers, clouds, then hosts of others' models; the most used ones first. A service that speaks a known wire
/// needs a row in this file and nothing else. A test reads all of it.
const SERVICES: &str = include_str!("services.json");

/// Services that goose users may have set and that goose cannot talk to.
const UNSUPPORTED: &str = include_str!("unsupported.json");

/// A row of [`UNSUPPORTED`].
#[derive(Deserialize)]
pub(super) struct Unsupported {
    pub(super) name: String,
    pub(super) reason: String,
    pub(super) instead: String,
}

/// Names of a row of [`SERVICES`].
#[derive(Deserialize)]
struct Names {
    name: &'static str,
    #[serde(default, borrow)]
    aliases: Vec<&'static str>,
}

/// Parses the rows one after the other, each with the text that begins with it: most runs need only the first ones.
fn rows<T: Deserialize<'static>>() -> impl Iterator<Item = (&'static str, T)> {
    let mut rest = SERVICES;
    std::iter::from_fn(move || {
        let text = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ','));
        let mut values = Deserializer::from_str(text).into_iter::<T>();
        let row = values.next()?.ok()?;
        rest = &text[values.byte_offset()..];
        Some((text, row))
    })
}

/// Returns every known service, in the order in which they are offered.
pub(super) fn services() -> impl Iterator<Item = Service<'static>> {
    rows().map(|(_, service)| service)
}

/// Returns the service with a name or alias that `is_wanted` accepts.
pub(super) fn service(is_wanted: impl Fn(&str) -> bool) -> Option<Service<'static>> {
    let goes_by = |names: &Names| is_wanted(names.name) || names.aliases.iter().any(|name| is_wanted(name));
    let (text, _) = rows::<Names>().find(|(_, names)| goes_by(names))?;
    Deserializer::from_str(text).into_iter::<Service<'static>>().next()?.ok()
}

/// Returns the services that cannot be used.
pub(super) fn unsupported() -> Vec<Unsupported> {
    serde_json::from_str(UNSUPPORTED).unwrap_or_default()
}

/// The protocol of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wire {
    /// OpenAI itself: chat, or Responses for the models that want it.
    OpenAi,
    /// OpenAI's chat completions, as many understand them.
    #[default]
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's own API.
    Ollama,
    /// Google's Gemini API.
    Gemini,
    /// Gemini and Claude at Google's cloud.
    Vertex,
    /// Amazon's Converse API, with an API key.
    Bedrock,
}

/// The usual path of chat completions.
pub(crate) const CHAT_PATH: &str = "v1/chat/completions";

impl Wire {
    fn usual_path(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Chat => CHAT_PATH,
            Self::Responses => "v1/responses",
            Self::Anthropic => "v1/messages",
            Self::Ollama => "api/chat",
            Self::Gemini | Self::Vertex | Self::Bedrock => "",
        }
    }
}

/// A setting that the URL is made with.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Setting<'a> {
    /// The variable, as it stands in the URL: `${AWS_REGION}`.
    pub(super) name: &'a str,
    /// Other variables that say the same.
    #[serde(default, borrow)]
    pub(super) also: Vec<&'a str>,
    /// The default; without one the user has to set it.
    pub(super) default: Option<&'a str>,
    /// An example, or its purpose.
    pub(super) example: Option<&'a str>,
    /// True if it may be missing without a default.
    #[serde(skip)]
    pub(super) is_optional: bool,
}

/// A service, ready to be filled in with the user's settings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Service<'a> {
    pub(super) name: &'a str,
    #[serde(borrow)]
    pub(super) aliases: Vec<&'a str>,
    pub(super) display: &'a str,
    pub(super) wire: Wire,
    /// The prefix of the variables that every known service has: `…_HOST`, `…_BASE_URL`, `…_BASE_PATH`, `…_TIMEOUT` and
    /// `…_CUSTOM_HEADERS`. The user's own services have none.
    pub(super) prefix: Option<&'a str>,
    /// The address; may contain `${SETTING}`.
    pub(super) host: &'a str,
    /// The path, where it is not the wire's usual one; may contain `${SETTING}` and `${model}`.
    path: Option<&'a str>,
    /// The variables that may hold its key, the usual one first.
    pub(super) keys: Vec<&'a str>,
    key_optional: bool,
    /// The header that holds the bare key, where it is not the wire's own.
    pub(super) key_header: Option<&'a str>,
    /// Additional advice for a missing key.
    pub(super) key_advice: Option<&'a str>,
    pub(super) dialect: Dialect,
    pub(super) settings: Vec<Setting<'a>>,
    /// Headers that are always sent.
    pub(super) headers: Vec<(&'a str, &'a str)>,
    /// Headers that are sent where the variable is set.
    pub(super) header_settings: Vec<(&'a str, &'a str)>,
    pub(super) docs: Option<&'a str>,
    /// The login that gets a key.
    login: Option<LoginMethod>,
    /// Well-known models; the first is the one to begin with.
    pub(super) models: Vec<&'a str>,
    #[serde(skip)]
    pub(super) timeout: Option<Duration>,
    #[serde(skip)]
    default_model: Option<&'a str>,
    #[serde(skip)]
    pub(super) overrides: BTreeMap<&'a str, ModelOverride>,
}

impl<'a> Service<'a> {
    pub(super) fn path(&self) -> &'a str {
        self.path.unwrap_or(self.wire.usual_path())
    }

    pub(super) fn needs_key(&self) -> bool {
        !self.keys.is_empty() && !self.key_optional
    }

    pub(super) fn from_custom(custom: &'a CustomProvider) -> Self {
        let settings = custom.env_vars.iter().map(|variable| Setting {
            name: &variable.name,
            default: variable.default.as_deref(),
            example: variable.description.as_deref(),
            is_optional: variable.required == Some(false),
            ..Setting::default()
        });
        let headers = custom.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Self {
            name: &custom.name,
            display: custom.shown_name(),
            wire: custom_wire(custom),
            host: &custom.base_url,
            path: custom.base_path.as_deref(),
            keys: custom.key_variable().into_iter().collect(),
            key_optional: custom.requires_auth == Some(false),
            settings: settings.collect(),
            headers: headers.collect(),
            timeout: custom.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            docs: custom.model_doc_link.as_deref(),
            models: custom.models.iter().map(|model| model.name.as_str()).collect(),
            default_model: custom.default_model.as_deref(),
            overrides: custom.models.iter().map(|model| (model.name.as_str(), model.says())).collect(),
            ..Self::default()
        }
    }
}

/// An address that ends like a wire's own path speaks that wire.
fn custom_wire(custom: &CustomProvider) -> Wire {
    let ends = |end: &str| {
        let path = custom.base_path.as_deref().unwrap_or(&custom.base_url);
        path.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with(end)
    };
    match custom.engine {
        Engine::Anthropic => Wire::Anthropic,
        Engine::Ollama if !ends("chat/completions") => Wire::Ollama,
        Engine::Openai if custom.wire_api == Some(WireApi::Responses) || ends("/responses") => {
            Wire::Responses
        }
        Engine::Openai | Engine::Ollama => Wire::Chat,
    }
}

impl crate::custom::CustomModel {
    fn says(&self) -> ModelOverride {
        let per_million = |price: Option<f64>| price.map(|price| price * 1_000_000.0);
        ModelOverride {
            context_limit: self.context_limit,
            max_output: self.max_tokens,
            sees_images: self.supports_vision,
            input_price: per_million(self.input_token_cost),
            output_price: per_million(self.output_token_cost),
            ..ModelOverride::default()
        }
    }
}

/// A service that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// The login that gets a key, if it has one.
    pub login: Option<LoginMethod>,
    /// True if it comes from `custom_providers`.
    pub is_custom: bool,
}

/// Something that can be set for a service.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            display_name: display_name.into(),
            default_model: models.first().cloned(),
            models,
            ..Self::default()
        }
    }

    pub(super) fn from_service(service: &Service<'_>) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let mut settings: Vec<SettingInfo> = service
            .settings
            .iter()
            .map(|setting| SettingInfo {
                name: setting.name.to_owned(),
                is_required: setting.default.is_none() && !setting.is_optional,
                default: setting.default.filter(|default| !default.contains("${")).map(str::to_owned),
                example: setting.example.map(str::to_owned),
            })
            .collect();
        if let Some(prefix) = service.prefix.filter(|_| !service.host.contains("${")) {
            let host = Some(service.host.to_owned());
            let name = format!("{prefix}_HOST");
            settings.push(SettingInfo { name, is_required: false, default: host.clone(), example: host });
        }
        let default_model = service.default_model.or(service.models.first().copied());
        Self {
            name: service.name.to_owned(),
            aliases: owned(&service.aliases),
            display_name: service.display.to_owned(),
            key_variables: owned(&service.keys),
            needs_key: service.needs_key(),
            settings,
            default_model: default_model.map(str::to_owned),
            models: owned(&service.models),
            docs_url: service.docs.map(str::to_owned),
            login: service.login,
            is_custom: service.prefix.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_can_be_read() {
        let all: Vec<Service<'_>> = serde_json::from_str(SERVICES).unwrap();
        assert_eq!(services().count(), all.len());
        assert!(all.iter().all(|row| service(|name| name == row.name).is_some_and(|it| it.host == row.host)));
        serde_json::from_str::<Vec<Unsupported>>(UNSUPPORTED).unwrap();
    }
}
