//! [`Toolset`]: the tools that a mode may touch, and the only way from the loop to a tool.
//!
//! What is not in the set can neither be listed nor called, under whatever name. The set follows the extensions: when their
//! tools change, so does it.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use goose_extension::{CallContext, JsonObject, Tool, ToolError, ToolOutput, ToolResult};

use super::{
    extension_manager::{ExtensionManager, Parameters},
    manifest::AgentMode,
    tool_filter::{self, Candidate},
};
use crate::permission::{CallToJudge, Mode, Origin, Permissions};

/// How many names an error lists.
const MAX_SUGGESTIONS: usize = 10;

/// Kinds of extensions that are a part of this program.
const OWN_KINDS: [&str; 3] = ["builtin", "platform", "in_process"];

/// The tools that a mode may touch.
pub struct Toolset {
    mode: AgentMode,
    manager: Arc<ExtensionManager>,
    permissions: Option<Arc<Permissions>>,
    computed: RwLock<Option<Arc<Computed>>>,
}

/// A tool of the set.
#[derive(Debug, Clone)]
pub struct Member {
    /// The tool, under the name that the model sees.
    pub tool: Tool,
    /// Its extension.
    pub extension: String,
    /// What the extension calls it.
    pub bare_name: String,
    /// Whose it is.
    pub origin: Origin,
}

impl Member {
    /// A call of it, to be judged.
    pub fn call<'a>(
        &'a self,
        arguments: &'a JsonObject,
        working_dir: &'a std::path::Path,
    ) -> CallToJudge<'a> {
        CallToJudge {
            tool: &self.tool,
            bare_name: &self.bare_name,
            origin: self.origin,
            arguments,
            working_dir,
        }
    }
}

/// A name that is not in the set. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no tool `{name}`. {hint}")]
pub struct NotInSet {
    /// What was asked for.
    pub name: String,
    hint: String,
}

impl From<NotInSet> for ToolError {
    fn from(error: NotInSet) -> Self {
        Self::NotFound(error.to_string())
    }
}

/// The set at one time.
struct Computed {
    /// What it was made of.
    known: Arc<[Tool]>,
    tools: Arc<[Tool]>,
    members: Vec<Arc<Member>>,
    /// By the name that the model sees, and by the real one.
    by_name: HashMap<String, usize>,
    by_bare_name: HashMap<String, Vec<usize>>,
}

impl Toolset {
    /// The tools of a mode, from the extensions of a manager.
    pub fn compute(mode: &AgentMode, manager: &Arc<ExtensionManager>) -> Self {
        let (mode, manager) = (mode.clone(), Arc::clone(manager));
        Self { mode, manager, permissions: None, computed: RwLock::default() }
    }

    /// The same set, which is empty while these permissions say `chat`.
    pub fn with_permissions(mut self, permissions: Arc<Permissions>) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// The mode whose set this is.
    pub fn mode(&self) -> &AgentMode {
        &self.mode
    }

    /// The tools that are known now, in an order that does not change from run to run.
    pub fn tools(&self) -> Arc<[Tool]> {
        if self.is_closed() { Arc::default() } else { Arc::clone(&self.computed().tools) }
    }

    /// As [`tools`](Self::tools), after waiting for extensions whose tools are not known yet.
    pub async fn list(&self) -> Arc<[Tool]> {
        if !self.is_closed() && !self.mode.tool_groups.is_empty() {
            // It gives no errors: what does not start is left out.
            let _ = self.manager.list_tools().await;
        }
        self.tools()
    }

    /// The tool that is meant by a name: the one that the model sees, or a bare one that is unique in the set.
    ///
    /// # Errors
    ///
    /// Where there is none in the set.
    pub fn check(&self, name: &str) -> Result<Arc<Member>, NotInSet> {
        let computed = self.computed();
        let found = if self.is_closed() { None } else { computed.find(name) };
        found.cloned().ok_or_else(|| self.unknown(name, &computed))
    }

    /// Calls a tool of the set. Whether the call may be made has been decided before.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] where it is not in the set, and what
    /// [`ExtensionManager::call_tool_with`] says.
    pub async fn call(
        &self,
        name: &str,
        arguments: impl Parameters,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let member = self.check(name)?;
        self.manager.call_tool_with(member.tool.name(), arguments, context).await
    }

    /// Whether there are no tools because the mode of the permissions has none.
    fn is_closed(&self) -> bool {
        self.permissions.as_ref().is_some_and(|permissions| permissions.mode() == Mode::Chat)
    }

    /// The set as it is now; made anew only where the extensions' tools changed.
    fn computed(&self) -> Arc<Computed> {
        let known = self.manager.known_tools();
        if let Some(computed) = &*self.computed.read().unwrap_or_else(PoisonError::into_inner)
            && Arc::ptr_eq(&computed.known, &known)
        {
            return Arc::clone(computed);
        }
        let computed = Arc::new(Computed::of(&self.mode, &self.manager, known));
        *self.computed.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&computed));
        computed
    }

    fn unknown(&self, name: &str, computed: &Computed) -> NotInSet {
        let name: String = name.chars().take(128).collect();
        let hint = match (self.is_closed(), computed.tools.is_empty()) {
            (true, _) => "In the mode `chat` there are no tools; answer with words.".to_owned(),
            (_, true) => "There are no tools.".to_owned(),
            _ => computed.hint(&name),
        };
        NotInSet { name, hint }
    }
}

impl Computed {
    fn of(mode: &AgentMode, manager: &ExtensionManager, known: Arc<[Tool]>) -> Self {
        let mut origins: HashMap<String, Origin> = HashMap::new();
        let mut members = Vec::new();
        for tool in known.iter() {
            // What is gone by now is not in the set.
            let Ok(place) = manager.locate(tool.name()) else { continue };
            let (extension, bare_name) = (place.extension, place.item);
            let origin = *origins.entry(extension.clone()).or_insert_with(|| origin(manager, &extension));
            let candidate = Candidate { extension: &extension, bare_name: &bare_name, tool, origin };
            if tool_filter::allows(mode, candidate) {
                members.push(Arc::new(Member { tool: tool.clone(), extension, bare_name, origin }));
            }
        }
        Self::index(known, members)
    }

    fn index(known: Arc<[Tool]>, members: Vec<Arc<Member>>) -> Self {
        let mut by_name = HashMap::with_capacity(members.len());
        let mut by_bare_name: HashMap<String, Vec<usize>> = HashMap::with_capacity(members.len());
        for (index, member) in members.iter().enumerate() {
            by_bare_name.entry(member.bare_name.clone()).or_default().push(index);
            by_name.entry(format!("{}__{}", member.extension, member.bare_name)).or_insert(index);
        }
        // The names that the model sees come last: they win.
        for (index, member) in members.iter().enumerate() {
            by_name.insert(member.tool.name().to_owned(), index);
        }
        let tools = members.iter().map(|member| member.tool.clone()).collect();
        Self { known, tools, members, by_name, by_bare_name }
    }

    fn find(&self, name: &str) -> Option<&Arc<Member>> {
        let bare = || match self.by_bare_name.get(name).map(Vec::as_slice) {
            Some([index]) => Some(index),
            _ => None,
        };
        self.members.get(*self.by_name.get(name).or_else(bare)?)
    }

    fn hint(&self, name: &str) -> String {
        let wanted = name.rsplit("__").next().unwrap_or(name).to_lowercase();
        let is_near = |member: &&Arc<Member>| {
            let bare = member.bare_name.to_lowercase();
            !wanted.is_empty() && (bare.contains(&wanted) || wanted.contains(&bare))
        };
        let near: Vec<&str> = self.members.iter().filter(is_near).map(|member| member.tool.name()).collect();
        match near.is_empty() {
            false => format!("Did you mean one of these: {}?", listed(&near)),
            true => {
                let all: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
                format!("Available tools: {}.", listed(&all))
            }
        }
    }
}

fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_SUGGESTIONS).map(|&name| name.to_owned()).collect();
    if names.len() > MAX_SUGGESTIONS {
        shown.push(format!("and {} more", names.len() - MAX_SUGGESTIONS));
    }
    shown.join(", ")
}

fn origin(manager: &ExtensionManager, extension: &str) -> Origin {
    let kind = manager.service(extension).map(|service| service.report().kind);
    if kind.is_ok_and(|kind| OWN_KINDS.contains(&kind)) { Origin::Own } else { Origin::Foreign }
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolset").field("mode", &self.mode.name).field("tools", &self.tools().len()).finish()
    }
}
