//! Tools that should not be in a list.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// How long a name that is too long is.
const LONG_NAME: usize = 10_000;

/// How deep a schema that is too deep is nested.
const DEPTH: usize = 500;

const KINDS: &[&str] = &[
    "empty",
    "duplicate",
    "long",
    "control",
    "space",
    "not-object",
    "string-type",
    "wrong-keyword",
    "deep",
    "no-schema",
];

/// All kinds of bad tools.
pub(super) fn kinds() -> impl Iterator<Item = String> {
    KINDS.iter().map(|kind| (*kind).to_owned())
}

/// Checks that there is such a kind.
pub(super) fn kind(name: &str) -> Result<String> {
    let known = KINDS.contains(&name).then(|| name.to_owned());
    known.with_context(|| format!("`{name}` is no kind of bad tool; there are {}", KINDS.join(", ")))
}

/// A bad tool of a kind.
pub(super) fn make(kind: &str) -> Value {
    let good = json!({ "type": "object" });
    match kind {
        "empty" => tool("", good),
        "duplicate" => tool("echo", good),
        "long" => tool(&"n".repeat(LONG_NAME), good),
        "control" => tool("bell\u{7}\u{1b}[31m\nname", good),
        "space" => tool("two words", good),
        "not-object" => tool("schema_not_object", json!(["an", "array"])),
        "string-type" => tool("schema_string_type", json!({ "type": "string" })),
        "wrong-keyword" => {
            let properties = json!({ "value": { "type": 12, "minLength": "many" } });
            tool("schema_wrong_keyword", json!({ "type": "object", "properties": properties }))
        }
        "deep" => tool("schema_deep", deep()),
        _ => json!({ "name": "no_schema", "description": "A tool without a schema." }),
    }
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "A tool that should not be listed so.", "inputSchema": schema })
}

fn deep() -> Value {
    (0..DEPTH).fold(
        json!({ "type": "object" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    )
}
