//! The state of a manager's extensions, and the events that report its changes.

use std::sync::{Arc, Weak};

use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{ExtensionManager, Inner};
use crate::services::{ServiceEvent, ServiceReport};

/// The state of an extension, for people and programs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExtensionStatus {
    /// Its name.
    pub name: String,
    /// Its purpose, where it is known.
    pub description: Option<String>,
    /// Its version, where it is known.
    pub version: Option<String>,
    /// The number of tools that it gives to this agent.
    pub tools: usize,
    /// Tools that the configuration allows but that are not there.
    pub missing_tools: Vec<String>,
    /// The service behind it.
    #[serde(flatten)]
    pub service: ServiceReport,
}

impl ExtensionManager {
    /// The state of all extensions, in the order in which they were given. Starts nothing.
    pub fn status(&self) -> Vec<ExtensionStatus> {
        let index = self.inner.index();
        let services = self.inner.services();
        let status = services.iter().map(|bound| {
            let listing = bound.service.listing();
            ExtensionStatus {
                name: bound.name().to_owned(),
                description: listing.as_ref().map(|it| it.description.clone()).filter(|it| !it.is_empty()),
                version: listing.map(|it| it.version.clone()).filter(|it| !it.is_empty()),
                tools: index.handles().iter().filter(|tool| Arc::ptr_eq(&tool.service, bound)).count(),
                missing_tools: bound.missing_tools(),
                service: bound.service.report(),
            }
        });
        status.collect()
    }
}

/// Events of one manager's extensions.
pub struct Events {
    pub(super) events: Receiver<ServiceEvent>,
    pub(super) manager: Weak<Inner>,
}

impl Events {
    /// The next event; `None` once the manager is closed. A reader that falls far behind loses some, never the newest.
    pub async fn recv(&mut self) -> Option<ServiceEvent> {
        loop {
            let event = match self.events.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return None,
            };
            let services = self.manager.upgrade()?.services();
            if services.iter().any(|bound| bound.service.id() == event.id) {
                return Some(event);
            }
        }
    }
}
