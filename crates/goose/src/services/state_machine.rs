//! [`ServiceState`]: the state machine of a service, and the [`Backoff`] between its failures. It only
//! decides; its one side effect is to end an instance.
//!
//! Every start has a number. Reports of a start or an instance count only while it is the current one.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use goose_mcp_bridge::Lifecycle;
use serde::Serialize;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{instance::Instance, listing::Listing};

/// State of a service, with its last known listing.
pub(super) struct ServiceState {
    state: State,
    start: u64,
    pub(super) reason: Option<String>,
    pub(super) backoff: Backoff,
    pub(super) listing: Option<Arc<Listing>>,
    /// True if the listing is from an earlier run.
    pub(super) is_remembered: bool,
    /// Handshake that the service requires.
    pub(super) lifecycle: Lifecycle,
    /// End of an earlier instance, until it is complete.
    ending: Option<Ending>,
}

/// End of an instance that several tasks can wait for.
pub(super) type Ending = Shared<BoxFuture<'static, ()>>;

enum State {
    Idle,
    /// Holds the task, which is aborted when it is dropped.
    Starting(Option<AbortOnDropHandle<()>>),
    Ready(Arc<Instance>),
    Degraded {
        retry_at: Instant,
    },
    Dead,
}

/// Next step of a caller that needs the service.
pub(super) enum NextAction {
    /// Use it.
    Use(Arc<Instance>),
    /// Start it.
    Begin,
    /// It failed before: start it again.
    Retry,
    /// Wait for the current start.
    Wait,
    /// Its connection has ended: wait for the report.
    WaitForEnd(Arc<Instance>),
    /// Wait until it may be started again.
    WaitUntil(Instant),
    /// Do without it.
    Refuse(String),
}

/// Change of state to announce, with its reason.
pub(super) type StateChange = (Phase, Option<String>);

/// Parts that must end before a service has stopped.
pub(super) struct StopHandle {
    /// Task of the current start.
    pub(super) start: Option<AbortOnDropHandle<()>>,
    /// End of the instance.
    pub(super) ending: Option<Ending>,
}

impl ServiceState {
    pub(super) fn new(listing: Option<Arc<Listing>>, lifecycle: Lifecycle) -> Self {
        Self {
            state: State::Idle,
            start: 0,
            reason: None,
            backoff: Backoff::default(),
            is_remembered: listing.is_some(),
            listing,
            lifecycle,
            ending: None,
        }
    }

    /// Creates the state of a service that can never work.
    pub(super) fn invalid(reason: String) -> Self {
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

    pub(super) fn instance(&self) -> Option<&Arc<Instance>> {
        match &self.state {
            State::Ready(instance) => Some(instance),
            _ => None,
        }
    }

    /// Returns true if this start is the current one.
    pub(super) fn is_starting(&self, start: u64) -> bool {
        self.start == start && matches!(self.state, State::Starting(_))
    }

    pub(super) fn next_action(&self, now: Instant) -> NextAction {
        match &self.state {
            State::Ready(instance) if instance.is_connected() => NextAction::Use(Arc::clone(instance)),
            State::Ready(instance) => NextAction::WaitForEnd(Arc::clone(instance)),
            State::Starting(_) => NextAction::Wait,
            State::Idle => NextAction::Begin,
            State::Degraded { retry_at } if *retry_at > now => NextAction::WaitUntil(*retry_at),
            State::Degraded { .. } => NextAction::Retry,
            State::Dead => NextAction::Refuse(self.reason.clone().unwrap_or_default()),
        }
    }

    /// Returns true if this is the current instance.
    pub(super) fn is_current(&self, instance: &Arc<Instance>) -> bool {
        self.instance().is_some_and(|current| Arc::ptr_eq(current, instance))
    }

    /// Returns the end of an earlier instance, until it is complete.
    pub(super) fn ending(&mut self) -> Option<Ending> {
        if self.ending.as_ref().is_some_and(|ending| ending.peek().is_some()) {
            self.ending = None;
        }
        self.ending.clone()
    }

    /// Ends an instance, after the earlier ones have ended.
    pub(super) fn ends(&mut self, instance: Arc<Instance>) {
        let before = self.ending();
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                before.await;
            }
            instance.stop().await;
        });
        self.ending = Some(task.map(drop).boxed().shared());
    }

    /// Begins a start. Returns its number.
    pub(super) fn begin(&mut self) -> (u64, StateChange) {
        if matches!(self.state, State::Degraded { .. }) {
            self.backoff.restarts += 1;
        }
        self.start += 1;
        self.state = State::Starting(None);
        (self.start, (Phase::Starting, None))
    }

    /// Keeps the task of a start.
    pub(super) fn keep(&mut self, start: u64, task: AbortOnDropHandle<()>) {
        if let State::Starting(kept) = &mut self.state
            && self.start == start
        {
            *kept = Some(task);
        }
    }

    pub(super) fn started(&mut self, instance: Arc<Instance>, listing: Arc<Listing>) -> StateChange {
        self.lifecycle = instance.lifecycle();
        self.state = State::Ready(instance);
        self.listing = Some(listing);
        self.is_remembered = false;
        self.reason = None;
        (Phase::Ready, None)
    }

    /// Records that a start failed, or an instance ended by itself.
    pub(super) fn failed(&mut self, reason: String, gives_up: bool, now: Instant) -> StateChange {
        let (phase, reason) = match self.backoff.failed(gives_up, now) {
            Some(retry_at) => {
                self.state = State::Degraded { retry_at };
                (Phase::Degraded, reason)
            }
            None => {
                self.state = State::Dead;
                self.listing = None;
                (Phase::Dead, format!("{reason}\nIt failed {MAX_FAILURES} times in a row and was given up."))
            }
        };
        self.reason = Some(reason.clone());
        (phase, Some(reason))
    }

    /// Ends the instance, returns the task of the current start, and forgets all failures.
    pub(super) fn stop(&mut self) -> (StopHandle, Option<StateChange>) {
        self.start += 1;
        self.backoff.worked();
        self.reason = None;
        let was_idle = matches!(self.state, State::Idle);
        let start = match std::mem::replace(&mut self.state, State::Idle) {
            State::Ready(instance) => {
                self.ends(instance);
                None
            }
            State::Starting(start) => start,
            State::Idle | State::Degraded { .. } | State::Dead => None,
        };
        let change = (!was_idle).then_some((Phase::Idle, None));
        (StopHandle { start, ending: self.ending() }, change)
    }
}

/// Number of failures in a row after which a service is given up.
pub(super) const MAX_FAILURES: u32 = 5;

/// Pause after the first failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Failures of a service.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// Failures in a row, without a success between them.
    pub(super) failures: u32,
    /// Restarts after failures.
    pub(super) restarts: u32,
}

impl Backoff {
    /// Counts a failure. Returns the time before which the service is not started again; `None` if it is given
    /// up. Services whose failures may be temporary, such as remote servers, are not given up.
    fn failed(&mut self, gives_up: bool, now: Instant) -> Option<Instant> {
        self.failures = self.failures.saturating_add(1);
        if gives_up && self.failures >= MAX_FAILURES {
            return None;
        }
        let doublings = (self.failures - 1).min(16);
        Some(now + FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE))
    }

    /// Forgets the failures after a success.
    pub(super) fn worked(&mut self) {
        self.failures = 0;
    }
}

/// State of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Does not run, and starts when it is needed.
    Idle,
    /// Starting.
    Starting,
    /// Answers requests.
    Ready,
    /// Failed, and is started again at its next use.
    Degraded,
    /// Failed too often, or can never work as it is configured. Its tools are withdrawn.
    Dead,
}

impl Phase {
    /// Returns the state's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Dead => "dead",
        }
    }
}

/// Number of a service within its pool. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ServiceId(pub(crate) u64);

/// Change of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceEvent {
    /// Id of the service.
    pub id: ServiceId,
    /// Name of the service.
    pub name: String,
    /// Kind of change.
    pub change: ServiceChange,
}

/// Kinds of changes of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceChange {
    /// Its state changed, with the reason if there is one.
    Phase(Phase, Option<String>),
    /// Its tools changed.
    Tools,
    /// Its list of resources changed.
    Resources,
    /// Its prompts changed.
    Prompts,
    /// The content of a resource changed.
    ResourceUpdated(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_it_is_given_up() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let next = || backoff.failed(true, now).map(|then| (then - now).as_millis() as u64);
        let pauses: Vec<u64> = std::iter::from_fn(next).collect();
        assert_eq!(pauses, [100, 200, 400, 800]);
    }

    #[test]
    fn intervals_grow_up_to_a_limit_without_giving_up() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let last = (0..100).map(|_| backoff.failed(false, now)).last();
        assert_eq!(last, Some(Some(now + LONGEST_PAUSE)));
    }

    #[test]
    fn a_success_forgives() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..20 {
            assert!(backoff.failed(true, now).is_some());
            backoff.worked();
        }
    }
}
