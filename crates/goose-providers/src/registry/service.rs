//! [`Service`], one row of the table; [`ServiceSpec`], a service of the table or of the user's own, in one form.

use std::{collections::BTreeMap, time::Duration};

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
    /// One of these variables must be set; the first is the one to name.
    Required(&'static [&'static str]),
    /// One of these may be set.
    Optional(&'static [&'static str]),
}

/// A setting that the URL is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The variable, as it stands in the URL: `${AWS_REGION}`.
    pub(crate) name: &'static str,
    /// Other variables that say the same.
    pub(crate) also: &'static [&'static str],
    /// The default; without one the user has to set it.
    pub(crate) default: Option<&'static str>,
    /// An example.
    pub(crate) example: &'static str,
}

/// One row of the table. `prefix` makes the names of the variables that every service has: `…_HOST`, `…_BASE_URL`,
/// `…_BASE_PATH`, `…_TIMEOUT` and `…_CUSTOM_HEADERS`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) display: &'static str,
    pub(crate) wire: Wire,
    pub(crate) prefix: &'static str,
    /// The address; may contain `${SETTING}`.
    pub(crate) host: &'static str,
    /// The path; may contain `${SETTING}` and `${model}`.
    pub(crate) path: &'static str,
    pub(crate) key: Key,
    /// The header that holds the bare key, where it is not the wire's own.
    pub(crate) key_header: Option<&'static str>,
    pub(crate) dialect: Dialect,
    pub(crate) settings: &'static [Setting],
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

/// A service that speaks like OpenAI's chat, with everything else still to be said.
pub(crate) const CHAT: Service = Service {
    name: "",
    aliases: &[],
    display: "",
    wire: Wire::Chat,
    prefix: "",
    host: "",
    path: CHAT_PATH,
    key: Key::Optional(&[]),
    key_header: None,
    dialect: Dialect::Common,
    settings: &[],
    headers: &[],
    header_settings: &[],
    key_advice: None,
    docs: "",
    models: &[],
};

/// A service, ready to be filled in with what the user has set.
pub(super) struct ServiceSpec<'a> {
    pub(super) name: &'a str,
    pub(super) shown: &'a str,
    pub(super) wire: Wire,
    /// The prefix of the usual variables; none for the user's own services.
    pub(super) prefix: Option<&'a str>,
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) keys: Vec<&'a str>,
    pub(super) needs_key: NeedsKey,
    pub(super) key_header: KeyHeader,
    pub(super) key_advice: Option<&'a str>,
    pub(super) dialect: Dialect,
    pub(super) variables: Vec<Variable<'a>>,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) header_settings: &'a [(&'a str, &'a str)],
    pub(super) timeout: Option<Duration>,
    pub(super) docs: Option<&'a str>,
    pub(super) models: BTreeMap<&'a str, ModelOverride>,
}

/// The need for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeedsKey {
    Yes,
    No,
}

/// A variable in the URL.
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    pub(super) also: &'a [&'a str],
    pub(super) default: Option<&'a str>,
    pub(super) example: Option<&'a str>,
}

impl<'a> ServiceSpec<'a> {
    pub(super) fn from_service(service: &'a Service) -> Self {
        let (keys, needs_key) = match service.key {
            Key::Required(keys) => (keys, NeedsKey::Yes),
            Key::Optional(keys) => (keys, NeedsKey::No),
        };
        let variables = service.settings.iter().map(|setting| Variable {
            name: setting.name,
            also: setting.also,
            default: setting.default,
            example: Some(setting.example),
        });
        Self {
            name: service.name,
            shown: service.display,
            wire: service.wire,
            prefix: Some(service.prefix),
            host: service.host,
            path: service.path,
            keys: keys.to_vec(),
            needs_key,
            key_header: service.key_header.map_or(KeyHeader::Usual, |name| KeyHeader::Named(name.to_owned())),
            key_advice: service.key_advice,
            dialect: service.dialect,
            variables: variables.collect(),
            headers: service.headers.to_vec(),
            header_settings: service.header_settings,
            timeout: None,
            docs: Some(service.docs),
            models: BTreeMap::new(),
        }
    }

    pub(super) fn from_custom(custom: &'a CustomProvider) -> Self {
        let (wire, usual_path) = custom_wire(custom);
        let needs_key = match custom.requires_auth {
            Some(false) => NeedsKey::No,
            _ => NeedsKey::Yes,
        };
        let variables = custom.env_vars.iter().map(|variable| Variable {
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
            keys: custom.key_variable().into_iter().collect(),
            needs_key,
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
