//! The size and the abilities of a model, as the server on this machine that has it describes them.

use std::time::Duration;

use futures::future::join;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    address,
    choice::{OLLAMA, body, client},
};
use crate::catalogue;

/// The number of parameters below which a model does better in a fixed form than with tools of its own.
pub const SMALL_MODEL_PARAMETERS: f64 = 4e9;

/// Time limit for a question about one model. A server that is not there refuses at once.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A model at a server.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct ServedModel {
    parameters: Option<f64>,
    pub(super) calls_tools: Option<bool>,
}

impl ServedModel {
    /// Returns true for a model that a service sells: it is large and calls tools. Where such a name has no size, a
    /// gateway on this machine is not asked.
    pub(super) fn is_sold(provider: &str, model: &str) -> bool {
        provider != OLLAMA && parameters_in(model).is_none() && catalogue::model_info(model).prices.is_some()
    }

    /// Asks the server; what it does not say is taken from the model's name, such as `qwen2.5:0.5b`.
    pub(super) async fn ask(provider: &str, url: &Url, model: &str) -> Self {
        let named = Self { parameters: parameters_in(model), calls_tools: None };
        if !address::is_here(url) {
            return named;
        }
        let Some(client) = client() else { return named };
        let said = match provider {
            OLLAMA => {
                let show =
                    client.post(address::join(url, "api/show")).header("content-type", "application/json");
                let show = show.body(json!({ "model": model }).to_string()).timeout(TIMEOUT);
                body(show).await.and_then(|body| Self::from_ollama(&body))
            }
            _ => {
                let get = |path: &str| body(client.get(address::join(url, path)).timeout(TIMEOUT));
                let (models, properties) = join(get("v1/models"), get("props")).await;
                Some(Self::from_openai(models.as_deref(), properties.as_deref(), model))
            }
        };
        let said = said.unwrap_or_default();
        Self { parameters: said.parameters.or(named.parameters), calls_tools: said.calls_tools }
    }

    /// True if it is small, or was not made to call tools. A model of which nothing is known is neither.
    pub(super) fn needs_form(self) -> bool {
        self.parameters.is_some_and(|parameters| parameters < SMALL_MODEL_PARAMETERS)
            || self.calls_tools == Some(false)
    }

    pub(super) fn from_ollama(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Shown {
            #[serde(default)]
            details: Value,
            capabilities: Option<Vec<String>>,
        }
        let shown: Shown = serde_json::from_slice(body).ok()?;
        let size = shown.details.get("parameter_size").and_then(Value::as_str).unwrap_or_default();
        let calls_tools = shown.capabilities.map(|all| all.iter().any(|one| one == "tools"));
        Some(Self { parameters: parameters_in(size), calls_tools })
    }

    /// From the list of models and, of llama.cpp's server, its properties.
    fn from_openai(models: Option<&[u8]>, properties: Option<&[u8]>, model: &str) -> Self {
        let parsed = |body: Option<&[u8]>| {
            body.and_then(|body| serde_json::from_slice::<Value>(body).ok()).unwrap_or_default()
        };
        let (models, properties) = (parsed(models), parsed(properties));
        let listed = models["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let own = listed.iter().find(|entry| entry["id"] == model).or(match listed {
            [only] => Some(only),
            _ => None,
        });
        let parameters = own.and_then(|entry| entry["meta"]["n_params"].as_f64());
        let calls_tools = properties["chat_template"].as_str().map(|template| template.contains("tools"));
        Self { parameters, calls_tools }
    }
}

/// The number of parameters in a text such as `qwen2.5-coder-1.5b-instruct` or `494.03M`.
fn parameters_in(text: &str) -> Option<f64> {
    let parts = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.');
    parts
        .filter_map(|part| {
            let (number, unit) = part.split_at_checked(part.len().checked_sub(1)?)?;
            let unit = match unit {
                "b" | "B" => 1e9,
                "m" | "M" => 1e6,
                _ => return None,
            };
            Some(number.parse::<f64>().ok()? * unit)
        })
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_size() {
        for (name, parameters) in [
            ("qwen2.5-coder-1.5b-instruct", Some(1.5e9)),
            ("llama3.2:3b", Some(3e9)),
            ("494.03M", Some(494.03e6)),
            ("SmolLM2-135M-Instruct.gguf", Some(135e6)),
            ("qwen3-30b-a3b", Some(30e9)),
            ("gpt-4o", None),
            ("b", None),
        ] {
            assert_eq!(parameters_in(name), parameters, "{name}");
        }
    }

    #[test]
    fn small_models_and_those_without_tools_need_a_form() {
        let ollama = |body: &str| ServedModel::from_ollama(body.as_bytes()).unwrap_or_default().needs_form();
        assert!(ollama(r#"{"details":{"parameter_size":"494.03M"},"capabilities":["completion","tools"]}"#));
        assert!(ollama(r#"{"details":{"parameter_size":"13B"},"capabilities":["completion"]}"#));
        assert!(!ollama(r#"{"details":{"parameter_size":"7.6B"},"capabilities":["completion","tools"]}"#));
        assert!(!ollama("{}"));
        let llama = |models: &str, properties: Option<&str>| {
            ServedModel::from_openai(Some(models.as_bytes()), properties.map(str::as_bytes), "m").needs_form()
        };
        assert!(llama(r#"{"data":[{"id":"x","meta":{"n_params":134515008}}]}"#, None));
        assert!(!llama(
            r#"{"data":[{"id":"x","meta":{"n_params":8e9}}]}"#,
            Some(r#"{"chat_template":"{{ tools }}"}"#)
        ));
        assert!(llama(r#"{"data":[]}"#, Some(r#"{"chat_template":"<|im_start|>"}"#)));
    }
}
