//! [`Toolset`]: the tools that a mode may use. The loop reaches tools only through it.
//!
//! A tool that is not in the set can be neither listed nor called, under any name. The set is updated when
//! the tools of the extensions change.

use std::sync::Arc;

use goose_extension::Tool;
use parking_lot::RwLock;

use super::{
    extension_manager::ExtensionManager,
    manifest::AgentMode,
    tool_filter,
    tool_index::{ToolHandle, ToolIndex, UnknownTool},
};
use crate::permission::{Mode, Permissions};

/// The tools that a mode may use.
pub struct Toolset {
    mode: AgentMode,
    manager: Arc<ExtensionManager>,
    permissions: Option<Arc<Permissions>>,
    selected: RwLock<Selection>,
}

/// The selected tools, with the index that they were selected from.
#[derive(Default, Clone)]
struct Selection {
    from: Arc<ToolIndex>,
    index: Arc<ToolIndex>,
}

impl Toolset {
    /// Creates the toolset of a mode, from the extensions of a manager.
    pub fn compute(mode: &AgentMode, manager: &Arc<ExtensionManager>) -> Self {
        let (mode, manager) = (mode.clone(), Arc::clone(manager));
        Self { mode, manager, permissions: None, selected: RwLock::default() }
    }

    /// Makes the set empty while these permissions are in the mode `chat`.
    pub fn with_permissions(mut self, permissions: Arc<Permissions>) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Returns the mode of the set.
    pub fn mode(&self) -> &AgentMode {
        &self.mode
    }

    /// Returns the extensions that the set is computed from.
    pub fn manager(&self) -> &Arc<ExtensionManager> {
        &self.manager
    }

    /// Returns the tools that are known now, in an order that is the same in every run.
    pub fn tools(&self) -> Arc<[Tool]> {
        if self.is_closed() { Arc::default() } else { Arc::clone(self.index().tools()) }
    }

    /// Returns true if the set has a matching tool.
    pub(crate) fn has(&self, is_wanted: impl Fn(&ToolHandle) -> bool) -> bool {
        !self.is_closed() && self.index().handles().iter().any(|handle| is_wanted(handle))
    }

    /// Waits for extensions whose tools are not known yet, and returns the [`tools`](Self::tools).
    pub async fn list(&self) -> Arc<[Tool]> {
        if !self.is_closed() && !self.mode.tool_groups.is_empty() {
            self.manager.settle().await;
        }
        self.tools()
    }

    /// Returns the tool of a name: the name that the model sees, or a bare name that is unique in the set.
    ///
    /// # Errors
    ///
    /// Fails if the set has no such tool.
    pub fn resolve(&self, name: &str) -> Result<Arc<ToolHandle>, UnknownTool> {
        if self.is_closed() {
            return Err(UnknownTool::new(name, "In the mode `chat` there are no tools; answer with words."));
        }
        self.index().find(name).cloned()
    }

    /// Returns true if the permission mode `chat` disables all tools.
    fn is_closed(&self) -> bool {
        self.permissions.as_ref().is_some_and(|permissions| permissions.mode() == Mode::Chat)
    }

    /// Returns true if the mode can use a server that has resources.
    fn has_resources(&self) -> bool {
        self.manager.servers_with_resources().iter().any(|name| self.mode.can_use(name, false))
    }

    /// Returns the index of the set, computed again only if the extensions' tools changed.
    fn index(&self) -> Arc<ToolIndex> {
        let all = self.manager.index();
        let selected = self.selected.read().clone();
        if Arc::ptr_eq(&selected.from, &all) {
            return selected.index;
        }
        let index =
            Arc::new(ToolIndex::new(tool_filter::select(&self.mode, all.handles(), self.has_resources())));
        let selected = Selection { from: all, index: Arc::clone(&index) };
        *self.selected.write() = selected;
        index
    }
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolset").field("mode", &self.mode.slug).field("tools", &self.tools().len()).finish()
    }
}
