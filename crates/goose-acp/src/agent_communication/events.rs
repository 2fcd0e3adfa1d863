//! The reports of a server about a run, as the host of the task takes them.

use goose::agent_manager::acp_mcp_adapter::{AgentEnd, AgentError, AgentHost};
use serde_json::Value;

use super::http::error_text;

/// The events of one task. A server that sends more does not come to an end.
const MAX_EVENTS: usize = 100_000;

/// The way that a stream of events, or an answer without one, ended.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// More events follow.
    Event,
    /// The agent asks something.
    Awaiting(String),
    /// The task is over.
    Ended(Result<AgentEnd, AgentError>),
}

/// The state of a task while its events are read.
#[derive(Debug, Default)]
pub(super) struct RunEvents {
    agent: String,
    /// The run's id and its session's, once they are known.
    pub(super) run: Option<String>,
    pub(super) session: Option<String>,
    events: usize,
    /// Set once anything of the answer was taken.
    has_text: bool,
    /// Set while a message has brought parts.
    has_parts: bool,
}

impl RunEvents {
    pub(super) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..Self::default() }
    }

    /// Takes an event.
    pub(super) fn take(&mut self, event: &Value, host: &dyn AgentHost) -> Result<Next, AgentError> {
        self.events += 1;
        if self.events > MAX_EVENTS {
            return Err(AgentError::Broken(format!(
                "The agent `{}` does not come to an end: it sent more than {MAX_EVENTS} events about one task.",
                self.agent
            )));
        }
        let run = &event["run"];
        self.note(run);
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message.created" => {
                if self.has_text {
                    host.text("\n\n")?;
                }
                self.has_parts = false;
            }
            "message.part" => {
                self.has_parts = true;
                self.part(&event["part"], host)?;
            }
            "message.completed" if !self.has_parts => self.message(&event["message"], host)?,
            "generic" => {
                if let Some(said) = event.get("generic") {
                    host.activity(&words(said, "message").unwrap_or_else(|| said.to_string()));
                }
            }
            "error" => {
                let error = event.get("error").map(error_text).unwrap_or_default();
                return Ok(Next::Ended(Err(self.failed(&error))));
            }
            "run.awaiting" | "run.completed" | "run.failed" | "run.cancelled" => {
                return self.ended(run, host);
            }
            _ => {}
        }
        Ok(Next::Event)
    }

    /// Takes a run that has stopped: at its end, or because it waits.
    pub(super) fn ended(&mut self, run: &Value, host: &dyn AgentHost) -> Result<Next, AgentError> {
        self.note(run);
        let ended = match run.get("status").and_then(Value::as_str).unwrap_or_default() {
            "awaiting" => {
                let question = run.pointer("/await_request/message").map(plain_text).unwrap_or_default();
                return Ok(Next::Awaiting(question));
            }
            "completed" => {
                // A server that streams has said all of it already.
                if !self.has_text {
                    for message in run["output"].as_array().into_iter().flatten() {
                        self.message(message, host)?;
                    }
                }
                Ok(AgentEnd::Done)
            }
            "cancelled" => {
                Err(AgentError::Failed(format!("The agent `{}` cancelled the task by itself.", self.agent)))
            }
            "failed" => Err(self.failed(&run.get("error").map(error_text).unwrap_or_default())),
            other => Err(AgentError::Broken(format!(
                "The agent `{}` ended the task in a way that the protocol does not have: {}.",
                self.agent,
                if other.is_empty() { "no status" } else { other }
            ))),
        };
        Ok(Next::Ended(ended))
    }

    fn failed(&self, reason: &str) -> AgentError {
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        AgentError::Failed(format!("The agent `{}` failed: {reason}.", self.agent))
    }

    fn note(&mut self, run: &Value) {
        self.run = words(run, "run_id").or(self.run.take());
        self.session = words(run, "session_id").or(self.session.take());
    }

    fn message(&mut self, message: &Value, host: &dyn AgentHost) -> Result<(), AgentError> {
        message["parts"].as_array().into_iter().flatten().try_for_each(|part| self.part(part, host))
    }

    fn part(&mut self, part: &Value, host: &dyn AgentHost) -> Result<(), AgentError> {
        if let Some(step) = part.get("metadata").filter(|it| it.get("kind") == Some(&"trajectory".into())) {
            let step = words(step, "message").or_else(|| words(step, "tool_name"));
            host.activity(&step.unwrap_or_else(|| "a step".to_owned()));
            return Ok(());
        }
        let text = part_text(part);
        self.has_text |= !text.is_empty();
        host.text(&text)
    }
}

fn words(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// The text of a message.
fn plain_text(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    parts.map(part_text).collect::<Vec<_>>().join("\n")
}

/// The text of a part; a word in its place if it is something else.
fn part_text(part: &Value) -> String {
    let kind = part["content_type"].as_str().unwrap_or("text/plain");
    let is_plain = part["content_encoding"].as_str().is_none_or(|it| it == "plain");
    let is_text = kind.starts_with("text/") || kind == "application/json";
    match (part["content"].as_str(), part["content_url"].as_str()) {
        (Some(content), _) if is_text && is_plain => content.to_owned(),
        (Some(_), _) => format!("[{kind}, not shown]"),
        (None, Some(url)) => format!("[{kind} at {url}]"),
        (None, None) => String::new(),
    }
}
