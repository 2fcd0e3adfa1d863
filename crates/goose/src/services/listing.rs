//! [`Listing`]: what is known of a service without asking it.

use goose_extension::{Extension, Features, Tool};
use goose_mcp_bridge::DroppedTool;

/// What a service said about itself when it was last asked.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// What it is for.
    pub description: String,
    /// How the model should use it.
    pub instructions: String,
    /// Its version.
    pub version: String,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Which optional parts it has.
    pub features: Features,
    /// The tools that could not be used, and why.
    pub dropped: Vec<DroppedTool>,
}

impl Listing {
    /// What an extension says now.
    pub(super) fn of(extension: &dyn Extension, dropped: Vec<DroppedTool>) -> Self {
        Self {
            description: extension.description().to_owned(),
            instructions: extension.instructions().to_owned(),
            version: extension.version().to_owned(),
            tools: extension.tools().to_vec(),
            features: extension.features(),
            dropped,
        }
    }
}
