//! Sessions: list, search, begin, read, change, remove; messages and runs in them.

use std::path::PathBuf;

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use goose::{
    config::Mode,
    session::{ListOptions, SearchQuery, SessionId},
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MISSING, TAG, models::Session};
use crate::{
    agent_communication::{
        agents,
        models::{self, Message, MessagePart},
        routes::{MAX_CLIENT_ID, find_in},
    },
    body::{Json, JsonBody, PathText, Query, json as json_answer},
    endpoint::{Content, Endpoint},
    error::{ApiError, ApiResult},
    ids::Uuid,
    sessions::{SessionRequest, tighten},
    state::AppState,
    tokens::Client,
};

/// Maximum number of sessions of an answer.
pub(super) const MAX_SESSIONS: u64 = 1_000;
/// Number of sessions of an answer by default.
const DEFAULT_SESSIONS: u64 = 50;
/// Maximum number of steps of an answer.
const MAX_STEPS: u64 = 1_000;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionList {
    /// Sessions, the newest first.
    pub(super) sessions: Vec<Session>,
}

/// Match of a search.
#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    #[schemars(with = "String")]
    session: SessionId,
    name: String,
    /// Number of the step.
    step: u64,
    /// Part of the text around the words.
    snippet: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MatchList {
    /// Matches, the best first.
    matches: Vec<Match>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StepList {
    /// Steps as they are stored: `{seq, at, step}`.
    steps: Vec<Value>,
}

/// Session to begin.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewSession {
    /// Working folder, below a root of the server; the first root by default.
    folder: Option<PathBuf>,
    name: Option<String>,
    /// Name of a listed agent, such as `coding-agent-backend`. By default goose chooses one for each request.
    agent: Option<String>,
    /// Permission mode. It cannot be more permissive than the server's.
    #[schemars(with = "Option<String>")]
    mode: Option<Mode>,
}

/// Changes of a session.
#[derive(Debug, Deserialize, JsonSchema)]
struct SessionChange {
    /// Name; an empty one removes it.
    name: Option<String>,
    /// Name of a listed agent.
    agent: Option<String>,
    /// Permission mode. It cannot be more permissive than the present one.
    #[schemars(with = "Option<String>")]
    mode: Option<Mode>,
}

/// Message of the user.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewMessage {
    /// Id that the client makes. A repeated request returns the run that the first one began.
    id: String,
    parts: Vec<MessagePart>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let number = |maximum: u64| json!({"type": "integer", "minimum": 1, "maximum": maximum});
    let text = || json!({"type": "string"});
    vec![
        Endpoint::get("/api/v1/sessions", list)
            .about(TAG, "Lists sessions in folders below the roots")
            .query("limit", "Maximum number of sessions", number(MAX_SESSIONS))
            .query("folder", "Only sessions in this folder", text())
            .gives::<SessionList>(200, "Sessions"),
        Endpoint::post("/api/v1/sessions", create)
            .about(TAG, "Begins a session. It is stored with its first message.")
            .takes::<NewSession>()
            .gives::<Session>(201, "The session")
            .fails(&[(404, "There is no such agent")]),
        Endpoint::get("/api/v1/search", search)
            .about(TAG, "Searches the sessions")
            .query("q", "Words", json!({"type": "string", "minLength": 1}))
            .query("limit", "Maximum number of matches", number(MAX_SESSIONS))
            .gives::<MatchList>(200, "Matches"),
        Endpoint::get("/api/v1/sessions/{session}", read)
            .about(TAG, "Reads a session")
            .gives::<Session>(200, "The session")
            .fails(&[MISSING]),
        Endpoint::patch("/api/v1/sessions/{session}", change)
            .about(TAG, "Changes the name, the agent or the permission mode")
            .takes::<SessionChange>()
            .gives::<Session>(200, "The session")
            .fails(&[MISSING, (409, "Another goose writes to the session")]),
        Endpoint::delete("/api/v1/sessions/{session}", remove)
            .about(TAG, "Removes a session with its delegates for good")
            .answers(204, "It is gone", vec![Content::Nothing])
            .fails(&[MISSING, (409, "A run goes on in the session")]),
        Endpoint::get("/api/v1/sessions/{session}/steps", steps)
            .about(TAG, "Reads the stored steps of a session")
            .query(
                "after",
                "Number of the last step that is known",
                json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            )
            .query("limit", "Maximum number of steps", number(MAX_STEPS))
            .gives::<StepList>(200, "Steps")
            .fails(&[MISSING]),
        Endpoint::post("/api/v1/sessions/{session}/messages", message)
            .about(TAG, "Sends a message and begins a run; `/runs/{id}` has its state and events")
            .takes::<NewMessage>()
            .gives::<models::Run>(202, "The run, which goes on")
            .fails(&[MISSING, (409, "Another run goes on in this session")]),
        Endpoint::post("/api/v1/sessions/{session}/cancel", cancel)
            .about(TAG, "Cancels the reply that runs in a session")
            .gives::<Session>(202, "The session, whose reply ends a moment later")
            .fails(&[MISSING]),
    ]
}

/// Reads the id of a session in a path.
pub(super) fn session_id(text: String) -> ApiResult<SessionId> {
    SessionId::try_from(text).map_err(|error| ApiError::not_found(error.to_string()))
}

async fn list(State(app): State<AppState>, query: Query) -> ApiResult<Json<SessionList>> {
    let limit = query.number("limit", 1..=MAX_SESSIONS)?.unwrap_or(DEFAULT_SESSIONS);
    let mut options = ListOptions::default();
    if let Some(folder) = query.text("folder") {
        options = options.in_folder(app.sessions.folder(Some(folder.as_ref()))?);
    }
    let found = app.sessions.store().list(options).await?;
    let mut sessions = Vec::new();
    let is_shown = |folder: &PathBuf| app.sessions.is_below_root(folder);
    for summary in found.into_iter().filter(|it| is_shown(&it.working_dir)).take(limit as usize) {
        sessions.push(Session::of(&app, summary).await);
    }
    Ok(Json(SessionList { sessions }))
}

async fn create(State(app): State<AppState>, JsonBody(new): JsonBody<NewSession>) -> ApiResult<Response> {
    app.check_open()?;
    let folder = app.sessions.folder(new.folder.as_deref())?;
    let agent = new.agent.map(|name| agents::find(&app.sessions.agents(&folder), &name)).transpose()?;
    let request =
        SessionRequest { name: new.name, folder: Some(folder), mode: new.mode, agent, ..Default::default() };
    let session = app.sessions.create(request).await?;
    let session = Session::find(&app, session.exchange().session_id()).await?;
    Ok(json_answer(StatusCode::CREATED, &session))
}

async fn search(State(app): State<AppState>, query: Query) -> ApiResult<Json<MatchList>> {
    let limit = query.number("limit", 1..=MAX_SESSIONS)?.unwrap_or(DEFAULT_SESSIONS);
    let words = query.text("q").filter(|words| !words.trim().is_empty());
    let words = words.ok_or_else(|| ApiError::bad_request("`q` has the words to search for."))?;
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let found = app.sessions.store().search(&SearchQuery::new(words, limit)).await?;
    let mut matches = Vec::new();
    for found in found.found {
        if app.sessions.summary(&found.session).await.is_ok() {
            let (session, name) = (found.session, found.name);
            matches.push(Match { session, name, step: found.seq, snippet: found.snippet });
        }
    }
    Ok(Json(MatchList { matches }))
}

async fn read(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Json<Session>> {
    Ok(Json(Session::find(&app, &session_id(id)?).await?))
}

async fn change(
    State(app): State<AppState>,
    PathText(id): PathText,
    JsonBody(change): JsonBody<SessionChange>,
) -> ApiResult<Json<Session>> {
    let id = session_id(id)?;
    Session::find(&app, &id).await?;
    if change.agent.is_some() || change.mode.is_some() {
        let session = app.sessions.open(&id).await?;
        if let Some(mode) = change.mode {
            tighten(session.exchange(), mode)?;
        }
        if let Some(name) = &change.agent {
            let agent = agents::find(&app.sessions.agents(&session.folder), name)?;
            let set = session.exchange().set_agent(agent.manifest, agent.mode).await;
            set.map_err(|error| ApiError::unavailable("agent", error.to_string()))?;
        }
    }
    if let Some(name) = &change.name {
        app.sessions.store().rename(&id, name).await?;
    }
    Ok(Json(Session::find(&app, &id).await?))
}

async fn remove(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Response> {
    let id = session_id(id)?;
    app.sessions.summary(&id).await?;
    if app.sessions.opened(&id).await.is_some_and(|session| session.exchange().is_busy()) {
        return Err(ApiError::conflict("session_busy", "A run goes on in this session. Cancel it first."));
    }
    app.sessions.close(&id).await;
    app.sessions.store().remove(&id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn steps(
    State(app): State<AppState>,
    PathText(id): PathText,
    query: Query,
) -> ApiResult<Json<StepList>> {
    let id = session_id(id)?;
    let after = query.number("after", 0..=u64::from(u32::MAX))?.unwrap_or_default();
    let limit = query.number("limit", 1..=MAX_STEPS)?.unwrap_or(MAX_STEPS);
    app.sessions.summary(&id).await?;
    let steps = app.sessions.store().steps(&id).await?.steps.into_iter();
    let steps = steps.filter(|stored| stored.seq > after).take(limit as usize);
    Ok(Json(StepList { steps: steps.filter_map(|stored| serde_json::to_value(stored).ok()).collect() }))
}

async fn message(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(id): PathText,
    JsonBody(new): JsonBody<NewMessage>,
) -> ApiResult<Response> {
    app.check_open()?;
    if !(1..=MAX_CLIENT_ID).contains(&new.id.len()) {
        return Err(ApiError::bad_request(format!("`id` has 1 to {MAX_CLIENT_ID} bytes.")));
    }
    let id = session_id(id)?;
    let message = Message { role: "user".to_owned(), parts: new.parts, created_at: None, completed_at: None };
    let message = models::to_goose(&[message])?;
    let run = Uuid::of_message(&id, &new.id);
    if let Some(earlier) = find_in(&app, &id, run).await? {
        return Ok(json_answer(StatusCode::ACCEPTED, &earlier.model()));
    }
    let permit = app.limits.run(&client)?;
    let session = app.sessions.open(&id).await?;
    let agent = agents::label_of_id(&session.exchange().agent().id());
    let run = app.runs.start(session, agent, message, run, permit)?;
    Ok(json_answer(StatusCode::ACCEPTED, &run.model()))
}

async fn cancel(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Response> {
    let id = session_id(id)?;
    let found = Session::find(&app, &id).await?;
    if let Some(session) = app.sessions.opened(&id).await {
        session.exchange().cancel();
    }
    Ok(json_answer(StatusCode::ACCEPTED, &found))
}
