//! Starting and stopping a service, and the events that report it. `state_machine` decides what to do.
//!
//! Events are sent under the lock of the [`ServiceState`], so that they arrive in the order of the changes.
//! No start begins while an earlier instance of the same service is still ending.

use std::sync::{Arc, Weak, atomic::Ordering};

use goose_extension::ToolError;
use goose_mcp_bridge::ConnectOptions;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{
    instance::{self, Instance},
    listing::CachedListing,
    service::{PING_TIMEOUT, Service, restore},
    start,
    state_machine::{NextAction, ServiceChange, ServiceState, StateChange, StopHandle},
};

/// Maximum time of a whole call, in multiples of the time without progress.
const MAX_SILENCES: u32 = 12;

impl Service {
    /// Begins a start, unless one is running.
    pub(super) fn begin(self: &Arc<Self>) {
        let (start, starting) = {
            let mut state = self.state();
            if self.shared.is_shut_down()
                || !matches!(state.next_action(Instant::now()), NextAction::Begin | NextAction::Retry)
            {
                return;
            }
            let (start, change) = state.begin();
            self.announce_state(change);
            let options = self.connect_options(&state);
            (start, start::start(self.launch.what.clone(), options, Arc::clone(&self.shared)))
        };
        let (service, ending) = (Arc::downgrade(self), self.state().ending());
        let task = tokio::spawn(async move {
            let attempt = Attempt { service, start };
            if let Some(ending) = ending {
                ending.await;
            }
            let result = starting.await;
            match (attempt.service.upgrade(), result) {
                (Some(service), Ok(instance)) => service.started(start, instance).await,
                (Some(service), Err(error)) => service.start_failed(start, error.to_string()),
                (None, Ok(instance)) => instance.stop().await,
                (None, Err(_)) => {}
            }
        });
        self.state().keep(start, AbortOnDropHandle::new(task));
    }

    fn connect_options(&self, state: &ServiceState) -> ConnectOptions {
        ConnectOptions {
            name: Some(self.name.clone()),
            lifecycle: state.lifecycle,
            handshake_timeout: self.shared.options.start_timeout,
            call_timeout: Some(self.timeout),
            max_call_time: Some(self.timeout.saturating_mul(MAX_SILENCES)),
            ..ConnectOptions::default()
        }
    }

    async fn started(self: &Arc<Self>, start: u64, instance: Instance) {
        let instance = Arc::new(instance);
        let listing = Arc::new(instance.listing());
        let is_wanted = {
            let mut state = self.state();
            let is_wanted = state.is_starting(start);
            if is_wanted {
                let change = state.started(Arc::clone(&instance), listing);
                self.listing_version.fetch_add(1, Ordering::AcqRel);
                self.announce_state(change);
            }
            is_wanted
        };
        if !is_wanted {
            return instance.stop().await;
        }
        instance::monitor(self, &instance);
        self.save();
        restore(&self.subscriptions, &instance.extension());
    }

    fn start_failed(&self, start: u64, reason: String) {
        let mut state = self.state();
        if state.is_starting(start) {
            self.fail(&mut state, reason);
        }
    }

    /// Handles an instance that ended by itself or must be ended. Ends what is left of it.
    pub(super) fn lost(&self, instance: &Arc<Instance>, reason: String) {
        let mut state = self.state();
        if state.is_current(instance) {
            state.ends(Arc::clone(instance));
            self.fail(&mut state, reason);
        }
    }

    fn fail(&self, state: &mut ServiceState, reason: String) {
        let change = state.failed(reason, self.launch.gives_up(), Instant::now());
        // A service that was given up has no listing any more.
        self.listing_version.fetch_add(1, Ordering::AcqRel);
        self.announce_state(change);
    }

    /// Updates the listing after the service changed its tools.
    pub(super) fn renew(self: &Arc<Self>, instance: &Arc<Instance>) {
        let listing = Arc::new(instance.listing());
        {
            let mut state = self.state();
            if !state.is_current(instance) {
                return;
            }
            state.listing = Some(listing);
            self.listing_version.fetch_add(1, Ordering::AcqRel);
            self.announce(ServiceChange::Tools);
        }
        self.save();
    }

    /// Updates the state of the service after a request.
    pub(super) fn record_outcome(self: &Arc<Self>, instance: &Arc<Instance>, failure: Option<&ToolError>) {
        match failure {
            Some(ToolError::Timeout(_)) => self.check_in_background(instance),
            Some(ToolError::Disconnected(_) | ToolError::Cancelled(_)) => {}
            _ => {
                let mut state = self.state();
                if state.backoff.failures > 0 && state.is_current(instance) {
                    state.backoff.worked();
                }
            }
        }
    }

    /// Checks a program after a request timed out, and ends it if it hangs. Remote servers are left running.
    fn check_in_background(self: &Arc<Self>, instance: &Arc<Instance>) {
        let Some(remote) = instance.remote.clone().filter(|remote| remote.is_program()) else { return };
        let (service, instance) = (Arc::downgrade(self), Arc::clone(instance));
        tokio::spawn(async move {
            if remote.ping(PING_TIMEOUT).await.is_err()
                && let Some(service) = service.upgrade()
            {
                service.lost(&instance, "It let a call time out and does not answer any more.".to_owned());
            }
        });
    }

    /// Stops it and forgets its failures; its next use starts it again. When this returns, its processes have
    /// ended. A running start is aborted.
    pub async fn stop(&self) {
        let StopHandle { start, ending } = {
            let mut state = self.state();
            let (stop, change) = state.stop();
            if let Some(change) = change {
                self.announce_state(change);
            }
            stop
        };
        if let Some(start) = start {
            start.abort();
            // The result does not matter: an aborted start ends the processes that it has started.
            let _ = start.await;
        }
        if let Some(ending) = ending {
            ending.await;
        }
    }

    /// Saves the listing to disk in the background. The last one wins.
    fn save(&self) {
        let Some((key, cache)) = self.launch.listing_key.clone().zip(self.shared.options.cache.clone())
        else {
            return;
        };
        let Some(listing) = self.cached_listing() else { return };
        let unsaved = Arc::clone(&self.unsaved);
        *unsaved.lock() = Some(listing);
        tokio::task::spawn_blocking(move || {
            let mut unsaved = unsaved.lock();
            let saved = unsaved.take().map(|listing| cache.save(&key, &listing));
            if let Some(Err(error)) = saved {
                tracing::warn!(%error, "a tool list could not be kept");
            }
        });
    }

    fn cached_listing(&self) -> Option<CachedListing> {
        let state = self.state();
        Some(CachedListing { listing: state.listing.as_deref()?.clone(), lifecycle: state.lifecycle })
    }

    fn announce_state(&self, (phase, reason): StateChange) {
        self.announce(ServiceChange::Phase(phase, reason));
        self.moved.send_replace(());
    }
}

/// Running start. If it ends without a result (it panicked, or its runtime is gone), it counts as failed, so
/// that no caller waits forever.
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
