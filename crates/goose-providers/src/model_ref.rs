//! [`ModelRef`]: which model is meant, as people write it: `openai:gpt-4`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Longest reference.
const MAX_MODEL_REF_BYTES: usize = 512;

/// A model, and the service that offers it.
///
/// ```
/// # use goose_providers::ModelRef;
/// let model: ModelRef = "ollama:qwen3:8b".parse()?;
/// assert_eq!((model.provider(), model.model()), (Some("ollama"), "qwen3:8b"));
/// assert_eq!("gpt-4".parse::<ModelRef>()?.provider(), None);
/// # Ok::<(), goose_providers::BadModelRef>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    provider: Option<String>,
    model: String,
}

/// A text that names no model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadModelRef {
    /// Nothing where the model should be.
    #[error("`{0}` names no model; write it as provider:model, such as openai:gpt-5")]
    NoModel(String),
    /// Nothing before the colon.
    #[error("`{0}` has nothing before its colon; write it as provider:model, such as openai:gpt-5")]
    NoProvider(String),
    /// Control characters, or too long.
    #[error("invalid model name: longer than {MAX_MODEL_REF_BYTES} bytes, or not a single line")]
    NotAName,
}

impl ModelRef {
    /// A model of a service. The model's name is taken as it is, colons and all.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: Some(provider.into()), model: model.into() }
    }

    /// A model of which it is not said who offers it.
    pub fn bare(model: impl Into<String>) -> Self {
        Self { provider: None, model: model.into() }
    }

    /// The service, where it is said.
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The model, as the service knows it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The same, at that service unless another one is said.
    pub fn or_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider.get_or_insert_with(|| provider.into());
        self
    }
}

impl FromStr for ModelRef {
    type Err = BadModelRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.len() > MAX_MODEL_REF_BYTES || text.contains(char::is_control) {
            return Err(BadModelRef::NotAName);
        }
        let (provider, model) = match text.split_once(':') {
            Some((provider, model)) => (Some(provider.trim()), model.trim()),
            None => (None, text),
        };
        if model.is_empty() {
            return Err(BadModelRef::NoModel(text.to_owned()));
        }
        if provider.is_some_and(str::is_empty) {
            return Err(BadModelRef::NoProvider(text.to_owned()));
        }
        Ok(Self { provider: provider.map(str::to_owned), model: model.to_owned() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.provider {
            Some(provider) => write!(f, "{provider}:{}", self.model),
            None => f.write_str(&self.model),
        }
    }
}

impl Serialize for ModelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_and_written_alike() {
        for text in ["openai:gpt-4", "gpt-4", "ollama:qwen3:8b", "openrouter:anthropic/claude-sonnet-5"] {
            let model: ModelRef = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(&model).unwrap(), text);
        }
        assert_eq!(" openai : gpt-4 ".parse(), Ok(ModelRef::new("openai", "gpt-4")));
        assert_eq!("gpt-4".parse::<ModelRef>().unwrap().or_provider("azure").provider(), Some("azure"));
    }

    #[test]
    fn what_is_no_reference_is_said() {
        for (text, expected) in [
            ("", BadModelRef::NoModel(String::new())),
            ("openai:", BadModelRef::NoModel("openai:".into())),
            (":gpt-4", BadModelRef::NoProvider(":gpt-4".into())),
            ("gpt\n4", BadModelRef::NotAName),
            (&"x".repeat(600), BadModelRef::NotAName),
        ] {
            assert_eq!(text.parse::<ModelRef>(), Err(expected));
        }
    }
}
