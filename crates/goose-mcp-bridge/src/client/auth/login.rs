//! Logging in: the page that a browser shows, the address that it returns to, and the token in exchange.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

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

/// The name of this client.
const CLIENT_NAME: &str = "goose";

/// The scope that gives tokens which can be renewed.
const OFFLINE: &str = "offline_access";

/// # Errors
///
/// No person can be asked; the server has no login server, or an unsafe one; the person or the login server refused.
pub(super) async fn through_browser(
    credentials: &Credentials,
    challenge: &Challenge,
) -> Result<(), HttpError> {
    let Some(browser) = &credentials.settings.browser else { return Err(challenge.unseen()) };
    let before = credentials.load().await?;
    let mut manager = credentials.manager(None).await.map_err(HttpError::login_failed)?;
    let metadata = discover(&mut manager, challenge).await?;
    check_issuer(credentials, &metadata, before.as_ref())?;
    let callback = Callback::listen(credentials.settings.redirect_port).await;
    let callback = callback
        .map_err(|error| HttpError::login_failed(format!("no port for the browser's answer: {error}")))?;
    let scopes = scopes(credentials, &manager, &metadata, challenge, before.as_ref()).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = client(credentials, &mut manager, &metadata, &callback.redirect_uri(), &scopes).await?;
    manager.set_credential_store(credentials.token_cache(client.client_secret.clone()));
    manager.configure_client(client).map_err(HttpError::login_failed)?;
    let page = manager.get_authorization_url(&scopes).await.map_err(HttpError::login_failed)?;
    finish(credentials, browser.as_ref(), &manager, callback, &page).await
}

/// Finds the login server in what the server says about it.
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

/// The login server is the one that was configured. Where none was, a client's secret goes only to the one that the
/// last login with it was at.
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
            "the server names the login server `{}`, but the login is for `{expected}`, and nothing was sent. If you \
             trust the other one, configure it as the issuer",
            issuer.unwrap_or("without a name")
        ))),
    }
}

/// The scopes to ask for: those configured, or those that the server names. A wider login keeps the earlier ones.
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

/// As whom we ask: as the client that was configured, by our document, or registered just now.
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

/// Shows the page, waits for the answer, and trades it for a token, which the manager keeps in our store.
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
        // The answer may come before the browser says that it has shown the page.
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

/// Time that a starter has to report a failure.
const START_TIME: Duration = Duration::from_secs(3);

/// Shows pages to a person.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Shows the person the page where they log in to a server. Returns when it is shown: what the person does there
    /// comes back in another way.
    ///
    /// # Errors
    ///
    /// The page cannot be shown; the login ends with that error.
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()>;
}

/// The browser that the system starts for a URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

/// The program that opens a URL.
const STARTER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

impl SystemBrowser {
    /// Shows a page of any scheme, so its address must not come from others.
    ///
    /// # Errors
    ///
    /// The starter cannot be run or reports a failure.
    pub async fn show(&self, url: &Url) -> Result<(), String> {
        let mut spec = ProcessSpec::new(STARTER);
        spec.arg(url.as_str()).stdin(Stream::Null).stdout(Stream::Null).stderr(Stream::Null);
        match goose_process::start_detached(&spec, START_TIME).await {
            Ok(Some(status)) if !status.success() => Err(format!("`{STARTER}`: {status}")),
            Err(error) => Err(format!("`{STARTER}`: {error}")),
            // A program that still runs is the browser itself.
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Browser for SystemBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unshown(server, "its address is not of the web"));
        }
        self.show(url).await.map_err(|reason| unshown(server, &reason))
    }
}

fn unshown(server: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The login page of `{server}` could not be shown: {reason}. Log in where there is a browser, or set an \
         `Authorization` header for the server."
    ))
}

/// The path that the browser is sent to.
const PATH: &str = "/callback";

/// Time that the page with the outcome has to reach the browser.
const PAGE_TIME: Duration = Duration::from_secs(2);

/// The longest query that is read.
const MAX_QUERY: usize = 16 << 10;

const DONE: &str = "You are logged in. You can close this page and go back to goose.";
const FAILED: &str = "The login did not work. Go back to goose to see why.";
const STRANGE: &str = "This is not the login that goose waits for.";

/// The parameters that the browser brought.
pub(super) struct Answer {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

/// Listens until it is dropped.
pub(super) struct Callback {
    port: u16,
    listener: TcpListener,
}

/// State of the page: the value that marks our login, and the channel of the waiting login.
struct CallbackServer {
    state: String,
    waiting: Mutex<Option<oneshot::Sender<Result<Answer, String>>>>,
}

impl Callback {
    pub(super) async fn listen(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { port: listener.local_addr()?.port(), listener })
    }

    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The answer that carries the state; anything else is ignored. An error is what the login server said.
    pub(super) async fn answer(self, state: String) -> Result<Answer, String> {
        let (sender, receiver) = oneshot::channel();
        let desk = Arc::new(CallbackServer { state, waiting: Mutex::new(Some(sender)) });
        let router = Router::new().route(PATH, get(receive)).with_state(desk);
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

async fn receive(State(desk): State<Arc<CallbackServer>>, uri: Uri) -> Response {
    let query = uri.query().filter(|query| query.len() <= MAX_QUERY).unwrap_or_default();
    let find = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if find("state").as_deref() != Some(&desk.state) {
        return page(StatusCode::BAD_REQUEST, STRANGE);
    }
    let result = match (find("code"), find("error")) {
        (_, Some(error)) => Err(refusal(&error, find("error_description").as_deref())),
        (Some(code), None) => Ok(Answer { code, issuer: find("iss") }),
        (None, None) => return page(StatusCode::BAD_REQUEST, STRANGE),
    };
    let Some(waiting) = desk.waiting.lock().take() else {
        return page(StatusCode::GONE, STRANGE);
    };
    let text = if result.is_ok() { DONE } else { FAILED };
    // The waiting login may have ended.
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

/// A page that says one of our sentences, and nothing that came from outside.
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
