//! Groups, hints, time limits and output schemas.

use std::time::Duration;

use goose_extension::{ToolAnnotations, prelude::*};
use goose_mcp_bridge::{ConnectOptions, connect, serve};

use super::{call, tool_of};

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// In degrees Celsius
    temperature: f64,
    wind: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Sky {
    Clear { stars: u8 },
    Clouds { layers: Vec<Self> },
}

#[derive(Serialize, JsonSchema)]
struct Tree(Vec<Self>);

struct Attributes;

#[extension]
impl Attributes {
    #[tool]
    fn plain(&self) {}

    #[tool(group = "read", read_only)]
    fn one_group(&self) {}

    #[tool(group = ["fetch", "browser"], open_world = true, idempotent, destructive = false)]
    fn two_groups(&self) {}

    #[tool(group = ["edit", "command"], read_only = false, destructive)]
    fn destructive(&self) {}

    #[tool(timeout = "20ms")]
    async fn slow(&self) {
        std::future::pending::<()>().await;
    }

    #[tool(timeout = "30s")]
    async fn seconds(&self) {}

    #[tool(timeout = "2m")]
    async fn minutes(&self) {}

    #[tool(timeout = 5)]
    async fn number(&self) {}

    #[tool(output = Weather)]
    fn weather(&self) -> Weather {
        Weather { temperature: 21.5, wind: None }
    }

    #[tool(output = Vec<Weather>)]
    async fn list(&self) -> ToolResult<Vec<Weather>> {
        Ok(vec![Weather { temperature: 1.0, wind: Some(2) }])
    }

    #[tool(output = String)]
    fn text(&self) -> &str {
        "sunny"
    }

    #[tool(output = Option<Weather>)]
    fn maybe(&self, #[arg(default)] there: bool) -> Option<Weather> {
        there.then_some(Weather { temperature: 3.5, wind: None })
    }

    #[tool(output = Sky)]
    fn sky(&self) -> Sky {
        Sky::Clouds { layers: vec![Sky::Clear { stars: 3 }] }
    }

    #[tool(output = Tree)]
    fn tree(&self) -> Tree {
        Tree(vec![Tree(Vec::new())])
    }

    #[tool(output = HashMap<String, Vec<u8>>)]
    fn generic_output(&self) -> HashMap<String, Vec<u8>> {
        HashMap::new()
    }
}

#[test]
fn groups_are_kept_in_order() {
    let groups = |name| tool_of(&Attributes, name).groups().to_vec();
    assert_eq!(groups("plain"), []);
    assert_eq!(groups("one_group"), [ToolGroup::Read]);
    assert_eq!(groups("two_groups"), [ToolGroup::Fetch, ToolGroup::Browser]);
    assert_eq!(groups("destructive"), [ToolGroup::Edit, ToolGroup::Command]);
}

#[test]
fn hints_are_said_only_where_they_are_given() {
    let hints = |name| tool_of(&Attributes, name).annotations().cloned();
    assert_eq!(hints("plain"), None);
    assert_eq!(hints("one_group"), Some(ToolAnnotations::new().read_only(true)));
    assert_eq!(
        hints("two_groups"),
        Some(ToolAnnotations::new().destructive(false).idempotent(true).open_world(true))
    );
    assert_eq!(hints("destructive"), Some(ToolAnnotations::new().read_only(false).destructive(true)));
}

#[test]
fn time_limits_in_every_unit() {
    let limit = |name| tool_of(&Attributes, name).timeout();
    assert_eq!(limit("plain"), None);
    assert_eq!(limit("slow"), Some(Duration::from_millis(20)));
    assert_eq!(limit("seconds"), Some(Duration::from_secs(30)));
    assert_eq!(limit("minutes"), Some(Duration::from_secs(120)));
    assert_eq!(limit("number"), Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped() {
    let error = Attributes.call_tool("slow", hashmap! {}).await.unwrap_err();
    assert!(matches!(error, ToolError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn the_output_type_is_shown_as_a_schema() {
    let schema = tool_of(&Attributes, "weather").output_schema().cloned().map(Value::Object);
    assert_eq!(
        schema,
        Some(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "temperature": { "description": "In degrees Celsius", "type": "number" },
                "wind": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
            },
            "required": ["temperature", "wind"],
        }))
    );
    let weather = Attributes.call_tool("weather", hashmap! {}).await;
    assert_eq!(weather, Ok(json!({ "temperature": 21.5, "wind": null })));
    assert!(tool_of(&Attributes, "generic_output").output_schema().is_some());
    assert!(tool_of(&Attributes, "plain").output_schema().is_none());
}

/// The output schema as MCP clients see it.
fn announced(name: &str) -> Value {
    let tool = tool_of(&Attributes, name).to_mcp();
    Value::Object(tool.output_schema.as_deref().cloned().unwrap_or_default())
}

#[tokio::test]
async fn an_announced_output_is_always_an_object() {
    assert_eq!(
        announced("list"),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": { "Weather": {
                "type": "object",
                "properties": {
                    "temperature": { "description": "In degrees Celsius", "type": "number" },
                    "wind": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
                },
                "required": ["temperature", "wind"],
            } },
            "type": "object",
            "properties": { "result": { "type": "array", "items": { "$ref": "#/$defs/Weather" } } },
            "required": ["result"],
        })
    );
    assert_eq!(announced("text")["properties"], json!({ "result": { "type": "string" } }));
    assert_eq!(announced("sky").get("properties"), None);
    assert_eq!(announced("tree")["properties"]["result"]["items"]["$ref"], "#/properties/result");
}

#[tokio::test]
async fn results_fit_the_announced_output_and_arrive_as_they_were() {
    let client = connect(serve(Attributes).duplex(), ConnectOptions::default()).await.unwrap();
    let calls = [
        ("weather", json!({})),
        ("list", json!({})),
        ("text", json!({})),
        ("maybe", json!({})),
        ("maybe", json!({ "there": true })),
        ("sky", json!({})),
        ("tree", json!({})),
        ("generic_output", json!({})),
    ];
    for (name, arguments) in calls {
        let found = call(&Attributes, name, arguments.clone()).await.unwrap();
        assert_eq!(call(&*client, name, arguments).await, Ok(found.clone()));
        assert_eq!(tool_of(&*client, name), tool_of(&Attributes, name));

        let schema = announced(name);
        assert_eq!(schema["type"], "object", "{schema}");
        let validator = jsonschema::validator_for(&schema).unwrap();
        let sent = if found.is_object() { found } else { json!({ "result": found }) };
        assert!(validator.is_valid(&sent), "{name}: {sent} against {schema}");
        assert!(!validator.is_valid(&json!({ "else": 1 })), "{name}: {schema}");
    }
}
