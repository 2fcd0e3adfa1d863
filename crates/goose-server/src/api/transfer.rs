//! Export, import and copies of sessions.

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use goose::session::{export, import};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{MISSING, TAG, models::Session, sessions::session_id};
use crate::{
    body::{JsonBody, PathText, Query, json, read},
    endpoint::{Content, Endpoint, schema_of},
    error::{ApiError, ApiResult},
    state::AppState,
    tokens::Scope,
};

/// Maximum size of an import in bytes.
const MAX_IMPORT_BYTES: usize = 64 * 1024 * 1024;

/// Copy of a session.
#[derive(Debug, Deserialize, JsonSchema)]
struct Fork {
    /// Number of the last step to copy; all by default.
    upto: Option<u64>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/sessions/{session}/export", export_session)
            .about(TAG, "Exports a session as JSON, or as Markdown with `format=markdown`")
            .query("format", "`json` or `markdown`", serde_json::json!({"enum": ["json", "markdown"]}))
            .answers(200, "The session", vec![Content::Json(schema_of::<Map<String, Value>>), Content::Text])
            .fails(&[MISSING]),
        Endpoint::post("/api/v1/import", import_session)
            .scope(Scope::Admin)
            .about(TAG, "Imports an exported session")
            .takes::<Map<String, Value>>()
            .gives::<Session>(201, "The session"),
        Endpoint::post("/api/v1/sessions/{session}/fork", fork)
            .about(TAG, "Copies a session, completely or up to a step")
            .takes::<Fork>()
            .gives::<Session>(201, "The copy")
            .fails(&[MISSING]),
    ]
}

async fn export_session(
    State(app): State<AppState>,
    PathText(id): PathText,
    query: Query,
) -> ApiResult<Response> {
    let id = session_id(id)?;
    app.sessions.summary(&id).await?;
    let (kind, text) = match query.text("format") {
        None | Some("json") => ("application/json", export::json(app.sessions.store(), &id).await?),
        Some("markdown") => ("text/plain; charset=utf-8", export::markdown(app.sessions.store(), &id).await?),
        Some(_) => return Err(ApiError::bad_request("`format` is `json` or `markdown`.")),
    };
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")], text).into_response())
}

async fn import_session(State(app): State<AppState>, request: Request) -> ApiResult<Response> {
    let body = read(request.into_body(), MAX_IMPORT_BYTES).await?;
    // The folder is checked before anything is stored.
    let folder = serde_json::from_slice::<Value>(&body).ok();
    let folder = folder.as_ref().and_then(|it| it.pointer("/session/working_dir")).and_then(Value::as_str);
    let folder = folder.ok_or_else(|| ApiError::bad_request("The body is not an exported session."))?;
    app.sessions.folder(Some(folder.as_ref()))?;
    let id = import::json(app.sessions.store(), body.as_slice()).await?;
    Ok(json(StatusCode::CREATED, &Session::find(&app, &id).await?))
}

async fn fork(
    State(app): State<AppState>,
    PathText(id): PathText,
    JsonBody(fork): JsonBody<Fork>,
) -> ApiResult<Response> {
    let id = session_id(id)?;
    app.sessions.summary(&id).await?;
    let copy = app.sessions.store().fork(&id, fork.upto).await?;
    Ok(json(StatusCode::CREATED, &Session::find(&app, copy.id()).await?))
}
