//! [`BoundService`]: a service as one manager may use it.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;

use crate::{
    config::ExtensionConfig,
    services::{Binding, Service},
};

/// A service that a manager was given, and the tools of it that it may use.
pub(super) struct BoundService {
    name: String,
    pub(super) service: Arc<Service>,
    /// Keeps the service alive; none after it was given back.
    binding: Mutex<Option<Binding>>,
    /// Its configuration; none for an extension of this program.
    config: Option<ExtensionConfig>,
    /// The tools that may be used; all where there is no list.
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

    /// A binding for a call, which keeps the service from being stopped under it.
    pub(super) fn in_use(&self) -> Option<Binding> {
        self.binding.lock().clone()
    }

    /// Takes the binding, to give it back.
    pub(super) fn unbind(&self) -> Option<Binding> {
        self.binding.lock().take()
    }

    pub(super) fn config(&self) -> Option<&ExtensionConfig> {
        self.config.as_ref()
    }

    /// Starts it in the background where its tools are not known.
    pub(super) fn warm_up_where_unknown(&self) {
        if self.service.listing().is_none() {
            self.service.warm_up();
        }
    }

    /// The extension's name, as tools are prefixed with it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn allows(&self, tool: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(tool))
    }

    /// The tools that were allowed but are not there: a typing error, or a tool that was renamed.
    pub(super) fn missing_tools(&self) -> Vec<String> {
        let (Some(allowed), Some(listing)) = (&self.allowed, self.service.listing()) else {
            return Vec::new();
        };
        let there: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name()).collect();
        allowed.iter().filter(|name| !there.contains(name.as_str())).cloned().collect()
    }
}
