//! [`BoundService`]: a service of the pool as one extension manager may use it.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;

use crate::{
    config::ExtensionConfig,
    services::{Binding, Service},
};

/// A service that a manager is bound to, with the tools that it may use.
pub(super) struct BoundService {
    name: String,
    pub(super) service: Arc<Service>,
    /// Keeps the service alive. `None` after the service was released.
    binding: Mutex<Option<Binding>>,
    /// Configuration. `None` for an extension that the program itself registered.
    pub(super) config: Option<ExtensionConfig>,
    /// Tools that may be used. `None` allows all of them.
    allowed: Option<BTreeSet<String>>,
}

impl BoundService {
    pub(super) fn new(name: String, binding: Binding, config: Option<ExtensionConfig>) -> Arc<Self> {
        let allowed = config.as_ref().and_then(|config| config.available_tools());
        let allowed = allowed.map(|tools| tools.iter().cloned().collect());
        Arc::new(Self {
            name,
            service: binding.service(),
            binding: Mutex::new(Some(binding)),
            config,
            allowed,
        })
    }

    /// Returns a binding for a call, which keeps the service running until the call ends.
    pub(super) fn in_use(&self) -> Option<Binding> {
        self.binding.lock().clone()
    }

    /// Takes the binding, to release the service.
    pub(super) fn unbind(&self) -> Option<Binding> {
        self.binding.lock().take()
    }

    /// Starts the service in the background if its tools are not known.
    pub(super) fn warm_up_where_unknown(&self) {
        if self.service.listing().is_none() {
            self.service.warm_up();
        }
    }

    /// Returns the extension's name, which is the prefix of its tools.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn allows(&self, tool: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(tool))
    }

    /// Returns the tools that are allowed but do not exist, because of a typo or a renamed tool.
    pub(super) fn missing_tools(&self) -> Vec<String> {
        let (Some(allowed), Some(listing)) = (&self.allowed, self.service.listing()) else {
            return Vec::new();
        };
        let there: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name()).collect();
        allowed.iter().filter(|name| !there.contains(name.as_str())).cloned().collect()
    }
}
