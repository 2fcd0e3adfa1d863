//! [`Updates`]: the events of a session as updates of the protocol.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use goose::{
    exchange::{Event, ToolEnd},
    session::{PlannedTask, TaskEnd},
};
use goose_extension::{JsonObject, MessageContent, RichRenderable, ToolOutput, visible};
use serde_json::{Value, json};

use super::tool_calls;

/// Maximum number of bytes of the progress of a call that are shown; older ones are left out.
const MAX_PROGRESS: usize = 16 * 1024;

/// Maximum number of calls whose content is kept to be shown with their results.
const MAX_CALLS: usize = 1_000;

/// Translates the events of one prompt, or of a replayed session.
pub(super) struct Updates {
    folder: PathBuf,
    /// True if the editor does not know what the user said.
    is_replay: bool,
    calls: HashMap<String, ShownCall>,
    /// Tasks of the request, with their status.
    tasks: Vec<(PlannedTask, &'static str)>,
}

/// Content of a call so far.
#[derive(Default)]
struct ShownCall {
    entries: Vec<Value>,
    progress: String,
}

impl Updates {
    pub(super) fn new(folder: &Path, is_replay: bool) -> Self {
        Self { folder: folder.to_owned(), is_replay, calls: HashMap::new(), tasks: Vec::new() }
    }

    /// Returns the updates for an event.
    pub(super) fn of_event(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Text(text) => vec![chunk("agent_message_chunk", text)],
            Event::Thinking(text) => vec![chunk("agent_thought_chunk", text)],
            Event::Prompt(message) if self.is_replay => message
                .content
                .iter()
                .filter(|part| !part.is_aside())
                .filter_map(|part| match part {
                    MessageContent::Block(block) => {
                        Some(json!({"sessionUpdate": "user_message_chunk", "content": block}))
                    }
                    _ => None,
                })
                .collect(),
            Event::ToolStarted { id, name, arguments } => vec![self.started(id, name, arguments)],
            Event::ToolProgress { id, message } => vec![self.progress(id, message)],
            Event::Log { call, content } => self.log(call.as_deref(), content),
            Event::ToolFinished { id, output, end, .. } => vec![self.finished(id, output, *end)],
            Event::Cost(cost) if cost.context_limit > 0 => {
                let mut update = json!({
                    "sessionUpdate": "usage_update", "used": cost.context_used, "size": cost.context_limit,
                });
                if let Some(dollars) = cost.dollars {
                    update["cost"] = json!({"amount": dollars, "currency": "USD"});
                }
                vec![update]
            }
            Event::TaskPlan(plan) => {
                let status = |task: &PlannedTask| match plan.finished.contains(&task.id) {
                    true => "completed",
                    false => "pending",
                };
                self.tasks = plan.tasks.iter().map(|task| (task.clone(), status(task))).collect();
                vec![self.task_list()]
            }
            Event::TaskStarted { task, .. } => vec![self.task(task, "in_progress")],
            Event::TaskFinished(finished) => {
                let mut updates = vec![self.task(&finished.task, "completed")];
                if finished.end != TaskEnd::Done {
                    updates.push(aside(&format!("Task {} {}.", finished.task, finished.end.word())));
                }
                updates
            }
            Event::TaskProgress { event, .. } => self.of_event(event),
            event => said(event).map(|text| aside(&text)).into_iter().collect(),
        }
    }

    fn started(&mut self, id: &str, tool: &str, arguments: &JsonObject) -> Value {
        if self.calls.len() >= MAX_CALLS {
            self.calls.clear();
        }
        self.calls.insert(id.to_owned(), ShownCall::default());
        let mut call = tool_calls::described(id, tool, arguments, &self.folder);
        call["sessionUpdate"] = json!("tool_call");
        call["status"] = json!("in_progress");
        call
    }

    fn progress(&mut self, id: &str, message: &str) -> Value {
        let call = self.calls.entry(id.to_owned()).or_default();
        call.progress.push_str(message);
        let cut = call.progress.len().saturating_sub(MAX_PROGRESS);
        call.progress.drain(..call.progress.ceil_char_boundary(cut));
        let mut content = call.entries.clone();
        content.push(tool_calls::text(&call.progress));
        changed(id, json!({ "content": content }))
    }

    fn log(&mut self, call: Option<&str>, content: &RichRenderable) -> Vec<Value> {
        if let RichRenderable::Markdown { text } = content
            && let Some(plan) = tool_calls::plan(text)
        {
            return vec![plan];
        }
        let Some(id) = call else { return vec![aside(&content.plain())] };
        let call = self.calls.entry(id.to_owned()).or_default();
        // The command of a shell call is its title.
        if matches!(content, RichRenderable::Code { .. }) {
            return Vec::new();
        }
        call.entries.extend(tool_calls::content(content, &self.folder));
        vec![changed(id, json!({ "content": call.entries }))]
    }

    fn finished(&mut self, id: &str, output: &ToolOutput, end: ToolEnd) -> Value {
        let call = self.calls.remove(id).unwrap_or_default();
        let is_good = end == ToolEnd::Ran && !output.is_error;
        let mut content = call.entries;
        let has_diff = content.iter().any(|entry| entry["type"] == "diff");
        if !has_diff || !is_good {
            content.extend(output.content.iter().map(tool_calls::block));
        }
        let status = if is_good { "completed" } else { "failed" };
        let raw = output.structured.clone().unwrap_or_else(|| json!(output.as_text()));
        changed(id, json!({"status": status, "content": content, "rawOutput": raw}))
    }

    fn task(&mut self, id: &str, status: &'static str) -> Value {
        for (task, known) in self.tasks.iter_mut().filter(|(task, _)| task.id == id) {
            tracing::trace!(task = task.id, status, "a task goes on");
            *known = status;
        }
        self.task_list()
    }

    fn task_list(&self) -> Value {
        let entry = |(task, status): &(PlannedTask, &str)| json!({"content": task.text, "priority": "medium", "status": status});
        json!({"sessionUpdate": "plan", "entries": self.tasks.iter().map(entry).collect::<Vec<_>>()})
    }
}

/// Returns a text for events that are not part of the answer.
fn said(event: &Event) -> Option<String> {
    Some(match event {
        Event::Notice(text) => text.clone(),
        Event::Routed { agent, mode, reason, is_switch: true, .. } => {
            format!("Using {agent}/{mode}: {reason}")
        }
        Event::HandedBack { agent, mode, reason } => format!("{agent}/{mode} handed back: {reason}"),
        Event::Retrying { reason, attempt, .. } => format!("{reason}; retrying (attempt {attempt})."),
        Event::Restarted => "The answer broke off; it begins again.".to_owned(),
        Event::Compacted { before, after } => {
            format!("Older messages were shortened: {before} to {after} tokens.")
        }
        Event::TaskRetried { task, reason } => format!("Task {task} is tried once more: {reason}"),
        Event::Checked(check) if !check.pass => {
            format!("The result was checked: {}", check.reasons.join(" "))
        }
        Event::Lagged { missed } => format!("{missed} events were dropped."),
        _ => return None,
    })
}

/// Returns a piece of text.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

/// Returns a text that is not part of the answer.
fn aside(text: &str) -> Value {
    chunk("agent_thought_chunk", &format!("{}\n", visible(text)))
}

fn changed(id: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = json!("tool_call_update");
    fields["toolCallId"] = json!(id);
    fields
}
