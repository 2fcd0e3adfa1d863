//! [`ExtensionManager`]: an agent's own view of the service pool. Only the extensions it was given, nothing else.
//!
//! It needs no model: a program can list and call tools with it as an agent does.
//!
//! - `bound`: a service as this manager may use it; `names`: what its tools are called; `catalog`: all tools, indexed;
//! - `call`: from a name to a result; `parameters`: the forms of arguments; `questions`: who answers what tools ask;
//! - `resources`, `prompts`: the other things that extensions have; `status`: how they are; `events`: what happens to
//!   them.

mod bound;
mod call;
mod catalog;
mod events;
mod names;
mod options;
mod parameters;
mod prompts;
mod questions;
mod resources;
mod status;

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::join_all;
use goose_extension::{Extension, Tool, ToolResult};
use thiserror::Error;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{bound::Bound, catalog::Catalog};
pub use self::{
    events::Events,
    options::{Consent, ManagerOptions},
    parameters::Parameters,
    resources::{Gathered, Owned},
    status::ExtensionStatus,
};
use crate::{
    config::{ConfigError, DEFAULT_TIMEOUT, ExtensionConfig},
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
        /// What was asked for.
        name: String,
        /// What there is.
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
    bounds: RwLock<Arc<[Arc<Bound>]>>,
    catalog: RwLock<Option<Arc<Catalog>>>,
}

impl ExtensionManager {
    /// A manager of these extensions, in the process's own pool. Those whose tools are not known from an earlier run are
    /// started in the background, side by side. Cancelling the token ends calls in flight and gives the services back.
    ///
    /// # Errors
    ///
    /// Where two of them have the same name.
    pub async fn new(
        configs: Vec<ExtensionConfig>,
        cancellation_token: CancellationToken,
    ) -> Result<Self, ManagerError> {
        Self::with_options(configs, cancellation_token, ManagerOptions::default()).await
    }

    /// As [`new`](Self::new), with everything that can be said.
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
            bounds: RwLock::new(Arc::default()),
            catalog: RwLock::default(),
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
    /// Where there is one of that name already.
    pub fn add(&self, config: &ExtensionConfig) -> Result<(), ManagerError> {
        self.inner.add(self.inner.bind(config))
    }

    /// Adds an extension of this program.
    ///
    /// # Errors
    ///
    /// Where there is one of that name already.
    pub fn add_extension(&self, extension: Arc<dyn Extension>) -> Result<(), ManagerError> {
        let name = extension.name().to_owned();
        let binding =
            self.inner.pool.bind_launch(&name, Launch::given(extension, "in_process"), DEFAULT_TIMEOUT);
        self.inner.add(Bound::new(name, binding, None))
    }

    /// Puts a changed extension in the place of the one of that name, or adds it. Calls that are under way end as they
    /// began.
    ///
    /// # Errors
    ///
    /// Where the manager was cancelled.
    pub async fn replace(&self, config: &ExtensionConfig) -> Result<(), ManagerError> {
        let bound = self.inner.bind(config);
        let mut replaced = None;
        self.inner.change(|bounds| {
            match bounds.iter_mut().find(|there| there.name() == bound.name()) {
                Some(there) => replaced = Some(std::mem::replace(there, Arc::clone(&bound))),
                None => bounds.push(Arc::clone(&bound)),
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
    /// Where there is none of that name.
    pub async fn remove(&self, name: &str) -> Result<(), ManagerError> {
        let bound = self.inner.find(name)?;
        self.inner.change(|bounds| {
            bounds.retain(|there| !Arc::ptr_eq(there, &bound));
            Ok(())
        })?;
        self.inner.release(&bound).await;
        Ok(())
    }

    /// Ends a service, forgets its failures and starts it anew, with the secrets of today.
    ///
    /// # Errors
    ///
    /// Where there is none of that name.
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
        Ok(self.inner.catalog().tools())
    }

    /// The tools that are known now.
    pub fn known_tools(&self) -> Arc<[Tool]> {
        self.inner.catalog().tools()
    }

    /// Starts all extensions in the background.
    pub fn warm_up(&self) {
        self.inner.bounds().iter().for_each(|bound| bound.service.warm_up());
    }

    /// The names of the extensions, in the order in which they were given.
    pub fn names(&self) -> Vec<String> {
        self.inner.bounds().iter().map(|bound| bound.name().to_owned()).collect()
    }

    /// What the extensions say about how to use them.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let bounds = self.inner.bounds();
        let known = bounds.iter().filter_map(|bound| Some((bound.name(), bound.service.listing()?)));
        known
            .filter(|(_, listing)| !listing.instructions.is_empty())
            .map(|(name, listing)| (name.to_owned(), listing.instructions.clone()))
            .collect()
    }

    /// Follows what happens to the extensions of this manager from now on.
    pub fn events(&self) -> Events {
        Events { events: self.inner.pool.events(), manager: Arc::downgrade(&self.inner) }
    }

    /// The service behind an extension, to look after it.
    ///
    /// # Errors
    ///
    /// Where there is none of that name.
    pub fn service(&self, name: &str) -> Result<Arc<Service>, ManagerError> {
        Ok(Arc::clone(&self.inner.find(name)?.service))
    }

    /// Gives all services back; those that nobody else uses are gone when this returns.
    pub async fn close(&self) {
        self.inner.close().await;
    }
}

impl Inner {
    fn bind(&self, config: &ExtensionConfig) -> Arc<Bound> {
        let binding = match self.options.frontend_extension(config) {
            Some(extension) => self.pool.bind_launch(
                &config.key(),
                Launch::given(extension, config.type_name()),
                config.timeout(),
            ),
            None => self.pool.bind(config, &self.context),
        };
        Bound::new(config.key(), binding, Some(config.clone()))
    }

    fn add(&self, bound: Arc<Bound>) -> Result<(), ManagerError> {
        self.change(|bounds| {
            if bounds.iter().any(|there| there.name() == bound.name()) {
                return Err(ManagerError::Duplicate(bound.name().to_owned()));
            }
            bounds.push(Arc::clone(&bound));
            Ok(())
        })?;
        bound.warm_up_where_unknown();
        Ok(())
    }

    /// Changes the list of extensions.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Arc<Bound>>) -> Result<(), ManagerError>,
    ) -> Result<(), ManagerError> {
        let mut bounds = self.bounds.write().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: whoever closes the manager after this takes what is added here.
        if self.cancellation.is_cancelled() {
            return Err(ManagerError::Cancelled);
        }
        let mut changed = bounds.to_vec();
        change(&mut changed)?;
        *bounds = changed.into();
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = None;
        bounds
            .iter()
            .filter(|bound| bound.service.listing().is_none())
            .for_each(|bound| bound.service.warm_up());
        Ok(())
    }

    fn bounds(&self) -> Arc<[Arc<Bound>]> {
        Arc::clone(&self.bounds.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn find(&self, name: &str) -> Result<Arc<Bound>, ManagerError> {
        let bounds = self.bounds();
        bounds.iter().find(|bound| bound.name() == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = bounds.iter().map(|bound| bound.name()).collect();
            ManagerError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// The tools as they are now.
    fn catalog(&self) -> Arc<Catalog> {
        let bounds = self.bounds();
        if let Some(catalog) = &*self.catalog.read().unwrap_or_else(PoisonError::into_inner)
            && catalog.is_current(&bounds)
        {
            return Arc::clone(catalog);
        }
        let catalog = Arc::new(Catalog::of(&bounds));
        // Kept only where the extensions are still these; the lock holds back whoever would change them.
        let now = self.bounds.read().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&now, &bounds) {
            *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&catalog));
        }
        catalog
    }

    /// Waits until it is known what some extensions offer, as long as the manager may wait.
    async fn settle(&self, concerned: impl Fn(&Bound) -> bool) {
        let bounds = self.bounds();
        let unknown: Vec<&Arc<Bound>> =
            bounds.iter().filter(|bound| concerned(bound) && bound.service.listing().is_none()).collect();
        if unknown.is_empty() {
            return;
        }
        let known = join_all(unknown.iter().map(|bound| bound.service.known()));
        self.patiently(known).await;
    }

    /// Waits as long as the manager may; what is not there by then is done without.
    async fn patiently<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let work = self.cancellation.run_until_cancelled(work);
        match self.options.patience {
            Some(patience) => tokio::time::timeout(patience, work).await.ok().flatten(),
            None => work.await,
        }
    }

    async fn release(&self, bound: &Bound) {
        if let Some(binding) = bound.unbind() {
            self.pool.release(binding).await;
        }
    }

    fn take_bounds(&self) -> Arc<[Arc<Bound>]> {
        let mut bounds = self.bounds.write().unwrap_or_else(PoisonError::into_inner);
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = None;
        std::mem::take(&mut *bounds)
    }

    async fn close(&self) {
        let bounds = self.take_bounds();
        join_all(bounds.iter().map(|bound| self.release(bound))).await;
    }
}

/// Gives the services back when the token is used. The task ends with the manager.
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
