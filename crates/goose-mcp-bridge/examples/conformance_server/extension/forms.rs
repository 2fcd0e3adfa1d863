//! The questions: small forms as types, the shapes that the suite wants to see as schemas, and the answers in
//! words.

use goose_extension::{ElicitAction, Elicitation, ElicitationSchema, Elicited, Root, prelude::*};

/// A person's name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// A favorite color.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Color {
    pub(crate) color: String,
}

/// Yes or no.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Confirmation {
    pub(crate) ok: bool,
}

/// The subject of a prompt.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Context {
    pub(crate) context: String,
}

/// The name given, or a placeholder.
pub(crate) fn name_of(answer: Option<Name>) -> String {
    answer.map_or_else(|| "stranger".to_owned(), |answer| answer.name)
}

/// The person's reaction to a form.
pub(crate) fn told(answer: &Elicited) -> String {
    let action = match answer.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        _ => "cancel",
    };
    let content = answer.content.as_ref().unwrap_or(&Value::Null);
    format!("action={action}, content={content}")
}

/// The folders by name.
pub(crate) fn roots(roots: &[Root]) -> String {
    let names: Vec<&str> = roots.iter().map(|root| root.name.as_deref().unwrap_or(&root.uri)).collect();
    names.join(", ")
}

/// Two texts, both wanted.
pub(crate) fn person(message: String) -> ToolResult<Elicitation> {
    form(
        message,
        json!({
            "type": "object",
            "properties": {
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            },
            "required": ["username", "email"],
        }),
    )
}

/// A default value for each kind of field.
pub(crate) fn defaults() -> ToolResult<Elicitation> {
    form(
        "Please review the form".to_owned(),
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "User name", "default": "John Doe" },
                "age": { "type": "integer", "description": "User age", "default": 30 },
                "score": { "type": "number", "description": "User score", "default": 95.5 },
                "status": {
                    "type": "string",
                    "description": "User status",
                    "enum": ["active", "inactive", "pending"],
                    "default": "active",
                },
                "verified": { "type": "boolean", "description": "Whether verified", "default": true },
            },
        }),
    )
}

/// Each way in which MCP writes a choice: one or several, with and without titles, and the old form.
pub(crate) fn choices() -> ToolResult<Elicitation> {
    let titled = |noun: &str| {
        let title = |(number, ordinal)| json!({ "const": format!("value{number}"), "title": format!("{ordinal} {noun}") });
        [(1, "First"), (2, "Second"), (3, "Third")].map(title)
    };
    form(
        "Please choose".to_owned(),
        json!({
            "type": "object",
            "properties": {
                "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
                "titledSingle": { "type": "string", "oneOf": titled("Option") },
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {
                    "type": "array",
                    "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
                },
                "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
            },
        }),
    )
}

fn form(message: String, schema: Value) -> ToolResult<Elicitation> {
    let requested_schema: ElicitationSchema = serde_json::from_value(schema)?;
    Ok(Elicitation::FormElicitationParams { meta: None, message, requested_schema })
}
