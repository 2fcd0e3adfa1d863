//! OrchestratorAgent: the agent that gives work to others, switches extensions and finds what earlier sessions had.
//!
//! It also stands in front of each request, inside the exchange: `exchange/routing.rs` chooses the agent that answers.

use super::{
    builtin_mode::{Access::All, BuiltinAgent, BuiltinMode},
    catalog::{AgentCatalog, UnknownAgent},
    manifest::{AgentManifest, AgentMode},
    router::{Route, RoutedBy, Router},
};

/// Its name, and the name of its only mode.
pub const NAME: &str = "orchestrator";

/// The words below which a request stays with the agent that the session has.
const MIN_WORDS: usize = 3;

pub(super) const ORCHESTRATOR_AGENT: BuiltinAgent = BuiltinAgent {
    name: NAME,
    description: "Work with other agents, extensions and earlier sessions.",
    capabilities: &["delegation", "extension_management", "recall"],
    modes: &[BuiltinMode {
        slug: NAME,
        description: "delegates, extensions, earlier sessions",
        when_to_use: "A request to give tasks to other agents, to list, enable or disable extensions, or to find something in \
                      earlier sessions.",
        instructions: "You give work to other agents, manage extensions and find what earlier sessions had; you do not touch \
                       files or run commands yourself. Give each delegate all that it needs, because it does not see this \
                       conversation; give tasks that do not depend on each other in one turn, so that they run side by side. \
                       Then say who did what, and what is left undone.",
        tool_groups: &[All("summon"), All("extensionmanager"), All("chatrecall")],
        dependencies: &["summon", "extensionmanager", "chatrecall", "tom"],
    }],
};

/// Returns the route of the first request of a session, without a model: to the agent that the request names, else to the
/// router's choice, else to the default agent.
///
/// # Errors
///
/// Fails if the name at the beginning of the request stands for several agents, or for a mode that its agent does not have.
pub fn route(catalog: &AgentCatalog, text: &str) -> Result<Route, UnknownAgent> {
    let route = Router::new(catalog).route(text);
    if let Some((manifest, mode)) = catalog.mentioned(text)? {
        let route = Route { confidence: 1.0, ..route.whole(text) };
        return Ok(route.for_agent(&manifest, &mode, RoutedBy::User, "the request names it"));
    }
    Ok(if is_followed(&route, text) { route } else { route.for_default_agent() })
}

/// Returns true if a route is more than a guess. A request of a word or two says too little: `Again`, `Try it`.
pub(crate) fn is_followed(route: &Route, text: &str) -> bool {
    let is_short = text.split_whitespace().take(MIN_WORDS).count() < MIN_WORDS;
    route.is_sure() && !is_short || route.tasks.len() > 1
}

impl Route {
    /// The same request for another agent.
    pub(crate) fn for_agent(
        mut self,
        manifest: &AgentManifest,
        mode: &AgentMode,
        by: RoutedBy,
        reason: &str,
    ) -> Self {
        for task in &mut self.tasks {
            (task.agent, task.mode) = (manifest.name.clone(), mode.slug.clone());
        }
        let (agent, mode) = (manifest.name.clone(), mode.slug.clone());
        Self { agent, mode, by, reason: reason.to_owned(), ..self }
    }

    /// The same request as one task.
    fn whole(mut self, text: &str) -> Self {
        self.tasks.truncate(1);
        for task in &mut self.tasks {
            (task.id, task.text, task.needs) = ("1".to_owned(), text.to_owned(), Vec::new());
        }
        self
    }

    /// The same request as one task, where it has several: for the first of their modes that may edit any file, else for the
    /// default agent, because the other modes cannot do all of it.
    pub(crate) fn into_one(self, text: &str, catalog: &AgentCatalog) -> Self {
        if self.tasks.len() < 2 {
            return self;
        }
        let modes = self.tasks.iter().filter_map(|task| catalog.find(&task.agent_id()).ok());
        let editor = modes.into_iter().find(|(_, mode)| mode.can_edit_all());
        let (manifest, mode) = editor.unwrap_or_else(AgentCatalog::default_agent);
        let (by, reason) = (self.by, self.reason.clone());
        self.whole(text).for_agent(&manifest, &mode, by, &reason)
    }

    /// The same request for the default agent.
    pub(crate) fn for_default_agent(self) -> Self {
        let (manifest, mode) = AgentCatalog::default_agent();
        let (by, reason) = (self.by, self.reason.clone());
        self.for_agent(&manifest, &mode, by, &reason)
    }
}
