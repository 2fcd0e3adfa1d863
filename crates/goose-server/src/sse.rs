//! Server-sent events: streams that end when the server stops or the client's token is revoked, and that send something
//! at least every [`BEAT`].

use std::{
    convert::Infallible,
    fmt::Write as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use futures::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue, header};
use tokio::time::{Interval, MissedTickBehavior};

use crate::{error::ApiResult, limits::Permit, state::AppState, tokens::Client};

/// Interval of signs of life on a silent stream.
const BEAT: Duration = Duration::from_secs(10);

/// One event on the wire.
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    /// Name of the event. The Agent Communication Protocol and A2A have none.
    pub(crate) name: Option<&'static str>,
    /// JSON in one line.
    pub(crate) data: String,
}

impl Frame {
    fn text(&self) -> String {
        let mut text = String::with_capacity(self.data.len() + 64);
        // Writing to a string does not fail.
        if let Some(id) = &self.id {
            let _ = writeln!(text, "id: {id}");
        }
        if let Some(name) = self.name {
            let _ = writeln!(text, "event: {name}");
        }
        let _ = write!(text, "data: {}\n\n", self.data);
        text
    }
}

/// Sign of life on a silent stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beat {
    /// A comment, for protocols whose clients know all events.
    Comment,
    /// An event, which a page sees.
    Event,
}

/// Returns a stream of events as an answer.
pub(crate) fn answer(
    app: &AppState,
    client: &Client,
    beat: Beat,
    frames: impl Stream<Item = Frame> + Send + 'static,
) -> ApiResult<Response> {
    let permit = app.limits.stream(client)?;
    let (stop, revoked) = (app.stop.clone(), client.revoked.clone());
    let end = async move {
        tokio::select! {
            () = stop.cancelled_owned() => {}
            () = revoked.cancelled_owned() => {}
        }
    };
    let mut beats = tokio::time::interval_at(tokio::time::Instant::now() + BEAT, BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    app.metrics.streams.enter();
    let stream = LiveStream {
        frames: frames.take_until(Box::pin(end)).map(|frame| frame.text()).boxed(),
        beats,
        beat,
        _permit: permit,
        app: app.clone(),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform")),
        // Proxies must not collect events.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}

struct LiveStream {
    frames: Pin<Box<dyn Stream<Item = String> + Send>>,
    beats: Interval,
    beat: Beat,
    _permit: Permit,
    app: AppState,
}

impl Stream for LiveStream {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(frame) = self.frames.poll_next_unpin(context) {
            self.beats.reset();
            return Poll::Ready(frame.map(Ok));
        }
        match self.beats.poll_tick(context) {
            Poll::Ready(_) if self.beat == Beat::Event => {
                Poll::Ready(Some(Ok("event: beat\ndata: {}\n\n".to_owned())))
            }
            Poll::Ready(_) => Poll::Ready(Some(Ok(": beat\n\n".to_owned()))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for LiveStream {
    fn drop(&mut self) {
        self.app.metrics.streams.leave();
    }
}

/// Ends the body of an answer when the server stops or the client's token is revoked.
pub(crate) fn ended_with(app: &AppState, client: Client, response: Response) -> Response {
    let (stop, revoked) = (app.stop.clone(), client.revoked);
    let end = async move {
        tokio::select! {
            () = stop.cancelled_owned() => {}
            () = revoked.cancelled_owned() => {}
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}
