//! [`Callback`]: the page on this machine that a login server sends the browser back to.

use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;
use url::form_urlencoded;

/// Path of the callback, and its form with the `state` of the login.
const PATH: &str = "/callback";
const PATH_WITH_STATE: &str = "/callback/{state}";

/// Time limit for sending the final page to the browser.
const PAGE_TIME: Duration = Duration::from_secs(2);

/// Maximum length of a query.
const MAX_QUERY: usize = 16 << 10;

const DONE: &str = "You are logged in. You can close this page and return to goose.";
const FAILED: &str = "The login failed. Return to goose to see why.";
const UNEXPECTED: &str = "goose does not wait for this login.";

/// Parameters of a successful callback.
#[derive(Clone)]
pub struct AuthorizationCode {
    /// Code that is exchanged for a token.
    pub code: String,
    /// Login server that issued it, if it says so.
    pub issuer: Option<String>,
}

/// Refusal of a login by its server.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoginRefused(String);

/// Listener for the browser's callback, on a loopback port.
pub struct Callback {
    port: u16,
    listener: TcpListener,
}

/// State of the callback page: the `state` of our login, and the channel to it.
struct CallbackServer {
    state: String,
    waiting: Mutex<Option<oneshot::Sender<Result<AuthorizationCode, LoginRefused>>>>,
}

impl Callback {
    /// Listens on a port; 0 means any free port.
    ///
    /// # Errors
    ///
    /// The port is in use.
    pub async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { port: listener.local_addr()?.port(), listener })
    }

    /// Returns the address of the callback.
    pub fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Returns the address for login servers that know no `state`, which is a part of the path instead. It has the name
    /// of this machine: some of these servers accept no address.
    pub fn redirect_uri_with_state(&self, state: &str) -> String {
        format!("http://localhost:{}{PATH}/{state}", self.port)
    }

    /// Waits for the callback with our `state`; all others are ignored. Dropping the future closes the port.
    ///
    /// # Errors
    ///
    /// The login server's refusal.
    pub async fn answer(self, state: String) -> Result<AuthorizationCode, LoginRefused> {
        let (sender, receiver) = oneshot::channel();
        let server = Arc::new(CallbackServer { state, waiting: Mutex::new(Some(sender)) });
        let router =
            Router::new().route(PATH, get(receive)).route(PATH_WITH_STATE, get(receive)).with_state(server);
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
        answer.unwrap_or_else(|_| Err(LoginRefused("the listener for the browser ended".to_owned())))
    }
}

async fn receive(State(server): State<Arc<CallbackServer>>, uri: Uri) -> Response {
    let query = uri.query().filter(|query| query.len() <= MAX_QUERY).unwrap_or_default();
    let find = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let in_path = uri.path().strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
    if in_path.or_else(|| find("state")).as_deref() != Some(&server.state) {
        return page(StatusCode::BAD_REQUEST, UNEXPECTED);
    }
    let result = match (find("code"), find("error")) {
        (_, Some(error)) => Err(LoginRefused(refusal(&error, find("error_description").as_deref()))),
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
