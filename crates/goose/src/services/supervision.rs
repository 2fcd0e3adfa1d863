//! The life of a service: its starts, its ends, and what is told of them.
//!
//! What is told is told under the lock of its [`Life`], so that events come in the order in which things happened.
//! Nothing is started while something of the same service is still ending.

use std::sync::{Arc, PoisonError, Weak, atomic::Ordering};

use goose_extension::ToolError;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{
    follow,
    life::{Life, Rest, Step, Told},
    listing_cache::Kept,
    phase::ServiceChange,
    running::Running,
    service::{PING_TIMEOUT, Service},
    start, subscriptions,
};

/// How much longer than its silence a call may take in all, however much progress it reports.
const PATIENCE_WITH_PROGRESS: u32 = 12;

impl Service {
    /// Begins a start, unless somebody else was quicker.
    pub(super) fn begin(self: &Arc<Self>) {
        let (start, starting) = {
            let mut life = self.life();
            if self.shared.is_shut_down() || !matches!(life.look(Instant::now()), Step::Begin | Step::Retry) {
                return;
            }
            let (start, told) = life.begin();
            self.tell(told);
            (start, start::start(self.launch.what.clone(), self.limits(&life), Arc::clone(&self.shared)))
        };
        let (service, ending) = (Arc::downgrade(self), self.life().ending());
        let task = tokio::spawn(async move {
            let attempt = Attempt { service, start };
            if let Some(ending) = ending {
                ending.await;
            }
            let result = starting.await;
            match (attempt.service.upgrade(), result) {
                (Some(service), Ok(running)) => service.started(start, running).await,
                (Some(service), Err(error)) => service.start_failed(start, error.to_string()),
                (None, Ok(running)) => running.stop().await,
                (None, Err(_)) => {}
            }
        });
        self.life().keep(start, AbortOnDropHandle::new(task));
    }

    fn limits(&self, life: &Life) -> start::Limits {
        start::Limits {
            name: self.name.clone(),
            call_timeout: self.timeout,
            max_call_time: self.timeout.saturating_mul(PATIENCE_WITH_PROGRESS),
            lifecycle: life.lifecycle,
        }
    }

    async fn started(self: &Arc<Self>, start: u64, running: Running) {
        let running = Arc::new(running);
        let listing = Arc::new(running.listing());
        let is_wanted = {
            let mut life = self.life();
            let is_wanted = life.is_starting(start);
            if is_wanted {
                let told = life.started(Arc::clone(&running), listing);
                self.edition.fetch_add(1, Ordering::AcqRel);
                self.tell(told);
            }
            is_wanted
        };
        if !is_wanted {
            return running.stop().await;
        }
        follow::follow(self, &running);
        self.save();
        subscriptions::restore(&self.subscriptions, &running.extension());
    }

    fn start_failed(&self, start: u64, reason: String) {
        let mut life = self.life();
        if life.is_starting(start) {
            self.fail(&mut life, reason);
        }
    }

    /// A running service ended by itself, or has to be ended; what is left of it is ended now.
    pub(super) fn lost(&self, running: &Arc<Running>, reason: String) {
        let mut life = self.life();
        if life.is_running(running) {
            life.ends(Arc::clone(running));
            self.fail(&mut life, reason);
        }
    }

    fn fail(&self, life: &mut Life, reason: String) {
        let told = life.failed(reason, self.launch.gives_up(), Instant::now());
        // The tools may be withdrawn now.
        self.edition.fetch_add(1, Ordering::AcqRel);
        self.tell(told);
    }

    /// The service announced other tools.
    pub(super) fn renew(self: &Arc<Self>, running: &Arc<Running>) {
        let listing = Arc::new(running.listing());
        {
            let mut life = self.life();
            if !life.is_running(running) {
                return;
            }
            life.listing = Some(listing);
            self.edition.fetch_add(1, Ordering::AcqRel);
            self.announce(ServiceChange::Tools);
        }
        self.save();
    }

    /// What the end of a request says about the service.
    pub(super) fn learn(self: &Arc<Self>, running: &Arc<Running>, failure: Option<&ToolError>) {
        match failure {
            Some(ToolError::Timeout(_)) => self.check_in_background(running),
            Some(ToolError::Disconnected(_) | ToolError::Cancelled(_)) => {}
            _ => {
                let mut life = self.life();
                if life.patience.failures() > 0 && life.is_running(running) {
                    life.patience.worked();
                }
            }
        }
    }

    /// A program that let a request time out is either busy or hangs; one that hangs is ended. A server elsewhere is not
    /// ours to end.
    fn check_in_background(self: &Arc<Self>, running: &Arc<Running>) {
        let Some(remote) = running.remote.clone().filter(|remote| remote.is_program()) else { return };
        let (service, running) = (Arc::downgrade(self), Arc::clone(running));
        tokio::spawn(async move {
            if remote.ping(PING_TIMEOUT).await.is_err()
                && let Some(service) = service.upgrade()
            {
                service.lost(&running, "It let a call time out and does not answer any more.".to_owned());
            }
        });
    }

    /// Ends it and forgets its failures; its next use starts it anew. When this returns, nothing of it is left; a start
    /// that was under way is broken off and what it had started is killed.
    pub async fn stop(&self) {
        let Rest { start, ending } = {
            let mut life = self.life();
            let (rest, told) = life.rest();
            self.tell(told);
            rest
        };
        if let Some(start) = start {
            start.abort();
            // Only that it is over counts; what it has started is ended with it.
            let _ = start.await;
        }
        if let Some(ending) = ending {
            ending.await;
        }
    }

    /// Keeps the listing on disk, in the background. The last one wins, whoever comes first.
    fn save(&self) {
        let Some((key, cache)) = self.launch.listing_key.clone().zip(self.shared.options.cache.clone())
        else {
            return;
        };
        let Some(kept) = self.kept() else { return };
        let unsaved = Arc::clone(&self.unsaved);
        *unsaved.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        tokio::task::spawn_blocking(move || {
            let mut unsaved = unsaved.lock().unwrap_or_else(PoisonError::into_inner);
            let saved = unsaved.take().map(|kept| cache.save(&key, &kept));
            if let Some(Err(error)) = saved {
                tracing::warn!(%error, "a tool list could not be kept");
            }
        });
    }

    fn kept(&self) -> Option<Kept> {
        let life = self.life();
        Some(Kept { listing: life.listing.as_deref()?.clone(), lifecycle: life.lifecycle })
    }

    fn tell(&self, told: Told) {
        let Some((phase, reason)) = told else { return };
        self.announce(ServiceChange::Phase(phase, reason));
        self.moved.send_replace(());
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
