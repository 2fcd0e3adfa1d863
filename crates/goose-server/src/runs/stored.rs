//! Runs of earlier processes, and runs that are no longer in memory, from the steps of their session.

use std::sync::Arc;

use goose::{
    exchange::{Event, EventRecord, Outcome, ToolEnd},
    session::{SessionId, Step, StoredStep},
};
use goose_extension::{Message, MessageContent, Role};
use serde_json::Value;

use super::{RUN_META, Run, log::RunLog};
use crate::ids::Uuid;

/// Reason in the log of a reply that was cancelled.
const CANCELLED: &str = "cancelled by the user";

impl Run {
    /// Returns the run of a message in a session's log.
    pub(crate) fn from_steps(session: &SessionId, id: Uuid, agent: &str, steps: &[StoredStep]) -> Option<Self> {
        let begin = steps.iter().position(|stored| run_of(&stored.step) == Some(id))?;
        let run = Self::new(id, session.clone(), agent.to_owned(), steps[begin].at, None);
        let mut end = None;
        for stored in &steps[begin + 1..] {
            match &stored.step {
                Step::ReplyEnded { outcome } => end = Some(outcome_of(outcome)),
                Step::Interrupted { reason } if reason == CANCELLED => end = Some(Outcome::Cancelled),
                Step::Interrupted { .. } => break,
                Step::Message { message } if message.role == Role::User && run_of(&stored.step).is_some() => break,
                step => {
                    if let Some(event) = event_of(step) {
                        run.change(|log: &mut RunLog| log.take(&record(session, event)));
                    }
                }
            }
            if end.is_some() {
                break;
            }
        }
        run.change(|log| {
            match end {
                Some(outcome) => log.set_outcome(outcome),
                None => log.set_interrupted(),
            }
            log.end(Vec::new());
        });
        Some(run)
    }
}

/// Returns the run that a message of a client began.
fn run_of(step: &Step) -> Option<Uuid> {
    let Step::Message { message: Message { role: Role::User, content, .. } } = step else { return None };
    content.iter().find_map(|part| {
        let MessageContent::Block(goose_extension::ContentBlock::Text(text)) = part else { return None };
        text.meta.as_ref()?.0.get(RUN_META).and_then(Value::as_str)?.parse().ok()
    })
}

/// Returns the event that a step was stored for.
fn event_of(step: &Step) -> Option<Event> {
    Some(match step {
        Step::Message { message } if message.role != Role::User => Event::Answered(Arc::new(message.clone())),
        Step::ToolResult { id, output } => Event::ToolFinished {
            id: id.clone(),
            name: String::new(),
            output: output.clone(),
            end: ToolEnd::Ran,
        },
        Step::Log { content, call } => Event::Log { call: call.clone(), content: content.clone() },
        _ => return None,
    })
}

fn record(session: &SessionId, event: Event) -> Arc<EventRecord> {
    let session = session.clone();
    Arc::new(EventRecord { number: 0, reply: 0, step: 0, session, parent_call: None, task: None, event })
}

fn outcome_of(word: &str) -> Outcome {
    match word {
        "done" => Outcome::Done { structured: None },
        "max_turns" => Outcome::MaxTurns(0),
        "max_tokens" => Outcome::MaxTokens,
        "refused" => Outcome::Refused,
        "empty" => Outcome::Empty,
        "cancelled" => Outcome::Cancelled,
        _ => Outcome::Failed(goose::exchange::Failure {
            message: "The run failed. The session has the details.".to_owned(),
            hint: None,
        }),
    }
}
