//! Asking the model, with retries, until it has answered completely or cannot answer.
//!
//! Tools run only when an answer is complete, so a stream that breaks off never runs one twice. Text is shown
//! as it arrives; [`StreamDedup`] keeps a retry from showing it twice.

use std::{task::Poll, time::Duration};

use futures::StreamExt as _;
use goose_extension::{Message, MessageContent};
use goose_providers::{
    Arguments, Collector, ProviderError, ProviderResult, ReplyEvent, ReplyStream, Request, StopReason,
    ToolCall, Usage,
};
use tokio::time::Instant;

use super::{
    agent_loop::{Abort, AgentLoop, StepResult},
    event::Event,
    prepare::get_ready,
    stream_dedup::{Kind, StreamDedup},
};
use crate::session::Step;

/// Interval at which a long answer checks that a user interface is still attached.
const ATTENDED_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Complete answer of the model.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    pub(super) message: Message,
    /// Calls of the message, in order. They may be malformed.
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
    pub(super) stop: StopReason,
}

impl ModelAnswer {
    /// Returns true if the answer contains text for the user.
    pub(super) fn has_text(&self) -> bool {
        let mut texts = self.message.content.iter().filter_map(MessageContent::as_text);
        texts.any(|text| !text.trim().is_empty())
    }
}

/// Answer that is still arriving.
#[derive(Default)]
pub(super) struct IncomingAnswer {
    collector: Collector,
    calls: Vec<ToolCall>,
}

impl IncomingAnswer {
    pub(super) fn push(&mut self, event: ReplyEvent) {
        if let ReplyEvent::Call(call) = &event {
            self.calls.push(call.clone());
        }
        self.collector.push(event);
    }

    /// Returns the usage so far.
    pub(super) fn usage(&self) -> Usage {
        self.collector.usage()
    }

    pub(super) fn finish(self) -> ProviderResult<ModelAnswer> {
        let reply = self.collector.finish()?;
        Ok(ModelAnswer { message: reply.message, calls: self.calls, usage: reply.usage, stop: reply.stop })
    }
}

/// Returns the arguments of a call as JSON.
pub(super) fn as_value(arguments: &Arguments) -> serde_json::Value {
    match arguments {
        Arguments::Object(object) => serde_json::Value::Object(object.clone()),
        Arguments::Malformed { raw, .. } => serde_json::Value::String(raw.clone()),
    }
}

/// Returns the error for an answer that does not end. It is not retried: another answer would hardly be
/// shorter.
fn endless(limit: Duration) -> ProviderError {
    let minutes = limit.as_secs() / 60;
    ProviderError::Protocol {
        message: format!("it did not end within {minutes} minutes, and no person is there to cancel it"),
    }
}

/// Reason why one attempt gave no answer.
enum AttemptError {
    Cancelled,
    Failed(ProviderError),
}

impl From<ProviderError> for AttemptError {
    fn from(error: ProviderError) -> Self {
        Self::Failed(error)
    }
}

impl AgentLoop {
    /// Returns the model's answer to the current conversation.
    pub(super) async fn ask(&mut self) -> StepResult<ModelAnswer> {
        let mut shown = StreamDedup::default();
        let mut failures = 0;
        loop {
            match self.ask_once(&mut shown).await {
                Ok(answer) => {
                    self.progress.overflows = 0;
                    return Ok(answer);
                }
                Err(AttemptError::Cancelled) => {
                    return Err(self.keep_partial(&shown, Abort::Cancelled).await);
                }
                Err(AttemptError::Failed(error @ ProviderError::ContextLength { .. })) => {
                    self.overflow(error).await?;
                }
                Err(AttemptError::Failed(error)) => {
                    failures += 1;
                    if let Err(stop) = self.wait_for_retry(failures, error).await {
                        return Err(self.keep_partial(&shown, stop).await);
                    }
                }
            }
            shown.again();
        }
    }

    async fn ask_once(&mut self, shown: &mut StreamDedup) -> Result<ModelAnswer, AttemptError> {
        let limit = self.context.limits.unattended_answer;
        let deadline = Instant::now() + limit;
        let mut stream = self.open_stream().await?;
        let mut incoming = IncomingAnswer::default();
        let read = tokio::select! {
            read = self.read(&mut stream, &mut incoming, shown) => read,
            () = self.unattended_until(deadline) => Err(AttemptError::Failed(endless(limit))),
        };
        let usage = incoming.usage();
        let answer = read.and_then(|()| Ok(incoming.finish()?));
        match &answer {
            Ok(_) => {
                for event in shown.end() {
                    self.emit(event);
                }
            }
            // The service charges for the tokens of an incomplete answer as well.
            Err(_) => self.context.usage.add(self.context.processor().as_ref(), usage),
        }
        answer
    }

    async fn open_stream(&mut self) -> Result<ReplyStream, AttemptError> {
        let unready = self.take_unready();
        let options = self.context.request_options();
        let request = Request {
            system: &self.state.offer.system,
            messages: self.state.conversation.messages(),
            tools: &self.state.offer.tools,
            options: &options,
        };
        let processor = self.context.processor();
        let stream = processor.stream(request);
        let stream = self.cancellation.run_until_cancelled(stream);
        let mut stream = std::pin::pin!(stream);
        // Polled once, so that the request is on its way before tools are prepared for their first call.
        let at_once = futures::poll!(stream.as_mut());
        if let Some(tool) = unready {
            get_ready(tool, &self.context.guard.permissions);
        }
        let stream = match at_once {
            Poll::Ready(stream) => stream,
            Poll::Pending => stream.await,
        };
        Ok(stream.ok_or(AttemptError::Cancelled)??)
    }

    async fn read(
        &self,
        stream: &mut ReplyStream,
        incoming: &mut IncomingAnswer,
        shown: &mut StreamDedup,
    ) -> Result<(), AttemptError> {
        loop {
            let event = self.cancellation.run_until_cancelled(stream.next()).await;
            let Some(event) = event.ok_or(AttemptError::Cancelled)?.transpose()? else { return Ok(()) };
            let news = match &event {
                ReplyEvent::Text(text) => shown.more(Kind::Text, text.clone()),
                ReplyEvent::Thinking(text) => shown.more(Kind::Thinking, text.clone()),
                ReplyEvent::Status(message) => vec![Event::Status { call: None, message: message.clone() }],
                _ => Vec::new(),
            };
            incoming.push(event);
            for event in news {
                self.emit(event);
            }
        }
    }

    /// Waits for the deadline and until no user interface is attached: a user who sees the answer grow can
    /// cancel it.
    async fn unattended_until(&self, deadline: Instant) {
        tokio::time::sleep_until(deadline).await;
        while self.events.is_attended() {
            tokio::time::sleep(ATTENDED_CHECK_INTERVAL).await;
        }
    }

    /// Returns the end of the reply after an error. Names the model, unless the error names its service.
    fn failed(&self, error: &ProviderError) -> Abort {
        let message = match error {
            ProviderError::Auth { .. } | ProviderError::Network { .. } => error.to_string(),
            error => format!("{}: {error}", self.context.models.in_use()),
        };
        Abort::failed(message, error.hint())
    }

    /// Waits before the next attempt, or fails if there is none.
    async fn wait_for_retry(&self, failures: u32, error: ProviderError) -> Result<(), Abort> {
        let Some(delay) = self.context.limits.retry.delay(failures, &error) else {
            return Err(self.failed(&error));
        };
        let reason = error.to_string();
        self.emit(Event::Retrying { reason, delay, attempt: failures + 1 });
        self.cancellation.run_until_cancelled(tokio::time::sleep(delay)).await.ok_or(Abort::Cancelled)
    }

    /// Adds the text that the user has read to the conversation when the reply stops in the middle of an
    /// answer.
    async fn keep_partial(&mut self, shown: &StreamDedup, stop: Abort) -> Abort {
        let text = shown.text();
        if text.trim().is_empty() {
            return stop;
        }
        match self.record(Step::Message { message: Message::assistant(text) }).await {
            Ok(()) => stop,
            Err(error) => error.into(),
        }
    }
}
