//! What a server may ask on its way: one door for all its questions, on either wire.
//!
//! Whether to answer at all is the caller's business. Here the question is bounded, and the answer to a form fits the
//! form.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use goose_extension::{
    Answer, CallContext, ElicitAction, Elicitation, ElicitationSchema, Elicited, JsonObject, Question,
    Sampling, ToolError, ToolResult, adapter::json_len,
};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

/// How many questions to our model a server may ask in one call.
pub(super) const MAX_SAMPLES_PER_CALL: u32 = 8;

/// How long an answer of our model a server may ask for; more is asked for as this much.
const MAX_SAMPLE_TOKENS: u32 = 8192;

/// How large a question to our model may be, as JSON.
const MAX_SAMPLE_BYTES: usize = 1024 * 1024;

/// How many questions to the person, or about folders, a server may ask in one call.
const MAX_QUESTIONS_PER_CALL: u32 = 32;

/// How many questions of a call may be open at once, or come in one round.
const MAX_OPEN_QUESTIONS: usize = 16;

/// How large a question to the person may be: its text, and its form as JSON.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
const MAX_FORM_BYTES: usize = 256 * 1024;

/// How much of a problem an error quotes.
const MAX_QUOTE_CHARS: usize = 200;

/// What the questions of one call have used up.
#[derive(Clone)]
pub(super) struct Budget {
    used: Arc<Used>,
    /// How many more may be open at once.
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct Used {
    samples: AtomicU32,
    questions: AtomicU32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { used: Arc::default(), room: Arc::new(Semaphore::new(MAX_OPEN_QUESTIONS)) }
    }
}

impl Budget {
    /// A new one that shares only how many questions may be open at once.
    pub(super) fn renewed(&self) -> Self {
        Self { used: Arc::default(), room: Arc::clone(&self.room) }
    }

    fn take_sample(&self) -> ToolResult<()> {
        if self.used.samples.fetch_add(1, Ordering::Relaxed) < MAX_SAMPLES_PER_CALL {
            return Ok(());
        }
        Err(ToolError::Denied(format!(
            "The server has asked the model {MAX_SAMPLES_PER_CALL} times in this call, and may not ask again. Go on \
             without, or split the work into several calls."
        )))
    }

    fn take_question(&self) -> ToolResult<()> {
        if self.used.questions.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS_PER_CALL {
            return Ok(());
        }
        Err(ToolError::Denied(format!(
            "The server has asked {MAX_QUESTIONS_PER_CALL} questions in this call, and may not ask again. Go on \
             without, or split the work into several calls."
        )))
    }

    fn take_room(&self) -> ToolResult<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_owned().map_err(|_| too_many_at_once())
    }
}

fn too_many_at_once() -> ToolError {
    ToolError::Denied(format!(
        "The server asks more than {MAX_OPEN_QUESTIONS} questions at once. Ask fewer, and wait for the answers."
    ))
}

/// Whether this many questions may be asked in one round.
pub(super) fn check_round(questions: usize) -> ToolResult<()> {
    if questions > MAX_OPEN_QUESTIONS { Err(too_many_at_once()) } else { Ok(()) }
}

/// Asks the caller on behalf of a server.
///
/// # Errors
///
/// Where the question is not one that may be passed on, and where the answer does not fit it.
pub(super) async fn ask(
    context: &CallContext,
    key: &str,
    question: Question,
    budget: &Budget,
) -> ToolResult<Answer> {
    let _room = budget.take_room()?;
    let question = admit(question, budget)?;
    let form = match &question {
        Question::Elicit(Elicitation::FormElicitationParams { requested_schema, .. }) => {
            Some(requested_schema.clone())
        }
        _ => None,
    };
    match (context.ask(key, question).await?, form) {
        (Answer::Elicited(answer), Some(form)) => Ok(Answer::Elicited(fill_in(answer, &form)?)),
        (answer, _) => Ok(answer),
    }
}

fn admit(question: Question, budget: &Budget) -> ToolResult<Question> {
    match question {
        Question::Sample(sampling) => {
            budget.take_sample()?;
            Ok(Question::Sample(within_limits(sampling)?))
        }
        Question::Elicit(request) => {
            budget.take_question()?;
            check_elicitation(&request)?;
            Ok(Question::Elicit(request))
        }
        Question::Roots => {
            budget.take_question()?;
            Ok(Question::Roots)
        }
    }
}

fn check_elicitation(request: &Elicitation) -> ToolResult<()> {
    match request {
        Elicitation::FormElicitationParams { message, requested_schema, .. } => {
            check_size("message", message.len(), MAX_MESSAGE_BYTES)?;
            check_size("form", json_len(&serde_json::to_value(requested_schema)?), MAX_FORM_BYTES)
        }
        Elicitation::UrlElicitationParams { message, url, .. } => {
            check_size("message", message.len(), MAX_MESSAGE_BYTES)?;
            check_size("address", url.len(), MAX_MESSAGE_BYTES)?;
            check_address(url)
        }
        _ => Ok(()),
    }
}

fn check_size(what: &str, bytes: usize, most: usize) -> ToolResult<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(ToolError::Denied(format!(
        "The {what} of the server's question has {bytes} bytes; at most {most} are allowed. Ask with less."
    )))
}

fn within_limits(sampling: Sampling) -> ToolResult<Sampling> {
    let bytes = json_len(&sampling.to_value());
    if bytes > MAX_SAMPLE_BYTES {
        return Err(ToolError::Denied(format!(
            "The server's question to the model has {bytes} bytes; at most {MAX_SAMPLE_BYTES} are allowed. Ask with less."
        )));
    }
    Ok(sampling.with_tokens_at_most(MAX_SAMPLE_TOKENS))
}

/// A page that the person is sent to must be one for a browser: no file, no script, no other program.
fn check_address(address: &str) -> ToolResult<()> {
    let is_page = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if Url::parse(address).is_ok_and(|url| is_page(&url)) {
        return Ok(());
    }
    Err(ToolError::InvalidParameters(format!(
        "The server wants the person to open `{}`, which is no web page. Only http and https addresses are passed on.",
        address.escape_debug().take(MAX_QUOTE_CHARS).collect::<String>()
    )))
}

/// An accepted form with its defaults filled in, and every value as the form wants it.
fn fill_in(mut answer: Elicited, form: &ElicitationSchema) -> ToolResult<Elicited> {
    if answer.action != ElicitAction::Accept {
        return Ok(answer);
    }
    let schema = serde_json::to_value(form)?;
    let had_content = answer.content.is_some();
    let mut content = answer.content.take().unwrap_or_else(|| Value::Object(JsonObject::new()));
    if let Value::Object(fields) = &mut content {
        add_defaults(fields, &schema);
    }
    check_fit(&content, &schema)?;
    let is_empty = content.as_object().is_some_and(JsonObject::is_empty);
    answer.content = Some(content).filter(|_| had_content || !is_empty);
    Ok(answer)
}

fn add_defaults(fields: &mut JsonObject, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
            fields.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
}

fn check_fit(content: &Value, schema: &Value) -> ToolResult<()> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    let validator = options.should_validate_formats(true).build(schema).map_err(|error| {
        ToolError::InvalidParameters(format!(
            "The server's form cannot be checked: {}. It was not answered.",
            quote(&error.to_string())
        ))
    })?;
    validator.validate(content).map_err(|error| {
        let field = error.instance_path().to_string();
        let field = field.trim_start_matches('/');
        let at = if field.is_empty() { String::new() } else { format!(" at `{field}`") };
        ToolError::InvalidParameters(format!(
            "The answer does not fit the server's form{at}: {}. Answer again with what the form asks for.",
            quote(&error.masked_with("the value").to_string())
        ))
    })
}

fn quote(text: &str) -> String {
    text.chars().take(MAX_QUOTE_CHARS).collect()
}
