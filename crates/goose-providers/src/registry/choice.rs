//! Chooses a model if the user has not: by a key in the environment, then a server on this machine, then the model
//! inside goose. Nothing is asked if the user has chosen a model. The usual local servers are looked for at their usual
//! addresses, or where the user's settings say that they are; all are asked side by side, and not for long.

use std::{fmt, time::Duration};

use futures::future::join_all;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use url::Url;

use crate::{
    http::plain_client,
    lookup::Lookup,
    model_ref::ModelRef,
    registry::{
        Registry,
        address::{self, Usual},
        served::ServedModel,
    },
};

/// A model that goose has chosen by itself, and why. Shown, it is one line: `openai:gpt-5 (OPENAI_API_KEY is set)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The model.
    pub model: ModelRef,
    /// Why this one.
    pub reason: ChoiceReason,
}

/// Why a model was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The environment has a service's key.
    Key {
        /// The variable.
        variable: String,
    },
    /// A server on this machine answers.
    Server {
        /// Its name, as people know it.
        name: String,
        /// Its address.
        address: String,
    },
    /// There is nothing else, and goose has a model inside.
    Embedded,
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { variable } => write!(f, "{variable} is set"),
            Self::Server { name, address } => write!(f, "{name} answers at {address}"),
            Self::Embedded => f.write_str(
                "a small local model: no API key found in the environment, no local server running",
            ),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.model, self.reason)
    }
}

impl Registry {
    /// Chooses a model if the user has not. `is_set` says whether a variable of the environment is set; only where no
    /// key is, servers are asked, for a moment. The last resort is a model of the program's own.
    pub async fn choose(&self, is_set: impl Fn(&str) -> bool, lookup: &dyn Lookup) -> Option<Choice> {
        if let Some(choice) = self.by_key(&is_set) {
            return Some(choice);
        }
        self.chosen(is_set, &answering(self, lookup).await)
    }

    /// The servers that [`choose`](Self::choose) looks for on this machine: what people call them, and where.
    pub fn local_servers(&self, lookup: &dyn Lookup) -> Vec<(String, String)> {
        let places = LOCAL_SERVERS.iter().filter_map(|provider| {
            let url = address_of(self, lookup, provider)?;
            Some((self.info(provider)?.display_name.clone(), shown(&url)?))
        });
        places.collect()
    }

    /// The choice itself, from what is known.
    fn chosen(&self, is_set: impl Fn(&str) -> bool, answering: &[Choice]) -> Option<Choice> {
        self.by_key(is_set).or_else(|| by_server(answering)).or_else(|| {
            let model = self.embedded()?;
            Some(Choice { model, reason: ChoiceReason::Embedded })
        })
    }

    fn by_key(&self, is_set: impl Fn(&str) -> bool) -> Option<Choice> {
        KEY_ORDER.iter().find_map(|name| {
            let service = self.info(name)?;
            let variable = service.key_variables.iter().find(|variable| is_set(variable))?.clone();
            let model = ModelRef::new(&service.name, service.default_model.clone()?);
            Some(Choice { model, reason: ChoiceReason::Key { variable } })
        })
    }
}

fn by_server(answering: &[Choice]) -> Option<Choice> {
    let of = |name: &str| answering.iter().find(|choice| choice.model.provider() == Some(name));
    LOCAL_SERVERS.iter().find_map(|name| of(name)).cloned()
}

/// The services that are chosen where their key is in the environment, the first one first. Left out are services that
/// need more than a key, and those whose variable is set for other reasons (such as `GITHUB_TOKEN` and `HF_TOKEN`).
pub const KEY_ORDER: &[&str] = &[
    "anthropic",
    "openai",
    "google",
    "openrouter",
    "groq",
    "xai",
    "mistral",
    "deepseek",
    "cerebras",
    "together",
    "fireworks",
    "moonshot",
    "zai",
    "qwen",
    "minimax",
    "cohere",
];

/// The servers that are looked for, the first one first: their names in the registry.
pub const LOCAL_SERVERS: &[&str] = &["ollama", "lmstudio", "llama_cpp"];

/// The one that speaks a wire of its own.
pub(super) const OLLAMA: &str = "ollama";

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(150);

/// Time limit for all requests to one server.
const SERVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for a request about one model.
const SHOW_TIME: Duration = Duration::from_millis(250);

/// The largest answer.
const MAX_ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// Most models that are asked about one by one.
const MAX_SHOWN: usize = 6;

/// Returns the servers that answer, each with the first model in its list that can call tools, as far as it says.
async fn answering(registry: &Registry, lookup: &dyn Lookup) -> Vec<Choice> {
    let Some(client) = client() else { return Vec::new() };
    let asked = LOCAL_SERVERS.iter().filter_map(|provider| {
        let info = registry.info(provider)?;
        let url = address_of(registry, lookup, provider)?;
        let (client, name) = (&client, info.display_name.clone());
        Some(async move {
            let model =
                tokio::time::timeout(SERVER_TIMEOUT, first_model(client, provider, &url)).await.ok()??;
            let reason = ChoiceReason::Server { name, address: shown(&url)? };
            Some(Choice { model: ModelRef::new(*provider, model), reason })
        })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

fn shown(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// Returns the address from the settings, or the usual one.
pub(super) fn address_of(registry: &Registry, lookup: &dyn Lookup, provider: &str) -> Option<Url> {
    let setting = registry.info(provider)?.settings.iter().find(|setting| setting.name.ends_with("_HOST"))?;
    let said = lookup.value(&setting.name).ok().flatten().filter(|text| !text.trim().is_empty());
    let text = said.or_else(|| setting.default.clone())?;
    let usual = if provider == OLLAMA { Usual::Ollama } else { Usual::Service };
    address::parse(&text, usual).ok()
}

async fn first_model(client: &Client, provider: &str, url: &Url) -> Option<String> {
    if provider != OLLAMA {
        let list = body(client.get(address::join(url, "v1/models"))).await?;
        return listed(&list).into_iter().next();
    }
    let list = body(client.get(address::join(url, "api/tags"))).await?;
    for model in tagged(&list).into_iter().take(MAX_SHOWN) {
        let show = client.post(address::join(url, "api/show")).body(json!({ "model": model }).to_string());
        let show = show.header("content-type", "application/json").timeout(SHOW_TIME);
        // One model that cannot be shown says nothing about the others.
        if body(show).await.is_some_and(|shown| may_call_tools(&shown)) {
            return Some(model);
        }
    }
    None
}

/// The body of a good answer that is not too long.
pub(super) async fn body(request: RequestBuilder) -> Option<Vec<u8>> {
    let mut response = request.send().await.ok().filter(|response| response.status().is_success())?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

/// For servers on this machine.
pub(super) fn client() -> Option<Client> {
    plain_client(CONNECT_TIMEOUT).tls_certs_only([]).build().ok()
}

/// Most models of a list that are looked at.
const MAX_MODELS: usize = 2_000;

/// The longest name of a model.
const MAX_NAME_BYTES: usize = 256;

/// Words in the names of models that do not talk.
const MUTE: [&str; 14] = [
    "embed",
    "rerank",
    "whisper",
    "bge-",
    "tts",
    "clip",
    "dall-e",
    "gpt-image",
    "transcribe",
    "moderation",
    "realtime",
    "sora",
    "davinci",
    "babbage",
];

/// The models of Ollama's list that are on this machine, the last one that was changed first.
fn tagged(body: &[u8]) -> Vec<String> {
    let tags: Value = serde_json::from_slice(body).unwrap_or_default();
    // What is said to a model with a remote host does not stay here.
    let is_here = |tag: &&Value| tag["remote_host"].is_null() || tag["remote_host"] == "";
    talking(elements(&tags["models"]).filter(is_here).map(|tag| &tag["name"]))
}

/// Returns whether a model can call tools, as far as Ollama says. Older versions do not list the capabilities.
fn may_call_tools(body: &[u8]) -> bool {
    ServedModel::from_ollama(body).is_some_and(|model| model.calls_tools != Some(false))
}

/// The models of a list of OpenAI's wire, in its order.
fn listed(body: &[u8]) -> Vec<String> {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    talking(elements(&list["data"]).map(|entry| &entry["id"]))
}

pub(super) fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

pub(super) fn talking<'v>(names: impl Iterator<Item = &'v Value>) -> Vec<String> {
    let is_name = |name: &&str| {
        !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)
    };
    let talks = |name: &&str| {
        let name = name.to_lowercase();
        !MUTE.iter().any(|word| name.contains(word))
    };
    let names = names.take(MAX_MODELS).filter_map(Value::as_str);
    names.filter(is_name).filter(talks).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        provider::{Provider, ProviderFactory},
        registry::{ProviderInfo, SetupError},
    };

    fn server(provider: &str, model: &str) -> Choice {
        let reason =
            ChoiceReason::Server { name: provider.to_uppercase(), address: "127.0.0.1:1".to_owned() };
        Choice { model: ModelRef::new(provider, model), reason }
    }

    /// A program with one model of its own.
    struct Inside(String);

    impl ProviderFactory for Inside {
        fn name(&self) -> &str {
            "local"
        }

        fn info(&self) -> ProviderInfo {
            ProviderInfo::embedded("local", "inside", vec![self.0.clone()])
        }

        fn build(&self, model: &str, _lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError> {
            Err(SetupError::NoProvider { model: model.to_owned() })
        }
    }

    fn chosen(set: &[&str], servers: &[Choice], embedded: Option<&str>) -> Option<String> {
        let registry = match embedded {
            Some(model) => Registry::default().with_factory(Arc::new(Inside(model.to_owned()))),
            None => Registry::default(),
        };
        let choice = registry.chosen(|name| set.contains(&name), servers);
        choice.map(|choice| choice.to_string())
    }

    #[test]
    fn a_key_comes_before_a_server_and_a_server_before_the_model_inside() {
        let servers = [server("lmstudio", "b"), server("ollama", "a:8b")];
        let first_of = |name: &str| Registry::default().info(name).unwrap().default_model.clone().unwrap();
        let (openai, anthropic) = (first_of("openai"), first_of("anthropic"));
        for (set, servers, embedded, expected) in [
            (
                &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"][..],
                &servers[..],
                Some("m"),
                Some(format!("anthropic:{anthropic} (ANTHROPIC_API_KEY is set)")),
            ),
            (
                &["OPENAI_API_KEY", "GROQ_API_KEY"],
                &[],
                None,
                Some(format!("openai:{openai} (OPENAI_API_KEY is set)")),
            ),
            (&[], &servers, Some("m"), Some("ollama:a:8b (OLLAMA answers at 127.0.0.1:1)".to_owned())),
            (&[], &servers[..1], Some("m"), Some("lmstudio:b (LMSTUDIO answers at 127.0.0.1:1)".to_owned())),
            (&["PATH", "GITHUB_TOKEN", "HF_TOKEN"], &[], None, None),
        ] {
            assert_eq!(chosen(set, servers, embedded), expected);
        }
        assert!(chosen(&[], &[], Some("m")).unwrap().starts_with("local:m (a small local model"));
    }

    #[test]
    fn the_second_name_of_a_key_counts() {
        assert!(chosen(&["GEMINI_API_KEY"], &[], None).unwrap().ends_with("(GEMINI_API_KEY is set)"));
    }

    #[test]
    fn everybody_in_the_order_can_be_asked_with_a_key_alone() {
        let registry = Registry::default();
        for name in KEY_ORDER {
            let info = registry.info(name).unwrap();
            assert!(info.needs_key && info.default_model.is_some(), "{name}");
            assert!(info.settings.iter().all(|setting| !setting.is_required), "{name}");
        }
    }

    #[test]
    fn models_that_do_not_talk_or_are_elsewhere_are_left_out() {
        let tags =
            br#"{"models": [{"name": "nomic-embed-text:latest"}, {"name": "big:cloud", "remote_host": "x"},
            {"name": "qwen3:8b", "size": 5, "details": {}}, {"name": "a\u0007b"}]}"#;
        assert_eq!(tagged(tags), ["qwen3:8b"]);
        let list = br#"{"object": "list", "data": [{"id": "text-embedding-x"}, {"id": "org/m", "object": "model"}]}"#;
        assert_eq!(listed(list), ["org/m"]);
        for nonsense in [&b""[..], b"<html>", b"[]", b"{\"data\": 5}", b"{\"models\": null}"] {
            assert!(tagged(nonsense).is_empty() && listed(nonsense).is_empty());
        }
    }

    #[test]
    fn who_does_not_say_may_call_tools() {
        assert!(may_call_tools(br#"{"capabilities": ["completion", "tools"]}"#));
        assert!(may_call_tools(br#"{"details": {}}"#));
        assert!(!may_call_tools(br#"{"capabilities": ["completion"]}"#));
        assert!(!may_call_tools(b"nothing"));
    }
}
