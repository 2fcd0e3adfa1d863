//! How the extensions of a manager are.

use serde::Serialize;

use super::ExtensionManager;
use crate::services::ServiceReport;

/// The state of an extension, for people and programs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExtensionStatus {
    /// Its name.
    pub name: String,
    /// What it is for, where it is known.
    pub description: Option<String>,
    /// Its version, where it is known.
    pub version: Option<String>,
    /// How many tools it gives to this agent.
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
        let catalog = self.inner.catalog();
        let bounds = self.inner.bounds();
        let status = bounds.iter().map(|bound| {
            let listing = bound.service.listing();
            ExtensionStatus {
                name: bound.name().to_owned(),
                description: listing.as_ref().map(|it| it.description.clone()).filter(|it| !it.is_empty()),
                version: listing.map(|it| it.version.clone()).filter(|it| !it.is_empty()),
                tools: catalog.count(bound),
                missing_tools: bound.missing_tools(),
                service: bound.service.report(),
            }
        });
        status.collect()
    }
}
