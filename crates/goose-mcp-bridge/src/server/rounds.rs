//! Questions on the MCP 2026-07-28 wire, where a server cannot call its client.
//!
//! A call that needs an answer ends as *input required*: the questions, and a sealed state with the answers so
//! far. The client repeats the call with the new answers and the state. The state is bound to the request
//! (method, name, arguments), expires, and is refused when it was changed.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use goose_extension::{Answer, Question, ToolError, ToolResult};
use rmcp::model::{
    ElicitRequest, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers;

/// How often one call may come back with another question.
const MAX_ROUNDS: u32 = 32;

/// How large the sealed state may be; it travels with each round.
const MAX_STATE_BYTES: usize = 1024 * 1024;

/// How long a client may take for its answer.
const STATE_TTL: Duration = Duration::from_secs(60 * 60);

/// What travels in the state.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    round: u32,
    answers: BTreeMap<String, Value>,
}

/// One entry of a call: what was answered before, and what is asked now.
pub(super) struct Round {
    number: u32,
    known: BTreeMap<String, Value>,
    fresh: InputResponses,
    progress: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    used: BTreeMap<String, Value>,
    open: InputRequests,
}

impl Round {
    /// Opens the state that came with a request; `binding` is what identifies the request.
    pub(super) fn open(
        codec: &RequestStateCodec,
        binding: &[u8],
        state: Option<&str>,
        fresh: Option<InputResponses>,
    ) -> Result<Self, ErrorData> {
        let state = match state {
            None => State::default(),
            Some(sealed) => codec.open_json_with::<State>(sealed, binding).map_err(|error| {
                ErrorData::invalid_params(
                    format!("The requestState is not the one this server gave out: {error}. Start the call again without it."),
                    None,
                )
            })?,
        };
        Ok(Self {
            number: state.round,
            known: state.answers,
            fresh: fresh.unwrap_or_default(),
            progress: Mutex::default(),
        })
    }

    /// The answer, where the client has given one that fits; else the question is put on the list.
    pub(super) fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        let mut asked = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.fresh.get(key).or_else(|| self.known.get(key));
        if let Some(value) = given
            && let Some(answer) = answers::parse(&question, value)
        {
            asked.used.insert(key.to_owned(), value.clone());
            return Ok(answer);
        }
        asked.open.insert(key.to_owned(), to_request(question));
        Err(ToolError::InputRequired(format!("The call waits for an answer to `{key}`.")))
    }

    /// The *input required* result, where questions are open.
    pub(super) fn close(
        &self,
        codec: &RequestStateCodec,
        binding: &[u8],
    ) -> Result<Option<InputRequiredResult>, ErrorData> {
        let asked = std::mem::take(&mut *self.progress.lock().unwrap_or_else(PoisonError::into_inner));
        if asked.open.is_empty() {
            return Ok(None);
        }
        if self.number >= MAX_ROUNDS {
            let text = format!("The call asked for input {MAX_ROUNDS} times without coming to an end.");
            return Err(ErrorData::internal_error(text, None));
        }
        let mut answers = self.known.clone();
        answers.extend(asked.used);
        let state = State { round: self.number + 1, answers };
        let options = SealOptions::new().associated_data(binding).ttl(STATE_TTL);
        let sealed = codec
            .seal_json_with(&state, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        if sealed.len() > MAX_STATE_BYTES {
            let text =
                format!("The answers so far are larger than {MAX_STATE_BYTES} bytes. Answer more briefly.");
            return Err(ErrorData::invalid_params(text, None));
        }
        Ok(Some(InputRequiredResult::new(Some(asked.open), Some(sealed))))
    }
}

fn to_request(question: Question) -> InputRequest {
    match question {
        Question::Elicit(params) => InputRequest::Elicitation(ElicitRequest::new(params)),
        Question::Sample(params) => InputRequest::CreateMessage(answers::sampling_request(params)),
        Question::Roots => InputRequest::ListRoots(answers::roots_request()),
    }
}
