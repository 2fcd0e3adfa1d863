//! Asking the model: until it has answered completely, or it is clear that it will not.
//!
//! Tools run only when an answer is complete, so a stream that breaks off never runs one twice. Text is shown as it
//! comes; when the model has to be asked again, what was shown is not shown again, see [`Shown`].

use std::task::Poll;

use futures::StreamExt as _;
use goose_extension::Message;
use goose_providers::{ProviderError, ReplyEvent, ReplyStream, Request};

use super::{
    answer::{Answer, Incoming},
    event::Event,
    prepare::get_ready,
    shown::{Kind, Shown},
    work::{Going, Stop, Work},
};
use crate::session::Step;

/// Why one try gave no answer.
enum Missed {
    Cancelled,
    Failed(ProviderError),
}

impl From<ProviderError> for Missed {
    fn from(error: ProviderError) -> Self {
        Self::Failed(error)
    }
}

impl Work {
    /// The model's answer to the conversation as it is now.
    pub(super) async fn ask(&mut self) -> Going<Answer> {
        let mut shown = Shown::default();
        let mut failures = 0;
        loop {
            match self.ask_once(&mut shown).await {
                Ok(answer) => {
                    self.overflows = 0;
                    return Ok(answer);
                }
                Err(Missed::Cancelled) => return Err(self.keep_partial(&shown, Stop::Cancelled).await),
                Err(Missed::Failed(error @ ProviderError::ContextLength { .. })) => {
                    self.overflow(error).await?;
                }
                Err(Missed::Failed(error)) => {
                    failures += 1;
                    if let Err(stop) = self.wait_for_another_try(failures, error).await {
                        return Err(self.keep_partial(&shown, stop).await);
                    }
                }
            }
            shown.again();
        }
    }

    async fn ask_once(&mut self, shown: &mut Shown) -> Result<Answer, Missed> {
        let mut stream = self.open_stream().await?;
        let mut incoming = Incoming::default();
        let read = self.read(&mut stream, &mut incoming, shown).await;
        let usage = incoming.usage();
        let answer = read.and_then(|()| Ok(incoming.finish()?));
        match &answer {
            Ok(_) => {
                for event in shown.end() {
                    self.emit(event);
                }
            }
            // What was read has to be paid for, whatever became of it.
            Err(_) => self.core.spent.add(self.core.processor().as_ref(), usage),
        }
        answer
    }

    async fn open_stream(&mut self) -> Result<ReplyStream, Missed> {
        let unready = self.take_unready();
        let options = self.core.request_options();
        let request = Request {
            system: &self.state.offer.system,
            messages: self.state.conversation.messages(),
            tools: &self.state.offer.tools,
            options: &options,
        };
        let processor = self.core.processor();
        let stream = processor.stream(request);
        let stream = self.cancellation.run_until_cancelled(stream);
        let mut stream = std::pin::pin!(stream);
        // The question is on its way before anything is done for the calls that may follow.
        let at_once = futures::poll!(stream.as_mut());
        get_ready(unready);
        let stream = match at_once {
            Poll::Ready(stream) => stream,
            Poll::Pending => stream.await,
        };
        Ok(stream.ok_or(Missed::Cancelled)??)
    }

    async fn read(
        &self,
        stream: &mut ReplyStream,
        incoming: &mut Incoming,
        shown: &mut Shown,
    ) -> Result<(), Missed> {
        loop {
            let event = self.cancellation.run_until_cancelled(stream.next()).await;
            let Some(event) = event.ok_or(Missed::Cancelled)?.transpose()? else { return Ok(()) };
            let news = match &event {
                ReplyEvent::Text(text) => shown.more(Kind::Text, text.clone()),
                ReplyEvent::Thinking(text) => shown.more(Kind::Thinking, text.clone()),
                _ => Vec::new(),
            };
            incoming.push(event);
            for event in news {
                self.emit(event);
            }
        }
    }

    /// Waits before the next try, as long as makes sense.
    async fn wait_for_another_try(&self, failures: u32, error: ProviderError) -> Result<(), Stop> {
        let Some(delay) = self.core.retry.delay(failures, &error) else { return Err(error.into()) };
        let reason = error.to_string();
        self.emit(Event::Retrying { reason, delay, attempt: failures + 1 });
        match self.cancellation.run_until_cancelled(tokio::time::sleep(delay)).await {
            Some(()) => Ok(()),
            None => Err(Stop::Cancelled),
        }
    }

    /// The reply stops in the middle of an answer: what the person has read of it stays in the conversation.
    async fn keep_partial(&mut self, shown: &Shown, stop: Stop) -> Stop {
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
