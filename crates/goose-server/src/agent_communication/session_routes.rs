//! Sessions as clients of the protocol see them: the addresses of their messages.

use axum::extract::State;
use goose::session::{SessionId, Step};
use goose_extension::Role;
use http::{HeaderMap, header};

use super::{
    agents,
    models::{Message, Session, from_goose},
};
use crate::{
    body::{Json, PathText, PathTexts},
    endpoint::Endpoint,
    error::{ApiError, ApiResult},
    ids::Uuid,
    state::AppState,
};

pub(super) fn endpoints() -> Vec<Endpoint> {
    const TAG: &str = "Agent Communication Protocol";
    const MISSING: (u16, &str) = (404, "There is no such session");
    // The specification has one path, the Python library the other.
    let read = |path: &'static str| {
        Endpoint::get(path, read)
            .about(TAG, "Reads a session: the addresses of its messages")
            .gives::<Session>(200, "The session")
            .fails(&[MISSING])
    };
    vec![
        read("/session/{session_id}"),
        read("/sessions/{session_id}"),
        Endpoint::get("/sessions/{session_id}/messages/{step}", message)
            .about(TAG, "Reads a message of a session")
            .gives::<Message>(200, "The message")
            .fails(&[(404, "There is no such message")]),
    ]
}

async fn find(app: &AppState, id: &str) -> ApiResult<SessionId> {
    let missing =
        || ApiError::not_found(format!("There is no session `{}`.", goose_fs::truncate_chars(id, 100)));
    let uuid: Uuid = id.parse().map_err(|_| missing())?;
    let session = app.sessions.by_uuid(&uuid).await?.ok_or_else(missing)?;
    app.sessions.summary(&session).await.map_err(|_| missing())?;
    Ok(session)
}

async fn read(
    State(app): State<AppState>,
    PathText(id): PathText,
    headers: HeaderMap,
) -> ApiResult<Json<Session>> {
    let session = find(&app, &id).await?;
    let steps = app.sessions.store().steps(&session).await?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let base = format!("{}://{host}/sessions/{}/messages", app.names.scheme, Uuid::of_session(&session));
    let shown = steps.steps.iter().filter(|stored| shown(&stored.step).is_some());
    let history = shown.map(|stored| format!("{base}/{}", stored.seq)).collect();
    Ok(Json(Session { id: Uuid::of_session(&session), history, state: None }))
}

async fn message(State(app): State<AppState>, PathTexts(id, step): PathTexts) -> ApiResult<Json<Message>> {
    let session = find(&app, &id).await?;
    let steps = app.sessions.store().steps(&session).await?;
    let missing = || ApiError::not_found("There is no such message in this session.");
    let number: u64 = step.parse().map_err(|_| missing())?;
    let stored = steps.steps.iter().find(|stored| stored.seq == number).ok_or_else(missing)?;
    let agent = app.sessions.summary(&session).await?.agent.unwrap_or_default();
    let message = shown(&stored.step).ok_or_else(missing)?;
    Ok(Json(from_goose(message, &agents::label_of_id(&agent), stored.at)))
}

/// Returns the message of a step, if it has something to show.
fn shown(step: &Step) -> Option<&goose_extension::Message> {
    let Step::Message { message } = step else { return None };
    let has_text = !message.own_text().trim().is_empty();
    (has_text
        || message.role != Role::User
            && message.content.iter().any(|part| !part.is_aside())
            && !from_goose(message, "", jiff::Timestamp::UNIX_EPOCH).parts.is_empty())
    .then_some(message)
}
