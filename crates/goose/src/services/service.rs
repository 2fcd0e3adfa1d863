//! [`Service`]: one service of the pool, as its users see it. `supervision` starts and stops it.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use goose_extension::{
    CallContext, CheckedArguments, Extension, RichRenderable, Subscriptions, ToolError, ToolOutput,
    ToolResult,
};
use goose_mcp_bridge::{DroppedTool, Lifecycle};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    instance::Instance,
    launch::{Launch, LaunchKind},
    listing::{CachedListing, Listing},
    pool::Shared,
    state_machine::{NextAction, Phase, ServiceChange, ServiceEvent, ServiceId, ServiceState},
    tool_fingerprint::ToolFingerprint,
};
use crate::{config::DEFAULT_TIMEOUT, permission::Origin};

/// Time limit for the answer to a ping.
pub(super) const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the report of an end, after the connection is already closed.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Service of a [`ServicePool`](super::ServicePool). Dropping the last reference ends it.
pub struct Service {
    pub(super) id: ServiceId,
    pub(super) name: String,
    pub(super) launch: Launch,
    /// Maximum time without progress of a server's call.
    pub(super) timeout: Duration,
    /// Time limit of the configuration for in-process calls; without it, the tool's own limit applies.
    call_limit: Option<Duration>,
    pub(super) shared: Arc<Shared>,
    state: Mutex<ServiceState>,
    /// Notified of every change of state.
    pub(super) moved: watch::Sender<()>,
    /// Version of the listing, by which a copy can be recognized as stale.
    pub(super) listing_version: AtomicU64,
    pub(super) subscriptions: Subscriptions,
    /// Number of bindings.
    pub(super) bindings: AtomicUsize,
    /// Listing that is not on disk yet; locked while it is written.
    pub(super) unsaved: Arc<Mutex<Option<CachedListing>>>,
}

/// Call of a tool that was checked before.
pub(crate) struct ToolCallRequest<'a> {
    /// Name of the tool within the service.
    pub(crate) tool: &'a str,
    /// Position of the tool in the service's list at the time of the check.
    pub(crate) position: usize,
    /// Definition that was checked.
    pub(crate) fingerprint: &'a ToolFingerprint,
    pub(crate) arguments: CheckedArguments,
}

/// The definition of a tool changed since a call of it was checked. Nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the definition of `{tool}` changed since this call was checked; nothing was run")]
pub(crate) struct DefinitionChanged {
    pub(crate) tool: String,
}

/// State of a service, for people and programs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceReport {
    /// State of the service.
    pub phase: Phase,
    /// Reason for the state, if there is one.
    pub reason: Option<String>,
    /// Kind of service: `builtin`, `stdio`, `streamable_http`, …
    pub kind: &'static str,
    /// Number of restarts after failures.
    pub restarts: u32,
    /// Number of failures in a row.
    pub failures: u32,
    /// MCP version of the connection, if there is one.
    pub protocol: Option<String>,
    /// Last lines of its standard error.
    pub stderr: Option<String>,
    /// Tools that could not be used, with the reasons.
    pub dropped_tools: Vec<DroppedTool>,
}

impl Service {
    pub(super) fn new(name: &str, launch: Launch, limit: Option<Duration>, shared: Arc<Shared>) -> Arc<Self> {
        let cache = launch.listing_key.as_ref().zip(shared.options.cache.as_ref());
        let state = match (&launch.what, cache.and_then(|(key, cache)| cache.load(key))) {
            (LaunchKind::Invalid(reason), _) => ServiceState::invalid(reason.clone()),
            (_, Some(CachedListing { listing, lifecycle })) => {
                ServiceState::new(Some(Arc::new(listing)), lifecycle)
            }
            (_, None) => ServiceState::new(None, Lifecycle::Auto),
        };
        Arc::new(Self {
            id: shared.next_id(),
            name: name.to_owned(),
            launch,
            timeout: limit.unwrap_or(DEFAULT_TIMEOUT),
            call_limit: limit,
            shared,
            state: Mutex::new(state),
            moved: watch::Sender::default(),
            listing_version: AtomicU64::new(0),
            subscriptions: Subscriptions::default(),
            bindings: AtomicUsize::new(0),
            unsaved: Arc::default(),
        })
    }

    /// Returns its number within the pool.
    pub fn id(&self) -> ServiceId {
        self.id
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its state.
    pub fn phase(&self) -> Phase {
        self.state().phase()
    }

    /// Returns its listing; `None` if it was never started, or is dead.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.state().listing.clone()
    }

    /// Returns the reason why it does not work.
    pub(crate) fn reason(&self) -> Option<String> {
        self.state().reason.clone()
    }

    /// Returns a number that changes with the listing.
    pub(crate) fn listing_version(&self) -> u64 {
        self.listing_version.load(Ordering::Acquire)
    }

    /// Returns its state in full.
    pub fn report(&self) -> ServiceReport {
        let state = self.state();
        let instance = state.instance();
        let remote = instance.and_then(|instance| instance.remote.as_ref());
        ServiceReport {
            phase: state.phase(),
            reason: state.reason.clone(),
            kind: self.launch.kind,
            restarts: state.backoff.restarts,
            failures: state.backoff.failures,
            protocol: remote.and_then(|remote| remote.protocol_version()),
            stderr: instance.map(|instance| instance.stderr_tail()).filter(|words| !words.is_empty()),
            dropped_tools: state.listing.as_ref().map(|it| it.dropped.clone()).unwrap_or_default(),
        }
    }

    /// Starts it if it does not run. Waits for the start, and for the pause after a failure.
    ///
    /// # Errors
    ///
    /// [`ToolError::Disconnected`] with the reason if it does not start, or was given up.
    pub async fn ready(self: &Arc<Self>) -> ToolResult<()> {
        self.instance().await.map(drop)
    }

    /// Returns the extension itself, for others that require it. Starts the service if it does not run.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub async fn extension(self: &Arc<Self>) -> ToolResult<Arc<dyn Extension>> {
        Ok(self.instance().await?.extension())
    }

    async fn instance(self: &Arc<Self>) -> ToolResult<Arc<Instance>> {
        let mut tried = false;
        loop {
            let mut moved = self.moved.subscribe();
            let step = self.state().next_action(Instant::now());
            if matches!(step, NextAction::Begin | NextAction::Retry) && self.shared.is_shut_down() {
                return Err(unavailable(&self.name, "It was stopped with all others."));
            }
            match step {
                NextAction::Use(instance) => return Ok(instance),
                NextAction::Refuse(reason) => return Err(unavailable(&self.name, &reason)),
                // One attempt per use: another one right after a failure would fail as well.
                NextAction::Retry | NextAction::WaitUntil(_) if tried => {
                    return Err(unavailable(&self.name, &self.reason().unwrap_or_default()));
                }
                NextAction::WaitUntil(then) => tokio::time::sleep_until(then).await,
                NextAction::Begin | NextAction::Retry => self.begin(),
                NextAction::WaitForEnd(instance) => {
                    if timeout(END_TIMEOUT, moved.changed()).await.is_err() {
                        self.lost(&instance, "Its connection ended.".to_owned());
                    }
                }
                NextAction::Wait => {
                    tried = true;
                    // Cannot fail, because `self` holds the sender.
                    let _ = moved.changed().await;
                }
            }
        }
    }

    /// Starts it in the background if it does not run and may be started.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn warm_up(self: &Arc<Self>) {
        let step = self.state().next_action(Instant::now());
        if matches!(step, NextAction::Begin | NextAction::Retry) {
            self.begin();
        }
    }

    /// Waits for the listing, or for the failure to start. A service that failed before is started again, but
    /// not waited for.
    pub async fn wait_for_listing(self: &Arc<Self>) -> Option<Arc<Listing>> {
        loop {
            let mut moved = self.moved.subscribe();
            if let Some(listing) = self.listing() {
                return Some(listing);
            }
            self.warm_up();
            let has_failed = {
                let state = self.state();
                state.phase() == Phase::Dead || state.backoff.failures > 0
            };
            if has_failed || self.shared.is_shut_down() {
                return None;
            }
            let _ = moved.changed().await;
        }
    }

    /// Returns true if the listing comes from disk and may be out of date.
    pub(crate) fn is_remembered(&self) -> bool {
        let state = self.state();
        state.is_remembered && state.listing.is_some()
    }

    /// Returns its prompt for the model: the current one of an extension in this process, the listed one of a
    /// server. May read files. If an extension panics, the listed instructions are returned.
    pub(crate) fn prompt(&self) -> String {
        let in_process = self.state().instance().filter(|it| it.remote.is_none()).map(|it| it.extension());
        if let Some(extension) = in_process
            && let Ok(prompt) = catch_unwind(AssertUnwindSafe(|| extension.prompt()))
        {
            return prompt;
        }
        self.listing().map(|listing| listing.instructions.clone()).unwrap_or_default()
    }

    /// Returns its origin. A part of goose is trusted to describe itself correctly.
    pub(crate) fn origin(&self) -> Origin {
        self.launch.origin
    }

    /// Calls a tool. See [`Extension::call`].
    ///
    /// # Errors
    ///
    /// Fails if the definition of the tool changed since the call was checked, because the service was
    /// restarted or changed its tools. Nothing was run.
    pub(crate) async fn call(
        self: &Arc<Self>,
        request: ToolCallRequest<'_>,
        context: &CallContext,
    ) -> Result<ToolResult<ToolOutput>, DefinitionChanged> {
        let instance = match self.instance().await {
            Ok(instance) => instance,
            Err(error) => return Ok(ToolOutput::from_error(error)),
        };
        let ToolCallRequest { tool, position, fingerprint, arguments } = request;
        let snapshot = instance.snapshot();
        let extension = &snapshot.extension;
        if snapshot.fingerprint(tool, position) != Some(fingerprint) {
            // The listing may be older than the instance. It is updated, so that the next check sees the new
            // definition.
            if self.listing().is_none_or(|listing| listing.tools != extension.tools()) {
                self.renew(&instance);
            }
            return Err(DefinitionChanged { tool: tool.to_owned() });
        }
        let call = extension.call_checked(tool, arguments, context);
        // The connection limits calls of servers, because it knows about progress and questions.
        let output = match self.call_limit.filter(|_| instance.remote.is_none()) {
            None => call.await,
            Some(limit) => match timeout(limit, call).await {
                Ok(output) => output,
                Err(_) => ToolOutput::from_error(self.timed_out(tool, limit)),
            },
        };
        let failure = match &output {
            Ok(output) => output.failure(),
            Err(error) => Some(error.clone()),
        };
        self.record_outcome(&instance, failure.as_ref());
        Ok(output)
    }

    /// Returns what a call would change, if its tool can tell.
    pub(crate) async fn preview(
        self: &Arc<Self>,
        request: ToolCallRequest<'_>,
        context: &CallContext,
    ) -> Option<RichRenderable> {
        let instance = self.instance().await.ok()?;
        let snapshot = instance.snapshot();
        if snapshot.fingerprint(request.tool, request.position) != Some(request.fingerprint) {
            return None;
        }
        snapshot.extension.preview(request.tool, request.arguments, context).await
    }

    fn timed_out(&self, tool: &str, limit: Duration) -> ToolError {
        ToolError::Timeout(format!(
            "`{tool}` of `{}` did not finish within {limit:?} and was stopped. Ask for less work in one call.",
            self.name
        ))
    }

    /// Sends a request other than a tool call.
    pub(crate) async fn ask<T>(
        self: &Arc<Self>,
        ask: impl AsyncFnOnce(Arc<dyn Extension>) -> ToolResult<T>,
    ) -> ToolResult<T> {
        let instance = self.instance().await?;
        let answer = ask(instance.extension()).await;
        self.record_outcome(&instance, answer.as_ref().err());
        answer
    }

    /// Pings the service. Starts it if it does not run. Returns the time until the answer.
    ///
    /// # Errors
    ///
    /// Fails if it does not start, or does not answer in time.
    pub async fn ping(self: &Arc<Self>) -> ToolResult<Duration> {
        match &self.instance().await?.remote {
            Some(remote) => remote.ping(PING_TIMEOUT).await,
            None => Ok(Duration::ZERO),
        }
    }

    /// Asks the service for its own status. Starts it if it does not run.
    ///
    /// # Errors
    ///
    /// Fails if it does not start, or does not answer in time.
    pub async fn extension_status(self: &Arc<Self>) -> ToolResult<HashMap<String, Value>> {
        let extension = self.instance().await?.extension();
        let status = timeout(PING_TIMEOUT, extension.status()).await;
        let status = status.map_err(|_| ToolError::Timeout("the status did not come in time".to_owned()))?;
        status.map_err(ToolError::execution)
    }

    /// Adds a subscriber to a resource.
    pub(crate) async fn subscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        let subscribe = self.ask(async |extension| extension.subscribe(uri).await);
        self.subscriptions.add(uri, subscribe).await
    }

    /// Removes a subscriber from a resource.
    pub(crate) async fn unsubscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        let unsubscribe = self.ask(async |extension| extension.unsubscribe(uri).await);
        self.subscriptions.remove(uri, unsubscribe).await
    }

    pub(super) fn announce(&self, change: ServiceChange) {
        self.shared.announce(ServiceEvent { id: self.id, name: self.name.clone(), change });
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock()
    }
}

/// Returns the error for a service that does not run.
fn unavailable(name: &str, reason: &str) -> ToolError {
    ToolError::Disconnected(format!("The extension `{name}` is not available: {reason}"))
}

/// Restores the subscriptions at a restarted server, in the background.
pub(super) fn restore(subscriptions: &Subscriptions, extension: &Arc<dyn Extension>) {
    let uris = subscriptions.uris();
    if uris.is_empty() {
        return;
    }
    let extension = Arc::clone(extension);
    tokio::spawn(async move {
        for uri in uris {
            if let Err(error) = extension.subscribe(&uri).await {
                tracing::warn!(%error, uri, "a subscription was lost with a restart");
            }
        }
    });
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}
