//! Questions to the user: approvals, consents, plans of tasks and trust as permission requests, forms and pages as
//! elicitations. What the editor cannot ask is refused, and the reason says so.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use goose::{
    agent_manager::OpenError,
    config::{Paths, ProjectFile, Trust, TrustStore},
    exchange::{
        Answer, Approval, ConsentRequest, Decision, ElicitationRequest, Event, PlanDecision, TaskPlan,
    },
};
use goose_extension::{ElicitAction, Elicitation, Elicited, ToolError, ToolResult, visible};
use goose_mcp_bridge::Browser;
use serde_json::{Value, json};
use url::Url;

use super::{
    client::{Client, Offer},
    tool_calls,
    updates::chunk,
};

/// Maximum number of characters of a text in a question.
const MAX_SHOWN: usize = 20_000;

/// Choices of a permission request: id, kind and name.
type Choices = Vec<(&'static str, &'static str, String)>;

/// Puts a question of a session to the user.
pub(super) async fn ask(client: &Client, session: &str, folder: &Path, question: &Event) -> Answer {
    match question {
        Event::Approval(approval) => approve(client, session, folder, approval).await.into(),
        Event::Consent(request) => Answer::Consent(consent(client, session, request).await),
        Event::Elicitation(request) => elicit(client, session, request).await.into(),
        Event::TaskPlan(plan) => agree(client, session, plan).await.into(),
        // There are no other questions.
        _ => Answer::Consent(false),
    }
}

async fn approve(client: &Client, session: &str, folder: &Path, approval: &Approval) -> Decision {
    let mut choices: Choices = vec![("allow", "allow_once", "Allow".to_owned())];
    let session_rules = match approval.session.is_empty() {
        true => "Allow exactly this for the session".to_owned(),
        false => format!("For this session: {}", approval.session.join("; ")),
    };
    choices.push(("session", "allow_always", session_rules));
    if !approval.always.is_empty() {
        choices.push(("always", "allow_always", format!("Always: {}", approval.always.join("; "))));
    }
    choices.push(("deny", "reject_once", "Reject".to_owned()));
    let mut call = tool_calls::described(&approval.id, &approval.tool, &approval.arguments, folder);
    call["status"] = json!("pending");
    let mut content: Vec<Value> =
        approval.preview.iter().flat_map(|preview| tool_calls::content(preview, folder)).collect();
    if !approval.reasons.is_empty() {
        content.push(tool_calls::text(&visible(&approval.reasons.join("\n"))));
    }
    call["content"] = json!(content);
    match permission(client, session, call, &choices).await {
        Ok(chosen) => match chosen.as_deref() {
            Some("allow") => Decision::Allow,
            Some("session") => Decision::Session,
            Some("always") if !approval.always.is_empty() => Decision::Always,
            _ => Decision::Deny { instead: None },
        },
        Err(why) => Decision::Deny { instead: Some(format!("{why} Nothing that needs approval is run.")) },
    }
}

async fn consent(client: &Client, session: &str, request: &ConsentRequest) -> bool {
    let title = format!("`{}` wants to use the model at your expense", request.extension);
    let call = other(&request.call, &title, &request.prompt);
    let choices = [("allow", "allow_once", "Allow".to_owned()), ("deny", "reject_once", "Reject".to_owned())];
    permission(client, session, call, &choices).await.is_ok_and(|chosen| chosen.as_deref() == Some("allow"))
}

async fn agree(client: &Client, session: &str, plan: &TaskPlan) -> PlanDecision {
    let tasks = plan.tasks.iter().map(|task| format!("{}. {} ({})", task.id, task.text, task.agent_id()));
    let tasks = tasks.collect::<Vec<_>>().join("\n");
    let call = other(&plan.id, &format!("Run {} tasks side by side", plan.tasks.len()), &tasks);
    let choices = [
        ("run", "allow_once", "Run the tasks".to_owned()),
        ("as_one", "reject_once", "Treat it as one request".to_owned()),
        ("cancel", "reject_once", "Do nothing".to_owned()),
    ];
    match permission(client, session, call, &choices).await {
        Ok(Some(chosen)) if chosen == "run" => PlanDecision::Run,
        Ok(Some(chosen)) if chosen == "as_one" => PlanDecision::AsOne,
        Ok(_) => PlanDecision::Cancel,
        Err(_) => PlanDecision::AsOne,
    }
}

/// Asks a question that is not about a call of a tool.
fn other(id: &str, title: &str, text: &str) -> Value {
    let text = goose_fs::truncate_chars(text, MAX_SHOWN);
    json!({
        "toolCallId": id, "title": visible(title), "kind": "other", "status": "pending",
        "content": [tool_calls::text(&visible(&text))],
    })
}

/// Asks the user to choose. Returns the id of the choice, and none if the question was cancelled.
async fn permission(
    client: &Client,
    session: &str,
    call: Value,
    choices: &[(&'static str, &'static str, String)],
) -> Result<Option<String>, String> {
    let options =
        choices.iter().map(|(id, kind, name)| json!({"optionId": id, "kind": kind, "name": visible(name)}));
    let options: Vec<Value> = options.collect();
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    let answer = client.ask("session/request_permission", params).await?;
    let chosen = answer.pointer("/outcome/optionId").and_then(Value::as_str);
    Ok(chosen.filter(|chosen| choices.iter().any(|(id, ..)| id == chosen)).map(str::to_owned))
}

/// Asks the user to fill in a form or to open a page.
async fn elicit(client: &Client, session: &str, request: &ElicitationRequest) -> Elicited {
    let offer = match &*request.question {
        Elicitation::UrlElicitationParams { .. } => Offer::Pages,
        _ => Offer::Forms,
    };
    let declined = Elicited::new(ElicitAction::Decline);
    let Ok(Value::Object(mut params)) = serde_json::to_value(&request.question) else { return declined };
    if !client.offers(offer) {
        let asked = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let text = format!("`{}` asked something that this editor cannot show: {asked}", request.extension);
        client.update(session, chunk("agent_thought_chunk", &visible(&text))).await;
        return declined;
    }
    params.remove("_meta");
    let mode = if matches!(offer, Offer::Pages) { "url" } else { "form" };
    params.insert("mode".to_owned(), json!(mode));
    params.insert("sessionId".to_owned(), json!(session));
    params.insert("toolCallId".to_owned(), json!(request.call));
    let answered = client.ask("elicitation/create", Value::Object(params)).await;
    answered.ok().and_then(|answer| serde_json::from_value(answer).ok()).unwrap_or(declined)
}

/// Asks about the configuration of the project around a folder. Returns true if the user trusts it now, and did not
/// before.
///
/// # Errors
///
/// Fails if the list of trusted files cannot be used.
pub(super) async fn ask_trust(
    client: &Client,
    session: &str,
    paths: &Paths,
    folder: &Path,
) -> Result<bool, OpenError> {
    // A file that cannot be read is not used.
    let Ok(Some(file)) = ProjectFile::find(folder) else { return Ok(false) };
    let store = TrustStore::new(paths);
    if store.check(&file)? == Trust::Trusted {
        return Ok(false);
    }
    let path = file.path().display();
    let about = format!(
        "{path} comes with this project. It can start programs, choose where your messages go, and tell the model what to do. It \
         contains:\n\n{}",
        file.text()
    );
    let call = other("trust", &format!("Trust {path} in this form?"), &about);
    let choices = [
        ("trust", "allow_always", "Trust it in this form".to_owned()),
        ("deny", "reject_once", "Work without it".to_owned()),
    ];
    let is_trusted =
        permission(client, session, call, &choices).await.is_ok_and(|it| it.as_deref() == Some("trust"));
    if is_trusted {
        store.trust(&file)?;
    }
    Ok(is_trusted)
}

/// Shows the login pages of servers through the editor.
pub(super) struct EditorBrowser {
    pub(super) client: Arc<Client>,
}

#[async_trait]
impl Browser for EditorBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        let refused = |why: &str| {
            ToolError::execution(format!(
                "`{server}` requires a login, and {why}. Log in with `goose extension tools {server}` in a terminal."
            ))
        };
        let Some(session) = self.client.active().filter(|_| self.client.offers(Offer::Pages)) else {
            return Err(refused("this editor cannot show its page"));
        };
        let params = json!({
            "sessionId": session, "mode": "url", "elicitationId": format!("login-{server}"), "url": url.as_str(),
            "message": format!("`{server}` requires a login."),
        });
        match self.client.ask("elicitation/create", params).await {
            Ok(answer) if answer.get("action").and_then(Value::as_str) == Some("accept") => Ok(()),
            Ok(_) => Err(refused("the user declined it")),
            Err(reason) => Err(refused(&reason)),
        }
    }
}
