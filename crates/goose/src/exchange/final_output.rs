//! [`FinalOutput`]: a final answer that fits a JSON Schema, given through a tool that the loop answers.

use goose_extension::{JsonObject, Tool};
use jsonschema::Validator;
use serde_json::{Value, json};

/// Name of the tool, known from recipes.
pub(super) const FINAL_OUTPUT: &str = "recipe__final_output";

/// Reminder for a model that stops without the final answer.
pub(super) const NUDGE: &str = "You have not given the final answer yet. \
    Call `recipe__final_output` with it now; its arguments are the answer.";

/// Result of a call with an answer that fits.
pub(super) const ACCEPTED: &str = "The final answer was accepted.";

const DESCRIPTION: &str = "Gives the final answer of this task. The arguments are the answer. \
    Call it exactly once, at the end, when all work is done.";

/// Maximum number of problems of an answer that are reported at once.
const MAX_PROBLEMS: usize = 8;

/// Argument that holds an answer that is not an object: arguments of a tool always are one.
const WRAPPED: &str = "answer";

/// Compiled schema of the final answer.
#[derive(Debug)]
pub(crate) struct FinalOutput {
    tool: Tool,
    validator: Validator,
    is_wrapped: bool,
}

impl FinalOutput {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// Fails with a description of the problem if the schema is invalid.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let Some(object) = schema.as_object() else {
            return Err("A response schema is a JSON object.".to_owned());
        };
        let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        let is_wrapped = object.get("type").is_some_and(|kind| kind != "object");
        let arguments = if is_wrapped { wrapped(schema) } else { object.clone() };
        Ok(Self { tool: Tool::new(FINAL_OUTPUT, DESCRIPTION, arguments), validator, is_wrapped })
    }

    pub(super) fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Returns the answer if it fits the schema.
    ///
    /// # Errors
    ///
    /// Fails with the problems of the answer, for the model.
    pub(super) fn accept(&self, mut arguments: JsonObject) -> Result<Value, String> {
        let answer = match self.is_wrapped {
            true => arguments.remove(WRAPPED).unwrap_or_default(),
            false => Value::Object(arguments),
        };
        let problems: Vec<String> =
            self.validator.iter_errors(&answer).take(MAX_PROBLEMS).map(|error| problem(&error)).collect();
        match problems.is_empty() {
            true => Ok(answer),
            false => Err(format!(
                "The final answer does not fit its schema:\n{}\nCorrect this and call `{FINAL_OUTPUT}` again.",
                problems.join("\n")
            )),
        }
    }
}

fn wrapped(schema: &Value) -> JsonObject {
    let properties = json!({ WRAPPED: schema });
    JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!([WRAPPED])),
    ])
}

fn problem(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "the answer".to_owned() } else { format!("`{place}`") };
    super::sanitize_output::shortened(&format!("- {place}: {error}"), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> JsonObject {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn an_answer_must_fit() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let output = FinalOutput::new(&schema).unwrap();
        assert_eq!(output.accept(object(json!({"n": 3}))), Ok(json!({"n": 3})));
        let error = output.accept(object(json!({"n": "three"}))).unwrap_err();
        assert!(error.contains("`/n`") && error.contains("integer"), "{error}");
        assert!(output.accept(JsonObject::new()).unwrap_err().contains("\"n\""));
    }

    #[test]
    fn an_answer_that_is_no_object_travels_in_one() {
        let output = FinalOutput::new(&json!({"type": "array", "items": {"type": "string"}})).unwrap();
        assert_eq!(output.accept(object(json!({"answer": ["a"]}))), Ok(json!(["a"])));
        assert!(output.accept(object(json!({"answer": [1]}))).is_err());
        assert_eq!(output.tool().input_schema()["required"], json!(["answer"]));
    }

    #[test]
    fn a_bad_schema_is_refused_at_once() {
        assert!(FinalOutput::new(&json!({"type": "no such type"})).is_err());
        assert!(FinalOutput::new(&json!("text")).is_err());
    }
}
