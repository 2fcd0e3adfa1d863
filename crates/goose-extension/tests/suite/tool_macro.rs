//! `#[tool]` and `#[extension]`, as an author uses them.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests and their helpers")]

mod arguments;
mod attribute;
mod description;
mod extension_block;
mod generic;
mod hostile_scope;
mod lints;
mod results;
mod schema;
mod seeds;
mod trait_block;

use goose_extension::prelude::*;

/// The schema of one tool of an extension.
fn schema_of(extension: &dyn Extension, name: &str) -> Value {
    Value::Object(tool_of(extension, name).input_schema().clone())
}

fn tool_of<'a>(extension: &'a dyn Extension, name: &str) -> &'a Tool {
    extension.tools().iter().find(|tool| tool.name() == name).expect("the tool is there")
}

/// Calls a tool with arguments in JSON.
async fn call(extension: &dyn Extension, name: &str, arguments: Value) -> ToolResult<Value> {
    let arguments = arguments.as_object().expect("arguments are an object").clone();
    extension.call_tool(name, arguments.into_iter().collect()).await
}

/// The message for refused arguments.
async fn refusal(extension: &dyn Extension, name: &str, arguments: Value) -> String {
    match call(extension, name, arguments).await {
        Err(ToolError::InvalidParameters(message)) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
