//! [`Life`]: the state machine of a service. It decides; all it does itself is to end what ran.
//!
//! Every start has a number. What a start or a running service reports counts only as long as it is the current one.

use std::sync::Arc;

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use goose_mcp_bridge::Lifecycle;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{
    listing::Listing,
    patience::{MAX_FAILURES, Patience, Verdict},
    phase::Phase,
    running::Running,
};

/// Where a service is, and what is known of it.
pub(super) struct Life {
    state: State,
    start: u64,
    reason: Option<String>,
    pub(super) patience: Patience,
    pub(super) listing: Option<Arc<Listing>>,
    /// The listing is of an earlier run.
    pub(super) is_remembered: bool,
    /// How it wants to be greeted.
    pub(super) lifecycle: Lifecycle,
    /// What ran before and is still ending.
    ending: Option<Ending>,
}

/// An end that several may wait for.
pub(super) type Ending = Shared<BoxFuture<'static, ()>>;

enum State {
    Idle,
    /// The task is held, because it ends where it is dropped.
    Starting(Option<AbortOnDropHandle<()>>),
    Ready(Arc<Running>),
    Degraded {
        retry_at: Instant,
    },
    Dead,
}

/// What somebody who needs the service does now.
pub(super) enum Step {
    /// Use it.
    Use(Arc<Running>),
    /// Start it.
    Begin,
    /// It failed before: start it once more.
    Retry,
    /// Wait for the start that is under way.
    Wait,
    /// It is gone, and somebody is about to say so: wait for that.
    WaitForEnd(Arc<Running>),
    /// Wait until it may be tried again.
    WaitUntil(Instant),
    /// Do without it.
    Refuse(String),
}

/// A change of state to be told.
pub(super) type Told = Option<(Phase, Option<String>)>;

/// What has to be waited for when a service was laid to rest.
pub(super) struct Rest {
    /// The start that was under way.
    pub(super) start: Option<AbortOnDropHandle<()>>,
    /// What ran.
    pub(super) ending: Option<Ending>,
}

impl Life {
    pub(super) fn new(listing: Option<Arc<Listing>>, lifecycle: Lifecycle) -> Self {
        Self {
            state: State::Idle,
            start: 0,
            reason: None,
            patience: Patience::default(),
            is_remembered: listing.is_some(),
            listing,
            lifecycle,
            ending: None,
        }
    }

    /// A service that can never work.
    pub(super) fn stillborn(reason: String) -> Self {
        Self { state: State::Dead, reason: Some(reason), ..Self::new(None, Lifecycle::Auto) }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Starting(_) => Phase::Starting,
            State::Ready(_) => Phase::Ready,
            State::Degraded { .. } => Phase::Degraded,
            State::Dead => Phase::Dead,
        }
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub(super) fn running(&self) -> Option<&Arc<Running>> {
        match &self.state {
            State::Ready(running) => Some(running),
            _ => None,
        }
    }

    /// Whether this start is the one under way.
    pub(super) fn is_starting(&self, start: u64) -> bool {
        self.start == start && matches!(self.state, State::Starting(_))
    }

    pub(super) fn look(&self, now: Instant) -> Step {
        match &self.state {
            State::Ready(running) if running.is_connected() => Step::Use(Arc::clone(running)),
            State::Ready(running) => Step::WaitForEnd(Arc::clone(running)),
            State::Starting(_) => Step::Wait,
            State::Idle => Step::Begin,
            State::Degraded { retry_at } if *retry_at > now => Step::WaitUntil(*retry_at),
            State::Degraded { .. } => Step::Retry,
            State::Dead => Step::Refuse(self.reason.clone().unwrap_or_default()),
        }
    }

    /// Whether this is what runs.
    pub(super) fn is_running(&self, running: &Arc<Running>) -> bool {
        self.running().is_some_and(|current| Arc::ptr_eq(current, running))
    }

    /// What is still ending, if anything is.
    pub(super) fn ending(&mut self) -> Option<Ending> {
        if self.ending.as_ref().is_some_and(|ending| ending.peek().is_some()) {
            self.ending = None;
        }
        self.ending.clone()
    }

    /// Ends what ran, after whatever is ending already.
    pub(super) fn ends(&mut self, running: Arc<Running>) {
        let before = self.ending();
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                before.await;
            }
            running.stop().await;
        });
        self.ending = Some(task.map(drop).boxed().shared());
    }

    /// Begins a start and gives it a number.
    pub(super) fn begin(&mut self) -> (u64, Told) {
        if matches!(self.state, State::Degraded { .. }) {
            self.patience.restarted();
        }
        self.start += 1;
        self.state = State::Starting(None);
        (self.start, Some((Phase::Starting, None)))
    }

    /// Keeps the task that carries out a start.
    pub(super) fn keep(&mut self, start: u64, task: AbortOnDropHandle<()>) {
        if let State::Starting(kept) = &mut self.state
            && self.start == start
        {
            *kept = Some(task);
        }
    }

    pub(super) fn started(&mut self, running: Arc<Running>, listing: Arc<Listing>) -> Told {
        self.lifecycle = running.lifecycle();
        self.state = State::Ready(running);
        self.listing = Some(listing);
        self.is_remembered = false;
        self.reason = None;
        Some((Phase::Ready, None))
    }

    /// A start failed, or a running service ended.
    pub(super) fn failed(&mut self, reason: String, gives_up: bool, now: Instant) -> Told {
        let (phase, reason) = match self.patience.failed(gives_up, now) {
            Verdict::RetryAt(retry_at) => {
                self.state = State::Degraded { retry_at };
                (Phase::Degraded, reason)
            }
            Verdict::GiveUp => {
                self.state = State::Dead;
                self.listing = None;
                (Phase::Dead, format!("{reason}\nIt failed {MAX_FAILURES} times in a row and was given up."))
            }
        };
        self.reason = Some(reason.clone());
        Some((phase, Some(reason)))
    }

    /// Ends what runs, gives out of its hands what is about to, and forgets all failures.
    pub(super) fn rest(&mut self) -> (Rest, Told) {
        self.start += 1;
        self.patience.worked();
        self.reason = None;
        let was_idle = matches!(self.state, State::Idle);
        let start = match std::mem::replace(&mut self.state, State::Idle) {
            State::Ready(running) => {
                self.ends(running);
                None
            }
            State::Starting(start) => start,
            State::Idle | State::Degraded { .. } | State::Dead => None,
        };
        let told = (!was_idle).then_some((Phase::Idle, None));
        (Rest { start, ending: self.ending() }, told)
    }
}
