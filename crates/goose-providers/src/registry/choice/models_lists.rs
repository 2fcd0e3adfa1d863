//! Parses the model lists of local servers.

use serde::Deserialize;

/// Most models of a list that are looked at.
const MAX_MODELS: usize = 200;

/// The longest name of a model.
const MAX_NAME_BYTES: usize = 256;

/// Words in the names of models that do not talk.
const MUTE: [&str; 6] = ["embed", "rerank", "whisper", "bge-", "tts", "clip"];

/// The capability of models that can call tools.
const TOOLS: &str = "tools";

/// Ollama's list.
#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    /// The service that it is really at: what is said to it does not stay here.
    remote_host: Option<String>,
}

/// Ollama's description of a model. Older versions do not list its capabilities.
#[derive(Deserialize)]
struct Shown {
    capabilities: Option<Vec<String>>,
}

/// The list of OpenAI's wire.
#[derive(Deserialize)]
struct Listed {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The models of Ollama's list that are on this machine, the last one that was changed first.
pub(super) fn tagged(body: &[u8]) -> Vec<String> {
    let models = serde_json::from_slice::<Tags>(body).map(|tags| tags.models).unwrap_or_default();
    let here = models.into_iter().filter(|tag| tag.remote_host.as_ref().is_none_or(String::is_empty));
    talking(here.map(|tag| tag.name))
}

/// Returns whether a model can call tools, as far as Ollama says.
pub(super) fn may_call_tools(body: &[u8]) -> bool {
    let Ok(shown) = serde_json::from_slice::<Shown>(body) else { return false };
    shown.capabilities.is_none_or(|all| all.iter().any(|it| it == TOOLS))
}

/// The models of a list of OpenAI's wire, in its order.
pub(super) fn listed(body: &[u8]) -> Vec<String> {
    let entries = serde_json::from_slice::<Listed>(body).map(|listed| listed.data).unwrap_or_default();
    talking(entries.into_iter().map(|entry| entry.id))
}

fn talking(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_name = |name: &String| {
        !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)
    };
    let talks = |name: &String| {
        let name = name.to_lowercase();
        !MUTE.iter().any(|word| name.contains(word))
    };
    names.take(MAX_MODELS).filter(is_name).filter(talks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
