//! Chooses a model if the user has not: by a key in the environment, then a server on this machine, then the model inside
//! goose. Nothing is asked if the user has chosen a model.

use std::fmt;

pub use crate::registry::local_servers::{AnsweringServer, LOCAL_SERVERS};
use crate::{
    lookup::Lookup,
    model_ref::ModelRef,
    registry::{Registry, local_servers},
};

/// A model that goose has chosen by itself, and why. Shown, it is one line: `openai:gpt-5 (OPENAI_API_KEY is set)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The model.
    pub model: ModelRef,
    /// Why this one.
    pub reason: ChoiceReason,
}

/// Why a model was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Chooses a model if the user has not. `is_set` says whether a variable of the environment is set; only where no key
    /// is, servers are asked, for a moment. The last resort is a model of the program's own.
    pub async fn choose(&self, is_set: impl Fn(&str) -> bool, lookup: &dyn Lookup) -> Option<Choice> {
        if let Some(choice) = self.by_key(&is_set) {
            return Some(choice);
        }
        self.chosen(is_set, &local_servers::answering(self, lookup).await)
    }

    /// The servers that [`choose`](Self::choose) looks for on this machine: what people call them, and where.
    pub fn local_servers(&self, lookup: &dyn Lookup) -> Vec<(String, String)> {
        local_servers::looked_for(self, lookup)
    }

    /// The choice itself, from what is known.
    fn chosen(&self, is_set: impl Fn(&str) -> bool, answering: &[AnsweringServer]) -> Option<Choice> {
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

fn by_server(answering: &[AnsweringServer]) -> Option<Choice> {
    let first =
        LOCAL_SERVERS.iter().find_map(|name| answering.iter().find(|server| server.provider == *name))?;
    Some(Choice {
        model: ModelRef::new(&first.provider, &first.model),
        reason: ChoiceReason::Server { name: first.name.clone(), address: first.address.clone() },
    })
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        provider::{Provider, ProviderFactory},
        registry::{ProviderInfo, SetupError},
    };

    fn server(provider: &str, model: &str) -> AnsweringServer {
        AnsweringServer {
            provider: provider.to_owned(),
            name: provider.to_uppercase(),
            address: "127.0.0.1:1".to_owned(),
            model: model.to_owned(),
        }
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

    fn chosen(set: &[&str], servers: &[AnsweringServer], embedded: Option<&str>) -> Option<String> {
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
}
