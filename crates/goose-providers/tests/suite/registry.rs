//! From a model's name to its provider.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::collections::BTreeMap;

use goose_providers::ProviderInfo;
use goose_providers::{ModelOverride, ModelOverrides, ModelRef, Registry, SetupError};
use serde_json::json;

use crate::{
    asking::{ask_hello, provider, set},
    loopback::{Answer, Asked, Loopback},
};

fn found(model: &str, set: &BTreeMap<String, String>) -> Result<String, SetupError> {
    let provider = Registry::default().provider(&model.parse()?, set, &ModelOverrides::default())?;
    Ok(format!("{}:{}", provider.name(), provider.model().name))
}

/// Everything that a service needs, made up.
fn everything(info: &ProviderInfo) -> BTreeMap<String, String> {
    let needed = info.settings.iter().filter(|setting| setting.is_required);
    let settings = needed.map(|setting| (setting.name.clone(), "example.com".to_owned()));
    let keys = info.key_variables.first().map(|key| (key.clone(), "k-123".to_owned()));
    settings.chain(keys).collect()
}

#[test]
fn every_service_can_be_asked_once_all_is_set() {
    let registry = Registry::default();
    assert!(registry.known().len() >= 45, "{}", registry.known().len());
    for info in registry.known() {
        let set = everything(info);
        let model = info.default_model.clone().unwrap();
        for name in std::iter::once(&info.name).chain(&info.aliases) {
            let model = ModelRef::new(name.as_str(), model.as_str());
            let provider = registry.provider(&model, &set, &ModelOverrides::default());
            let provider = provider.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((provider.name(), &provider.model().name), (info.name.as_str(), &info.models[0]));
        }
        assert_eq!(registry.info(&info.name), Some(info));
    }
}

#[test]
fn no_two_services_share_a_name() {
    let registry = Registry::default();
    let mut names: Vec<&String> =
        registry.known().iter().flat_map(|info| std::iter::once(&info.name).chain(&info.aliases)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let registry = Registry::default();
    let none = BTreeMap::new();
    let mut said = String::new();
    for info in registry.known() {
        let model = ModelRef::new(info.name.as_str(), "some-model");
        let line = match registry.provider(&model, &none, &ModelOverrides::default()) {
            Ok(_) => "can be asked as it is".to_owned(),
            Err(error) => format!("{error}\n    {}", error.hint().unwrap()),
        };
        said.push_str(&format!("{}: {line}\n", info.name));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_wrong_name_is_answered_with_the_right_one() {
    let none = BTreeMap::new();
    let mut said = String::new();
    for model in [
        "gpt-5",
        "opnai:gpt-5",
        "antropic:claude",
        "qwen3:8b",
        "nobody-at-all:x",
        "github_copilot:gpt-5",
        "claude-code:x",
        "openai:",
    ] {
        let error = found(model, &none).unwrap_err();
        said.push_str(&format!("{model}: {error}\n    {}\n", error.hint().unwrap_or_default()));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let bad = |name: &str, value: &str| {
        let mut set = set([("OPENAI_API_KEY", "k-123")]);
        set.insert(name.to_owned(), value.to_owned());
        match found("openai:gpt-5", &set) {
            Err(SetupError::BadSetting { variable, reason }) => format!("{variable}: {reason}"),
            other => panic!("{name}={value}: {other:?}"),
        }
    };
    let said = [
        bad("OPENAI_HOST", "ftp://example.com"),
        bad("OPENAI_HOST", "http://"),
        bad("OPENAI_HOST", "https://me:canary@example.com:x/?key=canary"),
        bad("OPENAI_TIMEOUT", "soon"),
        bad("OPENAI_TIMEOUT", "-1"),
        bad("OPENAI_CUSTOM_HEADERS", "no value"),
        bad("OPENAI_CUSTOM_HEADERS", "bad name=canary"),
        bad("OPENAI_API_KEY", "canary\u{1}"),
        bad("GOOSE_OPENAI_API", "telepathy"),
        bad("HTTPS_PROXY", "gopher://canary"),
    ]
    .join("\n");
    assert!(!said.contains("canary"), "{said}");
    insta::assert_snapshot!(said);
}

/// A model without a provider belongs to the service whose key is set, if that is clear.
#[test]
fn the_only_key_names_the_provider() {
    let both = set([("OPENAI_API_KEY", "k-123"), ("GROQ_API_KEY", "k-123")]);
    assert_eq!(found("gpt-4o-mini", &both), Err(SetupError::NoProvider { model: "gpt-4o-mini".into() }));
    let one = set([("OPENAI_API_KEY", "k-123"), ("GITHUB_TOKEN", "t")]);
    assert_eq!(found("gpt-4o-mini", &one).unwrap(), "openai:gpt-4o-mini");
}

/// Errors of a proxy name it, without its password.
#[tokio::test]
async fn an_unreachable_proxy_is_named() {
    let settings = [("OPENAI_API_KEY", "k-123"), ("HTTPS_PROXY", "http://me:canary@127.0.0.1:9")];
    let error = ask_hello(&*provider("openai:gpt-4o", settings)).await.unwrap_err().to_string();
    assert!(error.contains("through the proxy http://127.0.0.1:9/: connection refused"), "{error}");
    assert!(!error.contains("canary"), "{error}");
}

/// Returns the request to a service with these settings.
async fn asked<const N: usize>(model: &str, mut pairs: [(&str, &str); N]) -> Asked {
    let server = Loopback::start(vec![Answer::new(401, "{}")]).await;
    let url = server.url();
    let full: Vec<String> = pairs.iter().map(|(_, value)| value.replace("URL", &url)).collect();
    for (pair, value) in pairs.iter_mut().zip(&full) {
        pair.1 = value;
    }
    ask_hello(&*provider(model, pairs)).await.unwrap_err();
    server.only()
}

/// Claude's cache keeps only what is marked, also behind a gateway; other models get no marks.
#[tokio::test]
async fn claude_is_told_what_to_cache_behind_gateways() {
    let key = ("OPENROUTER_API_KEY", "k-123");
    let claude = asked("openrouter:anthropic/claude-sonnet-5.5", [key, ("OPENROUTER_HOST", "URL")]).await;
    let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let expected = json!([{"role": "system", "content": marked("You are goose.")}, {"role": "user", "content": marked("Hello")}]);
    assert_eq!(claude.body["messages"], expected);

    let plain =
        json!([{"role": "system", "content": "You are goose."}, {"role": "user", "content": "Hello"}]);
    let other = asked("openrouter:openai/gpt-4o", [key, ("OPENROUTER_HOST", "URL")]).await;
    assert_eq!(other.body["messages"], plain);
    let unknown =
        asked("openai:claude-sonnet-5-5", [("OPENAI_API_KEY", "k-123"), ("OPENAI_HOST", "URL")]).await;
    assert_eq!(unknown.body["messages"], plain);
}

#[tokio::test]
async fn claude_is_told_what_to_cache_at_googles_cloud() {
    let settings = [("GCP_ACCESS_TOKEN", "k-123"), ("GCP_PROJECT_ID", "p"), ("VERTEX_HOST", "URL")];
    let claude = asked("gcp_vertex_ai:claude-sonnet-4-5@20250929", settings).await;
    let mark = json!({"type": "ephemeral"});
    assert_eq!(claude.body["system"][0]["text"], "You are goose.");
    assert_eq!(claude.body["system"][0]["cache_control"], mark);
    assert_eq!(claude.body["messages"][0]["content"][0]["cache_control"], mark);
}

#[tokio::test]
async fn openai_is_asked_as_the_user_says() {
    let key = ("OPENAI_API_KEY", "k-123");
    let plain = asked("openai:gpt-4o", [key, ("OPENAI_HOST", "URL")]).await;
    assert_eq!(plain.target, "/v1/chat/completions");
    assert_eq!(plain.header("authorization"), Some("Bearer k-123"));

    let path = asked(
        "openai:gpt-4o",
        [key, ("OPENAI_HOST", "URL"), ("OPENAI_BASE_PATH", "api/chat/completions?v=2")],
    )
    .await;
    assert_eq!(path.target, "/api/chat/completions?v=2");
    let base = asked("openai:gpt-4o", [key, ("OPENAI_BASE_URL", "URL/api")]).await;
    assert_eq!(base.target, "/api/chat/completions");

    for model in [("openai:gpt-5-codex", "chat"), ("openai:gpt-4o", "responses")] {
        let said = asked(model.0, [key, ("OPENAI_HOST", "URL/v1/"), ("GOOSE_OPENAI_API", model.1)]).await;
        let expected = if model.1 == "chat" { "/v1/chat/completions" } else { "/v1/responses" };
        assert_eq!(said.target, expected);
    }
    let codex = asked("openai:gpt-5-codex", [key, ("OPENAI_HOST", "URL")]).await;
    assert_eq!(codex.target, "/v1/responses");

    let headers = [
        key,
        ("OPENAI_HOST", "URL"),
        ("OPENAI_ORGANIZATION", "org-1"),
        ("OPENAI_PROJECT", "proj-1"),
        ("OPENAI_CUSTOM_HEADERS", "X-One=1, X-Two=a=b"),
    ];
    let headers = asked("openai:gpt-4o", headers).await;
    for (name, value) in
        [("openai-organization", "org-1"), ("openai-project", "proj-1"), ("x-one", "1"), ("x-two", "a=b")]
    {
        assert_eq!(headers.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn other_services_are_asked_where_they_are() {
    let anthropic =
        asked("anthropic:claude-sonnet-5", [("ANTHROPIC_HOST", "URL"), ("ANTHROPIC_API_KEY", "k-123")]).await;
    assert_eq!((anthropic.target.as_str(), anthropic.header("x-api-key")), ("/v1/messages", Some("k-123")));

    let azure = [
        ("AZURE_OPENAI_ENDPOINT", "URL/"),
        ("AZURE_OPENAI_DEPLOYMENT_NAME", "mine"),
        ("AZURE_OPENAI_API_KEY", "k-123"),
    ];
    let azure = asked("azure_openai:gpt-5", azure).await;
    assert_eq!(azure.target, "/openai/deployments/mine/chat/completions?api-version=2024-10-21");
    assert_eq!((azure.header("api-key"), azure.header("authorization")), (Some("k-123"), None));

    let databricks =
        asked("databricks:my-endpoint", [("DATABRICKS_HOST", "URL"), ("DATABRICKS_TOKEN", "k-123")]).await;
    assert_eq!(databricks.target, "/serving-endpoints/chat/completions");

    let groq = asked("groq:openai/gpt-oss-120b", [("GROQ_HOST", "URL"), ("GROQ_API_KEY", "k-123")]).await;
    assert_eq!(groq.target, "/openai/v1/chat/completions");
    assert_eq!(groq.body["model"], "openai/gpt-oss-120b");

    let local = asked("lmstudio:my-model", [("LMSTUDIO_HOST", "URL/v1")]).await;
    assert_eq!((local.target.as_str(), local.header("authorization")), ("/v1/chat/completions", None));
}

#[test]
fn what_the_user_says_of_a_model_wins() {
    let model: ModelRef = "openai:gpt-4o".parse().unwrap();
    let says = ModelOverride {
        context_limit: Some(9_000),
        sees_images: Some(false),
        output_price: Some(1.0),
        ..ModelOverride::default()
    };
    let mut overrides =
        ModelOverrides { models: [("gpt-4o".to_owned(), says)].into(), ..ModelOverrides::default() };
    let registry = Registry::default();

    let info = registry.model_info(&model, &overrides);
    assert_eq!((info.context_limit, info.max_output, info.sees_images), (9_000, Some(16_384), false));
    let prices = info.prices.unwrap();
    assert_eq!((prices.input, prices.output, prices.cached_input), (2.5, 1.0, Some(1.25)));
    overrides.context_limit = Some(5_000);
    assert_eq!(registry.model_info(&model, &overrides).context_limit, 5_000);
    overrides.context_limit = Some(0);
    assert_eq!(registry.model_info(&model, &overrides).context_limit, 9_000);
    assert_eq!(registry.model_info(&"nobody:gpt-4o".parse().unwrap(), &overrides).context_limit, 9_000);
}
