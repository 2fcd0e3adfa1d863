//! The stdio transport: one JSON-RPC message per line, with a size cap.
//!
//! Blank lines are ignored. Lines that are not messages or are longer than [`MAX_LINE_BYTES`] are skipped,
//! counted and logged. A server also answers those that are not messages, as JSON-RPC demands. A client does
//! not: such lines are log output of a program that does not expect an answer.
//!
//! No caller has to wait for a timeout: a request that cannot be read is answered with an error, and a
//! response that cannot be read fails its call. An oversized line fails all pending requests, because it may
//! have been the response to any of them, and cancels them at the peer.

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::{
    model::{CancelledNotification, CancelledNotificationParam, ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Semaphore,
};

use super::{
    depth_limit,
    line_io::{LineRead, LineReader, MAX_LINE_BYTES, Writer},
    malformed::{self, Envelope},
    transport::answered_id,
};

/// Faults that are logged; later ones are only counted.
const MAX_LOGGED_FAULTS: u64 = 10;

/// Errors and cancellations that may wait to be written. Further ones are dropped, so that a peer that sends
/// without reading cannot fill our memory.
const MAX_BACKGROUND_SENDS: u32 = 64;

/// Time limit for lines that are still being written on close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Counters of a connection's unusable lines.
#[derive(Debug, Default)]
pub struct LineFaults {
    unparsable: AtomicU64,
    oversized: AtomicU64,
}

impl LineFaults {
    /// Returns the number of lines that are not JSON-RPC messages.
    pub fn unparsable(&self) -> u64 {
        self.unparsable.load(Ordering::Relaxed)
    }

    /// Returns the number of lines longer than [`MAX_LINE_BYTES`].
    pub fn oversized(&self) -> u64 {
        self.oversized.load(Ordering::Relaxed)
    }

    fn count(counter: &AtomicU64, report: impl FnOnce(u64)) {
        let count = counter.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= MAX_LOGGED_FAULTS {
            report(count);
        }
    }
}

/// JSON-RPC over a pair of byte streams, for either role.
pub struct LineTransport<Role: ServiceRole, R, W> {
    lines: LineReader<R>,
    writer: Arc<Writer<W>>,
    faults: Arc<LineFaults>,
    permits: Arc<Semaphore>,
    /// Our requests without a response.
    pending: HashSet<RequestId>,
    /// Our requests that fail because of an oversized line.
    failed: VecDeque<RequestId>,
    fast_path: FastPath<Role>,
}

/// Parses the most common kind of line; returns `None` for all others.
pub(super) type FastPath<Role> = fn(&[u8]) -> Option<RxJsonRpcMessage<Role>>;

impl<Role, R, W> LineTransport<Role, R, W>
where
    Role: ServiceRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport over a reader and a writer.
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            lines: LineReader::new(reader),
            writer: Arc::new(Writer::new(writer)),
            faults: Arc::default(),
            permits: Arc::new(Semaphore::new(MAX_BACKGROUND_SENDS as usize)),
            pending: HashSet::new(),
            failed: VecDeque::new(),
            fast_path: |_| None,
        }
    }

    /// Sets a parser that is tried on each line first.
    pub(super) fn with_fast_path(mut self, fast_path: FastPath<Role>) -> Self {
        self.fast_path = fast_path;
        self
    }

    /// Returns the counters of unusable lines. They are updated while the transport lives.
    pub fn faults(&self) -> Arc<LineFaults> {
        Arc::clone(&self.faults)
    }

    /// Returns the message of a complete line, or `None` if the line is skipped.
    fn interpret(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        let line = self.lines.line().trim_ascii();
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        let error = match (self.fast_path)(line).map_or_else(|| read::<Role>(line), Ok) {
            Ok(message) => {
                if let Some(id) = answered_id(&message) {
                    self.pending.remove(&normalize_id(id));
                }
                return Some(message);
            }
            Err(error) => error,
        };
        let envelope = Envelope::read(line);
        match (envelope.request_id(), envelope.method()) {
            (Some(id), Some(method)) => {
                tracing::debug!(%method, %error, "unreadable request");
                let error = malformed::unreadable_request(method, &error);
                self.send_in_background(&TxJsonRpcMessage::<Role>::error(error, Some(id)));
                None
            }
            (Some(id), None) if envelope.may_be_response() && self.pending.remove(&normalize_id(&id)) => {
                Some(unreadable_response::<Role>(
                    normalize_id(&id),
                    &format!("it is not a valid response ({error})"),
                ))
            }
            // Some servers write a null id into their notifications.
            (None, Some(method)) if !envelope.has_id() || (Role::IS_CLIENT && envelope.has_null_id()) => {
                tracing::debug!(%method, %error, "unknown notification ignored");
                None
            }
            _ => {
                LineFaults::count(&self.faults.unparsable, |count| {
                    tracing::warn!(count, %error, bytes = line.len(), "skipped a line that is not JSON-RPC");
                });
                if !Role::IS_CLIENT
                    && let Some(response) = malformed::error_response(line)
                {
                    self.send_in_background(&response);
                }
                None
            }
        }
    }

    /// Tracks which of our requests wait for a response; a cancelled one does not.
    fn note_pending(&mut self, message: &TxJsonRpcMessage<Role>) {
        match message {
            // A subscription is not answered in one line, and failing it would only open it a second time.
            JsonRpcMessage::Request(request) if !Role::is_subscription_request(&request.request) => {
                self.pending.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let Ok::<CancelledNotification, _>(cancelled) =
                    notification.notification.clone().try_into()
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Sends a message in the background, so that reading stays cancel-safe. Drops it if too many are
    /// waiting.
    fn send_in_background(&self, message: &impl Serialize) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let writer = Arc::clone(&self.writer);
        let Ok(line) = to_line(message) else { return };
        let written = writer.queue(line);
        tokio::spawn(async move {
            if let Err(error) = writer.drain(written).await {
                tracing::debug!(%error, "a background message could not be sent");
            }
            drop(permit);
        });
    }

    fn skip_oversized(&mut self) {
        LineFaults::count(&self.faults.oversized, |count| {
            tracing::warn!(count, limit = MAX_LINE_BYTES, "skipped a line that is too long");
        });
        self.failed.extend(self.pending.drain());
        self.failed.iter().for_each(|id| self.cancel(id));
    }

    /// Tells the peer that the response to a request is no longer needed.
    fn cancel(&self, id: &RequestId) {
        let reason = "a message was too long, and the request was cancelled";
        let params = CancelledNotificationParam::new(Some(id.clone()), Some(reason.to_owned()));
        let notification = CancelledNotification::new(params);
        self.send_in_background(&TxJsonRpcMessage::<Role>::notification(notification.into()));
    }
}

impl<Role, R, W> Transport<Role> for LineTransport<Role, R, W>
where
    Role: ServiceRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // Queued now, not when the future runs: a cancellation must not overtake its request.
        let writer = Arc::clone(&self.writer);
        let queued = capped_line::<Role>(&message).map(|line| {
            self.note_pending(&message);
            writer.queue(line)
        });
        async move { writer.drain(queued?).await }
    }

    /// Cancel-safe: a partly read line stays in the reader.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            if let Some(id) = self.failed.pop_front() {
                let reason = format!("a message was larger than {} MiB", MAX_LINE_BYTES >> 20);
                return Some(unreadable_response::<Role>(id, &reason));
            }
            match self.lines.advance().await {
                Ok(LineRead::Line) => {
                    let message = self.interpret();
                    self.lines.clear();
                    if message.is_some() {
                        return message;
                    }
                }
                Ok(LineRead::Oversized) => self.skip_oversized(),
                Ok(LineRead::End) => {
                    // The process may end after this, and answers to bad lines with it.
                    let sent = self.permits.acquire_many(MAX_BACKGROUND_SENDS);
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, sent).await;
                    return None;
                }
                Err(error) => {
                    tracing::debug!(%error, "the peer's stream broke");
                    return None;
                }
            }
        }
    }

    /// Waits for background messages, then closes the stream. A peer that does not read cannot delay this for
    /// long.
    async fn close(&mut self) -> Result<(), Self::Error> {
        let closing = async {
            let _ = self.permits.acquire_many(MAX_BACKGROUND_SENDS).await;
            self.writer.close().await;
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::debug!("the peer does not read; its connection is dropped");
        }
        Ok(())
    }
}

/// Parses a message. Bytes that are not UTF-8 are replaced, except in requests: a request with changed
/// arguments would do something else.
fn read<Role: ServiceRole>(line: &[u8]) -> Result<RxJsonRpcMessage<Role>, serde_json::Error> {
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    if let Some(list) = depth_limit::trim_tool_list(line) {
        return serde_json::from_slice(&list);
    }
    if std::str::from_utf8(line).is_ok() {
        return Err(error);
    }
    match serde_json::from_str(&String::from_utf8_lossy(line)) {
        Ok(JsonRpcMessage::Request(_)) | Err(_) => Err(error),
        Ok(message) => Ok(message),
    }
}

fn unreadable_response<Role: ServiceRole>(id: RequestId, reason: &str) -> RxJsonRpcMessage<Role> {
    let text = format!("The server's answer was dropped: {reason}. Ask for less, or use another tool.");
    JsonRpcMessage::error(ErrorData::internal_error(text, None), Some(id))
}

fn to_line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Serializes a message. One that the peer would refuse for its size is not sent: a request fails here, and a
/// response becomes an error, so that its caller does not wait.
fn capped_line<Role: ServiceRole>(message: &TxJsonRpcMessage<Role>) -> io::Result<Vec<u8>> {
    let line = to_line(message)?;
    if line.len() <= MAX_LINE_BYTES {
        return Ok(line);
    }
    let text =
        format!("The message has {} bytes; at most {MAX_LINE_BYTES} can be sent. Ask for less.", line.len());
    match message {
        JsonRpcMessage::Response(response) => {
            let error = ErrorData::internal_error(text, None);
            to_line(&TxJsonRpcMessage::<Role>::error(error, Some(response.id.clone())))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, text)),
    }
}

/// Converts numeric strings to numbers: some servers answer the id `5` with `"5"`.
pub(super) fn normalize_id(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
        RequestId::Number(_) => id.clone(),
    }
}
