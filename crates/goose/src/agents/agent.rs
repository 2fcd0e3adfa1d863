//! [`Agent`]: what an agent is, as one value that an open conversation can replace between two replies.

use std::sync::Arc;

use goose_providers::RequestOptions;

use super::{
    extension_manager::ExtensionManager,
    manifest::{AgentManifest, AgentMode},
    toolset::Toolset,
};
use crate::permission::Permissions;

/// An agent in one of its modes, with its extensions and the tools of them that the mode may touch.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The agent's description.
    pub manifest: Arc<AgentManifest>,
    /// The active mode.
    pub mode: AgentMode,
    /// The extensions that the mode can use.
    pub extensions: Arc<ExtensionManager>,
    /// The tools that the mode may touch.
    pub toolset: Arc<Toolset>,
    /// Additional instructions for the model.
    pub instructions: Vec<String>,
    /// The model's options. The conversation adds its id.
    pub options: RequestOptions,
}

impl Agent {
    /// An agent in a mode, under some permissions.
    pub fn new(
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
        extensions: Arc<ExtensionManager>,
        permissions: &Arc<Permissions>,
    ) -> Self {
        let toolset = Toolset::compute(&mode, &extensions).with_permissions(Arc::clone(permissions));
        Self {
            manifest,
            mode,
            extensions,
            toolset: Arc::new(toolset),
            instructions: Vec::new(),
            options: RequestOptions::default(),
        }
    }
}
