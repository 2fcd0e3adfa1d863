//! Exports of a session: JSON with everything, Markdown for reading.
//!
//! The JSON form, which [`import::json`](crate::import::json) reads:
//!
//! ```text
//! {
//!   "format": "goose-session",
//!   "version": 1,
//!   "session": { "id": "20261115_3", "given_name": …, "title": …, "working_dir": …, "created_at": …, … },
//!   "steps":   [ { "seq": 1, "at": "2026-11-15T08:00:00Z", "step": { "step": "message", … } }, … ],
//!   "skipped": [ { "seq": 7, "reason": … } ],
//!   "tasks":   [ the same for each task of a request that was split ]
//! }
//! ```

use std::collections::BTreeSet;

use goose_extension::{ContentBlock, Message, MessageContent, RichRenderable, Role, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use crate::{
    PlannedTask, SessionId, SessionStore, SessionSummary, SkippedStep, Step, Steps, StoreError, StoredStep,
    TaskFinished,
};

/// Name of the format.
pub(crate) const FORMAT: &str = "goose-session";

/// Version of the format. Raised when an older goose cannot read the new one.
pub(crate) const VERSION: u32 = 1;

/// Maximum size of the arguments or the result of a tool in Markdown.
const MAX_SHOWN_BYTES: usize = 20_000;

/// Mark of a call that a tool has made.
const NESTED: &str = " (nested)";

/// JSON form of a session.
#[derive(Serialize)]
struct Document {
    format: &'static str,
    version: u32,
    session: SessionSummary,
    steps: Vec<StoredStep>,
    skipped: Vec<SkippedStep>,
    /// Sessions of tasks, for readers. They are not imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Value>,
}

/// Returns a session with all its steps, as JSON.
///
/// # Errors
///
/// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
pub async fn json(store: &SessionStore, id: &SessionId) -> Result<String, StoreError> {
    let (session, steps) = store.summary_and_steps(id).await?;
    let other = |error: serde_json::Error| StoreError::Other(error.to_string());
    let mut tasks = Vec::new();
    for (session, steps) in task_sessions(store, id, &steps).await {
        tasks.push(serde_json::to_value(document(session, steps, Vec::new())).map_err(other)?);
    }
    serde_json::to_string_pretty(&document(session, steps, tasks)).map_err(other)
}

fn document(session: SessionSummary, steps: Steps, tasks: Vec<Value>) -> Document {
    let Steps { steps, skipped, .. } = steps;
    Document { format: FORMAT, version: VERSION, session, steps, skipped, tasks }
}

/// Returns the sessions of the tasks that a session has started. Removed ones are left out.
async fn task_sessions(
    store: &SessionStore,
    parent: &SessionId,
    steps: &Steps,
) -> Vec<(SessionSummary, Steps)> {
    let started = steps.steps.iter().filter_map(|stored| match &stored.step {
        Step::TaskStarted { session, .. } => Some(session),
        _ => None,
    });
    let ids: BTreeSet<&SessionId> = started.collect();
    let mut found = Vec::new();
    for id in ids {
        // In an imported session, the id may belong to an unrelated session.
        found.extend(
            store.summary_and_steps(id).await.ok().filter(|(task, _)| task.parent.as_ref() == Some(parent)),
        );
    }
    found
}

/// Returns a session as Markdown.
///
/// # Errors
///
/// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
pub async fn markdown(store: &SessionStore, id: &SessionId) -> Result<String, StoreError> {
    let (session, steps) = store.summary_and_steps(id).await?;
    let mut pages = vec![markdown_page(&session, &steps)];
    pages.extend(
        task_sessions(store, id, &steps).await.iter().map(|(session, steps)| markdown_page(session, steps)),
    );
    Ok(pages.join("\n\n---\n\n"))
}

fn markdown_page(session: &SessionSummary, steps: &Steps) -> String {
    let mut page = Page::default();
    page.head(session);
    for stored in &steps.steps {
        page.step(&stored.step);
    }
    for skipped in &steps.skipped {
        page.note(&format!("Step {} could not be read: {}", skipped.seq, skipped.reason));
    }
    page.text
}

/// Note about a conversation that the user took back in part.
const REWOUND: &str =
    "The conversation went back to an earlier message. What comes before this note stays in the log.";

#[derive(Default)]
struct Page {
    text: String,
    speaker: Option<Role>,
}

impl Page {
    fn head(&mut self, session: &SessionSummary) {
        self.block(&format!("# {}", session.name()));
        let mut facts = vec![
            format!("- Session: `{}`", session.id),
            format!("- Folder: `{}`", session.working_dir.display()),
            format!("- From {} to {}", session.created_at, session.updated_at),
            format!("- Messages: {}, tokens: {}", session.messages, session.usage.total()),
        ];
        facts.extend(session.agent.iter().map(|agent| format!("- Agent: `{agent}`")));
        self.block(&facts.join("\n"));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Message { message } => self.message(message),
            Step::ToolResult { output, .. } => self.result(output, ""),
            Step::NestedCall { name, arguments, .. } => self.call(name, arguments, NESTED),
            Step::NestedResult { output, .. } => self.result(output, NESTED),
            Step::Log { content, .. } => self.log(content),
            Step::ModeChanged { permission, agent, .. } => {
                let permission = permission.map(|mode| format!("Permission mode: {mode}"));
                let agent = agent.as_ref().map(|agent| format!("Agent: {agent}"));
                self.note(&[permission, agent].into_iter().flatten().collect::<Vec<_>>().join("\n"));
            }
            Step::ExtensionSwitched { name, enabled } => {
                let word = if *enabled { "enabled" } else { "disabled" };
                self.note(&format!("Extension {word}: {name}"));
            }
            Step::Compacted { rewound_to: Some(_), .. } => self.note(REWOUND),
            Step::Compacted { .. } => self.note("The conversation so far was shortened for the model."),
            Step::Interrupted { reason } => self.note(&format!("Interrupted: {reason}")),
            Step::TaskPlan { tasks } => {
                let task = |task: &PlannedTask| format!("{}. {} ({})", task.id, task.text, task.agent_id());
                self.note(&tasks.iter().map(task).collect::<Vec<_>>().join("\n"));
            }
            Step::TaskFinished(TaskFinished { task, end, result, .. }) => {
                self.note(&format!("Task {task} {}:\n{result}", end.word()));
            }
            Step::Cost { .. } | Step::ReplyEnded { .. } | Step::TaskStarted { .. } => {}
        }
    }

    fn message(&mut self, message: &Message) {
        let is_said =
            |part: &MessageContent| !matches!(part, MessageContent::ToolResult { .. }) && !part.is_aside();
        if self.speaker.as_ref() != Some(&message.role) && message.content.iter().any(is_said) {
            self.block(if message.role == Role::User { "## You" } else { "## goose" });
            self.speaker = Some(message.role.clone());
        }
        for part in &message.content {
            self.part(part);
        }
    }

    fn part(&mut self, part: &MessageContent) {
        match part {
            part if part.is_aside() => self.note(part.as_text().unwrap_or_default()),
            MessageContent::Block(block) => self.content(block),
            MessageContent::Reasoning(reasoning) if reasoning.text.is_empty() => {}
            MessageContent::Reasoning(reasoning) => self.note(&reasoning.text),
            MessageContent::ToolCall { name, arguments, .. } => self.call(name, arguments, ""),
            MessageContent::ToolResult { output, .. } => self.result(output, ""),
            _ => {}
        }
    }

    fn call(&mut self, name: &str, arguments: &Value, remark: &str) {
        self.block(&format!("**{name}**{remark}"));
        self.fenced("json", &pretty(arguments));
    }

    fn log(&mut self, content: &RichRenderable) {
        match content {
            RichRenderable::Code { language, text } => self.fenced(language, text),
            RichRenderable::Diff { unified, .. } => self.fenced("diff", unified),
            RichRenderable::Json { value } => self.fenced("json", &pretty(value)),
            plain => self.note(&plain.plain()),
        }
    }

    fn result(&mut self, output: &ToolOutput, remark: &str) {
        let word = if output.is_error { "failed" } else { "result" };
        self.block(&format!("**{word}**{remark}"));
        let mut texts = Vec::new();
        for block in &output.content {
            match block.as_text() {
                Some(text) => texts.push(text.text.as_str()),
                None => self.content(block),
            }
        }
        if !texts.is_empty() {
            self.fenced("", &texts.join("\n"));
        }
    }

    fn content(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.block(&text.text),
            ContentBlock::Image(image) => self.block(&format!("*(an image, {})*", image.mime_type)),
            ContentBlock::Audio(audio) => self.block(&format!("*(audio, {})*", audio.mime_type)),
            ContentBlock::ResourceLink(link) => self.block(&format!("*(a resource: {})*", link.uri)),
            _ => self.block("*(a resource)*"),
        }
    }

    /// Adds a note about the conversation.
    fn note(&mut self, text: &str) {
        let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
        self.block(&lines.join("\n"));
    }

    /// Adds text that is not Markdown, in a fence that does not occur in it.
    fn fenced(&mut self, language: &str, text: &str) {
        let shown = &text[..text.floor_char_boundary(MAX_SHOWN_BYTES)];
        let fence = "`".repeat(longest_run(shown).max(2) + 1);
        self.block(&format!("{fence}{language}\n{}\n{fence}", shown.trim_end_matches('\n')));
        if shown.len() < text.len() {
            self.note(&format!("{} more bytes", text.len() - shown.len()));
        }
    }

    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
