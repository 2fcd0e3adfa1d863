//! The tutorials: by tool, by resource, and that their Rust code is code that is tested. `scripts/interop` runs the
//! servers in Python and TypeScript.

use goose_extension::{CallContext, Extension, ResourceContents, ToolError, ToolGroup, hashmap};
use goose_mcp::Tutorial;
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["build-mcp-extension", "first-game", "first-steps", "rust-extension"];

async fn load(name: &str) -> String {
    let answer =
        Tutorial::new().call_tool("load_tutorial", hashmap! { "name" => json!(name) }).await.unwrap();
    answer.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_tutorial_loads_and_is_of_a_readable_size() {
    for name in NAMES {
        let text = load(name).await;
        assert!(text.starts_with("# "), "{name}");
        assert!((60..=120).contains(&text.lines().count()), "{name}: {} lines", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{name}");
        assert_eq!(text.matches("```").count() % 2, 0, "{name}");
    }
}

#[tokio::test]
async fn an_unknown_name_lists_the_known_ones() {
    for name in ["", "rust", "../rust-extension", &"x".repeat(10_000)] {
        let arguments = hashmap! { "name" => json!(name) };
        let error = Tutorial::new().call_tool("load_tutorial", arguments).await.unwrap_err();
        let ToolError::ExecutionError(message) = error else { panic!("{error:?}") };
        assert!(message.starts_with("There is no tutorial "), "{message}");
        for known in NAMES {
            assert!(message.contains(&format!("\n- {known}: ")), "{message}");
        }
        assert!(message.len() < 1_000);
    }
}

#[tokio::test]
async fn the_prompt_and_the_description_name_them_all() {
    let tutorial = Tutorial::new();
    let [tool] = tutorial.tools() else { panic!("one tool") };
    assert_eq!((tool.name(), tool.groups()), ("load_tutorial", &[ToolGroup::Read][..]));
    assert_eq!(tool.annotations().unwrap().read_only_hint, Some(true));
    for name in NAMES {
        assert!(tutorial.prompt().contains(name) && tool.description().contains(name), "{name}");
    }
    assert_eq!(tutorial.status().await.unwrap()["tutorials"], json!(NAMES));
}

#[tokio::test]
async fn tutorials_are_resources_too() {
    let tutorial = Tutorial::new();
    assert!(tutorial.features().resources);
    let resources = tutorial.list_resources().await.unwrap();
    let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, NAMES.map(|name| format!("tutorial://{name}")));
    for (name, resource) in NAMES.iter().zip(&resources) {
        let text = load(name).await;
        assert_eq!(resource.size, Some(text.len() as u64));
        assert!(resource.description.is_some());
        let contents = tutorial.read_resource(&resource.uri, &CallContext::new()).await.unwrap();
        assert_eq!(contents, [ResourceContents::text(text, &resource.uri).with_mime_type("text/markdown")]);
    }
    for uri in ["tutorial://nope", "first-game", "file:///etc/passwd", ""] {
        let error = tutorial.read_resource(uri, &CallContext::new()).await.unwrap_err();
        assert!(matches!(error, ToolError::ResourceNotFound(_)), "{error:?}");
    }
}

/// The code in the tutorial is `examples/rust_extension.rs`, which is compiled and whose test runs in this suite.
#[tokio::test]
async fn the_rust_code_is_the_example() {
    let text = load("rust-extension").await;
    let code = text.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(code, include_str!("../../examples/rust_extension.rs"));
}

#[tokio::test]
async fn the_games_script_is_whole() {
    let text = load("first-game").await;
    let html = text.split("```html\n").nth(1).unwrap().split("```").next().unwrap();
    let script = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    for (open, close) in [('{', '}'), ('(', ')')] {
        assert_eq!(script.matches(open).count(), script.matches(close).count());
    }
    assert!(!html.contains("http"), "it works offline");
}

#[tokio::test]
async fn arguments_are_checked() {
    let error = Tutorial::new().call_tool("load_tutorial", hashmap! {}).await.unwrap_err();
    assert!(matches!(&error, ToolError::InvalidParameters(text) if text.contains("`name`")), "{error}");
    let arguments = hashmap! { "name" => Value::Null };
    let error = Tutorial::new().call_tool("load_tutorial", arguments).await.unwrap_err();
    assert!(matches!(error, ToolError::InvalidParameters(_)));
}
