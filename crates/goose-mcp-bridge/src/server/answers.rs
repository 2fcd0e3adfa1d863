//! Answers as they come from a client: read, and held against the question.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates sampling and roots; all older peers use them")]

use goose_extension::{Answer, ElicitAction, Elicitation, Elicited, Question, Root, Sampled, Sampling};
use rmcp::model::{CreateMessageRequest, CreateMessageResult, ListRootsRequest, ListRootsResult};
use serde::Deserialize;
use serde_json::Value;

/// The answer, if it fits the question.
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

/// Whether an accepted form has what the form asked for. A page to open is answered without content.
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
