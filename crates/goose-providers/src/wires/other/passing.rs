//! [`Passing`]: an answer on its way through the relay, under caps.

use std::collections::VecDeque;

use axum::{
    body::Body as AxumBody,
    response::{IntoResponse, Response},
};
use bytes::Bytes;

use super::{
    super::{assembly::too_much, stream::event_too_large},
    relay::{Failure, Framing},
};
use crate::{
    error::{ProviderError, ProviderResult},
    http::Body,
    sse::{EventTooLarge, SseEvent, SseReader},
};

/// How many bytes one answer may have on the wire.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// An answer on its way.
pub(super) struct Passing {
    body: Body,
    /// None where the answer is passed on as it comes.
    reader: Option<SseReader>,
    taken: usize,
    failure: Failure,
    stage: Stage,
}

/// What is to be done next.
enum Stage {
    Read,
    Fail(ProviderError),
    End,
}

impl Passing {
    /// What goes wrong is kept in `failure`.
    pub(super) fn new(body: Body, framing: Framing, failure: Failure) -> Self {
        let reader = (framing == Framing::Events).then(SseReader::default);
        Self { body, reader, taken: 0, failure, stage: Stage::Read }
    }

    /// As the library gets it.
    pub(super) fn into_response(self) -> Response {
        let pieces = futures::stream::unfold(self, |mut passing| async move {
            let piece = passing.next().await?;
            Some((piece, passing))
        });
        AxumBody::from_stream(pieces).into_response()
    }

    async fn next(&mut self) -> Option<ProviderResult<Bytes>> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::End) {
                Stage::Read => {}
                Stage::Fail(error) => {
                    let _ = self.failure.set(error.clone());
                    return Some(Err(error));
                }
                Stage::End => return None,
            }
            let piece;
            (piece, self.stage) = self.read().await;
            if !piece.is_empty() {
                return Some(Ok(piece));
            }
        }
    }

    async fn read(&mut self) -> (Bytes, Stage) {
        match self.body.chunk().await {
            Ok(Some(chunk)) => self.take(chunk),
            Ok(None) => (self.rest(), Stage::End),
            Err(error) => (Bytes::new(), Stage::Fail(error)),
        }
    }

    fn take(&mut self, chunk: Bytes) -> (Bytes, Stage) {
        self.taken = self.taken.saturating_add(chunk.len());
        if self.taken > MAX_ANSWER_BYTES {
            let error = too_much(&format!("it is larger than {} MiB", MAX_ANSWER_BYTES >> 20));
            return (Bytes::new(), Stage::Fail(error));
        }
        let Some(reader) = &mut self.reader else { return (chunk, Stage::Read) };
        let mut events = VecDeque::new();
        // What came before the one that is too large may have ended the answer.
        let stage = match reader.push(&chunk, &mut events) {
            Ok(()) => Stage::Read,
            Err(EventTooLarge) => Stage::Fail(event_too_large()),
        };
        (written(events), stage)
    }

    fn rest(&mut self) -> Bytes {
        let mut events = VecDeque::new();
        if let Some(reader) = &mut self.reader {
            reader.finish(&mut events);
        }
        written(events)
    }
}

/// Events as they are sent.
fn written(events: VecDeque<SseEvent>) -> Bytes {
    let mut text = String::new();
    for SseEvent { name, data } in events {
        if !name.is_empty() {
            text.extend(["event: ", &name, "\n"]);
        }
        for line in data.split('\n') {
            text.extend(["data: ", line, "\n"]);
        }
        text.push('\n');
    }
    text.into()
}
