//! [`Outbox`]: reports the events of a reply in order, each after the steps that were recorded before it.
//!
//! While a step is written, the loop continues with work that has no outside effect: it judges the calls of
//! an answer, or builds the next request. Events of that time are held back until the step is stored.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::{
    event::Event,
    event_hub::{EventHub, EventSink},
};
use crate::session::{Session, Step, StoreError};

/// Events of one reply.
pub(super) struct Outbox {
    hub: Arc<EventHub>,
    events: EventSink,
    /// Events that wait until the steps before them are stored. `None` while no step is being written.
    held: Mutex<Option<Vec<Event>>>,
}

/// Steps that could not be stored, and the error.
pub(super) type Unwritten = (StoreError, Vec<Step>);

/// Running write of steps. It continues if this is dropped.
pub(super) type Writing = JoinHandle<Result<(), Unwritten>>;

impl Outbox {
    pub(super) fn new(hub: Arc<EventHub>, events: EventSink) -> Arc<Self> {
        Arc::new(Self { hub, events, held: Mutex::default() })
    }

    /// Reports an event as soon as the steps before it are stored.
    pub(super) fn emit(&self, event: Event) {
        match &mut *self.held.lock() {
            Some(held) => held.push(event),
            None => self.events.emit(event),
        }
    }

    /// Starts to write steps; the previous write must be over. Returns `None` if the steps are already
    /// stored.
    ///
    /// # Errors
    ///
    /// Fails immediately for steps that can never be stored because of their size.
    pub(super) fn write(
        self: &Arc<Self>,
        session: Session,
        steps: Vec<Step>,
    ) -> Result<Option<Writing>, Unwritten> {
        *self.held.lock() = Some(Vec::new());
        let mut work = Box::pin(Arc::clone(self).store(session, steps));
        // Polled once here, so that the database's thread works while the loop continues, and without the
        // loop's waker, so that it does not wake the loop in the middle of the transaction.
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Ok(None),
            Poll::Ready(Err(unwritten @ (StoreError::StepTooLarge { .. }, _))) => Err(unwritten),
            // The database may refuse steps at once. The refusal is reported later, like every other one,
            // so that the behaviour does not depend on the machine's load.
            Poll::Ready(Err(unwritten)) => {
                let outbox = Arc::clone(self);
                *outbox.held.lock() = Some(Vec::new());
                Ok(Some(tokio::spawn(async move {
                    outbox.held.lock().take();
                    Err(unwritten)
                })))
            }
            Poll::Pending => Ok(Some(tokio::spawn(work))),
        }
    }

    async fn store(self: Arc<Self>, session: Session, steps: Vec<Step>) -> Result<(), Unwritten> {
        let stored = session.append_all(&steps).await;
        let mut held = self.held.lock();
        let waiting = held.take();
        match stored {
            Ok(number) => {
                self.hub.stored(number);
                waiting.into_iter().flatten().for_each(|event| self.events.emit(event));
                Ok(())
            }
            // Events about steps that are not stored are not reported.
            Err(error) => Err((error, steps)),
        }
    }
}
