//! [`ServicePool`]: all services of a process, and [`Binding`]: the use of one. A service that is bound twice
//! runs once.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use goose_extension::Builtin;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::{
    launch::{Launch, RunningKey},
    options::{BindingContext, PoolOptions},
    service::Service,
    state_machine::{ServiceEvent, ServiceId},
};
use crate::config::{ConfigError, ExtensionConfig, Paths};

/// Number of events that a slow reader may fall behind.
const EVENT_CAPACITY: usize = 1024;

/// Built-in services of the shared pool.
static REGISTERED: Mutex<&'static [Builtin]> = Mutex::new(&[]);

/// Registers the built-in services for [`ServicePool::shared`] and `build_exchange`, which have no other
/// source of them. Programs call it once at their start. Other pools get their services from their options.
pub fn register_builtins(builtins: &'static [Builtin]) {
    *REGISTERED.lock() = builtins;
}

/// Returns the registered services.
pub(crate) fn registered_builtins() -> &'static [Builtin] {
    *REGISTERED.lock()
}

/// All services of a process.
pub struct ServicePool {
    shared: Arc<Shared>,
    services: Mutex<HashMap<Key, Weak<Service>>>,
}

/// Key of a service. Equal keys mean the same service.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    runs: RunningKey,
    name: String,
    timeout: Option<Duration>,
}

/// State that all services of a pool share.
pub(super) struct Shared {
    pub(super) options: PoolOptions,
    is_shut_down: AtomicBool,
    events: broadcast::Sender<ServiceEvent>,
    ids: AtomicU64,
}

impl Shared {
    pub(super) fn next_id(&self) -> ServiceId {
        ServiceId(self.ids.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::Acquire)
    }

    pub(super) fn announce(&self, event: ServiceEvent) {
        tracing::debug!(service = event.name, change = ?event.change, "service");
        // An error only means that there is no reader.
        let _ = self.events.send(event);
    }
}

impl ServicePool {
    /// Creates a separate pool.
    pub fn new(options: PoolOptions) -> Arc<Self> {
        let shared = Shared {
            options,
            is_shut_down: AtomicBool::new(false),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            ids: AtomicU64::default(),
        };
        Arc::new(Self { shared: Arc::new(shared), services: Mutex::default() })
    }

    /// Returns the pool of the process, for programs that do not create one, with the folders and the
    /// environment of this process as context.
    ///
    /// # Errors
    ///
    /// Fails if the environment names no home folder.
    pub fn shared() -> Result<(Arc<Self>, BindingContext), ConfigError> {
        static POOL: Mutex<Option<(Arc<ServicePool>, BindingContext)>> = Mutex::new(None);
        let mut shared = POOL.lock();
        if let Some((pool, context)) = &*shared {
            return Ok((Arc::clone(pool), context.clone()));
        }
        let paths = Paths::from_env()?;
        let made = (
            Self::new(PoolOptions::new(&paths, registered_builtins())),
            BindingContext::of_this_process(&paths),
        );
        Ok(shared.insert(made).clone())
    }

    /// Returns a binding to the service of a configuration in a context, either a running one or a new one.
    /// Starts nothing. The service ends when the last reference is dropped, or with
    /// [`release`](Self::release), which waits for its end.
    pub fn bind(&self, config: &ExtensionConfig, context: &BindingContext) -> Binding {
        let launch = Launch::new(config, context);
        self.bind_launch(&config.key(), launch, config.call_limit())
    }

    pub(crate) fn bind_launch(&self, name: &str, launch: Launch, timeout: Option<Duration>) -> Binding {
        let make = |launch| Service::new(name, launch, timeout, Arc::clone(&self.shared));
        let Some(runs) = launch.running_key.clone() else { return Binding::new(make(launch)) };
        let key = Key { runs, name: name.to_owned(), timeout };
        let find = |services: &HashMap<Key, Weak<Service>>| {
            services.get(&key).and_then(Weak::upgrade).map(Binding::new)
        };
        if let Some(service) = find(&self.services.lock()) {
            return service;
        }
        // Created outside of the lock, because this reads a file. Another task may insert the same service
        // meanwhile.
        let service = make(launch);
        let mut services = self.services.lock();
        if let Some(quicker) = find(&services) {
            return quicker;
        }
        services.retain(|_, service| service.strong_count() > 0);
        services.insert(key, Arc::downgrade(&service));
        Binding::new(service)
    }

    /// Releases a binding. If it was the last one, the service has ended when this returns.
    pub async fn release(&self, binding: Binding) {
        if let Some(service) = self.unbind(binding) {
            service.stop().await;
        }
    }

    /// Drops a binding. If it was the last one, removes the service from the pool and returns it.
    fn unbind(&self, binding: Binding) -> Option<Arc<Service>> {
        let service = binding.service();
        // Under the lock, so that a concurrent `bind` either is counted here or creates another service.
        let mut services = self.services.lock();
        drop(binding);
        if service.bindings.load(Ordering::Acquire) > 0 {
            return None;
        }
        services.retain(|_, there| !std::ptr::eq(there.as_ptr(), Arc::as_ptr(&service)));
        Some(service)
    }

    /// Returns a receiver of service events from now on.
    pub fn events(&self) -> broadcast::Receiver<ServiceEvent> {
        self.shared.events.subscribe()
    }

    /// Returns the services that are in use, by id.
    pub fn services(&self) -> Vec<Arc<Service>> {
        let mut services: Vec<_> = self.services.lock().values().filter_map(Weak::upgrade).collect();
        services.sort_by_key(|service| service.id());
        services
    }

    /// Ends all services in parallel. When this returns, their processes have ended, and no service can be
    /// started again.
    pub async fn shutdown(&self) {
        self.shared.is_shut_down.store(true, Ordering::Release);
        let services = self.services();
        join_all(services.iter().map(|service| service.stop())).await;
    }
}

impl std::fmt::Debug for ServicePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServicePool").field("services", &self.services().len()).finish_non_exhaustive()
    }
}

/// Use of a service. While a binding exists, releasing others does not end the service. Dropping it does not
/// wait; [`ServicePool::release`] waits until the service has ended.
#[derive(Debug)]
pub struct Binding(Arc<Service>);

impl Binding {
    pub(super) fn new(service: Arc<Service>) -> Self {
        service.bindings.fetch_add(1, Ordering::AcqRel);
        Self(service)
    }

    /// Returns the service. The reference does not count as a binding.
    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.0)
    }
}

impl Clone for Binding {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Deref for Binding {
    type Target = Arc<Service>;

    fn deref(&self) -> &Arc<Service> {
        &self.0
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.0.bindings.fetch_sub(1, Ordering::AcqRel);
    }
}
