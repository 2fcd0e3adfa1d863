//! [`Bound`]: a service as one manager may use it.

use std::{collections::BTreeSet, sync::Arc};

use crate::services::Service;

/// A service that a manager was given, and which of its tools.
pub(super) struct Bound {
    name: String,
    pub(super) service: Arc<Service>,
    /// The tools that may be used; all where there is no list.
    allowed: Option<BTreeSet<String>>,
}

impl Bound {
    pub(super) fn new(name: String, service: Arc<Service>, allowed: &[String]) -> Arc<Self> {
        let allowed = (!allowed.is_empty()).then(|| allowed.iter().cloned().collect());
        Arc::new(Self { name, service, allowed })
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
