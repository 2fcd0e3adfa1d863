//! [`CustomProvider`]: services that users describe themselves, in `custom_providers/*.json`.

mod load;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::load::{CustomProviderError, CustomProviders, MAX_PROVIDER_FILE_BYTES};

/// A service as its file describes it. Fields that are not known are let be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct CustomProvider {
    /// The name to use in `GOOSE_PROVIDER`.
    pub name: String,
    /// The protocol that it speaks.
    pub(crate) engine: Engine,
    /// The name that people see.
    pub(crate) display_name: Option<String>,
    /// A description.
    pub(crate) description: Option<String>,
    /// The variable that holds its key; none or empty where it wants none.
    pub(crate) api_key_env: Option<String>,
    /// Its address: a host, a base URL or the whole URL. May contain `${VARIABLE}`.
    pub base_url: String,
    /// The path, if it is not the usual one.
    pub(crate) base_path: Option<String>,
    /// Its models.
    #[serde(default)]
    pub(crate) models: Vec<CustomModel>,
    /// The model to begin with; otherwise the first one.
    pub(crate) default_model: Option<String>,
    /// Headers that go with every request. May hold `${VARIABLE}`.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) headers: BTreeMap<String, String>,
    /// The idle timeout.
    pub(crate) timeout_seconds: Option<u64>,
    /// False if it works without a key.
    pub(crate) requires_auth: Option<bool>,
    /// OpenAI's older or newer wire, for that engine.
    pub(crate) wire_api: Option<WireApi>,
    /// The variables in the URL and the headers.
    #[serde(default, alias = "config_keys", deserialize_with = "or_default")]
    pub(crate) env_vars: Vec<CustomVariable>,
    /// Its documentation.
    pub(crate) model_doc_link: Option<String>,
}

/// The protocol that a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Engine {
    /// OpenAI.
    #[serde(alias = "openai_compatible")]
    Openai,
    /// Anthropic.
    #[serde(alias = "anthropic_compatible")]
    Anthropic,
    /// Ollama.
    #[serde(alias = "ollama_compatible")]
    Ollama,
}

/// OpenAI's two wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireApi {
    /// The older one.
    #[serde(alias = "chat")]
    ChatCompletions,
    /// The newer one.
    Responses,
}

/// A model of such a service.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct CustomModel {
    /// Its name.
    pub(crate) name: String,
    /// The size of its context, in tokens.
    #[serde(default, alias = "context_window")]
    pub(crate) context_limit: Option<u64>,
    /// Most tokens of an answer.
    #[serde(default, alias = "max_output_tokens")]
    pub(crate) max_tokens: Option<u64>,
    /// True if it accepts images.
    pub(crate) supports_vision: Option<bool>,
    /// US dollars for one token read.
    pub(crate) input_token_cost: Option<f64>,
    /// US dollars for one token written.
    pub(crate) output_token_cost: Option<f64>,
}

/// A variable that the URL or a header is made with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct CustomVariable {
    /// Its name.
    pub(crate) name: String,
    /// True if there is no default.
    pub(crate) required: Option<bool>,
    /// The default.
    pub(crate) default: Option<String>,
    /// Its purpose.
    pub(crate) description: Option<String>,
}

impl CustomProvider {
    /// The variable that holds its key, where there is one.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        self.api_key_env.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// The name that people see.
    pub(crate) fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// The model to begin with.
    pub(crate) fn first_model(&self) -> Option<&str> {
        self.default_model.as_deref().or_else(|| Some(self.models.first()?.name.as_str()))
    }
}

/// `null` stands for nothing in these files.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
