//! Answers that are streams of events, each with a cap.

use futures::{StreamExt as _, stream};
use rmcp::{
    model::{ErrorData, RequestId, ServerJsonRpcMessage},
    transport::{common::client_side_sse::BoxedSseResponse, streamable_http_client::SseError},
};
use sse_stream::{Sse, SseStream};

use super::failure::HttpError;
use crate::shallow;

/// The events of an answer. One that is too large ends the stream with an error for the request that it answers.
pub(super) fn read(
    response: reqwest::Response,
    limit: usize,
    request: Option<RequestId>,
) -> BoxedSseResponse {
    let body = Body { response, gauge: Gauge::new(limit) };
    let chunks = stream::unfold(Some(body), |body| async {
        let mut body = body?;
        match body.response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if body.gauge.fits(&chunk) => Some((Ok(chunk), Some(body))),
            Ok(Some(_)) => Some((Err(HttpError::TooLarge), None)),
            Err(error) => Some((Err(HttpError::broken_off(&error)), None)),
        }
    });
    let events = SseStream::from_bytes_stream(chunks.boxed());
    let answered = move |event| match event {
        Err(error) if is_too_large(&error) => too_large(request.as_ref()).ok_or(error),
        other => other.map(readable),
    };
    events.map(answered).boxed()
}

/// An event whose list of tools nests too deep, without what does.
fn readable(mut event: Sse) -> Sse {
    let cut = event.data.as_ref().and_then(|data| shallow::list_of_tools(data.as_bytes()));
    if let Some(text) = cut.and_then(|cut| String::from_utf8(cut).ok()) {
        event.data = Some(text);
    }
    event
}

fn is_too_large(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    matches!(error.downcast_ref(), Some(HttpError::TooLarge))
}

fn too_large(request: Option<&RequestId>) -> Option<Sse> {
    let text = format!("The server could not be heard: {}.", HttpError::TooLarge);
    let error = ServerJsonRpcMessage::error(ErrorData::internal_error(text, None), Some(request?.clone()));
    Some(Sse::default().data(serde_json::to_string(&error).ok()?))
}

/// A body that is read chunk by chunk, until an event is larger than allowed.
struct Body {
    response: reqwest::Response,
    gauge: Gauge,
}

/// Measures events: all lines since the last empty one, without comments.
struct Gauge {
    limit: usize,
    event: usize,
    line: usize,
    is_comment: bool,
    after_return: bool,
}

impl Gauge {
    fn new(limit: usize) -> Self {
        Self { limit, event: 0, line: 0, is_comment: false, after_return: false }
    }

    fn fits(&mut self, chunk: &[u8]) -> bool {
        chunk.iter().all(|byte| {
            self.read(*byte);
            self.event + self.line <= self.limit
        })
    }

    fn read(&mut self, byte: u8) {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if after_return => {}
            b'\n' | b'\r' => self.end_line(),
            _ => {
                self.is_comment = if self.line == 0 { byte == b':' } else { self.is_comment };
                self.line += 1;
            }
        }
    }

    fn end_line(&mut self) {
        match self.line {
            0 => self.event = 0,
            _ if self.is_comment => {}
            length => self.event += length + 1,
        }
        self.line = 0;
    }
}
