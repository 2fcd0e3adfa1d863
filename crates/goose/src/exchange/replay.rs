//! [`replay`]: the events of stored steps, for readers that come after them.
//!
//! A reader gets the same events as one that followed the replies, except for those that leave nothing behind:
//! progress, status, questions, retries. Text is in one piece.

use std::collections::{HashMap, HashSet};

use goose_extension::{JsonObject, Message, MessageContent, Role, ToolOutput};
use serde_json::Value;

use super::{
    event::{Event, Failure, Outcome, TaskPlan, ToolEnd},
    event_hub::EventRecord,
    usage_ledger::UsageLedger,
};
use crate::session::{SessionId, Step, StoredStep};

/// Returns the events of a session's steps after a number, from its first steps on. Their epoch is 0, which is that of
/// no open session. All events of a step but the last one have the number of the step before it, so that a reader that
/// stops between them gets the whole step again.
pub fn replay(session: &SessionId, steps: &[StoredStep], after: u64) -> Vec<EventRecord> {
    // Calls that are recorded as not run.
    let refused = steps.iter().filter_map(|stored| match &stored.step {
        Step::ToolResult { id, end: ToolEnd::Rejected | ToolEnd::Denied, .. } => Some(id.as_str()),
        _ => None,
    });
    let mut replay = Replay { refused: refused.collect(), ..Replay::default() };
    let mut records = Vec::new();
    for stored in steps {
        let (parent_call, events) = replay.events(&stored.step);
        if stored.seq <= after {
            continue;
        }
        let last = events.len();
        records.extend(events.into_iter().zip(1..).map(|(event, number)| EventRecord {
            epoch: 0,
            number: 0,
            reply: 0,
            step: if number == last { stored.seq } else { stored.seq.saturating_sub(1) },
            session: session.clone(),
            parent_call: parent_call.as_deref().map(Into::into),
            task: None,
            event,
        }));
    }
    records
}

/// State of a replay.
#[derive(Default)]
struct Replay<'a> {
    /// Calls that were refused before they started.
    refused: HashSet<&'a str>,
    /// Names of the tools that were called, by the id of the call.
    names: HashMap<String, String>,
    usage: UsageLedger,
}

impl Replay<'_> {
    /// Returns the events of a step, and the call around them.
    fn events(&mut self, step: &Step) -> (Option<String>, Vec<Event>) {
        let events = match step {
            Step::Message { message } => self.message(message),
            Step::ToolResult { id, output, end } => vec![self.finished(id, output, *end)],
            Step::NestedCall { parent, id, name, arguments } => {
                return (Some(parent.clone()), vec![self.started(id, name, arguments)]);
            }
            Step::NestedResult { parent, id, output, end } => {
                return (Some(parent.clone()), vec![self.finished(id, output, *end)]);
            }
            Step::Log { content, call } => {
                vec![Event::Log { call: call.clone(), content: content.clone() }]
            }
            Step::Cost { usage, dollars, .. } => {
                self.usage.count(*usage, *dollars);
                vec![Event::Cost(self.usage.cost(*usage, usage.total(), 0))]
            }
            Step::Compacted { messages, rewound_to } => {
                let notice = match (rewound_to, messages.as_slice()) {
                    (Some(_), _) => "The conversation went back to an earlier message.",
                    (None, []) => "The conversation was cleared for the model.",
                    (None, _) => "The conversation so far was shortened for the model.",
                };
                vec![Event::Notice(notice.to_owned())]
            }
            Step::Interrupted { reason } => {
                vec![Event::Notice(reason.clone()), Event::Finished(Outcome::Cancelled)]
            }
            Step::ReplyEnded { outcome } => vec![Event::Finished(stored_outcome(outcome))],
            Step::ModeChanged { permission, agent, .. } => {
                let permission = permission.map(|mode| format!("Permission mode: {mode}"));
                let agent = agent.as_ref().map(|agent| format!("Agent: {agent}"));
                [permission, agent].into_iter().flatten().map(Event::Notice).collect()
            }
            Step::ExtensionSwitched { name, enabled } => {
                let word = if *enabled { "enabled" } else { "disabled" };
                vec![Event::Notice(format!("Extension {word}: {name}"))]
            }
            Step::TaskPlan { tasks } if tasks.is_empty() => Vec::new(),
            Step::TaskPlan { tasks } => {
                let (tasks, finished) = (tasks.clone(), Vec::new());
                vec![Event::TaskPlan(TaskPlan { id: String::new(), tasks, finished, is_question: false })]
            }
            Step::TaskStarted { task, session, attempt } => {
                let (task, session) = (task.clone(), session.clone());
                vec![Event::TaskStarted { task, session, attempt: *attempt }]
            }
            Step::TaskFinished(finished) => vec![Event::TaskFinished(finished.clone())],
            // Steps of a newer version.
            _ => Vec::new(),
        };
        (None, events)
    }

    fn message(&mut self, message: &Message) -> Vec<Event> {
        match message.role {
            Role::User if is_prompt(message) => vec![Event::Prompt(message.clone().into())],
            Role::User => Vec::new(),
            _ => self.answer(message),
        }
    }

    fn answer(&mut self, message: &Message) -> Vec<Event> {
        let said = message.content.iter().filter_map(|part| match part {
            MessageContent::Reasoning(thought) if thought.text.is_empty() => None,
            MessageContent::Reasoning(thought) => Some(Event::Thinking(thought.text.clone())),
            part => part.as_text().map(|text| Event::Text(text.to_owned())),
        });
        let mut events: Vec<Event> = said.collect();
        events.push(Event::Answered(message.clone().into()));
        for part in &message.content {
            if let MessageContent::ToolCall { id, name, arguments, .. } = part {
                let started = self.started(id, name, arguments);
                events.extend((!self.refused.contains(id.as_str())).then_some(started));
            }
        }
        events
    }

    fn started(&mut self, id: &str, name: &str, arguments: &Value) -> Event {
        self.names.insert(id.to_owned(), name.to_owned());
        let arguments = arguments.as_object().cloned().unwrap_or_else(JsonObject::new);
        Event::ToolStarted { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    fn finished(&self, id: &str, output: &ToolOutput, end: ToolEnd) -> Event {
        let name = self.names.get(id).cloned().unwrap_or_default();
        Event::ToolFinished { id: id.to_owned(), name, output: output.clone(), end }
    }
}

/// Returns true for a message in which the user says something, and not only goose in the user's place.
pub(super) fn is_prompt(message: &Message) -> bool {
    let is_said =
        |part: &MessageContent| !matches!(part, MessageContent::ToolResult { .. }) && !part.is_aside();
    message.role == Role::User && message.content.iter().any(is_said)
}

/// Returns the outcome of a reply by its name in the log, without the details, which are not stored.
fn stored_outcome(word: &str) -> Outcome {
    match word {
        "max_turns" => Outcome::MaxTurns(0),
        "max_tokens" => Outcome::MaxTokens,
        "refused" => Outcome::Refused,
        "empty" => Outcome::Empty,
        "cancelled" => Outcome::Cancelled,
        "failed" => Outcome::Failed(Failure { message: "The reply failed.".to_owned(), hint: None }),
        _ => Outcome::Done { structured: None },
    }
}
