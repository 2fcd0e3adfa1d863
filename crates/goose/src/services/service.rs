//! [`Service`]: one service of the pool, started when it is needed and looked after while it runs.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use goose_extension::{
    CallContext, Extension, JsonObject, ToolError, ToolOutput, ToolResult,
    mcp::{DroppedTool, Lifecycle},
};
use serde::Serialize;
use tokio::{sync::watch, time::Instant};
use tokio_util::task::AbortOnDropHandle;

use super::{
    follow,
    launch::{Launch, What},
    life::{Life, Rest, Step, Told},
    listing::Listing,
    listing_cache::Kept,
    phase::{Phase, ServiceChange, ServiceEvent, ServiceId},
    pool::Shared,
    running::Running,
    start,
};

/// How long a server that let a call time out may take to show that it is alive.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for the report of an end that shows already.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A service of a [`ServicePool`](super::ServicePool). Dropping the last reference ends it.
pub struct Service {
    id: ServiceId,
    name: String,
    launch: Launch,
    /// How long a call may be silent.
    timeout: Duration,
    shared: Arc<Shared>,
    life: Mutex<Life>,
    /// Signalled by every change of state.
    moved: watch::Sender<()>,
    /// Counts the listings, so that who made something of one sees when it is stale.
    edition: AtomicU64,
}

/// The state of a service, for people and programs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceReport {
    /// Where it is in its life.
    pub phase: Phase,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// What kind of service it is: `builtin`, `stdio`, `streamable_http`, …
    pub kind: &'static str,
    /// How often it was started again after a failure.
    pub restarts: u32,
    /// How often it failed in a row.
    pub failures: u32,
    /// The MCP version that is spoken, where one is.
    pub protocol: Option<String>,
    /// What it last wrote to its standard error.
    pub stderr: Option<String>,
    /// Tools that could not be used, and why.
    #[serde(serialize_with = "dropped_tools")]
    pub dropped_tools: Vec<DroppedTool>,
}

fn dropped_tools<S: serde::Serializer>(tools: &[DroppedTool], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tools.iter().map(|tool| (&tool.name, &tool.reason)))
}

impl Service {
    pub(super) fn new(name: &str, launch: Launch, timeout: Duration, shared: Arc<Shared>) -> Arc<Self> {
        let life = match (&launch.what, launch.listing_key.as_ref().zip(shared.options.cache.as_ref())) {
            (What::Never(reason), _) => Life::stillborn(reason.clone()),
            (_, Some((key, cache))) => match cache.load(key) {
                Some(Kept { listing, lifecycle }) => Life::new(Some(Arc::new(listing)), lifecycle),
                None => Life::new(None, Lifecycle::Auto),
            },
            _ => Life::new(None, Lifecycle::Auto),
        };
        Arc::new(Self {
            id: shared.next_id(),
            name: name.to_owned(),
            launch,
            timeout,
            shared,
            life: Mutex::new(life),
            moved: watch::Sender::default(),
            edition: AtomicU64::new(0),
        })
    }

    /// Its number within the pool.
    pub fn id(&self) -> ServiceId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        self.life().phase()
    }

    /// What is known of it; `None` where it was never seen, or is dead.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.life().listing.clone()
    }

    /// A number that changes with the listing.
    pub(crate) fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Its state in full.
    pub fn report(&self) -> ServiceReport {
        let life = self.life();
        let running = life.running();
        let remote = running.and_then(|running| running.remote.as_ref());
        ServiceReport {
            phase: life.phase(),
            reason: life.reason().map(str::to_owned),
            kind: self.launch.kind,
            restarts: life.patience.restarts(),
            failures: life.patience.failures(),
            protocol: remote.and_then(|remote| remote.protocol_version()),
            stderr: running.map(|running| running.last_words()).filter(|words| !words.is_empty()),
            dropped_tools: life.listing.as_ref().map(|it| it.dropped.clone()).unwrap_or_default(),
        }
    }

    /// The running extension, started where it is not. Waits for a start that is under way, and for the pause after a
    /// failure.
    ///
    /// # Errors
    ///
    /// [`ToolError::Disconnected`] with the reason where it does not start, or was given up.
    pub async fn ready(self: &Arc<Self>) -> ToolResult<Arc<dyn Extension>> {
        Ok(self.running().await?.extension())
    }

    pub(super) async fn running(self: &Arc<Self>) -> ToolResult<Arc<Running>> {
        let mut tried = false;
        loop {
            let mut moved = self.moved.subscribe();
            let step = {
                let mut life = self.life();
                match life.look(Instant::now()) {
                    // One try for each use: what failed just now fails again.
                    Step::Begin | Step::WaitUntil(_) if tried => {
                        Step::Refuse(life.reason().unwrap_or_default().to_owned())
                    }
                    Step::Begin => {
                        self.begin(&mut life);
                        Step::Wait
                    }
                    step => step,
                }
            };
            match step {
                Step::Use(running) => return Ok(running),
                Step::Refuse(reason) => return Err(unavailable(&self.name, &reason)),
                Step::WaitUntil(then) => tokio::time::sleep_until(then).await,
                Step::WaitForEnd(running) => {
                    if tokio::time::timeout(END_TIMEOUT, moved.changed()).await.is_err() {
                        self.lost(&running, "Its connection ended.".to_owned());
                    }
                }
                Step::Wait | Step::Begin => {
                    tried = true;
                    // The sender is ours, so this cannot fail.
                    let _ = moved.changed().await;
                }
            }
        }
    }

    /// Starts it in the background, where it is not running and may be tried.
    pub fn warm_up(self: &Arc<Self>) {
        let mut life = self.life();
        if matches!(life.look(Instant::now()), Step::Begin) {
            self.begin(&mut life);
        }
    }

    /// Waits until it is known what the service offers, or that it does not start. A service that failed before is
    /// tried again, but not waited for.
    pub async fn known(self: &Arc<Self>) -> Option<Arc<Listing>> {
        loop {
            let mut moved = self.moved.subscribe();
            let failed = {
                let mut life = self.life();
                if let Some(listing) = &life.listing {
                    return Some(Arc::clone(listing));
                }
                if matches!(life.look(Instant::now()), Step::Begin) {
                    self.begin(&mut life);
                }
                life.phase() == Phase::Dead || life.patience.failures() > 0
            };
            if failed {
                return None;
            }
            let _ = moved.changed().await;
        }
    }

    /// Calls a tool. See [`Extension::call`].
    ///
    /// # Errors
    ///
    /// As there; also [`ToolError::Disconnected`] as a failed result where the service does not run.
    pub async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let running = match self.running().await {
            Ok(running) => running,
            Err(error) => return ToolOutput::from_error(error),
        };
        let extension = running.extension();
        let call = extension.call(tool, arguments, context);
        // Calls of others are timed by their connection, which knows of progress and of questions.
        let output = match running.remote {
            Some(_) => call.await,
            None => match tokio::time::timeout(self.timeout, call).await {
                Ok(output) => output,
                Err(_) => ToolOutput::from_error(self.too_slow(tool)),
            },
        };
        self.learn(&running, &output);
        output
    }

    fn too_slow(&self, tool: &str) -> ToolError {
        ToolError::Timeout(format!(
            "`{tool}` of `{}` did not finish within {:?} and was stopped. Ask for less work in one call.",
            self.name, self.timeout
        ))
    }

    /// What the end of a call says about the service.
    fn learn(self: &Arc<Self>, running: &Arc<Running>, output: &ToolResult<ToolOutput>) {
        let failure = match output {
            Ok(output) if output.is_error => output.failure(),
            _ => None,
        };
        match failure {
            Some(ToolError::Timeout(_)) => self.check_in_background(running),
            Some(ToolError::Disconnected(_)) => {}
            _ if output.is_ok() => {
                let mut life = self.life();
                if life.patience.failures() > 0 {
                    life.patience.worked();
                }
            }
            _ => {}
        }
    }

    /// A server that let a call time out is either busy or hangs; one that hangs is ended.
    fn check_in_background(self: &Arc<Self>, running: &Arc<Running>) {
        let Some(remote) = running.remote.clone() else { return };
        let (service, running) = (Arc::downgrade(self), Arc::clone(running));
        tokio::spawn(async move {
            if remote.ping(PING_TIMEOUT).await.is_ok() {
                return;
            }
            if let Some(service) = service.upgrade() {
                service.lost(&running, "It let a call time out and does not answer any more.".to_owned());
            }
            running.stop().await;
        });
    }

    /// Asks the service whether it is alive; starts it where it is not running.
    ///
    /// # Errors
    ///
    /// Where it does not start, or does not answer in time.
    pub async fn ping(self: &Arc<Self>) -> ToolResult<Duration> {
        match &self.running().await?.remote {
            Some(remote) => remote.ping(PING_TIMEOUT).await,
            None => Ok(Duration::ZERO),
        }
    }

    /// Ends it and forgets its failures; its next use starts it anew. When this returns, nothing of it is left; a start
    /// that was under way is broken off and what it had started is killed.
    pub async fn stop(&self) {
        let (Rest { running, start }, told) = self.life().rest();
        self.tell(told);
        if let Some(start) = start {
            start.abort();
            // Only that it is over counts; what it has started is ended with it.
            let _ = start.await;
        }
        if let Some(running) = running {
            running.stop().await;
        }
    }

    fn begin(self: &Arc<Self>, life: &mut Life) {
        let (start, told) = life.begin();
        let starting = start::start(self.launch.what.clone(), self.limits(life), Arc::clone(&self.shared));
        let attempt = Attempt { service: Arc::downgrade(self), start };
        let task = tokio::spawn(async move {
            let result = starting.await;
            match (attempt.service.upgrade(), result) {
                (Some(service), Ok(running)) => service.started(start, running).await,
                (Some(service), Err(error)) => service.start_failed(start, error.to_string()),
                (None, Ok(running)) => running.stop().await,
                (None, Err(_)) => {}
            }
        });
        life.keep(start, AbortOnDropHandle::new(task));
        self.tell(told);
    }

    fn limits(&self, life: &Life) -> start::Limits {
        start::Limits { name: self.name.clone(), call_timeout: self.timeout, lifecycle: life.lifecycle }
    }

    async fn started(self: &Arc<Self>, start: u64, running: Running) {
        let running = Arc::new(running);
        let listing = Arc::new(Listing::of(&*running.extension(), &running.dropped_tools()));
        follow::follow(self, &running);
        let told = {
            let mut life = self.life();
            life.is_starting(start).then(|| life.started(Arc::clone(&running), Arc::clone(&listing)))
        };
        match told {
            Some(told) => {
                self.publish(listing, running.lifecycle());
                self.tell(told);
            }
            None => running.stop().await,
        }
    }

    fn start_failed(&self, start: u64, reason: String) {
        let told = {
            let mut life = self.life();
            life.is_starting(start).then(|| life.failed(reason, Instant::now()))
        };
        self.tell_failure(told.flatten());
    }

    /// A running service ended by itself, or had to be ended.
    pub(super) fn lost(&self, running: &Arc<Running>, reason: String) {
        let told = {
            let mut life = self.life();
            let is_current = life.running().is_some_and(|current| Arc::ptr_eq(current, running));
            is_current.then(|| life.failed(reason, Instant::now()))
        };
        self.tell_failure(told.flatten());
    }

    /// The service announced other tools.
    pub(super) fn renew(&self, running: &Arc<Running>) {
        running.renew();
        let listing = Arc::new(Listing::of(&*running.extension(), &running.dropped_tools()));
        {
            let mut life = self.life();
            if !life.running().is_some_and(|current| Arc::ptr_eq(current, running)) {
                return;
            }
            life.listing = Some(Arc::clone(&listing));
        }
        self.publish(listing, running.lifecycle());
        self.announce(ServiceChange::Tools);
    }

    /// A new listing is there: whoever keeps something made of an older one sees it, and the disk too.
    fn publish(&self, listing: Arc<Listing>, lifecycle: Lifecycle) {
        self.edition.fetch_add(1, Ordering::AcqRel);
        let Some((key, cache)) = self.launch.listing_key.clone().zip(self.shared.options.cache.clone())
        else {
            return;
        };
        tokio::task::spawn_blocking(move || {
            let kept = Kept { listing: Arc::unwrap_or_clone(listing), lifecycle };
            if let Err(error) = cache.save(&key, &kept) {
                tracing::warn!(%error, "a tool list could not be kept");
            }
        });
    }

    /// A failure may have withdrawn the tools.
    fn tell_failure(&self, told: Told) {
        if told.is_some() {
            self.edition.fetch_add(1, Ordering::AcqRel);
            self.tell(told);
        }
    }

    fn tell(&self, told: Told) {
        let Some((phase, reason)) = told else { return };
        self.announce(ServiceChange::Phase(phase, reason));
        self.moved.send_replace(());
    }

    pub(super) fn announce(&self, change: ServiceChange) {
        self.shared.announce(ServiceEvent { id: self.id, name: self.name.clone(), change });
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A start under way. Where it ends without a result (it panicked, or its runtime is gone), that is a failure too, so
/// that nobody waits for it.
struct Attempt {
    service: Weak<Service>,
    start: u64,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(service) = self.service.upgrade() {
            service.start_failed(self.start, "Its start was broken off.".to_owned());
        }
    }
}

/// The error for a service that does not run.
fn unavailable(name: &str, reason: &str) -> ToolError {
    ToolError::Disconnected(format!("The extension `{name}` is not available: {reason}"))
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}
