//! Sends messages as often as it takes: waits where the server is busy, logs in where it wants that.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    again::{self, Effect, TRIES},
    exchange::{Outcome, Post},
    failure::HttpError,
    listening::Listening,
    logins::Logins,
    unanswered::Unanswered,
};
use crate::{
    client::auth::{Account, Challenge},
    lines::MAX_LINE_BYTES,
};

type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<HttpError>;

/// The client of one server. Clones are the same client.
#[derive(Clone)]
pub(in crate::client) struct HttpClient {
    inner: reqwest::Client,
    url: Url,
    account: Option<Account>,
    greeting: Arc<Greeting>,
    listening: Arc<Listening>,
    unanswered: Unanswered,
    ends: CancellationToken,
}

/// A greeting has little time, a person has not: a login is not done within it, but noted here and done after it.
#[derive(Default)]
struct Greeting {
    is_over: AtomicBool,
    challenge: Mutex<Option<Challenge>>,
}

impl HttpClient {
    pub(super) fn new(inner: reqwest::Client, url: &Url, account: Option<Account>) -> Self {
        Self {
            inner,
            url: url.clone(),
            account,
            greeting: Arc::default(),
            listening: Arc::default(),
            unanswered: Unanswered::default(),
            ends: CancellationToken::new(),
        }
    }

    /// The same client, whose waiting ends with `ends`.
    pub(super) fn of_transport(&self, ends: &CancellationToken, unanswered: &Unanswered) -> Self {
        Self { ends: ends.clone(), unanswered: unanswered.clone(), ..self.clone() }
    }

    pub(super) fn greeted(&self) {
        self.greeting.is_over.store(true, Ordering::Release);
    }

    /// The login that the greeting failed for, if it did.
    pub(super) fn take_challenge(&self) -> Option<Challenge> {
        self.greeting.challenge.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn token(&self) -> Result<Option<String>, HttpError> {
        match &self.account {
            Some(account) => account.token().await,
            None => Ok(None),
        }
    }

    async fn deliver(&self, post: Post<'_>) -> Result<StreamableHttpPostResponse, Failed> {
        let effect = Effect::of(post.message);
        if let Some(session) = post.session.as_ref().filter(|_| effect == Effect::Possible) {
            self.listening.wait(session).await;
        }
        let failures = self.account.as_ref().map(Account::failures).unwrap_or_default();
        let (mut tries, mut logins) = (1, Logins::of(post.message));
        loop {
            let token = self.token().await?;
            match post.send(&self.inner, token.as_deref()).await? {
                Outcome::Answer(answer) => {
                    self.unanswered.note(post.message, &answer);
                    return Ok(answer);
                }
                Outcome::SessionGone => return Err(StreamableHttpError::SessionExpired),
                Outcome::Refused(error) => {
                    tries = self.wait(tries, again::pause(tries), error).await?;
                }
                Outcome::Broken(error) if effect == Effect::None => {
                    tries = self.wait(tries, again::pause(tries), error).await?;
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
                    self.log_in(Challenge::login(header, token).after(failures), &mut logins).await?;
                }
                Outcome::Forbidden(header, text) => {
                    let challenge = Challenge::scope(header, token, &self.url);
                    let challenge = challenge.ok_or_else(|| HttpError::forbidden(&text))?;
                    self.log_in(challenge.after(failures), &mut logins).await?;
                }
            }
        }
    }

    /// Waits before the next try and counts it, unless there were enough.
    async fn wait(&self, tries: u32, pause: Duration, error: HttpError) -> Result<u32, HttpError> {
        if tries >= TRIES {
            return Err(error);
        }
        self.unless_ended(tokio::time::sleep(pause)).await?;
        Ok(tries + 1)
    }

    async fn log_in(&self, challenge: Challenge, logins: &mut Logins) -> Result<(), Failed> {
        let Some(account) = &self.account else { return Err(challenge.unanswered(&self.url).into()) };
        // A new token without a person is quick.
        if logins.may_renew() && self.unless_ended(account.renew(&challenge)).await?? {
            return Ok(());
        }
        if !logins.allow(&challenge) {
            return Err(challenge.in_vain().into());
        }
        if !self.greeting.is_over.load(Ordering::Acquire) {
            let header = challenge.header.clone().unwrap_or_default();
            *self.greeting.challenge.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge);
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(header)));
        }
        if account.is_connected() && !logins.has_caller {
            return Err(challenge.unattended().into());
        }
        Ok(self.unless_ended(account.log_in(&challenge)).await??)
    }

    async fn unless_ended<T>(&self, work: impl Future<Output = T>) -> Result<T, HttpError> {
        self.ends.run_until_cancelled(work).await.ok_or(HttpError::Cancelled)
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let limit = MAX_LINE_BYTES;
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limit,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: Headers,
        max_event: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.deliver(Post { url: &self.url, message: &message, session, headers, max_event }).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failed> {
        let token = self.token().await?;
        self.inner.delete_session(uri, session_id, token, custom_headers).await.map_err(own)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxedSseResponse, Failed> {
        let limit = MAX_LINE_BYTES;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            limit,
        )
        .await
    }

    /// Nobody waits for this stream: it takes the token that there is, or can be had without a person.
    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        headers: Headers,
        max_event: usize,
    ) -> Result<BoxedSseResponse, Failed> {
        let open = async |token: Option<String>| {
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last_event_id.clone());
            let headers = headers.clone();
            self.inner.get_stream_with_max_sse_event_size(uri, session, last, token, headers, max_event).await
        };
        let token = self.token().await?;
        let stream = match (open(token.clone()).await, &self.account) {
            (Err(StreamableHttpError::AuthRequired(refused)), Some(account)) => {
                let challenge = Challenge::login(Some(refused.www_authenticate_header), token);
                match self.unless_ended(account.renew(&challenge)).await? {
                    Ok(true) => open(self.token().await?).await.map_err(own),
                    // As an error of ours, so that it is tried again: somebody may log in meanwhile.
                    Ok(false) => Err(challenge.unattended().into()),
                    Err(error) => Err(error.into()),
                }
            }
            (stream, _) => stream.map_err(own),
        };
        if let Some(session) = session.filter(|_| last_event_id.is_none()) {
            self.listening.began(session);
        }
        stream
    }
}

/// An error of the client inside as ours.
fn own(error: StreamableHttpError<reqwest::Error>) -> Failed {
    match error {
        StreamableHttpError::Client(error) => HttpError::unreachable(&error).into(),
        StreamableHttpError::ServerDoesNotSupportSse => StreamableHttpError::ServerDoesNotSupportSse,
        StreamableHttpError::AuthRequired(error) => StreamableHttpError::AuthRequired(error),
        StreamableHttpError::InsufficientScope(error) => StreamableHttpError::InsufficientScope(error),
        StreamableHttpError::SessionExpired => StreamableHttpError::SessionExpired,
        StreamableHttpError::HttpStatus(error) => StreamableHttpError::HttpStatus(error),
        other => HttpError::Unreadable(other.to_string()).into(),
    }
}
