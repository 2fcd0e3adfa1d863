//! State of a manager's extensions, and the events that report changes.

use std::sync::{Arc, Weak};

use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{BoundService, ExtensionManager, Inner};
use crate::services::{Phase, ServiceEvent, ServiceReport};

/// State of an extension, for people and programs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExtensionStatus {
    /// Name of the extension.
    pub name: String,
    /// Purpose of the extension, if known.
    pub description: Option<String>,
    /// Version of the extension, if known.
    pub version: Option<String>,
    /// Number of tools that this agent may use.
    pub tools: usize,
    /// Tools that the configuration allows but that do not exist.
    pub missing_tools: Vec<String>,
    /// State of the service behind it.
    #[serde(flatten)]
    pub service: ServiceReport,
}

impl ExtensionManager {
    /// Returns the state of all extensions, in the order in which they were given. Does not start any.
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

    /// Returns the names of the extensions that are starting and whose tools are not known.
    pub(crate) fn starting(&self) -> Vec<String> {
        let services = self.inner.services();
        let is_starting = |bound: &&Arc<BoundService>| {
            bound.service.phase() == Phase::Starting && bound.service.listing().is_none()
        };
        services.iter().filter(is_starting).map(|bound| bound.name().to_owned()).collect()
    }

    /// Returns the extensions that failed or can never work, with the reasons.
    pub(crate) fn failed(&self) -> Vec<(String, Phase, Option<String>)> {
        let services = self.inner.services();
        let state = services.iter().map(|it| (it.name().to_owned(), it.service.phase(), it.service.reason()));
        state.filter(|(_, phase, _)| matches!(phase, Phase::Degraded | Phase::Dead)).collect()
    }
}

/// Events of one manager's extensions.
pub struct Events {
    pub(super) events: Receiver<ServiceEvent>,
    pub(super) manager: Weak<Inner>,
}

impl Events {
    /// Returns the next event, or `None` once the manager is closed. A slow reader loses old events, never
    /// the newest.
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
