//! Questions of a tool, as the person's client sees them.

use std::sync::{Arc, Mutex};

use goose_extension::{Answer, Caller, ElicitAction, Elicited, Question, QuestionKind, prelude::*};
use serde::Deserialize;

/// Keeps the question and gives a prepared answer.
struct Respondent {
    answer: Elicited,
    asked: Mutex<Option<Value>>,
}

#[async_trait]
impl Caller for Respondent {
    async fn ask(&self, _key: &str, question: Question) -> ToolResult<Answer> {
        let Question::Elicit(request) = question else { panic!("{question:?}") };
        *self.asked.lock().unwrap() = Some(serde_json::to_value(request).unwrap());
        Ok(Answer::Elicited(self.answer.clone()))
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    /// Not much
    Small,
    /// A lot
    Large,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Blue,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Order {
    /// What to call it
    name: String,
    copies: u8,
    size: Size,
    colour: Option<Colour>,
    note: Option<String>,
    gift: bool,
}

#[tokio::test]
async fn a_rust_type_becomes_a_form_with_choices() {
    let content = json!({ "name": "Ada", "copies": 2, "size": "large", "gift": true });
    let respondent = Arc::new(Respondent {
        answer: Elicited::new(ElicitAction::Accept).with_content(content),
        asked: Mutex::default(),
    });
    let context = CallContext::new().with_caller(respondent.clone());
    let order = context.elicit_form::<Order>("order", "What shall it be?").await.unwrap();
    let expected =
        Order { name: "Ada".into(), copies: 2, size: Size::Large, colour: None, note: None, gift: true };
    assert_eq!(order, Some(expected));
    assert_eq!(
        respondent.asked.lock().unwrap().take().unwrap(),
        json!({
            "mode": "form",
            "message": "What shall it be?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "What to call it" },
                    "copies": { "type": "integer", "minimum": 0, "maximum": 255 },
                    "size": {
                        "type": "string",
                        "oneOf": [{ "const": "small", "title": "Not much" }, { "const": "large", "title": "A lot" }],
                    },
                    "colour": { "type": "string", "enum": ["Red", "Blue"] },
                    "note": { "type": "string" },
                    "gift": { "type": "boolean" },
                },
                "required": ["name", "copies", "size", "gift"],
            },
        })
    );
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Nested {
    order: Order,
}

#[tokio::test]
async fn what_cannot_be_a_form_is_refused_with_the_reason() {
    let respondent =
        Arc::new(Respondent { answer: Elicited::new(ElicitAction::Decline), asked: Mutex::default() });
    let context = CallContext::new().with_caller(respondent);
    let error = context.elicit_form::<Nested>("nested", "?").await.unwrap_err();
    assert!(error.to_string().starts_with("Question `nested` cannot be shown as a form"), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error_and_a_refusal_is_not() {
    for (answer, fits) in [
        (Elicited::new(ElicitAction::Accept).with_content(json!({ "name": 7 })), false),
        (Elicited::new(ElicitAction::Decline), true),
        (Elicited::new(ElicitAction::Cancel), true),
    ] {
        let respondent = Arc::new(Respondent { answer, asked: Mutex::default() });
        let result = CallContext::new().with_caller(respondent).elicit_form::<Order>("order", "?").await;
        assert_eq!(result.is_ok(), fits, "{result:?}");
    }
}
