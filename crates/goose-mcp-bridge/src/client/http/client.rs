//! Sends messages over HTTP, and retries when the server is busy or requires a login.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetExtensions as _, RequestId,
        ServerJsonRpcMessage,
    },
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    exchange::{Outcome, Post},
    retry::{self, Effect, TRIES},
};
use crate::{
    client::{
        auth::{Challenge, Credentials},
        http_error::HttpError,
        in_flight::Route,
    },
    line_io::MAX_LINE_BYTES,
    transport::answered_id,
};

type Headers = HashMap<HeaderName, HeaderValue>;
type ClientError = StreamableHttpError<HttpError>;

/// HTTP client of one server. Clones share its state.
#[derive(Clone)]
pub(in crate::client) struct HttpClient {
    inner: reqwest::Client,
    url: Url,
    credentials: Option<Credentials>,
    handshake: Arc<HandshakeState>,
    listening: Arc<SseReady>,
    streamed: StreamedCalls,
    ends: CancellationToken,
}

/// State of the handshake. A login takes longer than a handshake may, so its challenge is kept here, and the
/// login happens between two attempts.
#[derive(Default)]
struct HandshakeState {
    is_over: AtomicBool,
    challenge: Mutex<Option<Challenge>>,
}

impl HttpClient {
    pub(super) fn new(inner: reqwest::Client, url: &Url, credentials: Option<Credentials>) -> Self {
        Self {
            inner,
            url: url.clone(),
            credentials,
            handshake: Arc::default(),
            listening: Arc::default(),
            streamed: StreamedCalls::default(),
            ends: CancellationToken::new(),
        }
    }

    /// Returns the client for one transport; its waits end with `ends`.
    pub(super) fn for_transport(&self, ends: &CancellationToken, streamed: &StreamedCalls) -> Self {
        Self { ends: ends.clone(), streamed: streamed.clone(), ..self.clone() }
    }

    pub(super) fn end_handshake(&self) {
        self.handshake.is_over.store(true, Ordering::Release);
    }

    /// Returns the challenge that failed the handshake.
    pub(super) fn take_challenge(&self) -> Option<Challenge> {
        self.handshake.challenge.lock().take()
    }

    async fn token(&self) -> Result<Option<String>, HttpError> {
        match &self.credentials {
            Some(credentials) => credentials.token().await,
            None => Ok(None),
        }
    }

    async fn deliver(&self, post: Post<'_>) -> Result<StreamableHttpPostResponse, ClientError> {
        let effect = Effect::from_message(post.message);
        if let Some(session) = post.session.as_ref().filter(|_| effect == Effect::Possible) {
            self.listening.wait(session).await;
        }
        let failures = self.credentials.as_ref().map(Credentials::failures).unwrap_or_default();
        let (mut tries, mut logins) = (1, AuthAttempts::from_message(post.message));
        loop {
            let token = self.token().await?;
            match post.send(&self.inner, token.as_deref()).await? {
                Outcome::Answer(answer) => {
                    self.streamed.note(post.message, &answer);
                    return Ok(answer);
                }
                Outcome::SessionGone => return Err(StreamableHttpError::SessionExpired),
                Outcome::Refused(error) => {
                    tries = self.wait(tries, retry::pause(tries), error).await?;
                }
                Outcome::Broken(error) if effect == Effect::None => {
                    tries = self.wait(tries, retry::pause(tries), error).await?;
                }
                Outcome::Broken(error) => return Err(HttpError::Unsure(error.to_string()).into()),
                Outcome::Busy(busy) if busy.allows(effect) => {
                    let error = HttpError::Busy { status: busy.status, tries };
                    tries = self.wait(tries, busy.pause(tries), error).await?;
                }
                Outcome::Busy(busy) => {
                    return Err(HttpError::Unsure(format!("it answered {}", busy.status)).into());
                }
                Outcome::Unauthorized(header) => {
                    self.log_in(Challenge::login(header, token).with_failures(failures), &mut logins).await?;
                }
                Outcome::Forbidden(header, text) => {
                    let challenge = Challenge::scope(header, token, &self.url);
                    let challenge = challenge.ok_or_else(|| HttpError::forbidden(&text))?;
                    self.log_in(challenge.with_failures(failures), &mut logins).await?;
                }
            }
        }
    }

    /// Waits before the next attempt. Fails with `error` if there were too many.
    async fn wait(&self, tries: u32, pause: Duration, error: HttpError) -> Result<u32, HttpError> {
        if tries >= TRIES {
            return Err(error);
        }
        self.unless_ended(tokio::time::sleep(pause)).await?;
        Ok(tries + 1)
    }

    async fn log_in(&self, challenge: Challenge, logins: &mut AuthAttempts) -> Result<(), ClientError> {
        let Some(credentials) = &self.credentials else {
            return Err(challenge.error_without_oauth(&self.url).into());
        };
        // First without the user: a refresh is quick.
        if logins.may_renew() && self.unless_ended(credentials.renew(&challenge)).await?? {
            return Ok(());
        }
        if !logins.allow(&challenge) {
            return Err(challenge.error_after_login().into());
        }
        if !self.handshake.is_over.load(Ordering::Acquire) {
            let header = challenge.header.clone().unwrap_or_default();
            *self.handshake.challenge.lock() = Some(challenge);
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(header)));
        }
        if credentials.is_connected() && !logins.has_caller {
            return Err(challenge.error_without_caller().into());
        }
        Ok(self.unless_ended(credentials.log_in(&challenge)).await??)
    }

    async fn unless_ended<T>(&self, work: impl Future<Output = T>) -> Result<T, HttpError> {
        self.ends.run_until_cancelled(work).await.ok_or(HttpError::Cancelled)
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    // Both methods that read events cap them at `MAX_LINE_BYTES`, so rmcp's default variants with a cap may
    // call these.
    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        self.deliver(Post { url: &self.url, message: &message, session, headers }).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), ClientError> {
        let token = self.token().await?;
        self.inner.delete_session(uri, session_id, token, custom_headers).await.map_err(from_reqwest)
    }

    /// Opens the stream of a session. No caller waits for it, so it uses a stored or refreshed token, and no
    /// login.
    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, ClientError> {
        let open = async |token: Option<String>| {
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last_event_id.clone());
            let (headers, limit) = (headers.clone(), MAX_LINE_BYTES);
            self.inner.get_stream_with_max_sse_event_size(uri, session, last, token, headers, limit).await
        };
        let token = self.token().await?;
        let stream = match (open(token.clone()).await, &self.credentials) {
            (Err(StreamableHttpError::AuthRequired(refused)), Some(credentials)) => {
                let challenge = Challenge::login(Some(refused.www_authenticate_header), token);
                match self.unless_ended(credentials.renew(&challenge)).await? {
                    Ok(true) => open(self.token().await?).await.map_err(from_reqwest),
                    // Not `AuthRequired`, which rmcp does not retry: a login of another request may succeed
                    // meanwhile.
                    Ok(false) => Err(challenge.error_without_caller().into()),
                    Err(error) => Err(error.into()),
                }
            }
            (stream, _) => stream.map_err(from_reqwest),
        };
        if let Some(session) = session.filter(|_| last_event_id.is_none()) {
            self.listening.began(session);
        }
        stream
    }
}

/// Converts an error of the inner client.
fn from_reqwest(error: StreamableHttpError<reqwest::Error>) -> ClientError {
    match error {
        StreamableHttpError::Client(error) => HttpError::unreachable(error).into(),
        StreamableHttpError::ServerDoesNotSupportSse => StreamableHttpError::ServerDoesNotSupportSse,
        StreamableHttpError::AuthRequired(error) => StreamableHttpError::AuthRequired(error),
        StreamableHttpError::InsufficientScope(error) => StreamableHttpError::InsufficientScope(error),
        StreamableHttpError::SessionExpired => StreamableHttpError::SessionExpired,
        StreamableHttpError::HttpStatus(error) => StreamableHttpError::HttpStatus(error),
        other => HttpError::Unreadable(other.to_string()).into(),
    }
}

/// Logins for more scopes that one message may cause.
const MAX_WIDENINGS: u32 = 2;

/// Logins that one message or handshake has caused.
#[derive(Default)]
pub(super) struct AuthAttempts {
    /// True if a caller waits who can be asked to log in.
    pub(super) has_caller: bool,
    renewed: bool,
    logged_in: bool,
    widened: u32,
}

impl AuthAttempts {
    pub(super) fn from_message(message: &ClientJsonRpcMessage) -> Self {
        Self { has_caller: has_caller(message), ..Self::default() }
    }

    pub(super) fn may_renew(&mut self) -> bool {
        !std::mem::replace(&mut self.renewed, true)
    }

    /// Returns whether the user may be asked: once for a login, a few times for more scopes.
    pub(super) fn allow(&mut self, challenge: &Challenge) -> bool {
        if challenge.scope.is_none() {
            return !std::mem::replace(&mut self.logged_in, true);
        }
        self.widened += 1;
        self.widened <= MAX_WIDENINGS
    }
}

/// Returns whether a caller waits for the response. Lists are read in the background, and other messages are
/// sent by ourselves.
fn has_caller(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    let is_asked_for = matches!(
        &request.request,
        ClientRequest::CompleteRequest(_)
            | ClientRequest::GetTaskRequest(_)
            | ClientRequest::UpdateTaskRequest(_)
    );
    is_asked_for || request.request.extensions().get::<Route>().is_some()
}

/// Key that rmcp adds to the error of a request whose stream ended without a response.
const LOST_MARK: &str = "io.modelcontextprotocol/transportClosed";

/// Start of rmcp's error for requests of a session that has ended.
const SESSION_OVER: &str = "streamable HTTP session was re-initialized";

/// Calls of one transport whose response arrives on a stream.
#[derive(Clone, Default)]
pub(super) struct StreamedCalls(Arc<Mutex<HashSet<RequestId>>>);

impl StreamedCalls {
    /// Records a call whose response is still to come.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage, answer: &StreamableHttpPostResponse) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        let is_answered = matches!(answer, StreamableHttpPostResponse::Json(..));
        if !is_answered && Effect::from_message(message) == Effect::Possible {
            self.0.lock().insert(request.id.clone());
        }
    }

    /// Removes a cancelled call.
    pub(super) fn note_cancelled(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.0.lock().remove(id);
        }
    }

    /// Removes the call of a response. A lost response becomes an error that warns against repeating the
    /// call.
    pub(super) fn note_received(&self, mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let was_open = answered_id(&message).is_some_and(|id| self.0.lock().remove(id));
        if let ServerJsonRpcMessage::Error(error) = &mut message
            && was_open
            && is_lost(&error.error)
        {
            let lost = HttpError::Unsure("its answer broke off".to_owned());
            error.error = ErrorData::internal_error(format!("The response was lost: {lost}."), None);
        }
        message
    }
}

fn is_lost(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data.get(LOST_MARK).is_some())
        || error.message.starts_with(SESSION_OVER)
}

/// Time limit for a server to open the stream. Only the first call of a session waits.
const STREAM_WAIT: Duration = Duration::from_secs(1);

/// Session whose stream is open. A call before that could lose its progress and questions.
#[derive(Default)]
pub(super) struct SseReady(watch::Sender<Option<Arc<str>>>);

impl SseReady {
    /// Records that the server opened the stream of a session, or has none.
    pub(super) fn began(&self, session: Arc<str>) {
        self.0.send_replace(Some(session));
    }

    /// Waits until the stream of a session is open.
    pub(super) async fn wait(&self, session: &Arc<str>) {
        let mut state = self.0.subscribe();
        let began = state.wait_for(|current| current.as_ref() == Some(session));
        let in_time = tokio::time::timeout(STREAM_WAIT, began).await.is_ok();
        if !in_time {
            self.began(Arc::clone(session));
        }
    }
}
