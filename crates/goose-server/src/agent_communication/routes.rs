//! Runs: create, read, resume, cancel, and their events.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use futures::{Stream, stream};
use goose::session::{ListOptions, SessionId};
use goose_extension::Message as GooseMessage;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    agents,
    models::{self, Event, Message, MessageAwait, RunMode, RunStatus, Session},
};
use crate::{
    body::{Json, JsonBody, PathText, Query, json as json_answer},
    endpoint::{Content, Endpoint, schema_of},
    error::{ApiError, ApiResult},
    ids::Uuid,
    questions,
    runs::{Run, stored},
    sessions::{OpenSession, SessionRequest},
    sse::{self, Beat, Frame},
    state::AppState,
    tokens::Client,
};

/// Header of an answer that names the run before any event does.
const RUN_ID: HeaderName = HeaderName::from_static("run-id");

/// Header with an id of the client's for a message. Repeating the request does not start a second run.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Header with the number of the last event that a reader has.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Maximum length of a client's id.
pub(crate) const MAX_CLIENT_ID: usize = 200;

/// Request for a run.
#[derive(Debug, Deserialize, JsonSchema)]
struct RunCreateRequest {
    agent_name: String,
    /// Session to continue, or to begin with this id.
    session_id: Option<Uuid>,
    /// The same with more than the id, of which nothing is read.
    session: Option<Session>,
    input: Vec<Message>,
    #[serde(default)]
    mode: RunMode,
}

/// Answer to the question of a run.
#[derive(Debug, Deserialize, JsonSchema)]
struct RunResumeRequest {
    /// Id of the run, which is also in the path.
    run_id: Option<Uuid>,
    await_resume: MessageAwait,
    #[serde(default)]
    mode: RunMode,
}

/// Events of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct EventList {
    #[schemars(with = "Vec<Event>")]
    events: Vec<Arc<Event>>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    const TAG: &str = "Agent Communication Protocol";
    const MISSING: (u16, &str) = (404, "There is no such run");
    let run_or_events = || vec![Content::Json(schema_of::<models::Run>), Content::Events(schema_of::<Event>)];
    vec![
        Endpoint::post("/runs", create)
            .about(TAG, "Runs an agent")
            .header("Idempotency-Key", "Id of the message. A repeated request does not start a second run.")
            .takes::<RunCreateRequest>()
            .answers(200, "The run once it has stopped, or its events", run_or_events())
            .gives::<models::Run>(202, "The run, which goes on")
            .fails(&[(404, "There is no such agent"), (409, "Another run goes on in this session")]),
        Endpoint::get("/runs/{run_id}", read)
            .about(TAG, "Reads a run")
            .gives::<models::Run>(200, "The run")
            .fails(&[MISSING]),
        Endpoint::post("/runs/{run_id}", resume)
            .about(TAG, "Answers the question that a run waits for")
            .takes::<RunResumeRequest>()
            .answers(200, "The run once it has stopped again, or its events", run_or_events())
            .gives::<models::Run>(202, "The run, which goes on")
            .fails(&[MISSING, (409, "The run waits for no answer, or for another one")]),
        Endpoint::post("/runs/{run_id}/cancel", cancel)
            .about(TAG, "Cancels a run")
            .gives::<models::Run>(202, "The run, which ends a moment later")
            .fails(&[MISSING, (409, "The run has ended already")]),
        Endpoint::get("/runs/{run_id}/events", events)
            .about(TAG, "Lists the events of a run, or follows them with `Accept: text/event-stream`")
            .query(
                "after",
                "Number of the last event that is known; the first one has number 1",
                json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            )
            .header("Last-Event-ID", "Id of the last event that a stream has brought")
            .answers(
                200,
                "Events",
                vec![Content::Json(schema_of::<EventList>), Content::Events(schema_of::<Event>)],
            )
            .fails(&[MISSING]),
    ]
}

async fn create(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<RunCreateRequest>,
) -> ApiResult<Response> {
    app.check_open()?;
    let message = models::to_goose(&request.input)?;
    let given = match (request.session_id, request.session.map(|session| session.id)) {
        (Some(one), Some(two)) if one != two => {
            return Err(ApiError::bad_request("`session_id` and `session` name different sessions."));
        }
        (one, two) => one.or(two),
    };
    let key = client_id(&headers)?;
    let run = start(&app, &client, &request.agent_name, given, key, message).await?;
    answer(&app, &client, &run, request.mode, 0).await
}

/// Returns the id that a client gave its message.
fn client_id(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=MAX_CLIENT_ID).contains(&key.len()));
    let bad =
        || ApiError::bad_request(format!("`Idempotency-Key` has 1 to {MAX_CLIENT_ID} visible characters."));
    key.map(|key| Some(key.to_owned())).ok_or_else(bad)
}

/// Starts a run of an agent, in a session that is there or begins with it.
pub(crate) async fn start(
    app: &AppState,
    client: &Client,
    agent: &str,
    session: Option<Uuid>,
    client_id: Option<String>,
    message: GooseMessage,
) -> ApiResult<Arc<Run>> {
    let permit = app.limits.run(client)?;
    let existing = match &session {
        Some(id) => app.sessions.by_uuid(id).await?,
        None => None,
    };
    let session = match existing {
        Some(id) => {
            let opened = app.sessions.open(&id).await?;
            switch(app, &opened, agent).await?;
            opened
        }
        None => {
            let chosen = agents::find(&app.sessions.agents(app.sessions.root()), agent)?;
            let id = session.map(|id| SessionId::try_from(id.to_string())).transpose();
            let id = id.map_err(|error| ApiError::bad_request(error.to_string()))?;
            app.sessions
                .create(SessionRequest { id, agent: Some(chosen), ..SessionRequest::default() })
                .await?
        }
    };
    let session_id = session.exchange().session_id();
    let id = match client_id {
        Some(client_id) => Uuid::of_message(session_id, &client_id),
        None => Uuid::random()?.within(session_id),
    };
    if let Some(earlier) = find_in(app, session_id, id).await? {
        return Ok(earlier);
    }
    app.runs.start(session, agent.to_owned(), message, id, permit)
}

/// Continues a session with another agent, if the client named one.
async fn switch(app: &AppState, session: &OpenSession, agent: &str) -> ApiResult<()> {
    let chosen = agents::find(&app.sessions.agents(&session.folder), agent)?;
    let is_same = session.exchange().agent().id() == format!("{}/{}", chosen.manifest.name, chosen.mode.slug);
    if chosen.is_routed || is_same {
        return Ok(());
    }
    let switched = session.exchange().set_agent(chosen.manifest, chosen.mode).await;
    switched.map(drop).map_err(|error| ApiError::unavailable("agent", error.to_string()))
}

/// Answers with a run as the client wants it.
async fn answer(
    app: &AppState,
    client: &Client,
    run: &Arc<Run>,
    mode: RunMode,
    after: u64,
) -> ApiResult<Response> {
    let mut response = match mode {
        RunMode::Async => json_answer(StatusCode::ACCEPTED, &run.model()),
        RunMode::Sync => {
            tokio::select! {
                () = run.stopped() => {}
                () = app.stop.cancelled() => {}
            }
            json_answer(StatusCode::OK, &run.model())
        }
        RunMode::Stream => {
            sse::answer(app, client, Beat::Comment, frames(Arc::clone(run), None, after, Event::is_stop))?
        }
    };
    if let Ok(id) = HeaderValue::from_str(&run.id.to_string()) {
        response.headers_mut().insert(RUN_ID, id);
    }
    Ok(response)
}

/// Returns the events of a run after a number, until one that ends the stream.
fn frames(
    run: Arc<Run>,
    epoch: Option<String>,
    after: u64,
    is_last: fn(&Event) -> bool,
) -> impl Stream<Item = Frame> + Send {
    let events = follow(run, epoch, after, is_last);
    futures::StreamExt::map(events, |(epoch, number, event)| Frame {
        id: Some(format!("{epoch}.{number}")),
        name: None,
        data: serde_json::to_string(&*event).unwrap_or_default(),
    })
}

/// State of a reader of a run.
struct Reader {
    run: Arc<Run>,
    epoch: Option<String>,
    position: u64,
    pending: std::vec::IntoIter<(u64, Arc<Event>)>,
    is_over: bool,
}

/// Follows the events of a run after a number, until one that ends the stream.
pub(crate) fn follow(
    run: Arc<Run>,
    epoch: Option<String>,
    after: u64,
    is_last: fn(&Event) -> bool,
) -> impl Stream<Item = (String, u64, Arc<Event>)> + Send {
    let reader = Reader { run, epoch, position: after, pending: Vec::new().into_iter(), is_over: false };
    stream::unfold(reader, move |mut reader| async move {
        loop {
            if reader.is_over {
                return None;
            }
            if let Some((number, event)) = reader.pending.next() {
                reader.is_over = is_last(&event);
                let epoch = reader.epoch.clone().unwrap_or_default();
                return Some(((epoch, number, event), reader));
            }
            let more = reader.run.events(reader.epoch.as_deref(), reader.position);
            reader.is_over = more.events.is_empty() && reader.run.status().is_terminal();
            (reader.epoch, reader.position) = (Some(more.epoch), more.position);
            if more.events.is_empty() && !reader.is_over {
                reader.run.more(reader.position).await;
            }
            reader.pending = more.events.into_iter();
        }
    })
}

/// Finds a run by its id: in memory, or in the steps of its session.
pub(crate) async fn find(app: &AppState, id: &str) -> ApiResult<Arc<Run>> {
    let missing = || ApiError::not_found(format!("There is no run `{}`.", goose_fs::truncate_chars(id, 100)));
    let id: Uuid = id.parse().map_err(|_| missing())?;
    if let Some(run) = app.runs.get(&id) {
        return Ok(run);
    }
    let sessions = app.sessions.store().list(ListOptions::default()).await?;
    for summary in sessions.iter().filter(|summary| id.is_within(&summary.id)) {
        if let Some(run) = find_in(app, &summary.id, id).await? {
            return Ok(run);
        }
    }
    Err(missing())
}

/// Finds a run of a session.
pub(crate) async fn find_in(app: &AppState, session: &SessionId, id: Uuid) -> ApiResult<Option<Arc<Run>>> {
    if let Some(run) = app.runs.get(&id) {
        return Ok(Some(run));
    }
    let Ok(summary) = app.sessions.summary(session).await else { return Ok(None) };
    let steps = app.sessions.store().steps(session).await?;
    let agent = agents::label_of_id(summary.agent.as_deref().unwrap_or(default_agent()));
    Ok(Run::from_steps(session, id, &agent, &steps.steps).map(|run| app.runs.keep(run)))
}

/// Finds all runs of a session, in memory and in its steps.
pub(crate) async fn find_all_in(app: &AppState, session: &SessionId) -> ApiResult<Vec<Arc<Run>>> {
    let mut runs: Vec<_> = app.runs.all().into_iter().filter(|run| run.session == *session).collect();
    let Ok(summary) = app.sessions.summary(session).await else { return Ok(runs) };
    let steps = app.sessions.store().steps(session).await?;
    let agent = agents::label_of_id(summary.agent.as_deref().unwrap_or(default_agent()));
    for id in stored::ids(&steps.steps) {
        if !runs.iter().any(|run| run.id == id) {
            runs.extend(Run::from_steps(session, id, &agent, &steps.steps).map(Arc::new));
        }
    }
    Ok(runs)
}

fn default_agent() -> &'static str {
    "goose-agent"
}

async fn read(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Json<models::Run>> {
    Ok(Json(find(&app, &id).await?.model()))
}

async fn resume(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(id): PathText,
    JsonBody(request): JsonBody<RunResumeRequest>,
) -> ApiResult<Response> {
    let run = find(&app, &id).await?;
    if request.run_id.is_some_and(|id| id != run.id) {
        return Err(ApiError::bad_request("`run_id` is not the run of the path."));
    }
    let after = run.last();
    run.answer(|record| questions::of_message(record, &request.await_resume.message, &client))?;
    answer(&app, &client, &run, request.mode, after).await
}

async fn cancel(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Response> {
    let run = find(&app, &id).await?;
    run.cancel()?;
    let mut model = run.model();
    if !model.status.is_terminal() {
        model.status = RunStatus::Cancelling;
    }
    Ok(json_answer(StatusCode::ACCEPTED, &model))
}

async fn events(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(id): PathText,
    headers: HeaderMap,
    query: Query,
) -> ApiResult<Response> {
    let run = find(&app, &id).await?;
    let given = query.number("after", 0..=u64::from(u32::MAX))?;
    let (epoch, after) = match (given, headers.get(LAST_EVENT_ID)) {
        (Some(after), _) => (None, after),
        (None, Some(last)) => last_event(last)?,
        (None, None) => (None, 0),
    };
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accepts.is_some_and(|accept| accept.contains("text/event-stream")) {
        return sse::answer(&app, &client, Beat::Comment, frames(run, epoch, after, Event::is_end));
    }
    let events = run.events(epoch.as_deref(), after).events.into_iter().map(|(_, event)| event).collect();
    Ok(Json(EventList { events }).into_response())
}

/// Reads `EPOCH.NUMBER`.
pub(crate) fn last_event(value: &HeaderValue) -> ApiResult<(Option<String>, u64)> {
    let read = || {
        let (epoch, number) = value.to_str().ok()?.rsplit_once('.')?;
        Some((Some(epoch.to_owned()), number.parse().ok()?))
    };
    read().ok_or_else(|| ApiError::bad_request("`Last-Event-ID` is not an id of an event of this server."))
}
