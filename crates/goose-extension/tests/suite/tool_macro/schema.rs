//! Parameters as JSON Schemas, and what the schemas refuse.

use std::path::Path;

use goose_extension::prelude::*;

use super::{call, refusal, schema_of};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const MAX_LINES: u32 = 500;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Oldest,
    Newest,
}

/// A part of a file.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Range {
    from: u32,
    to: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Page {
    page: u16,
}

/// Deserializes but does not serialize.
#[derive(Default, Deserialize, JsonSchema)]
struct Mute(u8);

#[derive(Serialize, Deserialize, JsonSchema)]
struct Port(u16);

struct Files;

#[extension]
impl Files {
    #[tool]
    fn nothing(&self) {}

    #[tool]
    fn everyday(
        &self,
        /// The file,
        /// relative to the root
        path: String,
        #[arg(description = "Case matters")] exact: bool,
        factor: f64,
        tags: Vec<String>,
        limit: Option<i64>,
        free: Value,
    ) -> Value {
        json!([path, exact, factor, tags, limit, free])
    }

    #[tool]
    fn bounds(&self, small: u8, signed: i32, large: u64) -> Value {
        json!([small, signed, large])
    }

    #[tool]
    fn nested(&self, range: Range, order: Order, ranges: Option<Vec<Range>>) -> Value {
        json!([range, order, ranges])
    }

    #[tool]
    fn defaults(
        &self,
        #[arg(default = "main")] branch: &str,
        #[arg(default = "src")] folder: &Path,
        #[arg(default = 100)] lines: u32,
        #[arg(default = -1.5)] offset: f64,
        #[arg(default)] order: Order,
        #[arg(default = Order::Newest)] other: Order,
        #[arg(default = vec![1, 2])] list: &[u8],
        #[arg(default = 7)] maybe: Option<u8>,
        #[arg(default)] mute: Mute,
    ) -> Value {
        json!([branch, folder, lines, offset, order, other, list, maybe, mute.0])
    }

    #[tool]
    fn limits(
        &self,
        #[arg(min = 1, max = MAX_LINES)] lines: u32,
        #[arg(min = -90.0, max = 90.0)] latitude: f64,
        #[arg(min_length = 1, max_length = 3, pattern = "^[a-z]+$")] code: String,
        #[arg(min_items = 1, max_items = 2)] items: Vec<u8>,
        #[arg(format = "date")] day: Option<String>,
        #[arg(min = 1024)] port: Option<Port>,
    ) -> Value {
        json!([lines, latitude, code, items, day, port])
    }

    #[tool]
    fn wide_limits(
        &self,
        #[arg(min = -5, max = 500)] small: u8,
        #[arg(min = -1000, max = 10)] signed: Option<i8>,
        #[arg(max = 1e30)] large: u64,
    ) -> Value {
        json!([small, signed, large])
    }

    #[tool]
    fn renamed(&self, #[arg(rename = "maxResults")] max_results: u8, query: String) -> Value {
        json!([max_results, query])
    }

    #[tool]
    fn passed_on(
        &self,
        #[schemars(title = "Text", length(min = 2))]
        #[serde(rename = "t")]
        text: String,
    ) -> String {
        text
    }

    #[tool]
    fn flattened(&self, query: String, #[serde(flatten)] page: Page) -> Value {
        json!([query, page.page])
    }
}

/// The schema of an object, with descriptions as in [`named`].
fn object(properties: Value, required: Value) -> Value {
    let properties = named(properties);
    let mut schema = json!({
        "$schema": DIALECT, "type": "object", "additionalProperties": false, "properties": properties,
    });
    if required.as_array().is_some_and(|names| !names.is_empty()) {
        schema["required"] = required;
    }
    schema
}

/// The properties with their names as descriptions, unless they have one or refer to a type.
fn named(mut properties: Value) -> Value {
    let properties = properties.as_object_mut().unwrap();
    for (name, property) in &mut *properties {
        let property = property.as_object_mut().unwrap();
        if !property.contains_key("$ref") {
            property.entry("description").or_insert_with(|| json!(goose_extension::macros::as_words(name)));
        }
    }
    json!(properties)
}

#[tokio::test]
async fn no_parameters_means_no_arguments() {
    assert_eq!(schema_of(&Files, "nothing"), object(json!({}), json!([])));
    let message = refusal(&Files, "nothing", json!({ "x": 1 })).await;
    assert!(message.contains("unknown argument `x` (it takes none)"), "{message}");
}

#[tokio::test]
async fn everyday_types() {
    assert_eq!(
        schema_of(&Files, "everyday"),
        object(
            json!({
                "path": { "type": "string", "description": "The file,\nrelative to the root" },
                "exact": { "type": "boolean", "description": "Case matters" },
                "factor": { "type": "number", "description": "Factor" },
                "tags": { "type": "array", "items": { "type": "string" }, "description": "Tags" },
                "limit": {
                    "type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX, "description": "Limit",
                },
                "free": { "description": "Free" },
            }),
            json!(["path", "exact", "factor", "tags", "free"])
        )
    );
    let arguments = json!({ "path": "a", "exact": true, "factor": 2, "tags": ["x"], "free": {} });
    assert_eq!(call(&Files, "everyday", arguments).await, Ok(json!(["a", true, 2.0, ["x"], null, {}])));
    let message = refusal(&Files, "everyday", json!({ "path": "a", "exact": 1, "pth": 2 })).await;
    for part in ["`exact`: expected boolean, got 1", "unknown argument `pth`", "`tags` is required"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn integers_have_the_bounds_of_their_type() {
    assert_eq!(
        schema_of(&Files, "bounds"),
        object(
            json!({
                "small": { "type": "integer", "minimum": 0, "maximum": 255 },
                "signed": { "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX },
                "large": { "type": "integer", "minimum": 0, "maximum": u64::MAX },
            }),
            json!(["small", "signed", "large"])
        )
    );
    let whole_floats = json!({ "small": 255.0, "signed": -3.0, "large": u64::MAX });
    assert_eq!(call(&Files, "bounds", whole_floats).await, Ok(json!([255, -3, u64::MAX])));
    for wrong in [json!(256), json!(-1), json!(1.5), json!("1")] {
        let message = refusal(&Files, "bounds", json!({ "small": wrong, "signed": 0, "large": 0 })).await;
        assert!(message.contains("`small`"), "{message}");
    }
}

#[tokio::test]
async fn enums_and_structures() {
    let integer = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    let mut optional = integer.clone();
    optional["type"] = json!(["integer", "null"]);
    let mut expected = object(
        json!({
            "range": { "$ref": "#/$defs/Range" },
            "order": { "$ref": "#/$defs/Order", "description": "Order" },
            "ranges": { "type": ["array", "null"], "items": { "$ref": "#/$defs/Range" } },
        }),
        json!(["range", "order"]),
    );
    expected["$defs"] = json!({
        "Range": {
            "description": "A part of a file.",
            "type": "object",
            "properties": { "from": integer, "to": optional },
            "required": ["from"],
        },
        "Order": { "type": "string", "enum": ["oldest", "newest"] },
    });
    assert_eq!(schema_of(&Files, "nested"), expected);

    let nested = call(&Files, "nested", json!({ "range": { "from": 1 }, "order": "newest" })).await;
    assert_eq!(nested, Ok(json!([{ "from": 1, "to": null }, "newest", null])));
    let in_text = call(&Files, "nested", json!({ "range": "{\"from\": 1.0}", "order": "newest" })).await;
    assert_eq!(in_text, nested);
    for (order, expected) in
        [("later", "expected one of \"oldest\", \"newest\""), ("{}", "got the string \"{}\"")]
    {
        let message = refusal(&Files, "nested", json!({ "range": { "from": 1 }, "order": order })).await;
        assert!(message.contains(expected), "{message}");
    }
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    for range in [deep.as_str(), "{\"from\": \"x\"}", "{\"from\": 1", "[]", ""] {
        let message = refusal(&Files, "nested", json!({ "range": range, "order": "newest" })).await;
        assert!(message.contains("`nested`"), "{message}");
    }
}

#[tokio::test]
async fn defaults_are_shown_and_used() {
    let schema = schema_of(&Files, "defaults");
    let shown: Vec<Option<&Value>> =
        ["branch", "folder", "lines", "offset", "order", "other", "list", "maybe", "mute"]
            .map(|name| schema["properties"][name].get("default"))
            .to_vec();
    let expected = [
        json!("main"),
        json!("src"),
        json!(100),
        json!(-1.5),
        json!("oldest"),
        json!("newest"),
        json!([1, 2]),
        json!(7),
    ];
    let expected: Vec<_> = expected.iter().map(Some).chain([None]).collect();
    assert_eq!(shown, expected);
    assert_eq!(schema.get("required"), None);

    let used = call(&Files, "defaults", json!({})).await;
    assert_eq!(used, Ok(json!(["main", "src", 100, -1.5, "oldest", "newest", [1, 2], 7, 0])));
    let given = json!({ "branch": "dev", "list": [], "maybe": null, "order": "newest" });
    let used = call(&Files, "defaults", given).await;
    assert_eq!(used, Ok(json!(["dev", "src", 100, -1.5, "newest", "newest", [], null, 0])));
}

#[tokio::test]
async fn limits_are_shown_and_enforced() {
    let mut expected = object(
        json!({
            "lines": { "type": "integer", "minimum": 1, "maximum": 500 },
            "latitude": { "type": "number", "minimum": -90.0, "maximum": 90.0 },
            "code": { "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$" },
            "items": {
                "type": "array", "minItems": 1, "maxItems": 2,
                "items": { "type": "integer", "minimum": 0, "maximum": 255 },
            },
            "day": { "type": ["string", "null"], "format": "date" },
            "port": { "anyOf": [{ "$ref": "#/$defs/Port" }, { "type": "null" }], "minimum": 1024 },
        }),
        json!(["lines", "latitude", "code", "items"]),
    );
    expected["$defs"] = json!({ "Port": { "type": "integer", "minimum": 0, "maximum": u16::MAX } });
    assert_eq!(schema_of(&Files, "limits"), expected);

    let good = json!({
        "lines": 500, "latitude": -90, "code": "abc", "items": [1], "day": "2026-01-31", "port": 1024,
    });
    let found = call(&Files, "limits", good.clone()).await;
    assert_eq!(found, Ok(json!([500, -90.0, "abc", [1], "2026-01-31", 1024])));

    let wrong = [
        ("lines", json!(0)),
        ("lines", json!(501)),
        ("latitude", json!(90.5)),
        ("code", json!("")),
        ("code", json!("abcd")),
        ("code", json!("A")),
        ("items", json!([])),
        ("items", json!([1, 2, 3])),
        ("day", json!("31.1.2026")),
        ("port", json!(80)),
    ];
    for (name, value) in wrong {
        let mut arguments = good.clone();
        arguments[name] = value;
        let message = refusal(&Files, "limits", arguments).await;
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
}

#[tokio::test]
async fn a_limit_is_never_wider_than_the_type() {
    assert_eq!(
        schema_of(&Files, "wide_limits"),
        object(
            json!({
                "small": { "type": "integer", "minimum": 0, "maximum": 255 },
                "signed": { "type": ["integer", "null"], "minimum": -128, "maximum": 10 },
                "large": { "type": "integer", "minimum": 0, "maximum": u64::MAX },
            }),
            json!(["small", "large"])
        )
    );
    let message = refusal(&Files, "wide_limits", json!({ "small": 300, "large": 1 })).await;
    assert!(message.contains("`small`") && message.contains("255"), "{message}");
}

#[tokio::test]
async fn names_can_differ_from_the_parameters() {
    assert_eq!(
        schema_of(&Files, "renamed"),
        object(
            json!({
                "maxResults": { "type": "integer", "minimum": 0, "maximum": 255 },
                "query": { "type": "string" },
            }),
            json!(["maxResults", "query"])
        )
    );
    let found = call(&Files, "renamed", json!({ "maxResults": 3, "query": "x" })).await;
    assert_eq!(found, Ok(json!([3, "x"])));
}

#[tokio::test]
async fn attributes_of_serde_and_schemars_are_passed_on() {
    assert_eq!(
        schema_of(&Files, "passed_on"),
        object(json!({ "t": { "type": "string", "title": "Text", "minLength": 2 } }), json!(["t"]))
    );
    assert_eq!(call(&Files, "passed_on", json!({ "t": "ab" })).await, Ok(json!("ab")));
}

#[tokio::test]
async fn a_flattened_argument_still_refuses_unknown_ones() {
    let expected = json!({
        "$schema": DIALECT,
        "type": "object",
        "properties": named(json!({
            "query": { "type": "string" },
            "page": { "type": "integer", "minimum": 0, "maximum": u16::MAX },
        })),
        "required": ["query", "page"],
        "unevaluatedProperties": false,
    });
    assert_eq!(schema_of(&Files, "flattened"), expected);
    assert_eq!(call(&Files, "flattened", json!({ "query": "x", "page": 2 })).await, Ok(json!(["x", 2])));
    let message = refusal(&Files, "flattened", json!({ "query": "x", "page": 2, "z": 1 })).await;
    assert!(message.contains("unknown argument `z`"), "{message}");
}
