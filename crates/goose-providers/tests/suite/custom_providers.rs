//! Services that users describe in `custom_providers/*.json`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::path::Path;

use goose_providers::{
    CustomProviders, MAX_PROVIDER_FILE_BYTES, ModelOverrides, ModelRef, Registry, SetupError,
};
use serde_json::{Value, json};

use crate::{
    asking::{ask_hello, set},
    loopback::{Answer, Asked, Loopback},
};

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn loaded(files: &[(&str, Value)]) -> CustomProviders {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in files {
        write(folder.path(), name, value.to_string());
    }
    CustomProviders::load(folder.path())
}

/// Returns the requests to a service of the user's own.
async fn asked<const N: usize>(mut file: Value, pairs: [(&str, &str); N]) -> Asked {
    let server = Loopback::start(vec![Answer::new(401, "{}")]).await;
    file["base_url"] = json!(file["base_url"].as_str().unwrap().replace("URL", &server.url()));
    let custom = loaded(&[("mine.json", file)]);
    assert!(custom.problems.is_empty(), "{:?}", custom.problems);
    let registry = Registry::new(custom);
    let provider =
        registry.provider(&ModelRef::new("mine", "m-1"), &set(pairs), &ModelOverrides::default()).unwrap();
    ask_hello(&*provider).await.unwrap_err();
    server.only()
}

/// A file as goose users have it, with fields that goose does not know.
fn mine() -> Value {
    json!({
        "name": "mine", "engine": "openai", "display_name": "Mine", "description": "My own",
        "api_key_env": "MINE_API_KEY", "base_url": "URL/v1/chat/completions",
        "models": [
            {"name": "m-1", "context_limit": 5000, "max_tokens": 100, "input_token_cost": 0.000002,
             "output_token_cost": 0.000004, "currency": null, "supports_cache_control": null},
            {"name": "m-2"},
        ],
        "headers": {"X-Team": "geese"}, "timeout_seconds": null, "supports_streaming": true,
        "dynamic_models": true, "setup": {"group": "additional"},
    })
}

#[tokio::test]
async fn a_service_of_the_users_own_is_asked_as_described() {
    let said = asked(mine(), [("MINE_API_KEY", "k-123")]).await;
    assert_eq!(said.target, "/v1/chat/completions");
    assert_eq!((said.header("authorization"), said.header("x-team")), (Some("Bearer k-123"), Some("geese")));

    let anthropic =
        json!({"name": "mine", "engine": "anthropic_compatible", "base_url": "URL", "api_key_env": "K"});
    let said = asked(anthropic, [("K", "k-123")]).await;
    assert_eq!((said.target.as_str(), said.header("x-api-key")), ("/v1/messages", Some("k-123")));

    let ollama = json!({"name": "mine", "engine": "ollama", "base_url": "URL", "api_key_env": "", "headers": null,
        "models": [{"name": "m-1", "context_limit": 70000}]});
    let said = asked(ollama, []).await;
    assert_eq!((said.target.as_str(), &said.body["options"]["num_ctx"]), ("/api/chat", &json!(70000)));

    let responses = json!({"name": "mine", "engine": "openai", "wire_api": "responses", "base_url": "URL",
        "api_key_env": "K", "requires_auth": false});
    let said = asked(responses, []).await;
    assert_eq!((said.target.as_str(), said.header("authorization")), ("/v1/responses", None));

    let variables = json!({"name": "mine", "engine": "openai", "base_url": "URL/${REGION}/${VERSION}",
        "headers": {"x-region": "${REGION}"},
        "env_vars": [{"name": "REGION", "required": true}, {"name": "VERSION", "default": "v3"}]});
    let said = asked(variables, [("REGION", "eu")]).await;
    assert_eq!((said.target.as_str(), said.header("x-region")), ("/eu/v3/chat/completions", Some("eu")));
}

#[test]
fn what_the_file_says_is_known() {
    let registry = Registry::new(loaded(&[("mine.json", mine())]));
    let info = registry.info("mine").unwrap();
    assert_eq!((info.display_name.as_str(), info.default_model.as_deref()), ("Mine", Some("m-1")));
    assert_eq!((info.is_custom, info.needs_key, info.models.len()), (true, true, 2));
    assert_eq!(registry.known()[0].name, "mine");

    let model = registry.model_info(&ModelRef::new("mine", "m-1"), &ModelOverrides::default());
    let prices = model.prices.unwrap();
    assert_eq!((model.context_limit, model.max_output), (5_000, Some(100)));
    assert!((prices.input - 2.0).abs() < 1e-9 && (prices.output - 4.0).abs() < 1e-9, "{prices:?}");

    let missing = registry.provider(&ModelRef::new("mine", "m-1"), &set([]), &ModelOverrides::default());
    assert!(
        matches!(missing.err(), Some(SetupError::MissingKey { variable, .. }) if variable == "MINE_API_KEY")
    );
}

#[test]
fn the_users_own_wins_over_a_service_of_the_same_name() {
    let own =
        json!({"name": "groq", "engine": "openai", "base_url": "http://localhost:1", "requires_auth": false});
    let registry = Registry::new(loaded(&[("groq.json", own)]));
    assert!(registry.provider(&ModelRef::new("groq", "m"), &set([]), &ModelOverrides::default()).is_ok());
    assert_eq!(registry.known().iter().filter(|info| info.name == "groq").count(), 1);
}

/// A bad file is named with its fault, and the others work.
#[test]
fn a_bad_file_does_not_spoil_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "a-good.json", mine().to_string());
    write(path, "b-broken.json", "{\n  \"name\": \"b\",\n");
    write(path, "c-engine.json", json!({"name": "c", "engine": "telepathy", "base_url": "x"}).to_string());
    write(path, "d-name.json", json!({"name": "d d", "engine": "openai", "base_url": "x"}).to_string());
    write(path, "e-again.json", mine().to_string());
    write(path, "f-large.json", vec![b' '; usize::try_from(MAX_PROVIDER_FILE_BYTES).unwrap() + 1]);
    write(path, "g-bytes.json", [0xff, 0xfe]);
    write(path, "notes.txt", "not ours");
    std::fs::create_dir(path.join("h-folder.json")).unwrap();

    let loaded = CustomProviders::load(path);

    assert_eq!(loaded.providers.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(), ["mine"]);
    let said: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| problem.to_string().replace(&format!("{}/", path.display()), ""))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn no_folder_is_no_problem() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = CustomProviders::load(&folder.path().join("missing"));
    assert!(loaded.providers.is_empty() && loaded.problems.is_empty());
}

/// Opening a pipe would wait for ever.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let loaded = CustomProviders::load(folder.path());
    assert_eq!((loaded.providers.len(), loaded.problems.len()), (0, 1));
}
