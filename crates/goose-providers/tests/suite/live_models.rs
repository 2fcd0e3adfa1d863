//! The models that services list, each over its own API.

use std::collections::BTreeMap;

use goose_providers::{CustomProviders, Registry};

use crate::loopback::{Answer, Loopback};

/// Asks a service at a server with one answer. Returns its models, and the target and the key of the request.
async fn listed(
    service: &str,
    prefix: &str,
    key_header: &str,
    answer: Answer,
) -> (Option<Vec<String>>, String, String) {
    let server = Loopback::start(vec![answer]).await;
    let settings: BTreeMap<String, String> =
        [(format!("{prefix}_HOST"), server.url()), (format!("{prefix}_API_KEY"), "k-123".to_owned())].into();
    let models = Registry::new(CustomProviders::default()).list_models(service, &settings).await;
    let asked = server.only();
    (models, asked.target.clone(), asked.header(key_header).unwrap_or_default().to_owned())
}

#[tokio::test]
async fn services_list_their_models_over_their_own_apis() {
    let openai =
        r#"{"data": [{"id": "gpt-9"}, {"id": "text-embedding-3"}, {"id": "o9\u001b[2J"}, {"id": "o9"}]}"#;
    let (models, target, key) = listed("openai", "OPENAI", "authorization", Answer::new(200, openai)).await;
    assert_eq!(models.unwrap(), ["gpt-9", "o9"]);
    assert_eq!((target.as_str(), key.as_str()), ("/v1/models", "Bearer k-123"));

    let claude = r#"{"data": [{"type": "model", "id": "claude-9"}], "has_more": false}"#;
    let (models, target, key) = listed("anthropic", "ANTHROPIC", "x-api-key", Answer::new(200, claude)).await;
    assert_eq!(models.unwrap(), ["claude-9"]);
    assert_eq!((target.as_str(), key.as_str()), ("/v1/models?limit=1000", "k-123"));

    let gemini = r#"{"models": [{"name": "models/gemini-9"}]}"#;
    let (models, target, key) = listed("google", "GOOGLE", "x-goog-api-key", Answer::new(200, gemini)).await;
    assert_eq!(models.unwrap(), ["gemini-9"]);
    assert_eq!((target.as_str(), key.as_str()), ("/v1beta/models?pageSize=1000", "k-123"));

    let ollama = r#"{"models": [{"name": "qwen9:4b"}]}"#;
    let (models, target, _) = listed("ollama", "OLLAMA", "authorization", Answer::new(200, ollama)).await;
    assert_eq!((models.unwrap(), target.as_str()), (vec!["qwen9:4b".to_owned()], "/api/tags"));
}

#[tokio::test]
async fn service_that_refuses_or_is_not_set_up_lists_nothing() {
    for answer in [Answer::new(401, "{}"), Answer::new(200, "<html>"), Answer::new(200, "{\"data\": []}")] {
        let (models, ..) = listed("openai", "OPENAI", "authorization", answer).await;
        assert_eq!(models, None);
    }
    let registry = Registry::new(CustomProviders::default());
    let nothing = BTreeMap::<String, String>::new();
    assert_eq!(registry.list_models("openai", &nothing).await, None);
    assert_eq!(registry.list_models("bedrock", &nothing).await, None);
    assert_eq!(registry.list_models("no-such-service", &nothing).await, None);
}
