//! [`Reply`]: the handle of a reply that is being made, and the task that makes it.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt as _, Stream};
use goose_extension::Message;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    core::Core,
    event::{Event, Failure, Outcome},
    work::Work,
};

/// How many events may wait for a slow reader. Then the reply waits, too.
const EVENT_CAPACITY: usize = 64;

/// A reply that is being made: a stream of [`Event`]s that ends after [`Event::Finished`].
///
/// The reply waits for its reader. Dropping the handle cancels it, as [`cancel`](Self::cancel) does; what was done until
/// then is kept, and the history stays valid.
#[derive(Debug)]
pub struct Reply {
    events: mpsc::Receiver<Event>,
    cancellation: CancellationToken,
}

impl Reply {
    /// Begins a reply, after what the person says, where they say something.
    pub(super) fn begin(core: &Arc<Core>, message: Option<Message>) -> Self {
        let (sender, events) = mpsc::channel(EVENT_CAPACITY);
        // Before the new one has its token: only a reply that was told to stop is waited for.
        let was_stopping = core.is_stopping();
        let state = match Arc::clone(&core.state).try_lock_owned() {
            Ok(state) => Some(state),
            Err(_) if was_stopping => None,
            Err(_) => return Self::refused(sender, events),
        };
        let cancellation = core.begin();
        let (core, token) = (Arc::clone(core), cancellation.clone());
        let tasks = core.tasks.clone();
        tasks.spawn(async move {
            let state = match state {
                Some(state) => state,
                None => Arc::clone(&core.state).lock_owned().await,
            };
            let work = Work::new(Arc::clone(&core), state, sender.clone(), token);
            let outcome = AssertUnwindSafe(work.reply(message)).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| Outcome::Failed(fault()));
            // Not waited for: the session is brought to the disk, and the exchange closed, whether or not somebody reads.
            // An error only means that nobody listens any more.
            tokio::spawn(async move { sender.send(Event::Finished(outcome)).await });
            if let Err(error) = core.session.sync().await {
                tracing::warn!(%error, "the session could not be written through to the disk");
            }
        });
        Self { events, cancellation }
    }

    /// Asks the reply to stop. The stream goes on to its end, which comes within a moment.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// What [`cancel`](Self::cancel) uses, for those who have to stop the reply from elsewhere.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancellation.clone()
    }

    fn refused(sender: mpsc::Sender<Event>, events: mpsc::Receiver<Event>) -> Self {
        let failure = Failure {
            message: "A reply is already being made in this session.".to_owned(),
            hint: Some("Wait for it, or cancel it.".to_owned()),
        };
        // The channel is new and has room.
        let _ = sender.try_send(Event::Finished(Outcome::Failed(failure)));
        Self { events, cancellation: CancellationToken::new() }
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
        self.events.poll_recv(context)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}
