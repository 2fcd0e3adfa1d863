//! [`ExtensionManager`]: one agent's view of the service pool, with only the extensions that the agent was
//! given.
//!
//! It needs no model: a program can list and call tools with it as an agent does. It does not decide about
//! permissions; the call path does.
//!
//! - `call`: tool calls; `managed_caller`: answers to the questions of tools;
//! - `content`: resources and prompts; `status`: the state of the extensions and their events; `options`:
//!   settings.

mod call;
mod content;
mod managed_caller;
mod options;
mod status;

use std::sync::Arc;

use futures::future::join_all;
use goose_extension::{Extension, Tool, ToolResult};
use parking_lot::RwLock;
use thiserror::Error;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::{
    call::Parameters,
    content::{FromExtension, Partial},
    options::{Consent, ManagerOptions},
    status::{Events, ExtensionStatus},
};
use super::{
    bound_service::BoundService,
    tool_index::{ToolHandle, ToolIndex},
    tool_names as names,
};
use crate::{
    config::{ConfigError, ExtensionConfig},
    permission::Origin,
    services::{BindingContext, Launch, Service, ServicePool},
};

/// Error for a manager that cannot be created or changed. A service that does not start is not such an error:
/// [`ExtensionManager::status`] reports it, and the others work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The name is taken.
    #[error("There are two extensions named `{0}`. Give one of them another name.")]
    Duplicate(String),
    /// No extension has the name.
    #[error("There is no extension `{name}`. There are: {known}.")]
    Unknown {
        /// Requested name.
        name: String,
        /// Known names.
        known: String,
    },
    /// goose's folders cannot be determined.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The manager was cancelled.
    #[error("The extension manager was cancelled.")]
    Cancelled,
}

/// Extensions of one agent.
pub struct ExtensionManager {
    inner: Arc<Inner>,
    /// Ends the task that waits for the cancellation.
    _guard: DropGuard,
}

struct Inner {
    pool: Arc<ServicePool>,
    context: BindingContext,
    options: ManagerOptions,
    cancellation: CancellationToken,
    services: RwLock<Arc<[Arc<BoundService>]>>,
    index: RwLock<Option<IndexSnapshot>>,
}

/// A tool index with the listing versions that it was built from.
struct IndexSnapshot {
    versions: Vec<u64>,
    index: Arc<ToolIndex>,
}

impl ExtensionManager {
    /// Creates a manager of these extensions in the shared pool of the process. Extensions whose tools are
    /// not known from an earlier run are started in the background, concurrently. Cancelling the token ends
    /// running calls and releases the services.
    ///
    /// # Errors
    ///
    /// Fails if two extensions have the same name.
    pub async fn new(
        configs: Vec<ExtensionConfig>,
        cancellation_token: CancellationToken,
    ) -> Result<Self, ManagerError> {
        Self::with_options(configs, cancellation_token, ManagerOptions::default()).await
    }

    /// Creates a manager with all settings; see [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// Fails if two extensions have the same name.
    #[expect(clippy::unused_async, reason = "starting tasks needs a runtime, and the signature says so")]
    pub async fn with_options(
        configs: Vec<ExtensionConfig>,
        cancellation_token: CancellationToken,
        options: ManagerOptions,
    ) -> Result<Self, ManagerError> {
        let (pool, context) = match &options.pool {
            Some((pool, context)) => (Arc::clone(pool), context.clone()),
            None => ServicePool::shared()?,
        };
        let inner = Arc::new(Inner {
            pool,
            context,
            options,
            cancellation: cancellation_token,
            services: RwLock::new(Arc::default()),
            index: RwLock::default(),
        });
        for config in &configs {
            inner.add(inner.bind(config))?;
        }
        Ok(Self { _guard: close_when_cancelled(&inner), inner })
    }

    /// Adds an extension, and starts it in the background if its tools are not known.
    ///
    /// # Errors
    ///
    /// Fails if the name is already in use.
    pub fn add(&self, config: &ExtensionConfig) -> Result<(), ManagerError> {
        self.inner.add(self.inner.bind(config))
    }

    /// Adds an extension that runs in this program.
    ///
    /// # Errors
    ///
    /// Fails if the name is already in use.
    pub fn add_extension(&self, extension: Arc<dyn Extension>) -> Result<(), ManagerError> {
        let name = extension.name().to_owned();
        let binding = self.inner.pool.bind_launch(&name, Launch::in_process(extension), None);
        self.inner.add(BoundService::new(name, binding, None))
    }

    /// Replaces the extension of that name, or adds it. Running calls finish with the old one.
    ///
    /// # Errors
    ///
    /// Fails if the manager was cancelled.
    pub async fn replace(&self, config: &ExtensionConfig) -> Result<(), ManagerError> {
        let bound = self.inner.bind(config);
        let mut replaced = None;
        self.inner.change(|services| {
            match services.iter_mut().find(|there| there.name() == bound.name()) {
                Some(there) => replaced = Some(std::mem::replace(there, Arc::clone(&bound))),
                None => services.push(Arc::clone(&bound)),
            }
            Ok(())
        })?;
        // The old one ends before the new one starts, because both may need the same port.
        if let Some(replaced) = replaced {
            self.inner.release(&replaced).await;
        }
        bound.warm_up_where_unknown();
        Ok(())
    }

    /// Removes an extension. Its service ends if no other agent uses it.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn remove(&self, name: &str) -> Result<(), ManagerError> {
        let bound = self.inner.find(name)?;
        self.inner.change(|services| {
            services.retain(|there| !Arc::ptr_eq(there, &bound));
            Ok(())
        })?;
        self.inner.release(&bound).await;
        Ok(())
    }

    /// Restarts a service with the current secrets, and forgets its failures.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn restart(&self, name: &str) -> Result<(), ManagerError> {
        let bound = self.inner.find(name)?;
        let config = bound.config.as_ref();
        match config.filter(|config| !Arc::ptr_eq(&self.inner.bind(config).service, &bound.service)) {
            Some(config) => self.replace(config).await?,
            None => bound.service.stop().await,
        }
        self.inner.find(name)?.service.warm_up();
        Ok(())
    }

    /// Lists all tools under the names that a model sees, in an order that is the same in every run. Waits
    /// for extensions whose tools are not known yet, except for those that failed.
    ///
    /// # Errors
    ///
    /// Never fails at present. A service that does not start is left out; [`status`](Self::status) reports
    /// it.
    pub async fn list_tools(&self) -> ToolResult<Arc<[Tool]>> {
        self.settle().await;
        Ok(self.known_tools())
    }

    /// Waits for extensions whose tools are not known yet, except for those that failed.
    pub(super) async fn settle(&self) {
        self.inner.settle(|_| true).await;
    }

    /// Returns the tools that are known now, without waiting.
    pub fn known_tools(&self) -> Arc<[Tool]> {
        Arc::clone(self.inner.index().tools())
    }

    /// Returns all tools with their handles.
    pub(super) fn index(&self) -> Arc<ToolIndex> {
        self.inner.index()
    }

    /// Returns the names of the servers that are known to have resources.
    pub(super) fn servers_with_resources(&self) -> Vec<String> {
        let has = |bound: &&Arc<BoundService>| {
            bound.service.origin() == Origin::Foreign
                && bound.service.listing().is_some_and(|listing| listing.features.resources)
        };
        self.inner.services().iter().filter(has).map(|bound| bound.name().to_owned()).collect()
    }

    /// Starts all extensions in the background.
    pub fn warm_up(&self) {
        self.inner.services().iter().for_each(|bound| bound.service.warm_up());
    }

    /// Returns the names of the extensions, in the order in which they were given.
    pub fn names(&self) -> Vec<String> {
        self.inner.services().iter().map(|bound| bound.name().to_owned()).collect()
    }

    /// Returns the prompts of the extensions by name: the current ones of extensions in this process,
    /// and the listed ones of servers.
    pub async fn prompts(&self) -> Vec<(String, String)> {
        let services = self.inner.services();
        let prompts = move || {
            let prompts = services.iter().map(|bound| (bound.name().to_owned(), bound.service.prompt()));
            prompts.filter(|(_, prompt)| !prompt.is_empty()).collect()
        };
        tokio::task::spawn_blocking(prompts).await.unwrap_or_default()
    }

    /// Subscribes to changes of this manager's extensions.
    pub fn events(&self) -> Events {
        Events { events: self.inner.pool.events(), manager: Arc::downgrade(&self.inner) }
    }

    /// Returns the service behind an extension.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub fn service(&self, name: &str) -> Result<Arc<Service>, ManagerError> {
        Ok(Arc::clone(&self.inner.find(name)?.service))
    }

    /// Releases all services. Those without other users have ended when this returns.
    pub async fn close(&self) {
        self.inner.close().await;
    }
}

impl Inner {
    fn bind(&self, config: &ExtensionConfig) -> Arc<BoundService> {
        BoundService::new(config.key(), self.pool.bind(config, &self.context), Some(config.clone()))
    }

    fn add(&self, bound: Arc<BoundService>) -> Result<(), ManagerError> {
        self.change(|services| {
            if services.iter().any(|there| there.name() == bound.name()) {
                return Err(ManagerError::Duplicate(bound.name().to_owned()));
            }
            services.push(Arc::clone(&bound));
            Ok(())
        })?;
        bound.warm_up_where_unknown();
        Ok(())
    }

    /// Changes the list of extensions.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Arc<BoundService>>) -> Result<(), ManagerError>,
    ) -> Result<(), ManagerError> {
        let mut services = self.services.write();
        // Checked under the lock, so that a manager that is closed later also releases the new service.
        if self.cancellation.is_cancelled() {
            return Err(ManagerError::Cancelled);
        }
        let mut changed = services.to_vec();
        change(&mut changed)?;
        *services = changed.into();
        *self.index.write() = None;
        Ok(())
    }

    fn services(&self) -> Arc<[Arc<BoundService>]> {
        Arc::clone(&self.services.read())
    }

    fn find(&self, name: &str) -> Result<Arc<BoundService>, ManagerError> {
        let services = self.services();
        services.iter().find(|bound| bound.name() == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = services.iter().map(|bound| bound.name()).collect();
            ManagerError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Returns the index of the current tools.
    fn index(&self) -> Arc<ToolIndex> {
        let services = self.services();
        // Read before the listings, so that a change in between is noticed next time.
        let versions: Vec<u64> = services.iter().map(|bound| bound.service.listing_version()).collect();
        if let Some(indexed) = &*self.index.read()
            && indexed.versions == versions
        {
            return Arc::clone(&indexed.index);
        }
        let index = Arc::new(ToolIndex::new(handles(&services)));
        // Kept only if the extensions are unchanged. The lock blocks changes meanwhile.
        let now = self.services.read();
        if Arc::ptr_eq(&now, &services) {
            let indexed = IndexSnapshot { versions, index: Arc::clone(&index) };
            *self.index.write() = Some(indexed);
        }
        index
    }

    /// Waits for the listings of some extensions, within the manager's time limit.
    async fn settle(&self, concerned: impl Fn(&BoundService) -> bool) {
        let services = self.services();
        let unknown: Vec<&Arc<BoundService>> =
            services.iter().filter(|bound| concerned(bound) && bound.service.listing().is_none()).collect();
        if unknown.is_empty() {
            return;
        }
        let listings = join_all(unknown.iter().map(|bound| bound.service.wait_for_listing()));
        self.with_timeout(listings).await;
    }

    /// Waits within the manager's time limit. Returns `None` if the time is over.
    async fn with_timeout<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let work = self.cancellation.run_until_cancelled(work);
        match self.options.patience {
            Some(patience) => tokio::time::timeout(patience, work).await.ok().flatten(),
            None => work.await,
        }
    }

    async fn release(&self, bound: &BoundService) {
        if let Some(binding) = bound.unbind() {
            self.pool.release(binding).await;
        }
    }

    async fn close(&self) {
        let services = {
            let mut services = self.services.write();
            *self.index.write() = None;
            std::mem::take(&mut *services)
        };
        join_all(services.iter().map(|bound| self.release(bound))).await;
    }
}

/// Returns the listed tools that the configuration allows, in an order that is the same in every run.
/// Extensions without a known listing have none.
fn handles(services: &[Arc<BoundService>]) -> Vec<Arc<ToolHandle>> {
    let mut found: Vec<(&Arc<BoundService>, usize, Tool)> = Vec::new();
    for bound in services {
        let Some(listing) = bound.service.listing() else { continue };
        let allowed = listing.tools.iter().enumerate().filter(|(_, tool)| bound.allows(tool.name()));
        found.extend(allowed.map(|(position, tool)| (bound, position, tool.clone())));
    }
    found.sort_by(|(a, _, tool_a), (b, _, tool_b)| (a.name(), tool_a.name()).cmp(&(b.name(), tool_b.name())));
    let pairs: Vec<(&str, &str)> = found.iter().map(|(bound, _, tool)| (bound.name(), tool.name())).collect();
    let names = names::assign(&pairs);
    let named = found.into_iter().zip(names);
    named.map(|((bound, at, tool), name)| Arc::new(ToolHandle::new(bound, at, tool, name))).collect()
}

/// Releases the services when the token is cancelled. The task ends with the manager.
fn close_when_cancelled(inner: &Arc<Inner>) -> DropGuard {
    let (ends, cancelled) = (CancellationToken::new(), inner.cancellation.clone());
    let (guard, weak) = (ends.clone().drop_guard(), Arc::downgrade(inner));
    tokio::spawn(async move {
        if ends.run_until_cancelled(cancelled.cancelled()).await.is_some()
            && let Some(inner) = weak.upgrade()
        {
            inner.close().await;
        }
    });
    guard
}

impl std::fmt::Debug for ExtensionManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtensionManager").field("extensions", &self.names()).finish_non_exhaustive()
    }
}
