//! [`ExtensionManager`]: an agent's own view of the service pool. Only the extensions it was given, nothing else.
//!
//! It needs no model: a program can list and call tools with it as an agent does.
//!
//! - `call`: from a name or a handle to a result; `managed_caller`: answers to the questions of tools;
//! - `content`: resources and prompts; `status`: the state of the extensions and their events; `options`: settings.

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

/// Why a manager could not be made or changed. A service that does not start is no such reason: it shows in
/// [`ExtensionManager::status`], and the others work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The name is taken.
    #[error("There are two extensions named `{0}`. Give one of them another name.")]
    Duplicate(String),
    /// No extension has the name.
    #[error("There is no extension `{name}`. There are: {known}.")]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// There is no place for goose's files.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The manager's cancellation token was used.
    #[error("The extension manager was cancelled.")]
    Cancelled,
}

/// The extensions of one agent.
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
    index: RwLock<Option<Indexed>>,
}

/// An index, and the versions of the listings that it was made from.
struct Indexed {
    versions: Vec<u64>,
    index: Arc<ToolIndex>,
}

impl ExtensionManager {
    /// A manager of these extensions, in the process's own pool. Those whose tools are not known from an earlier run are
    /// started in the background, side by side. Cancelling the token ends calls in flight and gives the services back.
    ///
    /// # Errors
    ///
    /// Fails if two of them have the same name.
    pub async fn new(
        configs: Vec<ExtensionConfig>,
        cancellation_token: CancellationToken,
    ) -> Result<Self, ManagerError> {
        Self::with_options(configs, cancellation_token, ManagerOptions::default()).await
    }

    /// As [`new`](Self::new), with all settings.
    ///
    /// # Errors
    ///
    /// As there.
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

    /// Adds an extension and, where its tools are not known, starts it in the background.
    ///
    /// # Errors
    ///
    /// Fails if the name is already in use.
    pub fn add(&self, config: &ExtensionConfig) -> Result<(), ManagerError> {
        self.inner.add(self.inner.bind(config))
    }

    /// Adds an extension of this program.
    ///
    /// # Errors
    ///
    /// Fails if the name is already in use.
    pub fn add_extension(&self, extension: Arc<dyn Extension>) -> Result<(), ManagerError> {
        let name = extension.name().to_owned();
        let binding = self.inner.pool.bind_launch(&name, Launch::in_process(extension), None);
        self.inner.add(BoundService::new(name, binding, None))
    }

    /// Replaces the extension of that name, or adds it. Calls that are under way end with the old one.
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
        // One after the other: both may want the same port.
        if let Some(replaced) = replaced {
            self.inner.release(&replaced).await;
        }
        bound.warm_up_where_unknown();
        Ok(())
    }

    /// Removes an extension; its service ends where no other agent uses it.
    ///
    /// # Errors
    ///
    /// Fails if there is none of that name.
    pub async fn remove(&self, name: &str) -> Result<(), ManagerError> {
        let bound = self.inner.find(name)?;
        self.inner.change(|services| {
            services.retain(|there| !Arc::ptr_eq(there, &bound));
            Ok(())
        })?;
        self.inner.release(&bound).await;
        Ok(())
    }

    /// Ends a service, forgets its failures and starts it anew, with the current secrets.
    ///
    /// # Errors
    ///
    /// Fails if there is none of that name.
    pub async fn restart(&self, name: &str) -> Result<(), ManagerError> {
        let bound = self.inner.find(name)?;
        match bound.config().filter(|config| !Arc::ptr_eq(&self.inner.bind(config).service, &bound.service)) {
            Some(config) => self.replace(config).await?,
            None => bound.service.stop().await,
        }
        self.inner.find(name)?.service.warm_up();
        Ok(())
    }

    /// All tools under the names that a model sees, in an order that does not change from run to run. Waits for
    /// extensions whose tools are not known yet, but for none that failed.
    ///
    /// # Errors
    ///
    /// None at present; a service that does not start is left out and shows in [`status`](Self::status).
    pub async fn list_tools(&self) -> ToolResult<Arc<[Tool]>> {
        self.inner.settle(|_| true).await;
        Ok(self.known_tools())
    }

    /// The tools that are known now.
    pub fn known_tools(&self) -> Arc<[Tool]> {
        Arc::clone(self.inner.index().tools())
    }

    /// All tools with their handles.
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

    /// The names of the extensions, in the order in which they were given.
    pub fn names(&self) -> Vec<String> {
        self.inner.services().iter().map(|bound| bound.name().to_owned()).collect()
    }

    /// The prompts of the extensions, by name: of those in this process as they are now, of servers as they were listed.
    pub async fn prompts(&self) -> Vec<(String, String)> {
        let services = self.inner.services();
        let prompts = move || {
            let prompts = services.iter().map(|bound| (bound.name().to_owned(), bound.service.prompt()));
            prompts.filter(|(_, prompt)| !prompt.is_empty()).collect()
        };
        tokio::task::spawn_blocking(prompts).await.unwrap_or_default()
    }

    /// Follows the changes of the extensions of this manager from now on.
    pub fn events(&self) -> Events {
        Events { events: self.inner.pool.events(), manager: Arc::downgrade(&self.inner) }
    }

    /// The service behind an extension.
    ///
    /// # Errors
    ///
    /// Fails if there is none of that name.
    pub fn service(&self, name: &str) -> Result<Arc<Service>, ManagerError> {
        Ok(Arc::clone(&self.inner.find(name)?.service))
    }

    /// Gives all services back; those without other users have ended when this returns.
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
        // Under the lock, so that closing the manager after this also gives back the addition.
        if self.cancellation.is_cancelled() {
            return Err(ManagerError::Cancelled);
        }
        let mut changed = services.to_vec();
        change(&mut changed)?;
        *services = changed.into();
        *self.index.write() = None;
        services
            .iter()
            .filter(|bound| bound.service.listing().is_none())
            .for_each(|bound| bound.service.warm_up());
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

    /// The tools as they are now.
    fn index(&self) -> Arc<ToolIndex> {
        let services = self.services();
        // Before the listings are read: a change in between shows at the next look.
        let versions: Vec<u64> = services.iter().map(|bound| bound.service.listing_version()).collect();
        if let Some(indexed) = &*self.index.read()
            && indexed.versions == versions
        {
            return Arc::clone(&indexed.index);
        }
        let index = Arc::new(ToolIndex::new(handles(&services)));
        // Kept only where the extensions are still these; the lock holds back changes of them.
        let now = self.services.read();
        if Arc::ptr_eq(&now, &services) {
            let indexed = Indexed { versions, index: Arc::clone(&index) };
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

    /// Waits within the manager's time limit; `None` if that is over.
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

    fn take_services(&self) -> Arc<[Arc<BoundService>]> {
        let mut services = self.services.write();
        *self.index.write() = None;
        std::mem::take(&mut *services)
    }

    async fn close(&self) {
        let services = self.take_services();
        join_all(services.iter().map(|bound| self.release(bound))).await;
    }
}

/// The tools that extensions list and the configuration allows, sorted so that their order is the same in every run.
/// Extensions that are not known yet have none.
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

/// Gives the services back when the token is cancelled. The task ends with the manager.
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
