//! Questions on the newer wire: a request that needs an answer ends as *input required*, with its state
//! sealed, and the client repeats it with the answer.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates sampling and roots; all older peers use them")]

use std::{collections::BTreeMap, time::Duration};

use goose_extension::{
    Answer, ElicitAction, Elicitation, Elicited, Question, Root, Sampled, Sampling, ToolError, ToolResult,
};
use parking_lot::Mutex;
use rmcp::model::{
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ErrorData, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsRequest, ListRootsResult, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum rounds of questions in one call.
const MAX_ROUNDS: u32 = 32;

/// Maximum size of the sealed state, which is sent with each round.
const MAX_STATE_BYTES: usize = 1024 * 1024;

/// Time limit for a client to answer.
const STATE_TTL: Duration = Duration::from_secs(60 * 60);

/// Contents of the sealed state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    /// Identity of the call over all its rounds.
    call: String,
    round: u32,
    answers: BTreeMap<String, Value>,
}

/// One round of a call: the answers so far, and the questions of this round.
pub(super) struct Round {
    state: State,
    /// Identity of the request, so that its state cannot be used for another one.
    binding: Vec<u8>,
    fresh: InputResponses,
    progress: Mutex<RoundProgress>,
}

#[derive(Default)]
struct RoundProgress {
    used: BTreeMap<String, Value>,
    open: InputRequests,
}

impl Round {
    /// Opens the state that came with a request.
    pub(super) fn open(
        codec: &RequestStateCodec,
        identity: &impl Serialize,
        state: Option<&str>,
        fresh: Option<InputResponses>,
    ) -> Result<Self, ErrorData> {
        let binding = serde_json::to_vec(identity).unwrap_or_default();
        let state = match state {
            None => State { call: random_id()?, ..State::default() },
            Some(sealed) => codec.open_json_with::<State>(sealed, &binding).map_err(|error| {
                let text =
                    format!("The requestState is not valid here: {error}. Start the call again without it.");
                ErrorData::invalid_params(text, None)
            })?,
        };
        Ok(Self { state, binding, fresh: fresh.unwrap_or_default(), progress: Mutex::default() })
    }

    /// Returns the identity of the call, which is the same in all its rounds and which no other call has.
    pub(super) fn call(&self) -> &str {
        &self.state.call
    }

    /// Returns the client's answer, if it fits; otherwise adds the question to this round.
    pub(super) fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        let mut progress = self.progress.lock();
        let given = self.fresh.get(key).or_else(|| self.state.answers.get(key));
        if let Some(value) = given
            && let Some(answer) = parse(&question, value)
        {
            progress.used.insert(key.to_owned(), value.clone());
            return Ok(answer);
        }
        progress.open.insert(key.to_owned(), to_request(question));
        Err(ToolError::InputRequired(format!("The call waits for an answer to `{key}`.")))
    }

    /// Returns the *input required* result, if questions are open.
    pub(super) fn close(&self, codec: &RequestStateCodec) -> Result<Option<InputRequiredResult>, ErrorData> {
        let progress = std::mem::take(&mut *self.progress.lock());
        if progress.open.is_empty() {
            return Ok(None);
        }
        if self.state.round >= MAX_ROUNDS {
            let text = format!("The call asked for input {MAX_ROUNDS} times and did not finish.");
            return Err(ErrorData::internal_error(text, None));
        }
        let mut state = self.state.clone();
        state.round += 1;
        state.answers.extend(progress.used);
        let options = SealOptions::new().associated_data(&self.binding).ttl(STATE_TTL);
        let sealed = codec
            .seal_json_with(&state, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        if sealed.len() > MAX_STATE_BYTES {
            let text =
                format!("The answers so far are larger than {MAX_STATE_BYTES} bytes. Answer more briefly.");
            return Err(ErrorData::invalid_params(text, None));
        }
        Ok(Some(InputRequiredResult::new(Some(progress.open), Some(sealed))))
    }
}

fn random_id() -> Result<String, ErrorData> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        ErrorData::internal_error(format!("The system has no random bytes: {error}."), None)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn to_request(question: Question) -> InputRequest {
    match question {
        Question::Elicit(params) => InputRequest::Elicitation(ElicitRequest::new(params)),
        Question::Sample(params) => InputRequest::CreateMessage(sampling_request(params)),
        Question::Roots => InputRequest::ListRoots(roots_request()),
    }
}

/// Parses an answer. Returns `None` if it does not fit the question.
pub(crate) fn parse(question: &Question, value: &Value) -> Option<Answer> {
    match question {
        Question::Elicit(request) => {
            let answer = Elicited::deserialize(value).ok()?;
            fits(request, &answer).then_some(Answer::Elicited(answer))
        }
        Question::Sample(_) => {
            CreateMessageResult::deserialize(value).ok().map(Sampled::from_mcp).map(Answer::Sampled)
        }
        Question::Roots => ListRootsResult::deserialize(value).ok().map(roots),
    }
}

/// Returns whether an accepted form matches its schema. An answer to a URL has no content.
pub(crate) fn fits(request: &Elicitation, answer: &Elicited) -> bool {
    let Elicitation::FormElicitationParams { requested_schema, .. } = request else { return true };
    if answer.action != ElicitAction::Accept {
        return true;
    }
    let Ok(schema) = serde_json::to_value(requested_schema) else { return false };
    let content = answer.content.as_ref().unwrap_or(&Value::Null);
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .is_ok_and(|validator| validator.is_valid(content))
}

pub(crate) fn roots(result: ListRootsResult) -> Answer {
    Answer::Roots(result.roots.into_iter().map(Root::from_mcp).collect())
}

pub(crate) fn sampling_request(params: Sampling) -> CreateMessageRequest {
    CreateMessageRequest::new(params.into_mcp())
}

pub(crate) fn roots_request() -> ListRootsRequest {
    ListRootsRequest { method: Default::default(), extensions: Default::default() }
}
