//! [`Gist`]: a short description of a session, taken from its steps without a model.

use std::collections::HashSet;

use goose_extension::{Message, MessageContent, Role};
use serde_json::Value;

use crate::session::{SessionId, SessionStore, SessionSummary, Step, StoreError};

/// Maximum number of changed files that are kept.
const MAX_FILES: usize = 200;

/// Short description of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Gist {
    /// Summary of the session.
    pub summary: SessionSummary,
    /// First message of the user.
    pub task: Option<String>,
    /// Last text of the model.
    pub answer: Option<String>,
    /// Newest plan or task list.
    pub plan: Option<String>,
    /// Files that were written or edited, in order. Changes by commands are not known.
    pub files: Vec<String>,
    /// True if more files were changed.
    pub has_more_files: bool,
}

impl Gist {
    /// Reads a session.
    ///
    /// # Errors
    ///
    /// Fails if the session does not exist ([`StoreError::NoSuchSession`]) or the store cannot be read.
    pub async fn read(store: &SessionStore, id: &SessionId) -> Result<Self, StoreError> {
        let summary = store.summary(id).await?;
        let steps = store.steps(id).await?.steps;
        let mut gist =
            Self { summary, task: None, answer: None, plan: None, files: Vec::new(), has_more_files: false };
        let failed: HashSet<String> = steps.iter().flat_map(|stored| failed_calls(&stored.step)).collect();
        for stored in steps {
            match stored.step {
                Step::Message { message } => gist.add_message(&message, &failed),
                Step::NestedCall { id, name, arguments, .. } if !failed.contains(&id) => {
                    gist.add_call(&name, &arguments);
                }
                _ => {}
            }
        }
        Ok(gist)
    }

    fn add_message(&mut self, message: &Message, failed: &HashSet<String>) {
        let said = text(message);
        match message.role {
            Role::User if self.task.is_none() => self.task = said,
            Role::Assistant => self.answer = said.or(self.answer.take()),
            _ => {}
        }
        for part in &message.content {
            if let MessageContent::ToolCall { id, name, arguments, .. } = part
                && !failed.contains(id)
            {
                self.add_call(name, arguments);
            }
        }
    }

    fn add_call(&mut self, name: &str, arguments: &Value) {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        match name.rsplit_once("__").map_or(name, |(_, tool)| tool) {
            "plan" => self.plan = argument("plan").or(self.plan.take()),
            "todo_write" => self.plan = argument("content").or(self.plan.take()),
            "write" | "edit" => self.add_file(argument("path")),
            // Tool of earlier versions of goose, whose sessions can be imported.
            "text_editor" if argument("command").is_some_and(|command| command != "view") => {
                self.add_file(argument("path"));
            }
            _ => {}
        }
    }

    fn add_file(&mut self, path: Option<String>) {
        let Some(path) = path.filter(|path| !self.files.contains(path)) else { return };
        if self.files.len() < MAX_FILES {
            self.files.push(path);
        } else {
            self.has_more_files = true;
        }
    }
}

/// Returns the text of a message without goose's additions.
fn text(message: &Message) -> Option<String> {
    Some(message.own_text().trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the calls that a step reports as failed.
fn failed_calls(step: &Step) -> Vec<String> {
    match step {
        Step::ToolResult { id, output, .. } | Step::NestedResult { id, output, .. } if output.is_error => {
            vec![id.clone()]
        }
        Step::Message { message } => message
            .content
            .iter()
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, output } if output.is_error => Some(id.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}
