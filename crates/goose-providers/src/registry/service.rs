//! [`Service`], one row of the table; [`ServiceSpec`], a service of the table or of the user's own, in one form;
//! [`ProviderInfo`], the same for lists and dialogs.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use crate::{
    catalogue::ModelOverride,
    custom::{CustomProvider, Engine, WireApi},
    endpoint::{Dialect, KeyHeader},
};

/// The protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// OpenAI itself: chat, or Responses for the models that want it.
    OpenAi,
    /// OpenAI's chat completions, as many understand them.
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

/// The key that a service wants.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// `<PREFIX>_API_KEY` must be set.
    Usual,
    /// `<PREFIX>_API_KEY` may be set.
    UsualOptional,
    /// One of these variables must be set; the first is the one to name.
    OneOf(&'static [&'static str]),
    /// It takes none.
    None,
}

/// A setting that the URL is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// The variable, as it stands in the URL: `${AWS_REGION}`.
    pub(crate) name: &'a str,
    /// Other variables that say the same.
    pub(crate) also: &'a [&'a str],
    /// The default; without one the user has to set it.
    pub(crate) default: Option<&'a str>,
    /// An example, or its purpose.
    pub(crate) example: Option<&'a str>,
}

/// One row of the table. The prefix makes the names of the variables that every service has: `…_HOST`, `…_BASE_URL`,
/// `…_BASE_PATH`, `…_TIMEOUT` and `…_CUSTOM_HEADERS`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) display: &'static str,
    pub(crate) wire: Wire,
    /// The prefix, where it is not the name.
    pub(crate) prefix: Option<&'static str>,
    /// The address; may contain `${SETTING}`.
    pub(crate) host: &'static str,
    /// The path; may contain `${SETTING}` and `${model}`.
    pub(crate) path: &'static str,
    pub(crate) key: Key,
    /// The header that holds the bare key, where it is not the wire's own.
    pub(crate) key_header: Option<&'static str>,
    pub(crate) dialect: Dialect,
    pub(crate) settings: &'static [Setting<'static>],
    /// Headers that are always sent.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Headers that are sent where the variable is set.
    pub(crate) header_settings: &'static [(&'static str, &'static str)],
    /// Additional advice for a missing key.
    pub(crate) key_advice: Option<&'static str>,
    pub(crate) docs: &'static str,
    /// Well-known models; the first is the one to begin with.
    pub(crate) models: &'static [&'static str],
}

/// The usual path of chat completions.
pub(crate) const CHAT_PATH: &str = "v1/chat/completions";

/// A service that speaks like OpenAI's chat and has nothing special.
pub(crate) const fn chat(name: &'static str, display: &'static str, host: &'static str) -> Service {
    Service {
        name,
        aliases: &[],
        display,
        wire: Wire::Chat,
        prefix: None,
        host,
        path: CHAT_PATH,
        key: Key::Usual,
        key_header: None,
        dialect: Dialect::Common,
        settings: &[],
        headers: &[],
        header_settings: &[],
        key_advice: None,
        docs: "",
        models: &[],
    }
}

/// A setting with one name.
pub(crate) const fn setting(
    name: &'static str,
    default: Option<&'static str>,
    example: &'static str,
) -> Setting<'static> {
    Setting { name, also: &[], default, example: Some(example) }
}

impl Service {
    fn prefix(&self) -> String {
        self.prefix.map_or_else(|| self.name.to_uppercase(), str::to_owned)
    }

    /// The variables that may hold its key, the usual one first.
    fn keys(&self) -> Vec<String> {
        match self.key {
            Key::Usual | Key::UsualOptional => vec![format!("{}_API_KEY", self.prefix())],
            Key::OneOf(keys) => owned(keys),
            Key::None => Vec::new(),
        }
    }

    fn needs_key(&self) -> bool {
        matches!(self.key, Key::Usual | Key::OneOf(_))
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A service, ready to be filled in with what the user has set.
pub(super) struct ServiceSpec<'a> {
    pub(super) name: &'a str,
    pub(super) shown: &'a str,
    pub(super) wire: Wire,
    /// The prefix of the usual variables; none for the user's own services.
    pub(super) prefix: Option<String>,
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) keys: Vec<String>,
    pub(super) needs_key: bool,
    pub(super) key_header: KeyHeader,
    pub(super) key_advice: Option<&'a str>,
    pub(super) dialect: Dialect,
    pub(super) variables: Cow<'a, [Setting<'a>]>,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) header_settings: &'a [(&'a str, &'a str)],
    pub(super) timeout: Option<Duration>,
    pub(super) docs: Option<&'a str>,
    pub(super) models: BTreeMap<&'a str, ModelOverride>,
}

impl<'a> ServiceSpec<'a> {
    pub(super) fn from_service(service: &'a Service) -> Self {
        Self {
            name: service.name,
            shown: service.display,
            wire: service.wire,
            prefix: Some(service.prefix()),
            host: service.host,
            path: service.path,
            keys: service.keys(),
            needs_key: service.needs_key(),
            key_header: service.key_header.map_or(KeyHeader::Usual, |name| KeyHeader::Named(name.to_owned())),
            key_advice: service.key_advice,
            dialect: service.dialect,
            variables: Cow::Borrowed(service.settings),
            headers: service.headers.to_vec(),
            header_settings: service.header_settings,
            timeout: None,
            docs: Some(service.docs),
            models: BTreeMap::new(),
        }
    }

    pub(super) fn from_custom(custom: &'a CustomProvider) -> Self {
        let (wire, usual_path) = custom_wire(custom);
        let variables = custom.env_vars.iter().map(|variable| Setting {
            name: &variable.name,
            also: &[],
            default: variable.default.as_deref(),
            example: variable.description.as_deref(),
        });
        let headers = custom.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Self {
            name: &custom.name,
            shown: custom.shown_name(),
            wire,
            prefix: None,
            host: &custom.base_url,
            path: custom.base_path.as_deref().unwrap_or(usual_path),
            keys: custom.key_variable().map(str::to_owned).into_iter().collect(),
            needs_key: custom.requires_auth != Some(false),
            key_header: KeyHeader::Usual,
            key_advice: None,
            dialect: Dialect::Common,
            variables: variables.collect(),
            headers: headers.collect(),
            header_settings: &[],
            timeout: custom.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            docs: custom.model_doc_link.as_deref(),
            models: custom.models.iter().map(|model| (model.name.as_str(), model.says())).collect(),
        }
    }
}

/// The wire, and what is asked there. An address that ends like a wire's own path speaks that wire.
fn custom_wire(custom: &CustomProvider) -> (Wire, &'static str) {
    let ends = |end: &str| {
        let path = custom.base_path.as_deref().unwrap_or(&custom.base_url);
        path.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with(end)
    };
    match custom.engine {
        Engine::Anthropic => (Wire::Anthropic, "v1/messages"),
        Engine::Ollama if !ends("chat/completions") => (Wire::Ollama, "api/chat"),
        Engine::Openai if custom.wire_api == Some(WireApi::Responses) || ends("/responses") => {
            (Wire::Responses, "v1/responses")
        }
        Engine::Openai | Engine::Ollama => (Wire::Chat, CHAT_PATH),
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

    pub(super) fn from_service(service: &Service) -> Self {
        let mut settings: Vec<SettingInfo> = service
            .settings
            .iter()
            .map(|setting| SettingInfo {
                name: setting.name.to_owned(),
                is_required: setting.default.is_none(),
                default: setting.default.filter(|default| !default.contains("${")).map(str::to_owned),
                example: setting.example.map(str::to_owned),
            })
            .collect();
        if !service.host.contains("${") {
            let host = service.host.to_owned();
            settings.push(SettingInfo {
                name: format!("{}_HOST", service.prefix()),
                is_required: false,
                default: Some(host.clone()),
                example: Some(host),
            });
        }
        Self {
            name: service.name.to_owned(),
            aliases: owned(service.aliases),
            display_name: service.display.to_owned(),
            key_variables: service.keys(),
            needs_key: service.needs_key(),
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
            display_name: custom.shown_name().to_owned(),
            key_variables: custom.key_variable().map(str::to_owned).into_iter().collect(),
            needs_key: custom.key_variable().is_some() && custom.requires_auth != Some(false),
            settings: settings.collect(),
            default_model: custom.first_model().map(str::to_owned),
            models: custom.models.iter().map(|model| model.name.clone()).collect(),
            docs_url: custom.model_doc_link.clone(),
            is_custom: true,
            ..Self::default()
        }
    }
}
