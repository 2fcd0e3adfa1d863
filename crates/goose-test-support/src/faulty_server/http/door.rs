//! The endpoint: which requests get in, and what a session is.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    faults::Faults,
    stream::{self, Framing},
};
use crate::faulty_server::{
    message::{self, FILLING, METHOD_NOT_FOUND, Padded, Refusal, response, text_result},
    options::Wire,
    server::Server,
};

const SESSION_HEADER: &str = "mcp-session-id";
const INVALID_REQUEST: i32 = -32600;

/// The endpoint and its sessions.
pub(super) struct Door {
    server: Arc<Server>,
    faults: Faults,
    sessions: Mutex<HashSet<String>>,
    opened: AtomicU64,
}

/// Answers one request.
pub(super) async fn enter(
    State(door): State<Arc<Door>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = serde_json::from_slice::<Value>(&body);
    let called = message.as_ref().ok().and_then(|message| message["method"].as_str());
    if let Some(fault) = door.faults.response(&door.server.options.http, &method, &headers, called) {
        return fault;
    }
    match (method, message) {
        (Method::POST, Ok(message)) => door.post(&headers, message),
        (Method::POST, Err(error)) => refused(
            StatusCode::BAD_REQUEST,
            &Value::Null,
            &Refusal::new(message::PARSE_ERROR, error.to_string()),
        ),
        (Method::GET, _) if door.server.options.wire == Wire::Old => door.listen(&headers),
        (Method::DELETE, _) if door.server.options.wire == Wire::Old => {
            door.forget(session_of(&headers));
            StatusCode::NO_CONTENT.into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

impl Door {
    pub(super) fn new(server: Arc<Server>) -> Self {
        let faults = Faults::new(&server.options.http);
        Self { server, faults, sessions: Mutex::default(), opened: AtomicU64::default() }
    }

    fn post(&self, headers: &HeaderMap, message: Value) -> Response {
        let method = message["method"].as_str().unwrap_or_default();
        if method != "initialize"
            && let Some(stranger) = self.stranger(headers, &message)
        {
            return stranger;
        }
        if message.get("id").is_none() || method.is_empty() {
            let (outlet, _) = stream::open(Framing::Events);
            self.server.take(message, outlet);
            return StatusCode::ACCEPTED.into_response();
        }
        if let Some(refusal) = self.server.refuse(method, &message["params"]) {
            let unknown = refusal.code == METHOD_NOT_FOUND;
            let status = if unknown { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
            // On the older wire 404 means that the session is gone.
            let status = if self.server.options.wire == Wire::Old { StatusCode::OK } else { status };
            return refused(status, &message["id"], &refusal);
        }
        self.request(headers, message)
    }

    fn request(&self, headers: &HeaderMap, message: Value) -> Response {
        let options = &self.server.options;
        let method = message["method"].as_str().unwrap_or_default();
        if method == "tools/call" {
            if options.http.expire_sessions {
                self.forget(session_of(headers));
            }
            if let Some(bytes) = options.http.json_body {
                return plain_json(&message["id"], options.wire, bytes);
            }
        }
        let session = (method == "initialize").then(|| self.open_session());
        let (outlet, mut body) = stream::open(Framing::Events);
        if options.wire == Wire::New {
            // On the newer wire, a client that leaves has cancelled.
            body = body.when_left(Arc::clone(&self.server), message["id"].clone());
        }
        self.server.take(message, outlet);
        events(body.into_body(), session)
    }

    /// The stream for what belongs to no request.
    fn listen(&self, headers: &HeaderMap) -> Response {
        if let Some(stranger) = self.stranger(headers, &Value::Null) {
            return stranger;
        }
        let (outlet, body) = stream::open(Framing::Events);
        self.server.listeners.add(outlet, None);
        events(body.into_body(), None)
    }

    /// The response to a client whose session is not known.
    fn stranger(&self, headers: &HeaderMap, message: &Value) -> Option<Response> {
        if self.server.options.wire == Wire::New {
            return None;
        }
        let sessions = self.sessions.lock();
        let (status, text) = match session_of(headers) {
            None => (StatusCode::BAD_REQUEST, "There is no session id. Begin with `initialize`."),
            Some(id) if sessions.contains(id) => return None,
            Some(_) => (StatusCode::NOT_FOUND, "The session is not known. Begin again with `initialize`."),
        };
        Some(refused(status, &message["id"], &Refusal::new(INVALID_REQUEST, text)))
    }

    fn open_session(&self) -> String {
        let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        let id = format!("session-{number}");
        self.sessions.lock().insert(id.clone());
        id
    }

    fn forget(&self, session: Option<&str>) {
        if let Some(id) = session {
            self.sessions.lock().remove(id);
        }
    }
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER)?.to_str().ok()
}

fn events(body: Body, session: Option<String>) -> Response {
    let mut response = ([(CONTENT_TYPE, "text/event-stream")], body).into_response();
    if let Some(id) = session.and_then(|id| id.parse().ok()) {
        response.headers_mut().insert(SESSION_HEADER, id);
    }
    response
}

fn refused(status: StatusCode, id: &Value, refusal: &Refusal) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], refusal.message(id).to_string()).into_response()
}

/// A long answer in one piece, written while it is read.
fn plain_json(id: &Value, wire: Wire, bytes: u64) -> Response {
    let message = Padded::of_length(&response(id, wire, text_result(FILLING.to_owned())), bytes);
    let (outlet, body) = stream::open(Framing::Plain);
    std::thread::spawn(move || outlet.send(&mut |output| message.write(output)));
    ([(CONTENT_TYPE, "application/json")], body.into_body()).into_response()
}
