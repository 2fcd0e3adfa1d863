//! Channel between the task that writes an answer and the reader of its stream.
//!
//! It is bounded: a reader that lags behind holds up the model instead of filling memory. A reader that
//! drops the stream ends the task, and with it the computation.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use goose_providers::{ProviderResult, ReplyEvent, ReplyStream, StopReason, ToolCall};
use tokio::sync::mpsc::{self, Sender};

use crate::backend::{Report, TextSink};

/// Maximum number of events that wait to be read.
const MAX_EVENTS: usize = 64;

/// Sender of an answer's events.
#[derive(Clone)]
pub(super) struct EventSender(Sender<ProviderResult<ReplyEvent>>);

impl EventSender {
    /// Sends an event, and waits while the channel is full. Breaks if the reader is gone.
    pub(super) async fn send(&self, event: ReplyEvent) -> ControlFlow<()> {
        match self.0.send(Ok(event)).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Sends a complete call.
    pub(super) async fn send_call(&self, call: ToolCall) -> StopReason {
        let started = ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() };
        // If the reader is gone, `reply_stream` ends this task.
        let _ = self.send(started).await;
        let _ = self.send(ReplyEvent::Call(call)).await;
        StopReason::ToolUse
    }

    /// Returns a function that sends status messages and never waits.
    pub(super) fn reporter(&self) -> Report {
        let events = self.0.clone();
        // The computing thread reports too, and must not wait. A message that does not fit is outdated by
        // the next one.
        Arc::new(move |status| drop(events.try_send(Ok(ReplyEvent::Status(status)))))
    }
}

/// Sends each piece of text as it is written.
#[async_trait]
impl TextSink for EventSender {
    async fn push(&mut self, text: &str) -> ControlFlow<()> {
        self.send(ReplyEvent::Text(text.to_owned())).await
    }
}

/// Runs `answer` in a task, and streams its events. The task ends when the stream is dropped.
pub(super) fn reply_stream<F>(answer: impl FnOnce(EventSender) -> F) -> ReplyStream
where
    F: Future<Output = ProviderResult<()>> + Send + 'static,
{
    let (events, stream) = channel();
    let answering = answer(events.clone());
    tokio::spawn(async move {
        let failed = tokio::select! {
            () = events.0.closed() => None,
            result = answering => result.err(),
        };
        if let Some(error) = failed {
            // The stream may have been dropped.
            let _ = events.0.send(Err(error)).await;
        }
    });
    stream
}

/// Returns the two ends of a new channel.
pub(super) fn channel() -> (EventSender, ReplyStream) {
    let (events, mut incoming) = mpsc::channel(MAX_EVENTS);
    (EventSender(events), Box::pin(futures::stream::poll_fn(move |context| incoming.poll_recv(context))))
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
