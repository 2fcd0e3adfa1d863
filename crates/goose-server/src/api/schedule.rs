//! Scheduled jobs in folders below the roots. `goose schedule run`, or `goose serve --enable-scheduler`, runs them.

use std::{collections::BTreeMap, path::PathBuf};

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use goose::{
    recipe::RecipePlaces,
    session::{
        clock,
        schedule::{Job, JobId, MissedRuns, NewJob},
    },
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    TAG,
    models::Session,
    recipes,
    sessions::{MAX_SESSIONS, SessionList},
};
use crate::{
    body::{Json, JsonBody, PathText, Query, json as json_answer},
    endpoint::{Content, Endpoint},
    error::{ApiError, ApiResult},
    state::AppState,
    tokens::Scope,
};

/// Maximum number of parameters of a job.
const MAX_PARAMETERS: usize = 100;

#[derive(Debug, Serialize, JsonSchema)]
struct JobList {
    /// Jobs: `id`, `cron`, `recipe`, `parameters`, `working_dir`, `missed`, `paused`, `next_at`, `running_since`,
    /// `last`.
    jobs: Vec<Value>,
}

/// Job to add.
#[derive(Debug, Deserialize, JsonSchema)]
struct JobRequest {
    /// Letters, digits, `_`, `-` and `.`.
    id: String,
    /// Cron expression, such as `0 9 * * 1-5` or `@daily`, in the time zone of the server.
    cron: String,
    /// Name of a recipe of the user or of a trusted project.
    recipe: String,
    /// Folder that it runs in, below a root of the server; the first root by default.
    folder: Option<PathBuf>,
    /// Values of the recipe's parameters.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// True to run nothing for times that pass while no scheduler runs. By default, one run makes up for them.
    #[serde(default)]
    skip_missed: bool,
    #[serde(default)]
    paused: bool,
}

/// Change of a job.
#[derive(Debug, Deserialize, JsonSchema)]
struct JobChange {
    paused: bool,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    const MISSING: (u16, &str) = (404, "There is no such job");
    vec![
        Endpoint::get("/api/v1/schedule", list)
            .about(TAG, "Lists the scheduled jobs in folders below the roots")
            .gives::<JobList>(200, "Jobs"),
        Endpoint::post("/api/v1/schedule", add)
            .about(TAG, "Adds a job. Jobs run while a scheduler does.")
            .scope(Scope::Admin)
            .takes::<JobRequest>()
            .gives::<Value>(201, "The job")
            .fails(&[(404, "There is no such recipe"), (409, "There is a job of this id")]),
        Endpoint::patch("/api/v1/schedule/{job}", change)
            .about(TAG, "Pauses or resumes a job")
            .scope(Scope::Admin)
            .takes::<JobChange>()
            .gives::<Value>(200, "The job")
            .fails(&[MISSING]),
        Endpoint::delete("/api/v1/schedule/{job}", remove)
            .about(TAG, "Removes a job. Its sessions stay.")
            .answers(204, "It is gone", vec![Content::Nothing])
            .fails(&[MISSING]),
        Endpoint::get("/api/v1/schedule/{job}/sessions", sessions)
            .about(TAG, "Lists the sessions of a job")
            .query(
                "limit",
                "Maximum number of sessions",
                json!({"type": "integer", "minimum": 1, "maximum": MAX_SESSIONS}),
            )
            .gives::<SessionList>(200, "Sessions")
            .fails(&[MISSING]),
    ]
}

/// Returns a job in a folder below a root.
async fn job(app: &AppState, id: &str) -> ApiResult<Job> {
    let missing = || ApiError::not_found("There is no such job. GET /api/v1/schedule lists them.");
    let id: JobId = id.parse().map_err(|_| missing())?;
    let job = app.sessions.store().job(&id).await?;
    job.filter(|job| app.sessions.is_below_root(&job.working_dir)).ok_or_else(missing)
}

fn shown(job: &Job) -> ApiResult<Value> {
    serde_json::to_value(job).map_err(|error| ApiError::internal(error.to_string()))
}

async fn list(State(app): State<AppState>) -> ApiResult<Json<JobList>> {
    let store = app.sessions.store();
    store.end_interrupted_jobs(clock::now()).await?;
    let jobs = store.jobs().await?;
    let jobs = jobs.iter().filter(|job| app.sessions.is_below_root(&job.working_dir));
    Ok(Json(JobList { jobs: jobs.map(shown).collect::<ApiResult<_>>()? }))
}

async fn add(State(app): State<AppState>, JsonBody(new): JsonBody<JobRequest>) -> ApiResult<Response> {
    let wrong = |error: &dyn std::fmt::Display| ApiError::bad_request(error.to_string());
    let folder = app.sessions.folder(new.folder.as_deref())?;
    if new.parameters.len() > MAX_PARAMETERS {
        return Err(ApiError::bad_request(format!("A job has at most {MAX_PARAMETERS} parameters.")));
    }
    let (manager, _) = app.sessions.in_folder(&folder)?;
    let recipe = recipes::find(&RecipePlaces::new(manager.settings(), &folder), &new.recipe)?;
    let id: JobId = new.id.parse().map_err(|error| wrong(&error))?;
    let job = NewJob {
        id: id.clone(),
        cron: new.cron.parse().map_err(|error| wrong(&error))?,
        recipe: recipe.path().map(PathBuf::from).unwrap_or_default(),
        parameters: new.parameters.into_iter().collect(),
        working_dir: folder,
        missed: if new.skip_missed { MissedRuns::Skip } else { MissedRuns::Once },
        is_paused: new.paused,
        is_imported: false,
    };
    if !app.sessions.store().add_job(&job, &app.options.time_zone).await? {
        return Err(ApiError::conflict("job_exists", format!("There is a job '{id}' already.")));
    }
    let added = self::job(&app, id.as_str()).await?;
    Ok(json_answer(StatusCode::CREATED, &shown(&added)?))
}

async fn change(
    State(app): State<AppState>,
    PathText(id): PathText,
    JsonBody(change): JsonBody<JobChange>,
) -> ApiResult<Json<Value>> {
    let found = job(&app, &id).await?;
    app.sessions.store().pause_job(&found.id, change.paused, &app.options.time_zone).await?;
    Ok(Json(shown(&job(&app, &id).await?)?))
}

async fn remove(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Response> {
    let found = job(&app, &id).await?;
    app.sessions.store().remove_job(&found.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn sessions(
    State(app): State<AppState>,
    PathText(id): PathText,
    query: Query,
) -> ApiResult<Json<SessionList>> {
    let found = job(&app, &id).await?;
    let limit = query.number("limit", 1..=MAX_SESSIONS)?.and_then(|limit| u32::try_from(limit).ok());
    let mut sessions = Vec::new();
    for summary in app.sessions.store().job_sessions(&found.id, limit).await? {
        sessions.push(Session::of(&app, summary).await);
    }
    Ok(Json(SessionList { sessions }))
}
