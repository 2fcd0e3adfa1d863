//! Login with a browser: the login page, the callback, and the exchange of the code for a token.

use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Router,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use goose_extension::{ToolError, ToolResult, shown_place};
use goose_process::{ProcessSpec, Stream};
use parking_lot::Mutex;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;
use url::{Url, form_urlencoded};

use super::{
    credentials::{Credentials, client_config, is_same_issuer},
    store::StoredLogin,
    url_policy::{Challenge, check},
};
use crate::client::http_error::HttpError;

/// Name of this client.
const CLIENT_NAME: &str = "goose";

/// Scope for tokens that can be renewed.
const OFFLINE: &str = "offline_access";

/// Logs in with a browser.
///
/// # Errors
///
/// Fails if there is no browser, the server names no login server or an unsafe one, or the user or login
/// server refuses.
pub(super) async fn through_browser(
    credentials: &Credentials,
    challenge: &Challenge,
) -> Result<(), HttpError> {
    let Some(browser) = &credentials.settings.browser else { return Err(challenge.error_without_browser()) };
    let before = credentials.load().await?;
    let mut manager = credentials.manager(None).await.map_err(HttpError::login_failed)?;
    let metadata = discover(&mut manager, challenge).await?;
    check_issuer(credentials, &metadata, before.as_ref())?;
    let callback = Callback::listen(credentials.settings.redirect_port).await;
    let callback = callback
        .map_err(|error| HttpError::login_failed(format!("no port for the browser's callback: {error}")))?;
    let scopes = scopes(credentials, &manager, &metadata, challenge, before.as_ref()).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = client(credentials, &mut manager, &metadata, &callback.redirect_uri(), &scopes).await?;
    manager.set_credential_store(credentials.token_cache(client.client_secret.clone()));
    manager.configure_client(client).map_err(HttpError::login_failed)?;
    let page = manager.get_authorization_url(&scopes).await.map_err(HttpError::login_failed)?;
    finish(credentials, browser.as_ref(), &manager, callback, &page).await
}

/// Finds the login server in the metadata of the server.
async fn discover(
    manager: &mut AuthorizationManager,
    challenge: &Challenge,
) -> Result<AuthorizationMetadata, HttpError> {
    let resolution = manager
        .resolve_metadata_from_challenge(challenge.header.as_deref())
        .await
        .map_err(HttpError::login_failed)?;
    if !resolution.source.is_discovered() {
        return Err(HttpError::LoginNeeded { hint: "It does not say where to log in.".to_owned() });
    }
    check(&resolution.metadata)?;
    manager.set_metadata(resolution.metadata.clone());
    Ok(resolution.metadata)
}

/// Checks that the login server is the configured one. Without one, the secret of a client is sent only to
/// the login server of the last login with that client.
fn check_issuer(
    credentials: &Credentials,
    metadata: &AuthorizationMetadata,
    before: Option<&StoredLogin>,
) -> Result<(), HttpError> {
    let pinned = match &credentials.settings.client {
        Some((id, Some(_))) => before.filter(|login| login.credentials.client_id == *id),
        _ => None,
    };
    let pinned = pinned.and_then(|login| login.credentials.issuer.as_deref());
    let Some(expected) = credentials.settings.issuer.as_deref().or(pinned) else { return Ok(()) };
    match metadata.issuer.as_deref() {
        Some(issuer) if is_same_issuer(issuer, expected) => Ok(()),
        issuer => Err(HttpError::login_failed(format!(
            "the server names the login server `{}`, but the login is for `{expected}`, and nothing was \
             sent. If you trust the other one, configure it as the issuer",
            issuer.unwrap_or("without a name")
        ))),
    }
}

/// Returns the scopes to ask for: those configured, or those that the server names. A login for more scopes
/// keeps the earlier ones.
async fn scopes(
    credentials: &Credentials,
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    challenge: &Challenge,
    before: Option<&StoredLogin>,
) -> Vec<String> {
    let configured = &credentials.settings.scopes;
    let mut scopes = match &challenge.scope {
        None if configured.is_empty() => return manager.select_initial_scopes(&[]).await,
        None => configured.clone(),
        Some(scope) => {
            let before = before.filter(|login| login.credentials.issuer == metadata.issuer);
            let granted = before.map(|login| login.credentials.granted_scopes.clone()).unwrap_or_default();
            let wanted = scope.split_whitespace().map(str::to_owned);
            configured.iter().cloned().chain(granted).chain(wanted).collect()
        }
    };
    if metadata.scopes_supported.as_ref().is_some_and(|all| all.iter().any(|scope| scope == OFFLINE)) {
        scopes.push(OFFLINE.to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

/// Returns the OAuth client: the configured one, our metadata document, or a newly registered one.
async fn client(
    credentials: &Credentials,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    scopes: &[&str],
) -> Result<OAuthClientConfig, HttpError> {
    if let Some((id, secret)) = &credentials.settings.client {
        return Ok(client_config(id.clone(), redirect_uri, secret.clone()));
    }
    let reads_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
    match &credentials.settings.client_metadata_url {
        Some(url) if reads_documents.is_some_and(|value| value.as_bool() == Some(true)) => {
            Ok(OAuthClientConfig::new(url, redirect_uri))
        }
        _ => manager.register_client(CLIENT_NAME, redirect_uri, scopes).await.map_err(|error| {
            HttpError::login_failed(format!(
                "{error}. If the login server does not register clients, configure one that it knows"
            ))
        }),
    }
}

/// Shows the page, waits for the code, and exchanges it for a token, which the manager saves in our store.
async fn finish(
    credentials: &Credentials,
    browser: &dyn Browser,
    manager: &AuthorizationManager,
    callback: Callback,
    page: &str,
) -> Result<(), HttpError> {
    let page = Url::parse(page).map_err(HttpError::login_failed)?;
    let state = page.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
    let state = state.ok_or_else(|| HttpError::login_failed("the login page has no state"))?;
    let limit = credentials.settings.timeout;
    let login = async {
        let answer = callback.answer(state.clone());
        let server = shown_place(credentials.server.as_str());
        let shown = browser.open(&server, &page);
        // The callback may arrive before the browser reports that it has shown the page.
        let (answer, ()) =
            futures::try_join!(async { answer.await.map_err(HttpError::login_failed) }, async {
                shown.await.map_err(HttpError::login_failed)
            },)?;
        Ok(answer)
    };
    let answer = tokio::time::timeout(limit, login).await;
    let answer = answer.unwrap_or_else(|_| {
        Err(HttpError::login_failed(format!("the login was not finished within {limit:?}")))
    })?;
    let issuer = answer.issuer.as_deref();
    let _renewal = credentials.login_lock.renewal.lock().await;
    manager
        .exchange_code_for_token_with_issuer(&answer.code, &state, issuer)
        .await
        .map_err(HttpError::login_failed)?;
    Ok(())
}

/// Time limit for the opener to report a failure.
const START_TIME: Duration = Duration::from_secs(3);

/// Shows pages to the user.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Shows the login page of a server. Returns when it is shown; the outcome of the login arrives on the
    /// callback.
    ///
    /// # Errors
    ///
    /// Fails if the page cannot be shown, which ends the login.
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()>;
}

/// The default browser of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

/// Program that opens a URL.
const STARTER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

impl SystemBrowser {
    /// Opens a URL of any scheme. It must not come from an untrusted source.
    ///
    /// # Errors
    ///
    /// Fails if the opener cannot be run or reports a failure.
    pub async fn show(&self, url: &Url) -> io::Result<()> {
        let mut spec = ProcessSpec::new(STARTER);
        spec.arg(url.as_str()).stdin(Stream::Null).stdout(Stream::Null).stderr(Stream::Null);
        match goose_process::start_detached(&spec, START_TIME).await {
            Ok(Some(status)) if !status.success() => Err(io::Error::other(format!("`{STARTER}`: {status}"))),
            Err(error) => Err(io::Error::new(error.kind(), format!("`{STARTER}`: {error}"))),
            // An opener that still runs is the browser itself.
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Browser for SystemBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(browser_error(server, "its address is neither http nor https"));
        }
        self.show(url).await.map_err(|error| browser_error(server, &error.to_string()))
    }
}

fn browser_error(server: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The login page of `{server}` could not be shown: {reason}. Log in on a machine with a browser, or \
         set an `Authorization` header for the server."
    ))
}

/// Path of the callback.
const PATH: &str = "/callback";

/// Time limit for sending the final page to the browser.
const PAGE_TIME: Duration = Duration::from_secs(2);

/// Maximum length of a query.
const MAX_QUERY: usize = 16 << 10;

const DONE: &str = "You are logged in. You can close this page and return to goose.";
const FAILED: &str = "The login failed. Return to goose to see why.";
const UNEXPECTED: &str = "goose does not wait for this login.";

/// Parameters of a successful callback.
pub(super) struct AuthorizationCode {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

/// Listener for the browser's callback.
pub(super) struct Callback {
    port: u16,
    listener: TcpListener,
}

/// State of the callback page: the `state` of our login, and the channel to it.
struct CallbackServer {
    state: String,
    waiting: Mutex<Option<oneshot::Sender<Result<AuthorizationCode, String>>>>,
}

impl Callback {
    pub(super) async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { port: listener.local_addr()?.port(), listener })
    }

    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the callback with our `state`; all others are ignored. An error is the login server's.
    pub(super) async fn answer(self, state: String) -> Result<AuthorizationCode, String> {
        let (sender, receiver) = oneshot::channel();
        let server = Arc::new(CallbackServer { state, waiting: Mutex::new(Some(sender)) });
        let router = Router::new().route(PATH, get(receive)).with_state(server);
        let closing = CancellationToken::new();
        let serving = axum::serve(self.listener, router)
            .with_graceful_shutdown(closing.clone().cancelled_owned())
            .into_future();
        let (stop, stopped) = (closing.clone().drop_guard(), closing);
        tokio::spawn(async move {
            let page_time = async {
                stopped.cancelled().await;
                tokio::time::sleep(PAGE_TIME).await;
            };
            tokio::select! { _ = serving => {}, () = page_time => {} }
        });
        let answer = receiver.await;
        drop(stop);
        answer.unwrap_or_else(|_| Err("the listener for the browser ended".to_owned()))
    }
}

async fn receive(State(server): State<Arc<CallbackServer>>, uri: Uri) -> Response {
    let query = uri.query().filter(|query| query.len() <= MAX_QUERY).unwrap_or_default();
    let find = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if find("state").as_deref() != Some(&server.state) {
        return page(StatusCode::BAD_REQUEST, UNEXPECTED);
    }
    let result = match (find("code"), find("error")) {
        (_, Some(error)) => Err(refusal(&error, find("error_description").as_deref())),
        (Some(code), None) => Ok(AuthorizationCode { code, issuer: find("iss") }),
        (None, None) => return page(StatusCode::BAD_REQUEST, UNEXPECTED),
    };
    let Some(waiting) = server.waiting.lock().take() else {
        return page(StatusCode::GONE, UNEXPECTED);
    };
    let text = if result.is_ok() { DONE } else { FAILED };
    // The login may have timed out.
    let _ = waiting.send(result);
    page(StatusCode::OK, text)
}

fn refusal(error: &str, description: Option<&str>) -> String {
    let shown = |text: &str| text.chars().filter(|it| !it.is_control()).take(300).collect::<String>();
    match description {
        Some(description) => format!("the login server says `{}`: {}", shown(error), shown(description)),
        None => format!("the login server says `{}`", shown(error)),
    }
}

/// Returns a page with one of our texts, and nothing from outside.
fn page(status: StatusCode, text: &'static str) -> Response {
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONNECTION, HeaderValue::from_static("close")),
    ];
    let body = format!("<!doctype html><meta charset=\"utf-8\"><title>goose</title><p>{text}</p>\n");
    (status, HEADERS, body).into_response()
}
