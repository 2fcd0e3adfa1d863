//! [`Service`]: one service of the pool, as those who use it see it. Its life is in `supervision`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use goose_extension::{CallContext, Extension, JsonObject, Subscriptions, ToolError, ToolOutput, ToolResult};
use goose_mcp_bridge::{DroppedTool, Lifecycle};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    launch::{Launch, LaunchKind},
    life::{Life, Step},
    listing::Listing,
    listing_cache::Kept,
    phase::{Phase, ServiceChange, ServiceEvent, ServiceId},
    pool::Shared,
    running::Running,
};

/// How long a server may take to answer a ping.
pub(super) const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for the report of an end that shows already.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A service of a [`ServicePool`](super::ServicePool). Dropping the last reference ends it.
pub struct Service {
    pub(super) id: ServiceId,
    pub(super) name: String,
    pub(super) launch: Launch,
    /// How long a call may be silent.
    pub(super) timeout: Duration,
    pub(super) shared: Arc<Shared>,
    life: Mutex<Life>,
    /// Signalled by every change of state.
    pub(super) moved: watch::Sender<()>,
    /// Counts the listings, so that who made something of one sees when it is stale.
    pub(super) edition: AtomicU64,
    pub(super) subscriptions: Subscriptions,
    /// How many need it.
    pub(super) bindings: AtomicUsize,
    /// The listing that is not on disk yet; whoever writes it holds this.
    pub(super) unsaved: Arc<Mutex<Option<Kept>>>,
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
            (LaunchKind::Invalid(reason), _) => Life::stillborn(reason.clone()),
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
            subscriptions: Subscriptions::default(),
            bindings: AtomicUsize::new(0),
            unsaved: Arc::default(),
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

    /// Why it is not as it should be.
    pub(crate) fn reason(&self) -> Option<String> {
        self.life().reason().map(str::to_owned)
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

    /// Waits until it runs, and starts it where it does not: for a start that is under way, and for the pause after a
    /// failure.
    ///
    /// # Errors
    ///
    /// [`ToolError::Disconnected`] with the reason where it does not start, or was given up.
    pub async fn ready(self: &Arc<Self>) -> ToolResult<()> {
        self.running().await.map(drop)
    }

    /// The extension itself, for others that require it. Starts the service where it does not run.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub async fn instance(self: &Arc<Self>) -> ToolResult<Arc<dyn Extension>> {
        Ok(self.running().await?.extension())
    }

    async fn running(self: &Arc<Self>) -> ToolResult<Arc<Running>> {
        let mut tried = false;
        loop {
            let mut moved = self.moved.subscribe();
            let step = self.life().look(Instant::now());
            if matches!(step, Step::Begin | Step::Retry) && self.shared.is_shut_down() {
                return Err(unavailable(&self.name, "It was stopped with all others."));
            }
            match step {
                Step::Use(running) => return Ok(running),
                Step::Refuse(reason) => return Err(unavailable(&self.name, &reason)),
                // One try for each use: what failed just now fails again.
                Step::Retry | Step::WaitUntil(_) if tried => {
                    return Err(unavailable(&self.name, &self.reason().unwrap_or_default()));
                }
                Step::WaitUntil(then) => tokio::time::sleep_until(then).await,
                Step::Begin | Step::Retry => self.begin(),
                Step::WaitForEnd(running) => {
                    if timeout(END_TIMEOUT, moved.changed()).await.is_err() {
                        self.lost(&running, "Its connection ended.".to_owned());
                    }
                }
                Step::Wait => {
                    tried = true;
                    // The sender is ours, so this cannot fail.
                    let _ = moved.changed().await;
                }
            }
        }
    }

    /// Starts it in the background, where it is not running and may be tried.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn warm_up(self: &Arc<Self>) {
        let step = self.life().look(Instant::now());
        if matches!(step, Step::Begin | Step::Retry) {
            self.begin();
        }
    }

    /// Waits until it is known what the service offers, or that it does not start. A service that failed before is
    /// tried again, but not waited for.
    pub async fn known(self: &Arc<Self>) -> Option<Arc<Listing>> {
        loop {
            let mut moved = self.moved.subscribe();
            if let Some(listing) = self.listing() {
                return Some(listing);
            }
            self.warm_up();
            let has_failed = {
                let life = self.life();
                life.phase() == Phase::Dead || life.patience.failures() > 0
            };
            if has_failed || self.shared.is_shut_down() {
                return None;
            }
            let _ = moved.changed().await;
        }
    }

    /// Whether what is known comes from disk, and so may be of another day.
    pub(crate) fn is_remembered(&self) -> bool {
        let life = self.life();
        life.is_remembered && life.listing.is_some()
    }

    /// Calls a tool. See [`Extension::call`].
    pub(crate) async fn call(
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
            None => match timeout(self.timeout, call).await {
                Ok(output) => output,
                Err(_) => ToolOutput::from_error(self.too_slow(tool)),
            },
        };
        let failure = match &output {
            Ok(output) => output.failure(),
            Err(error) => Some(error.clone()),
        };
        self.learn(&running, failure.as_ref());
        output
    }

    fn too_slow(&self, tool: &str) -> ToolError {
        ToolError::Timeout(format!(
            "`{tool}` of `{}` did not finish within {:?} and was stopped. Ask for less work in one call.",
            self.name, self.timeout
        ))
    }

    /// Asks for something that is no call of a tool.
    pub(crate) async fn ask<T>(
        self: &Arc<Self>,
        ask: impl AsyncFnOnce(Arc<dyn Extension>) -> ToolResult<T>,
    ) -> ToolResult<T> {
        let running = self.running().await?;
        let answer = ask(running.extension()).await;
        self.learn(&running, answer.as_ref().err());
        answer
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

    /// Asks the service for its own status; starts it where it is not running.
    ///
    /// # Errors
    ///
    /// Where it does not start, or does not answer in time.
    pub async fn extension_status(self: &Arc<Self>) -> ToolResult<HashMap<String, Value>> {
        let extension = self.running().await?.extension();
        let status = timeout(PING_TIMEOUT, extension.status()).await;
        let status = status.map_err(|_| ToolError::Timeout("the status did not come in time".to_owned()))?;
        status.map_err(ToolError::execution)
    }

    pub(super) fn announce(&self, change: ServiceChange) {
        self.shared.announce(ServiceEvent { id: self.id, name: self.name.clone(), change });
    }

    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
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
