//! `extensionmanager`: lets an agent list the available extensions, enable and disable its own, and read
//! their resources.
//!
//! Changes apply to all agents of the session whose modes may use the extension; the configuration is not
//! changed. A removed extension finishes its running calls. Only built-in services and entries of the
//! configuration can be enabled. If the user has disabled one, it needs their consent.

use std::{
    fmt::Write as _,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::future::join_all;
use goose_extension::{
    Builtin, QuestionKind, RegistryExtension, Resource, ResourceContents, ToolAction, ToolDef, prelude::*,
    visible_line,
};
use goose_fs::truncate_chars;
use tokio::time::timeout;

use super::{DESCRIPTION_CHARS, SessionServices, brief, capped};
use crate::{
    agents::{extension_manager::ExtensionManager, manifest::AgentMode, toolset::Toolset},
    builtins,
    config::{ConfiguredExtension, ExtensionConfig},
};

/// Name of the extension.
const NAME: &str = "extensionmanager";

/// Time limit for a server to list or read its resources, including its start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The `extensionmanager` extension of one agent.
pub(super) struct ExtensionSwitches {
    /// Weak, because the manager holds this extension.
    extensions: Weak<ExtensionManager>,
    mode: AgentMode,
    services: Arc<dyn SessionServices>,
}

/// A change of an extension.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(crate = "goose_extension::macros::schemars")]
#[serde(rename_all = "snake_case")]
enum Action {
    Enable,
    Disable,
}

/// The question before an extension is started that the user has switched off.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "goose_extension::macros::schemars")]
struct Consent {
    /// Enable it for this session
    enable: bool,
}

impl ExtensionSwitches {
    /// List the extensions that exist: enabled here, configured, built in. Returns a line for each, with its
    /// state and purpose. Fails if the agent has ended.
    #[tool(read_only, open_world = false)]
    async fn search_available_extensions(&self) -> ToolResult<String> {
        let extensions = self.extensions()?;
        Ok(self.list(&extensions))
    }

    /// Enable or disable an extension for this session. Returns how many tools it has. Fails if there is no
    /// such extension, or the user does not agree.
    #[tool]
    async fn manage_extensions(
        &self,
        /// Change to make: `enable` or `disable`
        action: Action,
        /// A name from `search_available_extensions`
        extension_name: String,
        context: &CallContext,
    ) -> ToolResult<String> {
        let extensions = self.extensions()?;
        match action {
            Action::Enable => self.enable(&extensions, &extension_name, context).await,
            Action::Disable => self.disable(&extensions, &extension_name).await,
        }
    }

    /// List the resources of the servers that this mode can use: files, records and other data to read.
    /// Returns a line with server, URI and description for each, and servers that failed with the reason.
    /// Fails if no server has the name.
    #[tool(read_only)]
    async fn list_resources(
        &self,
        /// Name of one server, default all
        extension_name: Option<String>,
    ) -> ToolResult<String> {
        let extensions = self.extensions()?;
        let usable = self.usable(&extensions, extension_name.as_deref())?;
        let listed = join_all(usable.iter().map(|name| resources(&extensions, name))).await;
        let mut list = String::new();
        for (name, listed) in usable.iter().zip(listed) {
            match listed {
                Ok(resources) => {
                    for Resource { uri, name: title, description, .. } in resources {
                        let description = brief(description.as_deref().unwrap_or(&title));
                        let _ = writeln!(list, "- {name}: {uri} ({description})");
                    }
                }
                Err(problem) => {
                    let _ = writeln!(list, "- {name} cannot list its resources: {problem}");
                }
            }
        }
        if list.is_empty() {
            list.push_str("There are no resources.");
        }
        Ok(capped(&list))
    }

    /// Read a resource of a server. Returns its text; binary contents are only named. Fails if no server of this mode
    /// has it: `list_resources` shows those that exist.
    #[tool(read_only)]
    async fn read_resource(
        &self,
        /// URI from `list_resources`, or one that follows a template of the server
        uri: String,
        /// Name of the server, default the first that has the resource
        extension_name: Option<String>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let extensions = self.extensions()?;
        let mut failed = None;
        for name in self.usable(&extensions, extension_name.as_deref())? {
            match read(&extensions, &name, &uri, context).await {
                Ok(contents) => return Ok(text_of(&contents)),
                Err(ToolError::ResourceNotFound(_)) => {}
                Err(error) => failed = failed.or(Some((name, error))),
            }
        }
        let uri = truncate_chars(&uri, DESCRIPTION_CHARS);
        let uri = visible_line(&uri);
        Err(match failed {
            Some((name, error)) => ToolError::execution(format!("`{name}` could not read `{uri}`: {error}")),
            None => ToolError::ResourceNotFound(format!(
                "No extension has the resource `{uri}`. `list_resources` shows what there is."
            )),
        })
    }

    /// Builds the extension for the agent that has the toolset. If its mode does not name the extension, only
    /// the tools for resources are included.
    pub(super) fn extension(toolset: &Toolset, services: Arc<dyn SessionServices>) -> RegistryExtension {
        let (extensions, mode) = (Arc::downgrade(toolset.manager()), toolset.mode().clone());
        let switches = Arc::new(Self { extensions, mode, services });
        let reads = |tool: ToolDef<Self>| tool.map_tool(|tool| tool.with_action(ToolAction::ReadsResources));
        RegistryExtension::new(NAME, "Enables extensions on demand, and reads their resources")
            .with_tool(&switches, Self::search_available_extensions_tool())
            .with_tool(&switches, Self::manage_extensions_tool())
            .with_tool(&switches, reads(Self::list_resources_tool()))
            .with_tool(&switches, reads(Self::read_resource_tool()))
    }

    fn extensions(&self) -> ToolResult<Arc<ExtensionManager>> {
        self.extensions
            .upgrade()
            .ok_or_else(|| ToolError::execution("The agent of these extensions has ended."))
    }

    /// Returns names, kinds and descriptions, but never commands, addresses, headers or variables, which may
    /// contain secrets.
    fn list(&self, extensions: &ExtensionManager) -> String {
        let enabled = extensions.names();
        let state = |name: &str, otherwise: &'static str| match (
            enabled.iter().any(|it| it == name),
            self.services.is_enabled(name),
        ) {
            (true, _) => "enabled",
            (false, true) => "enabled for other agents",
            (false, false) => otherwise,
        };
        let mut list = String::new();
        for entry in self.services.settings().extensions().iter().filter(|entry| !entry.is_switch()) {
            let Ok(config) = &entry.config else {
                let _ = writeln!(list, "- {}: its entry in the configuration cannot be read", entry.key);
                continue;
            };
            let otherwise = if entry.enabled { "available" } else { "switched off" };
            let (key, kind) = (config.key(), config.type_name());
            let _ = writeln!(
                list,
                "- {key} ({kind}, {}): {}",
                state(&key, otherwise),
                brief(&config.description)
            );
        }
        let builtins = self.services.settings().builtins().iter();
        for builtin in builtins.filter(|builtin| self.entry(builtin.name).is_none()) {
            let state = state(builtin.name, "available");
            let _ = writeln!(list, "- {} (builtin, {state}): {}", builtin.name, builtin.summary);
        }
        let is_listed = |name: &str| self.entry(name).is_some() || self.service(name).is_some();
        for name in enabled.iter().filter(|name| !is_listed(name)) {
            let _ = writeln!(list, "- {name} (enabled)");
        }
        capped(&list)
    }

    fn entry(&self, name: &str) -> Option<&ConfiguredExtension> {
        let mut entries = self.services.settings().extensions().iter();
        entries.find(|entry| !entry.is_switch() && entry.is_called(name))
    }

    fn service(&self, name: &str) -> Option<&'static Builtin> {
        self.services.settings().builtin(name)
    }

    fn comes_with_goose(&self, name: &str) -> bool {
        is_platform(name) || self.service(name).is_some()
    }

    async fn enable(
        &self,
        extensions: &ExtensionManager,
        name: &str,
        context: &CallContext,
    ) -> ToolResult<String> {
        let (config, is_switched_off) = match (self.entry(name), self.service(name)) {
            (Some(entry), _) => {
                let config = entry.checked().map_err(ToolError::execution)?;
                (config.clone(), !entry.enabled)
            }
            (None, Some(builtin)) => (ExtensionConfig::builtin(builtin.name), false),
            // A platform extension, which returns to the agents that name it.
            (None, None) if is_platform(name) && self.services.enable_again(name) => {
                return Ok(format!("`{name}` is enabled again for the agents that have it."));
            }
            (None, None) => return Err(unknown(name)),
        };
        let key = config.key();
        let is_used = self.mode.can_use(&key, config.is_own());
        let for_others = || {
            let (mode, users) = (&self.mode.slug, self.services.users(&config));
            format!("The mode `{mode}` cannot use it. These can, in this session: {users}.")
        };
        if self.services.is_enabled(&key) || extensions.names().contains(&key) {
            let others = if is_used { String::new() } else { format!(" {}", for_others()) };
            return Ok(format!("`{key}` is enabled already.{others}"));
        }
        if is_switched_off {
            ask(&key, &config, context).await?;
        }
        let used_by = Some(extensions).filter(|_| is_used);
        self.services.enable(&config, used_by).map_err(ToolError::execution)?;
        if !is_used {
            return Ok(format!("`{key}` is enabled. {}", for_others()));
        }
        let tools = extensions.list_tools().await?;
        let status = extensions.status().into_iter().find(|status| status.name == key);
        let count = status.map_or(0, |status| status.tools);
        Ok(match (count, extensions.service(&key).ok().and_then(|service| service.reason())) {
            (0, Some(reason)) => format!("`{key}` is enabled, but it does not run: {reason}"),
            _ => format!("`{key}` is enabled with {count} tools, of {} in all.", tools.len()),
        })
    }

    async fn disable(&self, extensions: &ExtensionManager, name: &str) -> ToolResult<String> {
        if name == NAME {
            return Err(ToolError::execution("This extension cannot disable itself."));
        }
        let removed = extensions.remove(name).await;
        // Other agents may depend on an extension that comes with goose.
        let is_known = self.services.is_enabled(name) || self.comes_with_goose(name);
        if !is_known {
            removed.map_err(ToolError::execution)?;
        }
        self.services.disable(name);
        Ok(format!("`{name}` is disabled for this session. Calls of it that run finish."))
    }

    /// Returns the extensions whose resources the mode may read: the wanted one, or all.
    fn usable(&self, extensions: &ExtensionManager, wanted: Option<&str>) -> ToolResult<Vec<String>> {
        let is_own = |name: &str| {
            self.entry(name).map_or_else(
                || self.comes_with_goose(name),
                |entry| entry.config.as_ref().is_ok_and(ExtensionConfig::is_own),
            )
        };
        let mut names = extensions.names();
        names.retain(|name| name != NAME && self.mode.can_use(name, is_own(name)));
        let Some(wanted) = wanted else { return Ok(names) };
        if names.iter().any(|name| name == wanted) {
            return Ok(vec![wanted.to_owned()]);
        }
        Err(ToolError::execution(format!(
            "There is no enabled extension `{}`. There are: {}.",
            visible_line(&truncate_chars(wanted, DESCRIPTION_CHARS)),
            names.join(", ")
        )))
    }
}

/// Lists the resources of one extension.
async fn resources(extensions: &ExtensionManager, name: &str) -> ToolResult<Vec<Resource>> {
    let service = extensions.service(name).map_err(ToolError::execution)?;
    bounded(async {
        let extension = service.extension().await?;
        if !extension.features().resources {
            return Ok(Vec::new());
        }
        extension.list_resources().await
    })
    .await
}

/// Reads a resource of one extension.
async fn read(
    extensions: &ExtensionManager,
    name: &str,
    uri: &str,
    context: &CallContext,
) -> ToolResult<Vec<ResourceContents>> {
    let service = extensions.service(name).map_err(ToolError::execution)?;
    bounded(async { service.extension().await?.read_resource(uri, &without_questions(context)).await }).await
}

async fn bounded<T>(asked: impl Future<Output = ToolResult<T>>) -> ToolResult<T> {
    let too_slow = || ToolError::Timeout(format!("no answer within {} seconds", TIMEOUT.as_secs()));
    timeout(TIMEOUT, asked).await.unwrap_or_else(|_| Err(too_slow()))
}

/// Returns the context of a call without the user: a question would be shown in the name of this extension.
fn without_questions(context: &CallContext) -> CallContext {
    let mut inner = CallContext::new().with_working_dir(context.working_dir());
    if let Some(backend) = context.backend() {
        inner = inner.with_backend(Arc::clone(backend));
    }
    context.cancellation().cloned().map_or(inner.clone(), |token| inner.with_cancellation(token))
}

/// Asks for consent to an extension that the configuration disables.
async fn ask(key: &str, config: &ExtensionConfig, context: &CallContext) -> ToolResult<()> {
    let denied = || {
        ToolError::Denied(format!(
            "Not enabled: the configuration switches `{key}` off, and the user did not agree to enable it. Continue without it."
        ))
    };
    if !context.can_ask(QuestionKind::ElicitForm) {
        return Err(denied());
    }
    let question = format!(
        "Enable `{key}` ({}) for this session? The configuration switches it off.",
        config.type_name()
    );
    match context.elicit_form::<Consent>("enable", question).await? {
        Some(Consent { enable: true }) => Ok(()),
        _ => Err(denied()),
    }
}

fn is_platform(name: &str) -> bool {
    builtins::find(name).is_some()
}

fn unknown(name: &str) -> ToolError {
    let name = truncate_chars(name, DESCRIPTION_CHARS);
    let name = visible_line(&name);
    if is_platform(&name) {
        return ToolError::execution(format!(
            "`{name}` belongs to the agents that name it; it cannot be enabled here. Delegate to such an agent."
        ));
    }
    ToolError::execution(format!(
        "There is no extension `{name}`. `search_available_extensions` lists them; the user adds others with `goose configure`."
    ))
}

/// Returns the text of a resource. Binary contents are only named.
fn text_of(contents: &[ResourceContents]) -> String {
    let parts = contents.iter().map(|content| match content {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, blob, .. } => {
            format!("({uri}: binary, {} bytes in base64)", blob.len())
        }
        _ => "(contents of an unknown kind)".to_owned(),
    });
    capped(&parts.collect::<Vec<_>>().join("\n"))
}
