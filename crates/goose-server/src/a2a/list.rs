//! `ListTasks`: pages of tasks, the newest first. Without a context, these are the tasks that the server remembers: all
//! that run, and those that have ended within ten minutes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::form::Form;
use crate::{
    agent_communication::{models, routes::find_all_in},
    error::{ApiError, ApiResult},
    ids::Uuid,
    runs::Run,
    state::AppState,
};

/// Maximum number of tasks on a page.
const MAX_PAGE: usize = 100;

/// Number of tasks on a page by default.
const DEFAULT_PAGE: usize = 50;

/// Returns the page that the parameters ask for.
pub(super) async fn page(app: &AppState, form: Form, params: &Map<String, Value>) -> ApiResult<Value> {
    let text = |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let wrong = |name: &str| ApiError::bad_request(format!("`{name}` is not as the protocol has it."));
    let size = match params.get("pageSize") {
        None => DEFAULT_PAGE,
        Some(size) => size
            .as_u64()
            .and_then(|size| usize::try_from(size).ok())
            .filter(|size| (1..=MAX_PAGE).contains(size))
            .ok_or_else(|| wrong("pageSize"))?,
    };
    let first: usize = text("pageToken").map_or(Ok(0), str::parse).map_err(|_| wrong("pageToken"))?;
    let after: Option<Timestamp> = text("statusTimestampAfter")
        .map(str::parse)
        .transpose()
        .map_err(|_| wrong("statusTimestampAfter"))?;
    let has_artifacts = params.get("includeArtifacts").and_then(Value::as_bool).unwrap_or_default();
    let mut tasks: Vec<models::Run> =
        runs(app, text("contextId")).await?.iter().map(|run| run.model()).collect();
    tasks.retain(|task| text("status").is_none_or(|status| form.state(task.status) == status));
    tasks.retain(|task| after.is_none_or(|after| changed_at(task) >= after));
    tasks.sort_by_key(|task| (std::cmp::Reverse(changed_at(task)), task.run_id.to_string()));
    let shown: Vec<Value> = tasks
        .iter()
        .skip(first)
        .take(size)
        .map(|task| {
            let mut value = form.task(task);
            if let Some(fields) = value.as_object_mut().filter(|_| !has_artifacts) {
                fields.remove("artifacts");
            }
            value
        })
        .collect();
    let next = first.saturating_add(size);
    let token = if next < tasks.len() { next.to_string() } else { String::new() };
    Ok(json!({
        "tasks": shown, "nextPageToken": token, "pageSize": size, "totalSize": tasks.len(),
    }))
}

async fn runs(app: &AppState, context: Option<&str>) -> ApiResult<Vec<Arc<Run>>> {
    let Some(context) = context else { return Ok(app.runs.all()) };
    // A context that is unknown has no tasks.
    let Ok(context) = context.parse::<Uuid>() else { return Ok(Vec::new()) };
    match app.sessions.by_uuid(&context).await? {
        Some(session) => find_all_in(app, &session).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the time of the last change of a task's status, as far as it is known.
fn changed_at(task: &models::Run) -> Timestamp {
    task.finished_at.unwrap_or(task.created_at)
}
