//! Where the browser comes back to after a login: a listener on the loopback interface, for one answer.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;
use url::form_urlencoded;

/// Where the browser is sent.
const PATH: &str = "/callback";

/// How long the page with the outcome may take to reach the browser.
const PAGE_TIME: Duration = Duration::from_secs(2);

/// The longest query that is read.
const MAX_QUERY: usize = 16 << 10;

const DONE: &str = "You are logged in. You can close this page and go back to goose.";
const FAILED: &str = "The login did not work. Go back to goose to see why.";
const STRANGE: &str = "This is not the login that goose waits for.";

/// What the browser brought.
pub(super) struct Answer {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

/// Listens until it is dropped.
pub(super) struct Callback {
    port: u16,
    listener: TcpListener,
}

/// What the page needs to know: the state that marks our login, and who waits for it.
struct Desk {
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
        let desk = Arc::new(Desk { state, waiting: Mutex::new(Some(sender)) });
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

async fn receive(State(desk): State<Arc<Desk>>, uri: Uri) -> Response {
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
    let Some(waiting) = desk.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return page(StatusCode::GONE, STRANGE);
    };
    let text = if result.is_ok() { DONE } else { FAILED };
    // Whoever waited may have given up.
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
