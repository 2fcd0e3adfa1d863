//! Events of one or several sessions as a stream, from any position.
//!
//! The first event is `hello`, with the sessions and their open questions. Then each event of goose comes as `event`,
//! and `snapshot` in place of events that were dropped because the reader was too slow. The id of an event has the
//! positions of all sessions of the stream: a reader that comes back with the last one misses nothing, also after a
//! restart of the server. A session that another process writes to is read from its stored steps.

use std::{collections::BTreeMap, str::FromStr as _, sync::Arc, time::Duration};

use axum::{Extension, extract::State, response::Response};
use futures::{StreamExt as _, stream};
use goose::{
    exchange::{Event, EventPosition, EventRecord, replay},
    session::SessionId,
};
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{MISSING, TAG, models::Session, questions, sessions::session_id};
use crate::{
    agent_communication::routes::LAST_EVENT_ID,
    body::{PathText, Query},
    endpoint::{Content, Endpoint, schema_of},
    error::{ApiError, ApiResult},
    questions::Question,
    sse::{self, Beat, Frame},
    state::AppState,
    tokens::Client,
};

/// Maximum number of sessions of a stream.
const MAX_SESSIONS: usize = 50;
/// Events that wait for a slow reader, before those of the session's own log do.
const QUEUED: usize = 64;
/// Interval at which a session of another process is read again.
const POLL: Duration = Duration::from_millis(500);

/// First event of a stream.
#[derive(Debug, Serialize, JsonSchema)]
struct Hello {
    version: &'static str,
    sessions: Vec<Session>,
    questions: Vec<Question>,
}

/// Positions of the sessions of a stream.
type Positions = Arc<Mutex<BTreeMap<SessionId, Option<EventPosition>>>>;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let described = |endpoint: Endpoint| {
        endpoint
            .header("Last-Event-ID", "Id of the last event that a stream has brought")
            .answers(
                200,
                "`hello`, and then `event`, `snapshot` and `beat`",
                vec![Content::Events(schema_of::<Hello>)],
            )
            .fails(&[MISSING])
    };
    vec![
        described(
            Endpoint::get("/api/v1/sessions/{session}/events", one)
                .about(TAG, "Follows the events of a session, from its beginning or from the last known one"),
        ),
        described(
            Endpoint::get("/api/v1/events", several)
                .about(TAG, "Follows the events of several sessions")
                .query(
                    "sessions",
                    "Ids of the sessions, separated by commas; by default those that are open",
                    json!({"type": "string"}),
                ),
        ),
    ]
}

async fn one(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(id): PathText,
    headers: HeaderMap,
) -> ApiResult<Response> {
    follow(&app, &client, vec![session_id(id)?], &headers).await
}

async fn several(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    query: Query,
) -> ApiResult<Response> {
    let sessions = match query.text("sessions") {
        Some(names) => {
            names.split(',').map(|name| session_id(name.to_owned())).collect::<Result<Vec<_>, _>>()?
        }
        None => {
            let open = app.sessions.all_open().await;
            open.iter().map(|session| session.exchange().session_id().clone()).take(MAX_SESSIONS).collect()
        }
    };
    follow(&app, &client, sessions, &headers).await
}

async fn follow(
    app: &AppState,
    client: &Client,
    sessions: Vec<SessionId>,
    headers: &HeaderMap,
) -> ApiResult<Response> {
    if sessions.len() > MAX_SESSIONS {
        return Err(ApiError::bad_request(format!("A stream has at most {MAX_SESSIONS} sessions.")));
    }
    let known = headers.get(LAST_EVENT_ID).map(positions).transpose()?.unwrap_or_default();
    let positions = sessions.iter().map(|id| (id.clone(), known.get(id).copied().flatten())).collect();
    let positions: Positions = Arc::new(Mutex::new(positions));
    let mut hello = Hello { version: env!("CARGO_PKG_VERSION"), sessions: Vec::new(), questions: Vec::new() };
    for id in &sessions {
        hello.sessions.push(Session::find(app, id).await?);
        if let Some(session) = app.sessions.opened(id).await {
            hello.questions.extend(questions::of_session(&session));
        }
    }
    let hello = frame("hello", &positions, &serde_json::to_value(&hello).unwrap_or_default());
    let (frames, received) = mpsc::channel(QUEUED);
    for session in sessions {
        let reader = SessionReader { session, positions: Arc::clone(&positions), frames: frames.clone() };
        tokio::spawn(reader.run(app.clone()));
    }
    let received = stream::unfold(received, |mut received| async {
        received.recv().await.map(|frame| (frame, received))
    });
    // Without sessions, the stream stays open for its beats.
    let received = received.chain(stream::pending());
    sse::answer(app, client, Beat::Event, stream::once(async { hello }).chain(received))
}

fn frame(name: &'static str, positions: &Positions, data: &Value) -> Frame {
    let known = positions.lock();
    let known = known.iter().filter_map(|(id, position)| Some(format!("{id}:{}", (*position)?)));
    let known = known.collect::<Vec<_>>().join(";");
    Frame { id: Some(known).filter(|id| !id.is_empty()), name: Some(name), data: data.to_string() }
}

/// Reads `SESSION:EPOCH.NUMBER.STEP;…`.
fn positions(id: &HeaderValue) -> ApiResult<BTreeMap<SessionId, Option<EventPosition>>> {
    let bad = || ApiError::bad_request("`Last-Event-ID` is not an id of an event of this server.");
    let text = id.to_str().map_err(|_| bad())?;
    let position = |part: &str| {
        let (session, position) = part.split_once(':')?;
        Some((session.parse().ok()?, Some(EventPosition::from_str(position).ok()?)))
    };
    text.split(';').filter(|part| !part.is_empty()).map(|part| position(part).ok_or_else(bad)).collect()
}

/// Reader of one session of a stream.
struct SessionReader {
    session: SessionId,
    positions: Positions,
    frames: mpsc::Sender<Frame>,
}

impl SessionReader {
    async fn run(self, app: AppState) {
        let closed = self.frames.clone();
        tokio::select! {
            () = closed.closed() => {}
            () = app.stop.cancelled() => {}
            () = self.follow(&app) => {}
        }
    }

    /// Follows the session in this process, and its stored steps while it is not open here. Ends with its reader.
    async fn follow(&self, app: &AppState) {
        loop {
            let is_read = match app.sessions.opened(&self.session).await {
                Some(session) => self.follow_open(session).await,
                None => self.read_steps(app).await,
            };
            if is_read.is_none() {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn position(&self) -> Option<EventPosition> {
        self.positions.lock().get(&self.session).copied().flatten()
    }

    async fn follow_open(&self, session: crate::sessions::OpenSession) -> Option<()> {
        let mut reader = match session.exchange().read_after(self.position()).await {
            Ok(reader) => reader,
            Err(error) => {
                tracing::error!(%error, "the events of a session cannot be read");
                return Some(());
            }
        };
        while let Some(record) = reader.next().await {
            match &record.event {
                Event::Lagged { missed } => {
                    let exchange = session.exchange();
                    let messages: Vec<Value> = exchange
                        .messages()
                        .iter()
                        .filter_map(|it| serde_json::to_value(&**it).ok())
                        .collect();
                    let snapshot = json!({
                        "session": self.session,
                        "missed": missed,
                        "messages": messages,
                        "questions": questions::of_session(&session),
                    });
                    self.send("snapshot", snapshot).await?;
                }
                _ => self.record(&record).await?,
            }
        }
        Some(())
    }

    async fn read_steps(&self, app: &AppState) -> Option<()> {
        let after = self.position().map_or(0, |position| position.step);
        // A session that was removed, or has no steps yet, has no events.
        let Ok(summary) = app.sessions.summary(&self.session).await else { return Some(()) };
        if summary.steps <= after {
            return Some(());
        }
        let steps = app.sessions.store().steps(&self.session).await.ok()?;
        for record in replay(&self.session, &steps.steps, after) {
            self.record(&record).await?;
        }
        Some(())
    }

    async fn record(&self, record: &EventRecord) -> Option<()> {
        self.positions.lock().insert(self.session.clone(), Some(record.position()));
        self.send("event", serde_json::to_value(record).unwrap_or_default()).await
    }

    async fn send(&self, name: &'static str, data: Value) -> Option<()> {
        self.frames.send(frame(name, &self.positions, &data)).await.ok()
    }
}
