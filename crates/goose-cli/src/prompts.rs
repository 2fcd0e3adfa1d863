//! A conversation with the person: forms field by field, and pages to open.

use goose_extension::{
    ElicitAction, Elicitation, ElicitationSchema, Elicited, JsonObject, ToolResult, prelude::async_trait,
};
use serde_json::{Value, json};
use url::Url;

use crate::{escape, form::Field};

/// The answer that cancels the whole call.
const CANCEL: &str = "!cancel";

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

/// The answer of a user who is not there.
pub(crate) fn declined() -> Elicited {
    Elicited::new(ElicitAction::Decline)
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
        _ => Err(ElicitAction::Decline),
    };
    answered.unwrap_or_else(Elicited::new)
}

async fn fill_in(
    with: &dyn Dialogue,
    extension: &str,
    message: &str,
    schema: &ElicitationSchema,
) -> Result<Elicited, ElicitAction> {
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
async fn ask_field(with: &dyn Dialogue, field: &Field) -> Result<Option<Value>, ElicitAction> {
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

async fn visit(
    with: &dyn Dialogue,
    extension: &str,
    message: &str,
    url: &str,
) -> Result<Elicited, ElicitAction> {
    introduce(with, extension, message);
    with.tell(&format!("  {}", escape::line(url)));
    let Some(page) = web_page(url) else {
        with.tell("That is not the address of a web page, so it is not opened.");
        return Err(ElicitAction::Decline);
    };
    let prompt = format!("Open it in the browser? (yes or no, {CANCEL} cancels the call): ");
    loop {
        match answer(with, &prompt).await?.to_ascii_lowercase().as_str() {
            "y" | "yes" => break,
            "" | "n" | "no" => return Err(ElicitAction::Decline),
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
async fn answer(with: &dyn Dialogue, prompt: &str) -> Result<String, ElicitAction> {
    let answer = with.ask(prompt).await.ok_or(ElicitAction::Decline)?;
    match answer.trim() {
        CANCEL => Err(ElicitAction::Cancel),
        answer => Ok(answer.to_owned()),
    }
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
