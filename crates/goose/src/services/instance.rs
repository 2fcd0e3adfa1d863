//! [`Instance`]: a started service, and the tasks that monitor it. `start` creates it.

use std::sync::{Arc, OnceLock, Weak};

use goose_extension::{Change, Extension};
use goose_mcp_bridge::{Lifecycle, RemoteExtension};
use parking_lot::RwLock;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::task::AbortOnDropHandle;

use super::{
    listing::Listing, service::Service, state_machine::ServiceChange, tool_fingerprint::ToolFingerprint,
};

/// Started service.
pub(super) struct Instance {
    /// Newest snapshot.
    snapshot: RwLock<Snapshot>,
    /// Connection, if the service is not part of this process.
    pub(super) remote: Option<Arc<RemoteExtension>>,
    /// Tasks that follow its changes and its end while it runs.
    monitors: RwLock<Vec<AbortOnDropHandle<()>>>,
}

/// Extension with a fixed list of tools, and the fingerprints of the tools that were called.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) extension: Arc<dyn Extension>,
    fingerprints: Arc<[OnceLock<ToolFingerprint>]>,
}

impl Snapshot {
    fn new(extension: Arc<dyn Extension>) -> Self {
        let fingerprints = extension.tools().iter().map(|_| OnceLock::new()).collect();
        Self { extension, fingerprints }
    }

    /// Returns the fingerprint of a tool, by its name and its position in the list.
    pub(super) fn fingerprint(&self, name: &str, listed_at: usize) -> Option<&ToolFingerprint> {
        let tools = self.extension.tools();
        let is_there = tools.get(listed_at).is_some_and(|tool| tool.name() == name);
        // In a changed list, the tool may have another position.
        let position =
            if is_there { listed_at } else { tools.iter().position(|tool| tool.name() == name)? };
        Some(self.fingerprints[position].get_or_init(|| ToolFingerprint::new(name, &tools[position])))
    }
}

impl Instance {
    pub(super) fn local(extension: Arc<dyn Extension>) -> Self {
        let snapshot = RwLock::new(Snapshot::new(extension));
        Self { snapshot, remote: None, monitors: RwLock::default() }
    }

    pub(super) fn remote(remote: Arc<RemoteExtension>) -> Self {
        Self { remote: Some(Arc::clone(&remote)), ..Self::local(remote) }
    }

    pub(super) fn extension(&self) -> Arc<dyn Extension> {
        Arc::clone(&self.snapshot.read().extension)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot.read().clone()
    }

    /// Updates the snapshot. Returns true if there was a newer one.
    pub(super) fn renew(&self) -> bool {
        let extension = self.extension();
        let Some(latest) = extension.changes().and_then(|feed| feed.latest()) else { return false };
        let is_new = !Arc::ptr_eq(&extension, &latest);
        if is_new {
            *self.snapshot.write() = Snapshot::new(latest);
        }
        is_new
    }

    /// Returns the current listing.
    pub(super) fn listing(&self) -> Listing {
        let dropped = self.remote.as_ref().map(|remote| remote.dropped_tools_now()).unwrap_or_default();
        Listing::new(&*self.extension(), dropped)
    }

    pub(super) fn is_connected(&self) -> bool {
        self.remote.as_ref().is_none_or(|remote| remote.is_connected())
    }

    pub(super) fn lifecycle(&self) -> Lifecycle {
        self.remote.as_ref().map_or(Lifecycle::Auto, |remote| remote.lifecycle())
    }

    /// Returns the last lines of the server's standard error.
    pub(super) fn stderr_tail(&self) -> String {
        self.remote.as_ref().map(|remote| remote.stderr_tail()).unwrap_or_default()
    }

    /// Stops it. When this returns, its processes have ended.
    pub(super) async fn stop(&self) {
        self.monitors.write().clear();
        if let Some(remote) = &self.remote {
            remote.stop().await;
        }
    }
}

/// Monitors an instance until it ends.
pub(super) fn monitor(service: &Arc<Service>, instance: &Arc<Instance>) {
    let mut monitors = Vec::new();
    if let Some(feed) = instance.extension().changes() {
        let changes = follow_changes(feed.subscribe(), Arc::downgrade(service), Arc::downgrade(instance));
        monitors.push(AbortOnDropHandle::new(tokio::spawn(changes)));
        // A change before the subscription would be missed.
        if instance.renew() {
            service.renew(instance);
        }
    }
    if let Some(remote) = &instance.remote {
        let end = follow_end(remote.closed(), Arc::downgrade(service), Arc::downgrade(instance));
        monitors.push(AbortOnDropHandle::new(tokio::spawn(end)));
    }
    *instance.monitors.write() = monitors;
}

async fn follow_changes(mut changes: Receiver<Change>, service: Weak<Service>, instance: Weak<Instance>) {
    loop {
        let change = match changes.recv().await {
            Ok(change) => change,
            // Only the newest list counts, so missed changes do not matter.
            Err(RecvError::Lagged(_)) => Change::Tools,
            Err(RecvError::Closed) => return,
        };
        let (Some(service), Some(instance)) = (service.upgrade(), instance.upgrade()) else { return };
        match change {
            Change::Tools => {
                instance.renew();
                service.renew(&instance);
            }
            Change::Resources => service.announce(ServiceChange::Resources),
            Change::Prompts => service.announce(ServiceChange::Prompts),
            Change::ResourceUpdated(uri) => service.announce(ServiceChange::ResourceUpdated(uri)),
        }
    }
}

async fn follow_end(closed: impl Future<Output = ()>, service: Weak<Service>, instance: Weak<Instance>) {
    closed.await;
    let Some(instance) = instance.upgrade() else { return };
    // The exit code and the last lines of stderr arrive a moment after the stream has ended.
    let report = match &instance.remote {
        Some(remote) => remote.exit_report().await,
        None => String::new(),
    };
    if let Some(service) = service.upgrade() {
        service.lost(&instance, report);
    }
}
