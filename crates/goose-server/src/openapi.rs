//! The OpenAPI document, made from the table of routes. Schemas come from the types that are read and written.

use http::Method;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    endpoint::{Content, Endpoint, schema_of},
    error::ErrorBody,
    gate::Access,
};

/// Errors that every route with a token may answer with.
const ERRORS: [(u16, &str); 9] = [
    (400, "The request is not as described, or its `Host` is malformed"),
    (401, "The token is missing or unknown"),
    (403, "The token's scope is too weak, or the origin or the folder is not allowed"),
    (413, "The body is too large"),
    (414, "The query is too long"),
    (421, "`Host` is not a name of this server"),
    (429, "There are too many requests, streams or runs"),
    (500, "The server has a fault"),
    (503, "The server is stopping, or something that it needs is missing"),
];

/// Errors of the routes without a token.
const OPEN_ERRORS: [u16; 3] = [400, 403, 421];

/// Returns the document.
pub(crate) fn document(endpoints: &[Endpoint]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_ascii_lowercase()] = operation(endpoint, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "goose",
            "description": "Agents of goose for other agents and programs. The Agent Communication Protocol stands at \
                            the root, goose's own API below /api/v1, A2A at /a2a and MCP at /mcp.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "secretKey": {"type": "apiKey", "in": "header", "name": "X-Secret-Key"},
            },
        },
    })
}

fn operation(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Value {
    let mut answers = Map::new();
    for answer in &endpoint.answers {
        answers.insert(answer.status.to_string(), response(answer.about, &answer.contents, generator));
    }
    let is_open = endpoint.access == Access::Open;
    for (status, about) in ERRORS.iter().filter(|(status, _)| !is_open || OPEN_ERRORS.contains(status)) {
        let error = || response(about, &[Content::Json(schema_of::<ErrorBody>)], generator);
        answers.entry(status.to_string()).or_insert_with(error);
    }
    let mut operation = json!({
        "operationId": operation_id(&endpoint.method, endpoint.path),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": parameters(endpoint),
        "responses": answers,
        "security": [{"bearer": []}, {"secretKey": []}],
    });
    match endpoint.access {
        Access::Open => operation["security"] = json!([]),
        Access::Scope(scope) => operation["x-scope"] = scope.as_str().into(),
    }
    if let Some(body) = &endpoint.body {
        operation["requestBody"] = json!({"required": true, "content": content(&[*body], generator)});
    }
    operation
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let in_path = endpoint.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
    });
    let others = endpoint
        .parameters
        .iter()
        .map(|it| json!({"name": it.name, "in": it.place, "description": it.about, "schema": it.schema}));
    in_path.chain(others).collect()
}

fn response(about: &str, contents: &[Content], generator: &mut SchemaGenerator) -> Value {
    let mut response = json!({"description": about});
    let content = content(contents, generator);
    if !content.is_empty() {
        response["content"] = content.into();
    }
    response
}

fn content(contents: &[Content], generator: &mut SchemaGenerator) -> Map<String, Value> {
    let media = contents.iter().filter_map(|content| {
        Some(match content {
            Content::Json(schema) => ("application/json", json!({"schema": schema(generator)})),
            // The schema is that of the data of an event.
            Content::Events(schema) => (
                "text/event-stream",
                json!({"schema": {"type": "string"}, "x-event-schema": schema(generator)}),
            ),
            Content::Text => ("text/plain", json!({"schema": {"type": "string"}})),
            Content::Nothing => return None,
        })
    });
    media.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a unique name of an operation: `get_runs_run_id_events`.
fn operation_id(method: &Method, path: &str) -> String {
    let words = path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    format!("{}_{}", method.as_str().to_ascii_lowercase(), words.join("_"))
}
