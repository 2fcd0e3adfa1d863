//! Questions of a server to its client: the kinds that can be answered, and the limits.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates sampling and roots; all older peers use them")]

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use futures::future::join_all;
use goose_extension::{
    Answer, CallContext, ElicitAction, Elicitation, ElicitationSchema, Elicited, JsonObject, Question,
    QuestionKind, Root, Sampling, ToolError, ToolResult, adapter::json_len,
};
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputResponses, ListRootsResult, RequestMetaObject,
    TASKS_EXTENSION_ID,
};
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

/// Kinds of questions that can be answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AnswerKinds {
    form: bool,
    url: bool,
    sample: bool,
    roots: bool,
}

impl AnswerKinds {
    pub(super) const ALL: Self = Self { form: true, url: true, sample: true, roots: true };

    pub(super) fn from_context(context: &CallContext) -> Self {
        Self {
            form: context.can_ask(QuestionKind::ElicitForm),
            url: context.can_ask(QuestionKind::ElicitUrl),
            sample: context.can_ask(QuestionKind::Sample),
            roots: context.can_ask(QuestionKind::Roots),
        }
    }

    /// Returns the kinds as MCP capabilities.
    pub(super) fn capabilities(self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.form {
            capabilities.elicitation.get_or_insert_default().form = Some(Default::default());
        }
        if self.url {
            capabilities.elicitation.get_or_insert_default().url = Some(Default::default());
        }
        capabilities.sampling = self.sample.then(Default::default);
        capabilities.roots = self.roots.then(Default::default);
        // Any call may continue as a task.
        capabilities
            .extensions
            .get_or_insert_default()
            .insert(TASKS_EXTENSION_ID.to_owned(), Default::default());
        capabilities
    }

    /// Returns the kinds as request metadata. Each request carries it, so the 16 possible values are cached.
    pub(super) fn as_meta(self) -> RequestMetaObject {
        static CACHE: [OnceLock<RequestMetaObject>; 16] = [const { OnceLock::new() }; 16];
        let bits = [self.form, self.url, self.sample, self.roots];
        let index = bits.into_iter().fold(0, |index, bit| index * 2 + usize::from(bit));
        let make = || {
            let mut meta = RequestMetaObject::new();
            meta.set_client_capabilities(self.capabilities());
            meta
        };
        CACHE[index].get_or_init(make).clone()
    }
}

/// Maximum rounds of questions in one request.
pub(super) const MAX_ROUNDS: u32 = 32;

/// Sampling requests that a server may make in one call.
const MAX_SAMPLES_PER_CALL: u32 = 8;

/// Maximum tokens of a sampling answer; larger requests are reduced to this.
const MAX_SAMPLE_TOKENS: u32 = 8192;

/// Maximum size of a sampling request, as JSON.
const MAX_SAMPLE_BYTES: usize = 1024 * 1024;

/// Other questions (to the user, or about folders) that a server may ask in one call.
const MAX_QUESTIONS_PER_CALL: u32 = 32;

/// Questions of a call that may be open at once, or in one round.
const MAX_OPEN_QUESTIONS: usize = 16;

/// Maximum size of a question to the user: its text, and its form as JSON.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
const MAX_FORM_BYTES: usize = 256 * 1024;

/// Characters of a validation error that are quoted.
const MAX_QUOTE_CHARS: usize = 200;

/// Limits on the questions of one call.
#[derive(Clone)]
pub(super) struct Budget {
    used: Arc<QuestionCount>,
    /// Permits for open questions.
    slots: Arc<Semaphore>,
}

#[derive(Default)]
struct QuestionCount {
    samples: AtomicU32,
    questions: AtomicU32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { used: Arc::default(), slots: Arc::new(Semaphore::new(MAX_OPEN_QUESTIONS)) }
    }
}

impl Budget {
    /// Returns a new budget with the same slots for open questions.
    pub(super) fn fresh(&self) -> Self {
        Self { used: Arc::default(), slots: Arc::clone(&self.slots) }
    }

    fn take_sample(&self) -> ToolResult<()> {
        count(&self.used.samples, MAX_SAMPLES_PER_CALL, |most| format!("the model {most} times"))
    }

    fn take_question(&self) -> ToolResult<()> {
        count(&self.used.questions, MAX_QUESTIONS_PER_CALL, |most| format!("{most} questions"))
    }
}

/// Counts a question, unless the call had `most` of them already; `asked` says so in words.
fn count(used: &AtomicU32, most: u32, asked: fn(u32) -> String) -> ToolResult<()> {
    if used.fetch_add(1, Ordering::Relaxed) < most {
        return Ok(());
    }
    Err(ToolError::Denied(format!(
        "The server has asked {} in this call, and may not ask again. Continue without, or split the work into \
         several calls.",
        asked(most)
    )))
}

fn too_many_at_once() -> ToolError {
    ToolError::Denied(format!(
        "The server asks more than {MAX_OPEN_QUESTIONS} questions at once. Ask fewer, and wait for the \
         answers."
    ))
}

/// Fails if a round has too many questions.
fn check_round(questions: usize) -> ToolResult<()> {
    if questions > MAX_OPEN_QUESTIONS { Err(too_many_at_once()) } else { Ok(()) }
}

/// Asks the caller on behalf of a server.
///
/// # Errors
///
/// Fails if the question exceeds a limit or the answer does not fit it.
pub(super) async fn ask(
    context: &CallContext,
    key: &str,
    question: Question,
    budget: &Budget,
) -> ToolResult<Answer> {
    let _slot = Arc::clone(&budget.slots).try_acquire_owned().map_err(|_| too_many_at_once())?;
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
        "The {what} of the server's question has {bytes} bytes; at most {most} are allowed. Shorten it."
    )))
}

fn within_limits(sampling: Sampling) -> ToolResult<Sampling> {
    let bytes = json_len(&sampling.to_value());
    if bytes > MAX_SAMPLE_BYTES {
        return Err(ToolError::Denied(format!(
            "The server's question to the model has {bytes} bytes; at most {MAX_SAMPLE_BYTES} are allowed. \
             Shorten it."
        )));
    }
    Ok(sampling.with_tokens_at_most(MAX_SAMPLE_TOKENS))
}

/// Only web pages: a file or another scheme could start a program on the user's machine.
fn check_address(address: &str) -> ToolResult<()> {
    let is_page = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if Url::parse(address).is_ok_and(|url| is_page(&url)) {
        return Ok(());
    }
    Err(ToolError::InvalidParameters(format!(
        "The server asks the user to open `{}`, which is not a web page. Only http and https addresses are \
         passed on.",
        address.escape_debug().take(MAX_QUOTE_CHARS).collect::<String>()
    )))
}

/// Adds default values to an accepted form, and validates it.
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

/// Answers all questions of a round concurrently.
pub(super) async fn answer_all(
    questions: InputRequests,
    context: &CallContext,
    budget: &Budget,
) -> ToolResult<InputResponses> {
    check_round(questions.len())?;
    let answers = questions.into_iter().map(|(key, request)| async move {
        let answer = ask(context, &key, to_question(request), budget).await?;
        Ok((key, to_value(answer)?))
    });
    let answers: Vec<ToolResult<(String, Value)>> = join_all(answers).await;
    answers.into_iter().collect()
}

fn to_question(request: InputRequest) -> Question {
    match request {
        InputRequest::Elicitation(request) => Question::Elicit(request.params),
        InputRequest::CreateMessage(request) => Question::Sample(Sampling::from_mcp(request.params)),
        _ => Question::Roots,
    }
}

fn to_value(answer: Answer) -> ToolResult<Value> {
    Ok(match answer {
        Answer::Elicited(answer) => serde_json::to_value(answer)?,
        Answer::Sampled(answer) => serde_json::to_value(answer.into_mcp())?,
        Answer::Roots(roots) => {
            serde_json::to_value(ListRootsResult::new(roots.into_iter().map(Root::into_mcp).collect()))?
        }
    })
}

pub(super) fn too_many_rounds(what: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "`{what}` asked for input {MAX_ROUNDS} times and did not finish; it was not called again."
    ))
}
