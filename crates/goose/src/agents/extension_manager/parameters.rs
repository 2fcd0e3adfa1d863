//! [`Parameters`]: the forms in which the arguments of a call may come.

use std::collections::HashMap;

use goose_extension::{JsonObject, ToolError, ToolResult};
use serde_json::Value;

/// The arguments of a call.
pub trait Parameters {
    /// The arguments as a JSON object.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`] where they are none.
    fn into_object(self) -> ToolResult<JsonObject>;
}

impl Parameters for JsonObject {
    fn into_object(self) -> ToolResult<JsonObject> {
        Ok(self)
    }
}

impl Parameters for HashMap<String, Value> {
    fn into_object(self) -> ToolResult<JsonObject> {
        Ok(self.into_iter().collect())
    }
}

impl Parameters for Value {
    fn into_object(self) -> ToolResult<JsonObject> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Null => Ok(JsonObject::new()),
            other => Err(ToolError::InvalidParameters(format!(
                "The arguments of a tool are a JSON object, such as {{\"path\": \"a.txt\"}}; got {}.",
                kind(&other)
            ))),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Null | Value::Object(_) => "something else",
    }
}
