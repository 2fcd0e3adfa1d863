//! Questions of a session to its user, as clients see and answer them.
//!
//! A question has an id and a digest of everything that was shown. A program answers with both, so that an answer
//! cannot meet another question; a text answers the question that its run waits for.

use goose::{
    config::digest::json_digest,
    exchange::{Answer, Decision, Event, EventRecord, PlanDecision},
    session::SessionId,
};
use goose_extension::{ElicitAction, Elicitation, Elicited, visible};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    agent_communication::models::{AwaitKind, Message, MessageAwait, MessagePart, role_of},
    error::{ApiError, ApiResult},
    tokens::{Client, Scope},
};

/// Maximum number of characters of a call's arguments in a text.
const SHOWN_CHARS: usize = 20_000;

/// Name of the part that programs read.
const PART: &str = "question";

/// Question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Question {
    /// Id of the question.
    pub(crate) id: String,
    /// Digest of what was shown. An answer names it.
    pub(crate) digest: String,
    /// Id of the session.
    #[schemars(with = "String")]
    pub(crate) session: SessionId,
    /// The question in words.
    pub(crate) text: String,
    /// The event: `approval`, `elicitation`, `consent` or `task_plan`, with its data.
    pub(crate) question: Value,
}

impl Question {
    /// Returns the question of a record; `None` if it is none.
    pub(crate) fn of(record: &EventRecord) -> Option<Self> {
        let id = record.event.question_id()?.to_owned();
        let question = serde_json::to_value(&record.event).unwrap_or_default();
        let digest = json_digest(json!({"id": id, "question": question}));
        Some(Self { id, digest, session: record.session.clone(), text: text(&record.event), question })
    }

    /// Returns the question as a run waits for it.
    pub(crate) fn to_await(&self, agent: &str) -> MessageAwait {
        let value = serde_json::to_value(self).unwrap_or_default();
        let parts = vec![MessagePart::text(&self.text), MessagePart::json(PART, &value)];
        let now = Some(Timestamp::now());
        let message = Message { role: role_of(agent), parts, created_at: now, completed_at: now };
        MessageAwait { kind: AwaitKind::Message, message }
    }
}

/// Describes a question. Characters that could mislead a reader are shown as codes.
fn text(question: &Event) -> String {
    let text = match question {
        Event::Approval(approval) => {
            let arguments = match &approval.preview {
                Some(preview) => preview.plain(),
                None => serde_json::to_string_pretty(&approval.arguments).unwrap_or_default(),
            };
            let arguments = goose_fs::truncate_chars(&arguments, SHOWN_CHARS).into_owned();
            let reasons = approval.reasons.join("\n");
            format!(
                "May `{}` be called?\n{reasons}\n{arguments}\nAnswer: allow, session or deny.",
                approval.tool
            )
        }
        Event::Elicitation(request) => match &*request.question {
            Elicitation::UrlElicitationParams { message, url, .. } => {
                format!(
                    "`{}` asks you to open a page: {message}\n{url}\nAnswer: accept or decline.",
                    request.extension
                )
            }
            Elicitation::FormElicitationParams { message, requested_schema, .. } => {
                let fields: Vec<&str> = requested_schema.properties.keys().map(String::as_str).collect();
                let how = match fields.as_slice() {
                    [field] => format!("Answer with `{field}`, as text or as a JSON object, or: decline."),
                    fields => format!(
                        "Answer with a JSON object with the fields {}, or: decline.",
                        fields.join(", ")
                    ),
                };
                format!("`{}` asks: {message}\n{how}", request.extension)
            }
            _ => format!("`{}` asks something.", request.extension),
        },
        Event::Consent(request) => {
            let prompt = goose_fs::truncate_chars(&request.prompt, SHOWN_CHARS);
            format!("May `{}` use the model?\n{prompt}\nAnswer: allow or deny.", request.extension)
        }
        Event::TaskPlan(plan) => {
            let tasks: Vec<String> = plan.tasks.iter().map(|task| format!("- {}", json!(task))).collect();
            format!(
                "May these tasks be run side by side?\n{}\nAnswer: run, as_one or cancel.",
                tasks.join("\n")
            )
        }
        _ => String::new(),
    };
    visible(&text).into_owned()
}

/// Answer of a client to a question by its id.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnswerRequest {
    /// Id of the question.
    pub(crate) id: String,
    /// Digest of the question as it was shown.
    pub(crate) digest: String,
    /// `{"answer": KIND, "value": …}`: `decision` with `{decision, detail}` for an approval, `elicited` with `{action,
    /// content}`, `consent` with true or false, `plan` with `{plan}`.
    pub(crate) answer: Value,
}

/// Returns the answer of a message to a question.
pub(crate) fn of_message(record: &EventRecord, message: &Message, client: &Client) -> ApiResult<Answer> {
    let asked = Question::of(record).ok_or_else(|| ApiError::internal("The run waits for nothing."))?;
    let json = |part: &&MessagePart| part.name.as_deref() == Some("answer");
    if let Some(part) = message.parts.iter().find(json) {
        let request: AnswerRequest = serde_json::from_str(part.content.as_deref().unwrap_or_default())
            .map_err(|error| {
                ApiError::bad_request(format!("The part `answer` is not as described: {error}."))
            })?;
        return checked(&asked, request, client);
    }
    let texts: Vec<&str> = message.parts.iter().filter_map(MessagePart::as_text).collect();
    let answer = of_text(&record.event, texts.join("\n").trim())?;
    permitted(answer, client)
}

/// Returns the answer to a question, if id and digest are those of the question.
pub(crate) fn checked(asked: &Question, request: AnswerRequest, client: &Client) -> ApiResult<Answer> {
    if request.id != asked.id || request.digest != asked.digest {
        let message = "This is not the answer to the question that waits: its id or digest differs.";
        return Err(ApiError::conflict("other_question", message));
    }
    let answer = serde_json::from_value(request.answer)
        .map_err(|error| ApiError::bad_request(format!("The answer is not as described: {error}.")))?;
    permitted(answer, client)
}

/// Refuses an answer that changes the stored rules for all sessions, unless the token may do that.
fn permitted(answer: Answer, client: &Client) -> ApiResult<Answer> {
    match answer {
        Answer::Decision(Decision::Always) if client.scope < Scope::Admin => {
            let message =
                "`always` stores a rule for all sessions, which needs a token with the scope `admin`.";
            Err(ApiError::forbidden("scope", message))
        }
        answer => Ok(answer),
    }
}

fn of_text(question: &Event, text: &str) -> ApiResult<Answer> {
    let word = text.to_ascii_lowercase();
    let unclear =
        |words: &str| ApiError::bad_request(format!("This does not answer the question. Answer: {words}."));
    Ok(match question {
        Event::Approval(approval) => match word.as_str() {
            "allow" | "yes" | "y" | "ok" | "approve" => Decision::Allow.into(),
            "session" => Decision::Session.into(),
            "always" if !approval.always.is_empty() => Decision::Always.into(),
            "deny" | "no" | "n" | "reject" => Decision::Deny { instead: None }.into(),
            _ => match text.split_once(':').filter(|(first, _)| first.eq_ignore_ascii_case("deny")) {
                Some((_, why)) => Decision::Deny { instead: Some(why.trim().to_owned()) }.into(),
                None => return Err(unclear("allow, session, deny, or `deny: what to do instead`")),
            },
        },
        Event::Consent(_) => match word.as_str() {
            "allow" | "yes" | "y" | "ok" => Answer::Consent(true),
            "deny" | "no" | "n" => Answer::Consent(false),
            _ => return Err(unclear("allow or deny")),
        },
        Event::TaskPlan(_) => match word.as_str() {
            "run" | "yes" | "y" | "allow" => PlanDecision::Run.into(),
            "as_one" | "one" => PlanDecision::AsOne.into(),
            "cancel" | "no" | "n" | "deny" => PlanDecision::Cancel.into(),
            _ => return Err(unclear("run, as_one or cancel")),
        },
        Event::Elicitation(request) => elicited(&request.question, text, &word)?.into(),
        _ => return Err(ApiError::internal("There is no answer to this kind of question.")),
    })
}

fn elicited(question: &Elicitation, text: &str, word: &str) -> ApiResult<Elicited> {
    match word {
        "decline" => return Ok(Elicited::new(ElicitAction::Decline)),
        "cancel" => return Ok(Elicited::new(ElicitAction::Cancel)),
        _ => {}
    }
    let Elicitation::FormElicitationParams { requested_schema, .. } = question else {
        return match word {
            "accept" | "yes" | "ok" => Ok(Elicited::new(ElicitAction::Accept)),
            _ => Err(ApiError::bad_request("This does not answer the question. Answer: accept or decline.")),
        };
    };
    let object = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let fields: Vec<(&String, Value)> = requested_schema
        .properties
        .iter()
        .map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default()))
        .collect();
    let content = match (object, fields.as_slice()) {
        (Some(object), _) => object,
        (None, [(field, schema)]) => json!({ field.as_str(): typed(schema, text) }),
        (None, _) => {
            return Err(ApiError::bad_request(
                "This does not answer the question. Answer with a JSON object.",
            ));
        }
    };
    Ok(Elicited::new(ElicitAction::Accept).with_content(content))
}

/// Returns a text as the type that a field has.
fn typed(schema: &Value, text: &str) -> Value {
    let parsed = || serde_json::from_str::<Value>(text).ok();
    let fits = |value: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        _ => false,
    };
    parsed().filter(fits).unwrap_or_else(|| text.into())
}
