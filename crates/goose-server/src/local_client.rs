//! [`LocalClient`]: a client of the server that the same user runs on this machine, over its Unix socket.
//!
//! There is no token: the server checks the user id of the connection, and the client that of the server.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::body::{Body, BodyDataStream, to_bytes};
use futures::StreamExt as _;
use goose::{
    config::Mode,
    exchange::{Answer, Event, EventRecord},
    session::SessionId,
};
use http::{Method, Request, Response, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::{net::UnixStream, time::timeout};

use crate::{agent_communication::routes::LAST_EVENT_ID, error::ErrorBody, ids::Uuid, questions::Question};

/// Time limit for the server to answer. Streams have none.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Maximum size of an answer that is not a stream.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Maximum size of an event.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Error of a request to the server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No server listens on the socket.
    #[error("no goose server listens at {}", .0.display())]
    NoServer(PathBuf),
    /// The program behind the socket belongs to another user.
    #[error("the program that listens at {} belongs to another user", .0.display())]
    OtherUser(PathBuf),
    /// The server refused the request.
    #[error("{message}")]
    Refused {
        /// Status of the answer.
        status: u16,
        /// Reason that the server gives.
        message: String,
    },
    /// The connection broke off.
    #[error("the connection to the goose server ended: {0}")]
    Connection(String),
    /// The answer is not one of this version.
    #[error("the goose server's answer is not understood, perhaps because its version differs: {0}")]
    Answer(String),
}

/// State of a session that is open in the server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct OpenSessionState {
    /// Permission mode.
    pub mode: Mode,
    /// True while a reply runs.
    pub is_running: bool,
    /// Position of the last event.
    pub position: String,
}

#[derive(Deserialize)]
struct SessionAnswer {
    open: Option<OpenSessionState>,
}

#[derive(Deserialize)]
struct QuestionsAnswer {
    questions: Vec<Question>,
}

/// Client of the user's server. Each request has a connection of its own.
#[derive(Debug, Clone)]
pub struct LocalClient {
    socket: PathBuf,
}

impl LocalClient {
    /// Creates a client for a socket, such as [`ServerOptions::socket_file`](crate::ServerOptions::socket_file).
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// Returns the state of a session; `None` if it is not open in a server of this user.
    ///
    /// # Errors
    ///
    /// Fails if a server listens and does not answer as it should.
    pub async fn open_session(&self, id: &SessionId) -> Result<Option<OpenSessionState>, LocalError> {
        match self.call(Method::GET, &path(id, ""), None).await {
            Ok(answer) => {
                let answer: SessionAnswer = serde_json::from_value(answer).map_err(not_understood)?;
                Ok(answer.open)
            }
            // A session in a folder outside of the server's roots is not open there.
            Err(LocalError::NoServer(_) | LocalError::Refused { status: 403 | 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Follows the events of a session after a position, written as `epoch.number.step`.
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer with a stream.
    pub async fn events(&self, id: &SessionId, after: &str) -> Result<SessionEvents, LocalError> {
        let last = format!("{id}:{after}");
        let response = self.send(Method::GET, &path(id, "/events"), None, Some(&last)).await?;
        let response = accepted(response).await?;
        let body = response.into_body().into_data_stream();
        Ok(SessionEvents { session: id.clone(), body, text: Vec::new(), searched: 0 })
    }

    /// Sends a message, which begins a reply.
    ///
    /// # Errors
    ///
    /// Fails if the server refuses it, for example because a reply is running.
    pub async fn say(&self, id: &SessionId, text: &str) -> Result<(), LocalError> {
        let message = Uuid::random().map_err(|error| LocalError::Connection(error.message))?;
        let body = json!({"id": message, "parts": [{"content": text}]});
        self.call(Method::POST, &path(id, "/messages"), Some(&body)).await.map(drop)
    }

    /// Answers a question. Returns false if it was answered already, or withdrawn.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached or refuses the answer.
    pub async fn answer(&self, asked: &EventRecord, answer: &Answer) -> Result<bool, LocalError> {
        let Some(Question { id, digest, session, .. }) = Question::of(asked) else { return Ok(false) };
        let body = json!({"id": id, "digest": digest, "answer": answer});
        match self.call(Method::POST, &path(&session, "/answers"), Some(&body)).await {
            Ok(_) => Ok(true),
            Err(LocalError::Refused { status: 409, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns true if a question still waits for an answer.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached.
    pub async fn is_open(&self, asked: &EventRecord) -> Result<bool, LocalError> {
        let answer = self.call(Method::GET, "/api/v1/questions", None).await?;
        let questions: QuestionsAnswer = serde_json::from_value(answer).map_err(not_understood)?;
        let id = asked.event.question_id();
        Ok(questions.questions.iter().any(|it| it.session == asked.session && Some(it.id.as_str()) == id))
    }

    /// Cancels the reply that runs in a session.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached.
    pub async fn cancel(&self, id: &SessionId) -> Result<(), LocalError> {
        self.call(Method::POST, &path(id, "/cancel"), None).await.map(drop)
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, LocalError> {
        let calling = async {
            let response = accepted(self.send(method, path, body, None).await?).await?;
            let bytes = to_bytes(response.into_body(), MAX_ANSWER_BYTES).await.map_err(ended)?;
            serde_json::from_slice(&bytes).map_err(not_understood)
        };
        timeout(ANSWER_TIME, calling).await.unwrap_or_else(|_| Err(ended("it does not answer")))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        last: Option<&str>,
    ) -> Result<Response<Body>, LocalError> {
        let stream = connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ended)?;
        // It ends with the body of the answer.
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "goose");
        if let Some(last) = last {
            request = request.header(LAST_EVENT_ID, last);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.body(body).map_err(not_understood)?;
        Ok(sender.send_request(request).await.map_err(ended)?.map(Body::new))
    }
}

/// Connects to a server of the same user.
async fn connect(socket: &Path) -> Result<UnixStream, LocalError> {
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Err(LocalError::NoServer(socket.to_owned()));
        }
        Err(error) => return Err(ended(error)),
    };
    let user = stream.peer_cred().map_err(ended)?.uid();
    match user == rustix::process::geteuid().as_raw() {
        true => Ok(stream),
        false => Err(LocalError::OtherUser(socket.to_owned())),
    }
}

/// Returns an answer, unless it is an error.
async fn accepted(response: Response<Body>) -> Result<Response<Body>, LocalError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let bytes = to_bytes(response.into_body(), MAX_ANSWER_BYTES).await.unwrap_or_default();
    let error = serde_json::from_slice::<ErrorBody>(&bytes);
    let message = error.map_or_else(|_| reason(status), |error| error.message);
    Err(LocalError::Refused { status: status.as_u16(), message })
}

fn reason(status: StatusCode) -> String {
    format!("The goose server answers with status {status}.")
}

fn path(id: &SessionId, rest: &str) -> String {
    let id: String = url::form_urlencoded::byte_serialize(id.as_str().as_bytes()).collect();
    format!("/api/v1/sessions/{id}{rest}")
}

fn ended(error: impl ToString) -> LocalError {
    LocalError::Connection(error.to_string())
}

fn not_understood(error: impl ToString) -> LocalError {
    LocalError::Answer(error.to_string())
}

/// Events of a session, until the server ends.
#[derive(Debug)]
pub struct SessionEvents {
    session: SessionId,
    body: BodyDataStream,
    /// Bytes of events that are not complete yet.
    text: Vec<u8>,
    /// Number of its bytes that contain no end of an event.
    searched: usize,
}

impl SessionEvents {
    /// Returns the next event; `None` once the server has ended the stream. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the connection breaks off, or with an event that is not understood.
    pub async fn next(&mut self) -> Result<Option<EventRecord>, LocalError> {
        loop {
            while let Some(event) = self.take_event() {
                if let Some(record) = self.record(&event)? {
                    return Ok(Some(record));
                }
            }
            let Some(chunk) = self.body.next().await else { return Ok(None) };
            self.text.extend_from_slice(&chunk.map_err(ended)?);
            if self.text.len() > MAX_EVENT_BYTES {
                return Err(not_understood(format!("an event has more than {MAX_EVENT_BYTES} bytes")));
            }
        }
    }

    /// Takes the text of an event that was received completely.
    fn take_event(&mut self) -> Option<String> {
        let end = self.text[self.searched..].windows(2).position(|pair| pair == b"\n\n");
        let Some(end) = end else {
            self.searched = self.text.len().saturating_sub(1);
            return None;
        };
        let event: Vec<u8> = self.text.drain(..self.searched + end + 2).collect();
        self.searched = 0;
        Some(String::from_utf8_lossy(&event).into_owned())
    }

    /// Reads one event of the stream; `None` for greetings and signs of life.
    fn record(&self, text: &str) -> Result<Option<EventRecord>, LocalError> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").unwrap_or_default();
        match field("event: ") {
            Some("event") => serde_json::from_str(data).map(Some).map_err(not_understood),
            Some("snapshot") => {
                let snapshot: Value = serde_json::from_str(data).map_err(not_understood)?;
                let event = Event::Lagged { missed: snapshot["missed"].as_u64().unwrap_or_default() };
                Ok(Some(self.unnumbered(event)))
            }
            _ => Ok(None),
        }
    }

    fn unnumbered(&self, event: Event) -> EventRecord {
        EventRecord {
            epoch: 0,
            number: 0,
            reply: 0,
            step: 0,
            session: self.session.clone(),
            parent_call: None,
            task: None,
            event,
        }
    }
}
