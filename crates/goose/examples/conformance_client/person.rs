//! A person who accepts every form as it is.

use async_trait::async_trait;
use goose_extension::{
    Answer, Caller, ElicitAction, Elicitation, Elicited, JsonObject, Question, QuestionKind, ToolError,
    ToolResult,
};
use serde_json::{Value, json};

/// Answers forms.
pub(crate) struct Person;

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _key: &str, question: Question) -> ToolResult<Answer> {
        let Question::Elicit(Elicitation::FormElicitationParams { requested_schema, .. }) = question else {
            return Err(ToolError::execution("Only forms are answered here."));
        };
        let content = filled(&serde_json::to_value(requested_schema)?);
        Ok(Answer::Elicited(Elicited::new(ElicitAction::Accept).with_content(Value::Object(content))))
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::ElicitForm
    }
}

/// A form with what it suggests, and something in each field that must not be empty.
fn filled(form: &Value) -> JsonObject {
    let required =
        |name: &str| form["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let fields = form["properties"].as_object().into_iter().flatten();
    fields
        .filter_map(|(name, field)| {
            let value = field.get("default").cloned().or_else(|| required(name).then(|| something(field)))?;
            Some((name.clone(), value))
        })
        .collect()
}

/// A value that fits a field.
pub(crate) fn something(field: &Value) -> Value {
    if let Some(first) = field["enum"].get(0) {
        return first.clone();
    }
    match field["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("something"),
    }
}
