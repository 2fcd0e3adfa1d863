//! [`Rpc`]: JSON-RPC with another program, one message per line, capped. Both sides of the Agent Client Protocol use
//! it.
//!
//! A line that is not a message is skipped and counted; a line that is too long, too many lines that are not messages,
//! and the end of the stream end the connection, and all requests that wait with it.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use goose_extension::visible;
use goose_mcp_bridge::{LineRead, LineReader, MAX_LINE_BYTES};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Semaphore, mpsc, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// The lines that wait to be written. A program that does not read its input holds up no more than this.
const MAX_OUTGOING: usize = 64;

/// The requests of the other side that we work on at once.
const MAX_REQUESTS: usize = 256;

/// The lines that are not messages after which the connection ends.
const MAX_SKIPPED: u64 = 1_000;

/// The characters of such a line that an error shows.
const SHOWN_CHARS: usize = 200;

/// Codes of JSON-RPC errors.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// Code of a request that the side that sent it has cancelled.
const CANCELLED: i64 = -32800;

/// Notification that cancels a request.
const CANCEL_REQUEST: &str = "$/cancel_request";

/// The answer that a request got instead of a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The other side answered with an error.
    Answered(RpcError),
    /// The connection ended; the reason is a sentence without its subject, such as "closed its output".
    Ended(String),
}

/// Takes what the other side sends of its own accord.
#[async_trait]
pub(crate) trait Incoming: Send + Sync + 'static {
    /// Gets the connection before anything is read from it.
    fn connected(&self, _peer: Peer) {}

    /// Notes a request before any later message is read. It is answered by [`request`](Self::request).
    fn begins(&self, _method: &str, _params: &Value) {}

    /// Answers a request.
    async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError>;

    /// Takes a notification.
    fn notification(&self, method: &str, params: Value);

    /// Continues after a request was answered, for messages that must follow the answer.
    async fn answered(&self, _method: &str, _result: &Value) {}
}

/// A connection. Dropping it ends it.
pub(crate) struct Rpc {
    peer: Peer,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// The other side of a connection. It does not keep the connection open.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Shared>);

impl std::ops::Deref for Rpc {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

struct Shared {
    outgoing: mpsc::Sender<Vec<u8>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>>,
    /// Requests of the other side by their ids, to cancel them.
    answering: Mutex<HashMap<String, CancellationToken>>,
    last_id: AtomicU64,
    /// The time of the last message.
    heard: Mutex<Instant>,
    /// The requests of the other side that wait for us.
    open: AtomicUsize,
    skipped: AtomicU64,
    first_skipped: OnceLock<String>,
    /// Cancelled when the connection has ended.
    ended: CancellationToken,
    reason: OnceLock<String>,
}

impl Rpc {
    /// Begins to read and to write.
    pub(crate) fn new(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        incoming: Arc<dyn Incoming>,
    ) -> Self {
        let (outgoing, lines) = mpsc::channel(MAX_OUTGOING);
        let shared = Arc::new(Shared {
            outgoing,
            waiting: Mutex::default(),
            answering: Mutex::default(),
            last_id: AtomicU64::new(0),
            heard: Mutex::new(Instant::now()),
            open: AtomicUsize::new(0),
            skipped: AtomicU64::new(0),
            first_skipped: OnceLock::new(),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
        });
        incoming.connected(Peer(Arc::clone(&shared)));
        let reading = tokio::spawn(read(Arc::clone(&shared), output, incoming));
        let writing = tokio::spawn(write(Arc::clone(&shared), input, lines));
        Self {
            peer: Peer(shared),
            _tasks: [AbortOnDropHandle::new(reading), AbortOnDropHandle::new(writing)],
        }
    }
}

impl Peer {
    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let shared = &*self.0;
        let id = shared.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        shared.waiting.lock().insert(id, answer);
        let _forget = Forget { shared, id };
        *shared.heard.lock() = Instant::now();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        tokio::select! {
            biased;
            answer = answered => answer.map_err(|_| self.end_reason())?.map_err(Failure::Answered),
            () = shared.ended.cancelled() => Err(self.end_reason()),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    async fn send(&self, message: Value) {
        // A connection that has ended says so to those who wait.
        let _ = self.0.outgoing.send(line(&message)).await;
    }

    fn end_reason(&self) -> Failure {
        Failure::Ended(self.0.reason.get().cloned().unwrap_or_else(|| "closed its output".to_owned()))
    }

    /// Ends the connection.
    pub(crate) fn end(&self, reason: &str) {
        self.0.end(reason);
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Returns whether the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Ends when nothing was heard for some time. The time in which the other side waits for us does not count.
    pub(crate) async fn silence(&self, limit: Duration) {
        loop {
            let heard = *self.0.heard.lock();
            tokio::time::sleep_until(heard + limit).await;
            let is_waiting = self.0.open.load(Ordering::Relaxed) > 0;
            let mut last = self.0.heard.lock();
            if is_waiting {
                *last = Instant::now();
            } else if *last == heard {
                return;
            }
        }
    }

    /// Counts a request of the other side that comes another way as one that waits for us, until the guard is dropped.
    pub(crate) fn begin_request(&self) -> OpenRequest<'_> {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        OpenRequest(&self.0)
    }

    /// A sentence about lines that were not messages; empty if there were none.
    pub(crate) fn nonsense(&self) -> String {
        match (self.0.skipped.load(Ordering::Relaxed), self.0.first_skipped.get()) {
            (1, Some(first)) => format!(" It wrote a line that is not a message of the protocol: `{first}`."),
            (count, Some(first)) => {
                format!(
                    " It wrote {count} lines that are not messages of the protocol, the first: `{first}`."
                )
            }
            _ => String::new(),
        }
    }
}

/// A request that waits for us.
pub(crate) struct OpenRequest<'a>(&'a Shared);

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        *self.0.heard.lock() = Instant::now();
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Forgets a request that is not waited for any more; its late answer is passed over.
struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let is_open = self.shared.waiting.lock().remove(&self.id).is_some();
        if is_open && !self.shared.ended.is_cancelled() {
            let cancel =
                json!({"jsonrpc": "2.0", "method": CANCEL_REQUEST, "params": {"requestId": self.id}});
            // Where the other side does not read, it need not know either.
            let _ = self.shared.outgoing.try_send(line(&cancel));
        }
    }
}

impl Shared {
    fn end(&self, reason: &str) {
        // The first reason counts.
        let _ = self.reason.set(reason.to_owned());
        self.ended.cancel();
        self.waiting.lock().clear();
    }

    /// Counts a line that is not a message. Returns whether there were too many.
    fn skip(&self, text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        if text.trim().is_empty() {
            return false;
        }
        let shown = goose_fs::truncate_chars(text.trim(), SHOWN_CHARS).into_owned();
        // Only the first one is kept.
        let _ = self.first_skipped.set(visible(&shown).into_owned());
        self.skipped.fetch_add(1, Ordering::Relaxed) >= MAX_SKIPPED
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

async fn write(shared: Arc<Shared>, mut input: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    let writing = async {
        while let Some(line) = lines.recv().await {
            input.write_all(&line).await?;
            input.flush().await?;
        }
        std::io::Result::Ok(())
    };
    // Returning closes the program's input.
    if let Some(Err(error)) = shared.ended.run_until_cancelled(writing).await {
        shared.end(&format!("does not read its input any more ({error})"));
    }
}

async fn read(shared: Arc<Shared>, output: impl AsyncRead + Unpin, incoming: Arc<dyn Incoming>) {
    let mut lines = LineReader::new(output);
    let places = Arc::new(Semaphore::new(MAX_REQUESTS));
    let reason = loop {
        let read = match shared.ended.run_until_cancelled(lines.advance()).await {
            Some(read) => read,
            None => return,
        };
        match read {
            Ok(LineRead::Line) => {
                let is_message = match serde_json::from_slice::<Value>(lines.line()) {
                    Ok(message) => take(&shared, message, &incoming, &places),
                    Err(_) => false,
                };
                if !is_message && shared.skip(lines.line()) {
                    break format!("wrote more than {MAX_SKIPPED} lines that are not messages");
                }
                lines.clear();
            }
            Ok(LineRead::Oversized) => break format!("wrote a line of more than {MAX_LINE_BYTES} bytes"),
            Ok(LineRead::End) => break "closed its output".to_owned(),
            Err(error) => break format!("cannot be read ({error})"),
        }
    };
    shared.end(&reason);
}

/// Takes a message. Returns false if it is not one that makes sense.
fn take(shared: &Arc<Shared>, message: Value, incoming: &Arc<dyn Incoming>, places: &Arc<Semaphore>) -> bool {
    let Value::Object(mut message) = message else { return false };
    let id = message.remove("id").filter(|id| id.is_number() || id.is_string());
    let params = message.remove("params").unwrap_or_default();
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => answer(shared, id, method, params, incoming, places),
        (Some(Value::String(method)), None) if method == CANCEL_REQUEST => cancel(shared, &params),
        (Some(Value::String(method)), None) => incoming.notification(&method, params),
        (None, Some(id)) => {
            let waiting = id.as_u64().and_then(|id| shared.waiting.lock().remove(&id));
            let Some(waiting) = waiting else { return false };
            let result = match message.remove("error") {
                Some(error) if !error.is_null() => Err(RpcError::read(&error)),
                _ => Ok(message.remove("result").unwrap_or_default()),
            };
            // Who asked may be gone.
            let _ = waiting.send(result);
        }
        _ => return false,
    }
    *shared.heard.lock() = Instant::now();
    true
}

/// Cancels a request of the other side.
fn cancel(shared: &Shared, params: &Value) {
    let id = params.get("requestId").unwrap_or(&Value::Null).to_string();
    if let Some(request) = shared.answering.lock().get(&id) {
        request.cancel();
    }
}

/// Answers a request of the other side, in a task of its own.
fn answer(
    shared: &Arc<Shared>,
    id: Value,
    method: String,
    params: Value,
    incoming: &Arc<dyn Incoming>,
    places: &Arc<Semaphore>,
) {
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        let message = format!("{MAX_REQUESTS} requests are open already; wait for their answers");
        let answer =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": INTERNAL_ERROR, "message": message}});
        if shared.outgoing.try_send(line(&answer)).is_err() {
            shared.end("sends requests and does not read the answers");
        }
        return;
    };
    incoming.begins(&method, &params);
    let (shared, incoming) = (Arc::clone(shared), Arc::clone(incoming));
    shared.open.fetch_add(1, Ordering::Relaxed);
    let cancelled = shared.ended.child_token();
    shared.answering.lock().insert(id.to_string(), cancelled.clone());
    tokio::spawn(async move {
        let result = cancelled.run_until_cancelled(incoming.request(&method, params)).await;
        shared.answering.lock().remove(&id.to_string());
        shared.open.fetch_sub(1, Ordering::Relaxed);
        let result = match result {
            None if shared.ended.is_cancelled() => return,
            None => Err(RpcError { code: CANCELLED, message: "the request was cancelled".to_owned() }),
            Some(result) => result,
        };
        let answer = match &result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RpcError { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        shared.ended.run_until_cancelled(shared.outgoing.send(line(&answer))).await;
        if let Ok(result) = &result {
            shared.ended.run_until_cancelled(incoming.answered(&method, result)).await;
        }
        drop(place);
    });
}

/// Returns a text field of a message.
pub(crate) fn text<'a>(params: &'a Value, field: &str) -> Result<&'a str, RpcError> {
    let text = params.get(field).and_then(Value::as_str);
    text.ok_or_else(|| invalid(format!("{field} is missing or not a text")))
}

/// Returns the error for a message that does not make sense.
pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError { code: INVALID_PARAMS, message: message.into() }
}

/// Returns the error for a method that we do not have.
pub(crate) fn unknown(method: &str) -> RpcError {
    RpcError { code: METHOD_NOT_FOUND, message: format!("goose does not offer {method}") }
}

impl RpcError {
    fn read(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        let detail = match error.get("data") {
            Some(Value::String(text)) => format!(" ({text})"),
            Some(Value::Object(data)) => format!(" ({})", Value::Object(data.clone())),
            _ => String::new(),
        };
        let text = goose_fs::truncate_chars(&format!("{message}{detail}"), 1_000).into_owned();
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR),
            message: visible(&text).into_owned(),
        }
    }
}
