//! A conversation with the person: forms field by field, and pages to open.

use std::{
    io::{self, BufRead as _, Read as _},
    sync::Arc,
};

use goose_extension::{
    ElicitAction, Elicitation, ElicitationSchema, Elicited, JsonObject, ToolResult, prelude::async_trait,
};
use goose_mcp_bridge::{Browser as _, SystemBrowser};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use url::Url;

use crate::{escape, form::Field, stderr};

/// The answer that cancels the whole call.
const CANCEL: &str = "!cancel";

/// The longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// The place where the user answers.
#[async_trait]
pub(crate) trait Keyboard: Send + Sync {
    /// Waits for it. Nothing else asks before the conversation is dropped.
    async fn turn(&self) -> Box<dyn Dialogue>;
}

/// The other side of a conversation.
#[async_trait]
pub(crate) trait Dialogue: Send + Sync {
    /// Shows a line.
    fn tell(&self, line: &str);

    /// Asks for a line; `None` if the person does not want to answer.
    async fn ask(&self, prompt: &str) -> Option<String>;

    /// Shows a page of a server.
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()>;
}

/// The terminal of a command that asks nothing by itself.
#[derive(Default)]
pub(crate) struct Terminal {
    turns: Arc<Mutex<()>>,
}

#[async_trait]
impl Keyboard for Terminal {
    async fn turn(&self) -> Box<dyn Dialogue> {
        Box::new(AtTerminal { _turn: Arc::clone(&self.turns).lock_owned().await })
    }
}

/// The person at the terminal.
struct AtTerminal {
    _turn: OwnedMutexGuard<()>,
}

#[async_trait]
impl Dialogue for AtTerminal {
    fn tell(&self, line: &str) {
        stderr::line(line);
    }

    async fn ask(&self, prompt: &str) -> Option<String> {
        stderr::question(prompt);
        let answer = read_line().await;
        // Ctrl-D leaves the cursor where it is.
        stderr::end_question(if answer.is_some() { "" } else { "\n" });
        answer
    }

    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        SystemBrowser.open(server, url).await
    }
}

/// Reads a line in a thread of its own, which nothing waits for if the call ends in the meantime.
async fn read_line() -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line);
        // The one who asked may have stopped waiting.
        let _ = sender.send(read.ok().filter(|read| *read > 0).map(|_| line));
    });
    receiver.await.ok().flatten()
}

/// The reason why a question was not answered.
enum Ended {
    Declined,
    Cancelled,
}

impl From<Ended> for Elicited {
    fn from(ended: Ended) -> Self {
        Self::new(match ended {
            Ended::Declined => ElicitAction::Decline,
            Ended::Cancelled => ElicitAction::Cancel,
        })
    }
}

/// The answer of a user who is not there.
pub(crate) fn declined() -> Elicited {
    Ended::Declined.into()
}

/// Puts a question of an extension to the person.
pub(crate) async fn elicit(with: &dyn Dialogue, extension: &str, question: Elicitation) -> Elicited {
    let answered = match question {
        Elicitation::FormElicitationParams { message, requested_schema, .. } => {
            fill_in(with, extension, &message, &requested_schema).await
        }
        Elicitation::UrlElicitationParams { message, url, .. } => {
            visit(with, extension, &message, &url).await
        }
        _ => Err(Ended::Declined),
    };
    answered.unwrap_or_else(Elicited::from)
}

async fn fill_in(
    with: &dyn Dialogue,
    extension: &str,
    message: &str,
    schema: &ElicitationSchema,
) -> Result<Elicited, Ended> {
    introduce(with, extension, message);
    with.tell(&format!("(Ctrl-D declines, {CANCEL} cancels the call)"));
    let mut content = JsonObject::new();
    for field in fields(schema) {
        if let Some(value) = ask_field(with, &field).await? {
            content.insert(field.name, value);
        }
    }
    Ok(Elicited::new(ElicitAction::Accept).with_content(Value::Object(content)))
}

/// The fields in the order in which the server names them.
fn fields(schema: &ElicitationSchema) -> Vec<Field> {
    let sorted = || schema.properties.keys().cloned().collect();
    let names: Vec<String> = schema.property_order.clone().unwrap_or_else(sorted);
    let required = schema.required.as_deref().unwrap_or_default();
    let field = |name: &String| {
        let definition = json!(schema.properties.get(name)?);
        Some(Field::from_schema(name, &definition, required.contains(name)))
    };
    names.iter().filter_map(field).collect()
}

/// Asks until the answer fits. `None` if an optional field is left out.
async fn ask_field(with: &dyn Dialogue, field: &Field) -> Result<Option<Value>, Ended> {
    if let Some(description) = &field.description {
        with.tell(&format!("  {}", escape::line(description)));
    }
    for (index, choice) in field.choices().iter().enumerate() {
        with.tell(&format!("  {}) {}", index + 1, escape::line(&choice.label)));
    }
    let prompt = format!("{} ({}): ", escape::line(field.label()), escape::line(&field.hint()));
    loop {
        let answer = answer(with, &prompt).await?;
        if answer.is_empty() && (field.default.is_some() || !field.required) {
            return Ok(field.default.clone());
        }
        match field.read(&answer) {
            Ok(_) if answer.is_empty() => with.tell("  An answer is required."),
            Ok(value) => return Ok(Some(value)),
            Err(problem) => with.tell(&format!("  {}", escape::line(&problem))),
        }
    }
}

async fn visit(with: &dyn Dialogue, extension: &str, message: &str, url: &str) -> Result<Elicited, Ended> {
    introduce(with, extension, message);
    with.tell(&format!("  {}", escape::line(url)));
    let Some(page) = web_page(url) else {
        with.tell("That is not the address of a web page, so it is not opened.");
        return Err(Ended::Declined);
    };
    let prompt = format!("Open it in the browser? (yes or no, {CANCEL} cancels the call): ");
    loop {
        match answer(with, &prompt).await?.to_ascii_lowercase().as_str() {
            "y" | "yes" => break,
            "" | "n" | "no" => return Err(Ended::Declined),
            _ => with.tell("  Give yes or no."),
        }
    }
    if with.open(extension, &page).await.is_err() {
        with.tell("No browser could be started. Open the address above by hand.");
    }
    Ok(Elicited::new(ElicitAction::Accept))
}

/// An address that a browser may be given.
fn web_page(url: &str) -> Option<Url> {
    Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn introduce(with: &dyn Dialogue, extension: &str, message: &str) {
    with.tell(&format!("The extension `{}` asks: {}", escape::line(extension), escape::text(message)));
}

/// An answer without space around it, where there is one.
async fn answer(with: &dyn Dialogue, prompt: &str) -> Result<String, Ended> {
    let answer = with.ask(prompt).await.ok_or(Ended::Declined)?;
    match answer.trim() {
        CANCEL => Err(Ended::Cancelled),
        answer => Ok(answer.to_owned()),
    }
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
