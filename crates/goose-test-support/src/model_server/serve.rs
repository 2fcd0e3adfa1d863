//! The HTTP around a script.

use std::{convert::Infallible, io, sync::Arc, time::Duration, time::Instant};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State as Shared,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use futures::{Stream, StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    State, anthropic,
    asked::{Asked, Wire},
    chat, responses,
    turn::{Ending, Turn},
};

/// A body larger than this is no test's.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// Serves until told to stop, with whatever is still open.
pub(super) fn run(listener: std::net::TcpListener, state: Arc<State>, stopped: oneshot::Receiver<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            // Small frames are on their way at once.
            let _ = stream.set_nodelay(true);
        });
        let app = Router::new().fallback(answer).with_state(state);
        tokio::select! {
            _ = axum::serve(listener, app) => {}
            _ = stopped => {}
        }
    });
    // Hanging answers are not waited for.
    runtime.shutdown_background();
}

async fn answer(
    Shared(state): Shared<Arc<State>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(wire) = wire(uri.path()).filter(|_| method == Method::POST) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let at = Instant::now();
    let Ok(parsed) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, "the body is no JSON").into_response();
    };
    let model = parsed["model"].clone();
    let asked = Asked {
        wire,
        path: uri.path().to_owned(),
        headers: texts(&headers),
        body: parsed,
        bytes: body.len(),
        at,
        answered: at,
    };
    let turn = state.answer(asked);
    if !turn.delay.is_zero() {
        tokio::time::sleep(turn.delay).await;
    }
    respond(wire, &model, turn)
}

fn wire(path: &str) -> Option<Wire> {
    match path {
        _ if path.ends_with("/chat/completions") => Some(Wire::Chat),
        _ if path.ends_with("/responses") => Some(Wire::Responses),
        _ if path.ends_with("/messages") => Some(Wire::Anthropic),
        _ => None,
    }
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn respond(wire: Wire, model: &Value, turn: Turn) -> Response {
    let mut response = Response::builder().status(turn.status);
    if turn.raw.is_none() {
        response = response.header("content-type", "text/event-stream").header("cache-control", "no-cache");
    }
    for (name, value) in &turn.headers {
        response = response.header(name, value);
    }
    let body = match turn.raw {
        Some(raw) => Body::from(raw),
        None => body(wire, model, &turn),
    };
    response.body(body).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn body(wire: Wire, model: &Value, turn: &Turn) -> Body {
    let mut frames = match wire {
        Wire::Chat => chat::frames(turn, model),
        Wire::Responses => responses::frames(turn, model),
        Wire::Anthropic => anthropic::frames(turn, model),
    };
    match &turn.ending {
        Ending::Whole => Body::from(frames.concat()),
        Ending::Cut(count) => {
            frames.truncate(*count);
            let broken = stream::once(async { Err(io::Error::other("cut")) });
            Body::from_stream(sent(frames).map(into_fallible).chain(broken))
        }
        Ending::Silence(count) => {
            frames.truncate(*count);
            Body::from_stream(sent(frames).chain(stream::pending()))
        }
        Ending::Failure(count, message) => {
            frames.truncate(*count);
            frames.push(match wire {
                Wire::Chat => chat::failure(message),
                Wire::Responses => responses::failure(message),
                Wire::Anthropic => anthropic::failure(message),
            });
            Body::from_stream(sent(frames).chain(stream::pending()))
        }
        Ending::KeepAlives(count, interval) => {
            Body::from_stream(signs_of_life(wire, *count, *interval).chain(sent(frames)))
        }
    }
}

type Sent = Result<Bytes, Infallible>;

/// The frames one by one, each on its way before the next.
fn sent(frames: Vec<String>) -> impl Stream<Item = Sent> + Send {
    stream::iter(frames).then(|frame| async {
        tokio::task::yield_now().await;
        Ok(Bytes::from(frame))
    })
}

fn into_fallible(frame: Sent) -> io::Result<Bytes> {
    Ok(frame.unwrap_or_default())
}

fn signs_of_life(wire: Wire, count: usize, interval: Duration) -> impl Stream<Item = Sent> + Send {
    let sign = match wire {
        Wire::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Wire::Chat | Wire::Responses => ": keep-alive\n\n",
    };
    stream::iter(0..count).then(move |_| async move {
        tokio::time::sleep(interval).await;
        Ok(Bytes::from_static(sign.as_bytes()))
    })
}
