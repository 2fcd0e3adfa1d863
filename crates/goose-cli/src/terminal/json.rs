//! The events of a reply as JSON: one document at the end, or a line for each.
//!
//! The shapes are those that users of goose know. A message is `{id, role, created, content: [...], metadata}`, its
//! parts are `text`, `image`, `reasoning`, `toolRequest` and `toolResponse`; lines are `message`, `notification`,
//! `error` and `complete`. A message is written whole, and not before it is stored; the user's own message is in the
//! document alone.

use std::{
    io::{self, Write as _},
    time::SystemTime,
};

use goose::{
    exchange::{Cost, Event, Facts, Outcome},
    session::TaskFinished,
};
use goose_extension::{ContentBlock, Message, MessageContent, ToolOutput};
use serde_json::{Value, json};

use super::{outcome::problem, screen::View};
use crate::{escape, stderr};

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// One document at the end.
    #[default]
    Document,
    /// A line for each event.
    Lines,
}

/// Writes events as JSON to standard output.
#[derive(Debug, Default)]
pub(crate) struct JsonView {
    form: Form,
    /// The session; `None` if it is not stored.
    session: Option<String>,
    /// Count of messages so far.
    count: usize,
    messages: Vec<Value>,
    cost: Cost,
    facts: Facts,
    status: &'static str,
    structured: Option<Value>,
    error: Option<String>,
}

impl JsonView {
    /// Creates a view that has written nothing yet.
    pub(crate) fn new(form: Form, session: Option<String>) -> Self {
        Self { form, session, status: "completed", ..Self::default() }
    }

    /// Adds the user's own message. A reader of lines has sent it and knows it.
    pub(crate) fn says(&mut self, message: &Message) -> io::Result<()> {
        if self.form == Form::Document { self.message(message) } else { Ok(()) }
    }

    /// Adds a message of the conversation.
    fn message(&mut self, message: &Message) -> io::Result<()> {
        self.count += 1;
        let message = message_json(message, self.count);
        match self.form {
            Form::Document => {
                self.messages.push(message);
                Ok(())
            }
            Form::Lines => self.line(json!({ "type": "message", "message": message })),
        }
    }

    fn notification(&self, extension: &str, what: Value) -> io::Result<()> {
        if self.form == Form::Document {
            return Ok(());
        }
        let mut notification = json!({ "type": "notification", "extension_id": extension });
        if let (Some(notification), Value::Object(what)) = (notification.as_object_mut(), what) {
            notification.extend(what);
        }
        self.line(notification)
    }

    /// Writes a line, with the session.
    fn line(&self, mut value: Value) -> io::Result<()> {
        if let Some(session) = &self.session {
            value["session_id"] = json!(session);
        }
        line(&value)
    }

    fn finished(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.status = status(outcome);
        if let Outcome::Done { structured } = outcome {
            self.structured.clone_from(structured);
        }
        let Some(problem) = problem(outcome) else { return Ok(()) };
        match self.form {
            Form::Document => {
                stderr::error(&problem);
                self.error = Some(problem);
                Ok(())
            }
            Form::Lines => self.line(json!({ "type": "error", "error": problem })),
        }
    }

    /// Writes the end of the output.
    pub(crate) fn end(self) -> io::Result<()> {
        let mut metadata = self.metadata();
        if self.form == Form::Lines {
            let mut complete = metadata;
            complete["type"] = json!("complete");
            if let Some(structured) = self.structured {
                complete["structured"] = structured;
            }
            return line(&complete);
        }
        if let Some(error) = self.error {
            metadata["error"] = json!(error);
        }
        let mut document = json!({ "messages": self.messages, "metadata": metadata });
        if let Some(structured) = self.structured {
            document["structured"] = structured;
        }
        write(&serde_json::to_string_pretty(&document)?)
    }

    /// The outcome and the usage.
    fn metadata(&self) -> Value {
        let usage = self.cost.session;
        let mut metadata = json!({
            "total_tokens": usage.total(),
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cached_input,
            "cache_write_input_tokens": usage.cache_write,
            "status": self.status,
        });
        if let Some(session) = &self.session {
            metadata["session_id"] = json!(session);
        }
        if let Some(dollars) = self.cost.dollars {
            metadata["cost_usd"] = json!(dollars);
        }
        if !self.facts.is_empty() {
            metadata["facts"] = json!(self.facts);
        }
        metadata
    }
}

impl View for JsonView {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.add_to(&mut self.facts);
        match event {
            Event::Answered(message) => self.message(message),
            Event::ToolFinished { id, output, .. } => {
                let part = MessageContent::tool_result(id.clone(), output.clone());
                self.message(&Message::new(goose_extension::Role::User, [part]))
            }
            Event::Cost(cost) => {
                self.cost = *cost;
                Ok(())
            }
            Event::Finished(outcome) => self.finished(outcome),
            event => {
                notification(event).map_or(Ok(()), |(extension, what)| self.notification(extension, what))
            }
        }
    }
}

/// The extension and the content of the notification about an event.
fn notification(event: &Event) -> Option<(&'static str, Value)> {
    let log = |message: String| Some(("goose", json!({ "log": { "message": message } })));
    match event {
        Event::Text(text) => Some(("goose", json!({ "text_delta": text }))),
        Event::ToolProgress { id, message } => {
            Some(("", json!({ "call_id": id, "progress": { "message": message } })))
        }
        Event::Log { call, content } => {
            Some(("", json!({ "call_id": call, "log": { "message": content.plain() } })))
        }
        // Where the agent stays, there is nothing to report.
        Event::Routed { agent, mode, confidence, by, reason, is_switch: true } => {
            // Two digits: more would only be the noise of a short float.
            let confidence = (f64::from(*confidence) * 100.0).round() / 100.0;
            let routed = json!({
                "agent": agent, "mode": mode, "confidence": confidence, "by": by, "reason": reason,
            });
            Some(("goose", json!({ "routed": routed })))
        }
        Event::HandedBack { .. }
        | Event::Recalled { .. }
        | Event::TaskPlan(_)
        | Event::TaskStarted { .. }
        | Event::TaskProgress { .. }
        | Event::TaskRetried { .. }
        | Event::FilesWritten { .. }
        | Event::Checked(_) => {
            let mut event = json!(event);
            let name = event["event"].as_str()?.to_owned();
            Some(("goose", json!({ name: event["data"].take() })))
        }
        Event::TaskFinished(TaskFinished { task, end, result, usage, dollars, facts }) => {
            let mut finished = json!({
                "task": task, "end": end, "result": result, "usage": usage, "cost_usd": dollars,
            });
            if !facts.is_empty() {
                finished["facts"] = json!(facts);
            }
            Some(("goose", json!({ "task_finished": finished })))
        }
        Event::TasksFinished { usage, dollars } => {
            Some(("goose", json!({ "tasks_finished": { "usage": usage, "cost_usd": dollars } })))
        }
        Event::Notice(notice) => log(notice.clone()),
        Event::Retrying { reason, attempt, .. } => log(format!("{reason}; retrying (attempt {attempt})")),
        Event::Compacted { before, after } => {
            log(format!("compacted older messages: {before} to {after} tokens"))
        }
        Event::Lagged { missed } => log(format!("{missed} events were dropped")),
        _ => None,
    }
}

/// The word for an outcome.
pub(crate) fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "completed",
        Outcome::MaxTurns(_) => "max_turns",
        Outcome::MaxTokens => "max_tokens",
        Outcome::Refused => "refused",
        Outcome::Empty => "empty",
        Outcome::Cancelled => "cancelled",
        _ => "failed",
    }
}

/// A message in the shape that programs know.
fn message_json(message: &Message, number: usize) -> Value {
    let content: Vec<Value> = message.content.iter().map(part_json).collect();
    json!({
        "id": format!("msg_{number}"),
        "role": message.role,
        "created": seconds_since_epoch(),
        "content": content,
        "metadata": { "userVisible": true, "agentVisible": true },
    })
}

fn seconds_since_epoch() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn part_json(part: &MessageContent) -> Value {
    match part {
        MessageContent::ToolCall { id, name, arguments, .. } => {
            let call = json!({ "status": "success", "value": { "name": name, "arguments": arguments } });
            json!({ "type": "toolRequest", "id": id, "toolCall": call })
        }
        MessageContent::ToolResult { id, output } => {
            let result = json!({ "status": "success", "value": output_json(output) });
            json!({ "type": "toolResponse", "id": id, "toolResult": result })
        }
        MessageContent::Reasoning(reasoning) => json!({ "type": "reasoning", "text": reasoning.text }),
        other => json!(other),
    }
}

fn output_json(output: &ToolOutput) -> Value {
    let content: &[ContentBlock] = &output.content;
    let mut value = json!({ "content": content, "isError": output.is_error });
    if let Some(structured) = &output.structured {
        value["structuredContent"] = structured.clone();
    }
    value
}

fn line(value: &Value) -> io::Result<()> {
    write(&value.to_string())
}

/// Escapes whatever would move a cursor where it is shown; the value stays the same.
fn write(json: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", escape::json(json))?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_shape_that_programs_know() {
        let message = Message::new(
            goose_extension::Role::Assistant,
            [
                MessageContent::text("hi"),
                MessageContent::ToolCall {
                    id: "1".into(),
                    name: "developer__shell".into(),
                    arguments: json!({"command": "ls"}),
                    opaque: None,
                },
                MessageContent::tool_result("1", ToolOutput::text("out")),
            ],
        );
        let mut shown = message_json(&message, 7);
        shown["created"] = json!(0);
        assert_eq!(
            shown,
            json!({"id": "msg_7", "role": "assistant", "created": 0,
                "metadata": {"userVisible": true, "agentVisible": true}, "content": [
                {"type": "text", "text": "hi"},
                {"type": "toolRequest", "id": "1", "toolCall": {"status": "success",
                    "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}},
                {"type": "toolResponse", "id": "1", "toolResult": {"status": "success",
                    "value": {"content": [{"type": "text", "text": "out"}], "isError": false}}},
            ]})
        );
    }
}
