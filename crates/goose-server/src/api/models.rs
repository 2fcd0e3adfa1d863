//! Sessions of goose's own API, as JSON has them.

use std::path::PathBuf;

use goose::{
    config::Mode,
    exchange::Exchange,
    session::{SessionId, SessionSummary},
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{error::ApiResult, ids::Uuid, state::AppState};

/// Session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Session {
    #[schemars(with = "String")]
    pub(super) id: SessionId,
    /// Id in the Agent Communication Protocol, and context in A2A.
    uuid: Uuid,
    /// Name, or else the first words.
    name: Option<String>,
    folder: PathBuf,
    /// Agent with its mode, such as `goose-agent/assistant`.
    agent: Option<String>,
    /// Id of the session that delegated to this one.
    #[schemars(with = "Option<String>")]
    parent: Option<SessionId>,
    #[schemars(with = "Option<String>")]
    created_at: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    updated_at: Option<Timestamp>,
    steps: u64,
    messages: u64,
    /// Price in US dollars, as far as prices are known.
    dollars: f64,
    /// State in this server; none if the session is not open here.
    open: Option<OpenState>,
}

/// State of an open session.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenState {
    /// Permission mode: `auto`, `smart_approve`, `approve` or `chat`.
    #[schemars(with = "String")]
    mode: Mode,
    /// True while a reply runs.
    is_running: bool,
    /// Id of the run, if a client of this server began it.
    run: Option<Uuid>,
    /// Number of questions that wait.
    questions: usize,
    /// Position of the last event. `ID:POSITION` as `Last-Event-ID` continues after it.
    position: String,
}

impl Session {
    pub(super) async fn of(app: &AppState, summary: SessionSummary) -> Self {
        let open = app.sessions.opened(&summary.id).await;
        let open = open.map(|session| OpenState::of(app, session.exchange()));
        Self {
            uuid: Uuid::of_session(&summary.id),
            name: Some(summary.name().to_owned()),
            folder: summary.working_dir,
            agent: summary.agent,
            parent: summary.parent,
            created_at: Some(summary.created_at),
            updated_at: Some(summary.updated_at),
            steps: summary.steps,
            messages: summary.messages,
            dollars: summary.dollars,
            id: summary.id,
            open,
        }
    }

    /// Returns a session by its id. One that has no steps yet is not in the store.
    pub(super) async fn find(app: &AppState, id: &SessionId) -> ApiResult<Self> {
        match app.sessions.summary(id).await {
            Ok(summary) => Ok(Self::of(app, summary).await),
            Err(error) => match app.sessions.opened(id).await {
                Some(session) => Ok(Self::new(app, session.exchange())),
                None => Err(error),
            },
        }
    }

    fn new(app: &AppState, exchange: &Exchange) -> Self {
        let id = exchange.session_id().clone();
        Self {
            uuid: Uuid::of_session(&id),
            name: None,
            folder: exchange.working_dir().to_owned(),
            agent: Some(exchange.agent().id()),
            parent: None,
            created_at: None,
            updated_at: None,
            steps: 0,
            messages: 0,
            dollars: 0.0,
            open: Some(OpenState::of(app, exchange)),
            id,
        }
    }
}

impl OpenState {
    fn of(app: &AppState, exchange: &Exchange) -> Self {
        Self {
            mode: exchange.permissions().mode(),
            is_running: exchange.is_busy(),
            run: app.runs.active(exchange.session_id()).map(|run| run.id),
            questions: exchange.questions().len(),
            position: exchange.position().to_string(),
        }
    }
}
