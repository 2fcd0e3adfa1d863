//! [`Reply`]: the handle of a running reply, and the task behind it.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::{FutureExt as _, Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

use super::{
    agent_loop::AgentLoop,
    event::{Answer, Event, Failure, Outcome},
    event_hub::{EventHub, EventPosition, EventReader, EventRecord},
    handle::Exchange,
    replay::replay,
    responder::Request,
};
use crate::session::StoreError;

/// Running reply: a stream of its [`Event`]s that ends after [`Event::Finished`].
///
/// The reply does not depend on its reader: dropping the handle leaves it running, and only
/// [`cancel`](Self::cancel) or [`Exchange::cancel`] stops it. Its work until then is kept, and the history
/// stays valid.
#[derive(Debug)]
pub struct Reply {
    hub: Arc<EventHub>,
    events: EventReader,
    /// Number of the reply; `None` once the last event was read.
    number: Option<u64>,
    /// Last event of a reply that did not start.
    refusal: Option<Failure>,
    cancellation: CancellationToken,
}

impl Reply {
    /// Starts a reply.
    pub(super) fn begin(exchange: &Exchange, request: Request) -> Self {
        let Exchange { context, responder } = exchange;
        let events = context.outlets.events.follow();
        // Read before the new reply replaces the token: only a cancelled reply is waited for.
        let was_stopping = context.is_stopping();
        let state = match Arc::clone(&context.conversation.state).try_lock_owned() {
            Ok(state) => Some(state),
            Err(_) if was_stopping => None,
            Err(_) => return Self::refused(Arc::clone(&context.outlets.events), events),
        };
        let cancellation = context.begin();
        let sink = context.outlets.events.begin_reply(cancellation.clone());
        let number = Some(sink.reply());
        let (hub, token) = (Arc::clone(&context.outlets.events), cancellation.clone());
        let (context, responder) = (Arc::clone(context), Arc::clone(responder));
        let tracker = context.tasks.tracker.clone();
        tracker.spawn(async move {
            let state = match state {
                Some(state) => state,
                None => Arc::clone(&context.conversation.state).lock_owned().await,
            };
            let work = AgentLoop::new(Arc::clone(&context), state, sink.clone(), token);
            let outcome = AssertUnwindSafe(work.reply(&*responder, request)).catch_unwind().await;
            sink.emit(Event::Finished(outcome.unwrap_or_else(|_| Outcome::Failed(fault()))));
            if let Err(error) = context.session.sync().await {
                tracing::warn!(%error, "the session could not be written through to the disk");
            }
        });
        Self { hub, events, number, refusal: None, cancellation }
    }

    /// Asks the reply to stop. The stream continues until the reply has ended, which takes a moment.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Returns the token behind [`cancel`](Self::cancel), to stop the reply from elsewhere.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancellation.clone()
    }

    /// Answers a question of this session, as [`Exchange::answer`] does.
    pub fn answer(&self, id: &str, answer: impl Into<Answer>) -> bool {
        self.hub.answer(id, answer.into())
    }

    /// Returns the next event with its place in the session; `None` after the last.
    pub async fn next_record(&mut self) -> Option<Arc<EventRecord>> {
        std::future::poll_fn(|context| self.poll_record(context)).await
    }

    fn poll_record(&mut self, context: &mut Context<'_>) -> Poll<Option<Arc<EventRecord>>> {
        if let Some(failure) = self.refusal.take() {
            let event = Event::Finished(Outcome::Failed(failure));
            return Poll::Ready(Some(Arc::new(self.hub.unlogged(event))));
        }
        let Some(number) = self.number else { return Poll::Ready(None) };
        loop {
            let Some(record) = ready!(self.events.poll_next_unpin(context)) else {
                return Poll::Ready(None);
            };
            // A cancelled reply may still report events while this one waits for its turn.
            if record.reply != number {
                continue;
            }
            if matches!(record.event, Event::Finished(_)) {
                self.number = None;
            }
            return Poll::Ready(Some(record));
        }
    }

    fn refused(hub: Arc<EventHub>, events: EventReader) -> Self {
        let failure = Failure {
            message: "A reply is already being made in this session.".to_owned(),
            hint: Some("Wait for it, or cancel it.".to_owned()),
        };
        let cancellation = CancellationToken::new();
        Self { hub, events, number: None, refusal: Some(failure), cancellation }
    }
}

fn fault() -> Failure {
    Failure {
        message: "goose has a fault: the reply ended in a panic.".to_owned(),
        hint: Some("The session is kept and can be resumed. Please report this.".to_owned()),
    }
}

impl Stream for Reply {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let record = ready!(self.poll_record(context));
        Poll::Ready(record.map(|record| Arc::unwrap_or_clone(record).event))
    }
}

impl Exchange {
    /// Returns a reader of the session's events after a number, of any reply; without a number, from the
    /// beginning of the current turn and with all unanswered questions. Any number of readers can follow.
    pub fn subscribe(&self, after: Option<u64>) -> EventReader {
        self.context.outlets.events.subscribe(after)
    }

    /// Returns a reader of the session's events after a position, or of all of them. Those that are not in the log any
    /// more, or are from before the session was opened, are replayed from the stored steps. Log entries and nested
    /// calls may come twice.
    ///
    /// # Errors
    ///
    /// Fails if the store does.
    pub async fn read_after(&self, after: Option<EventPosition>) -> Result<EventReader, StoreError> {
        let (mut reader, stored) = self.context.outlets.events.resume(after);
        if let Some(last) = stored {
            let mut steps = self.context.session.steps().await?;
            steps.retain(|stored| stored.seq <= last);
            reader.preceded_by(replay(self.session_id(), &steps, after.map_or(0, |position| position.step)));
        }
        Ok(reader)
    }

    /// Returns the position of the last event, for [`read_after`](Self::read_after).
    pub fn position(&self) -> EventPosition {
        self.context.outlets.events.position()
    }

    /// Answers a question by its id. Only the first answer counts, and none after the reply was cancelled.
    /// Returns true if this one counts.
    pub fn answer(&self, id: &str, answer: impl Into<Answer>) -> bool {
        self.context.outlets.events.answer(id, answer.into())
    }

    /// Returns the unanswered questions, oldest first.
    pub fn questions(&self) -> Vec<Arc<EventRecord>> {
        self.context.outlets.events.questions()
    }

    /// Waits until a question was answered or withdrawn.
    pub async fn question_closed(&self, id: &str) {
        if let Some(closed) = self.context.outlets.events.closed(id) {
            closed.cancelled().await;
        }
    }

    /// Declares if a user interface answers the questions of extensions, which are refused otherwise.
    pub fn set_attended(&self, is_attended: bool) {
        self.context.outlets.events.set_attended(is_attended);
    }

    /// Cancels the current reply or command. The history stays valid.
    pub fn cancel(&self) {
        self.context.stop();
    }
}
