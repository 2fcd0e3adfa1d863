//! Toolsets: what is not in the set can be neither listed nor called, under whatever name.
#![cfg(target_os = "linux")]

use std::sync::{Arc, LazyLock};

use anyhow::ensure;
use goose::{
    agents::{
        extension::ExtensionConfig, extension_manager::ExtensionManager, manifest::AgentMode,
        toolset::Toolset,
    },
    permission::{Mode, Origin, PermissionOptions, Permissions},
};
use goose_extension::{JsonObject, ToolAction, prelude::*};

use crate::support::{World, bounded, builtin_mode};

/// A part of goose with a tool that reads and one that runs something.
struct Part(&'static str);

impl Part {
    fn extension(name: &'static str) -> Arc<dyn Extension> {
        Arc::new(Self(name))
    }

    fn make_tools(knowledge: Option<ToolAction>) -> Vec<Tool> {
        let tool = |name: &'static str, group| Tool::new(name, name, JsonObject::new()).with_groups([group]);
        let load = tool("load", ToolGroup::Read);
        let load = knowledge.into_iter().fold(load, Tool::with_action);
        vec![tool("look", ToolGroup::Read), tool("run", ToolGroup::Command), load]
    }
}

#[async_trait]
impl Extension for Part {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "A part"
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        static SUMMON: LazyLock<Vec<Tool>> =
            LazyLock::new(|| Part::make_tools(Some(ToolAction::LoadsKnowledge)));
        static OTHERS: LazyLock<Vec<Tool>> = LazyLock::new(|| Part::make_tools(None));
        if self.0 == "summon" { &SUMMON } else { &OTHERS }
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, name: &str, _: HashMap<String, Value>) -> ToolResult<Value> {
        Ok(json!(format!("{} {name}", self.0)))
    }
}

async fn manager(world: &World, parts: &[&'static str]) -> anyhow::Result<Arc<ExtensionManager>> {
    let configs = vec![world.server("user", &[])?, ExtensionConfig::builtin("memory")];
    let manager = world.manager(configs).await?;
    for part in parts {
        manager.add_extension(Part::extension(part))?;
    }
    bounded(manager.list_tools()).await??;
    Ok(Arc::new(manager))
}

fn extensions_in(toolset: &Toolset) -> Vec<String> {
    let mut names: Vec<String> = toolset
        .tools()
        .iter()
        .map(|tool| tool.name().split("__").next().unwrap_or_default().to_owned())
        .collect();
    names.dedup();
    names
}

/// Calls a tool that the set resolves.
async fn call(toolset: &Toolset, name: &str) -> anyhow::Result<Result<String, ToolError>> {
    let handle = match toolset.resolve(name) {
        Ok(handle) => handle,
        Err(unknown) => return Ok(Err(unknown.into())),
    };
    let output = bounded(toolset.manager().call_tool(handle.tool.name(), json!({}))).await?;
    Ok(output.map(|output| output.as_text()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_assistant_has_its_own_tools_and_all_services_but_not_the_orchestrator_s() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &["summon", "todo", "apps", "developer", "chatrecall"]).await?;
    let toolset = Toolset::compute(&builtin_mode("assistant")?, &manager);
    ensure!(
        extensions_in(&toolset) == ["developer", "memory", "summon", "todo", "user"],
        "{:?}",
        toolset.tools()
    );
    ensure!(call(&toolset, "todo__run").await? == Ok("todo run".to_owned()));
    ensure!(call(&toolset, "summon__load").await? == Ok("summon load".to_owned()), "knowledge is a service");
    for name in ["summon__run", "apps__run", "chatrecall__look", "apps__load"] {
        ensure!(matches!(call(&toolset, name).await?, Err(ToolError::NotFound(_))), "{name}");
        ensure!(bounded(manager.call_tool(name, json!({}))).await?.is_ok(), "the manager itself has {name}");
    }
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_groups_means_no_tools_under_whatever_name() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &["developer"]).await?;
    let toolset = Toolset::compute(&builtin_mode("judge")?, &manager);
    ensure!(toolset.tools().is_empty() && bounded(toolset.list()).await?.is_empty());
    for tool in manager.known_tools().iter() {
        let bare = tool.name().split("__").last().unwrap_or_default();
        for name in [tool.name(), bare, ""] {
            let error = toolset.resolve(name).err().map(|error| error.to_string()).unwrap_or_default();
            ensure!(error.ends_with("There are no tools."), "{name}: {error}");
            ensure!(matches!(call(&toolset, name).await?, Err(ToolError::NotFound(_))), "{name}");
        }
    }
    manager.close().await;
    Ok(())
}

/// `read` is what goose's own tools of the extensions that the mode depends on say they are; nobody else's word counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_semantic_group_is_about_what_the_mode_depends_on() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &["developer", "other"]).await?;
    let names = |mode: AgentMode| -> Vec<String> {
        let toolset = Toolset::compute(&mode, &manager);
        toolset.tools().iter().map(|tool| tool.name().to_owned()).collect()
    };
    ensure!(names(AgentMode::new("pm", ["read"], ["developer"])) == ["developer__load", "developer__look"]);
    ensure!(names(AgentMode::new("pm", ["command"], ["developer", "user"])) == ["developer__run"]);
    ensure!(names(AgentMode::new("pm", ["read"], [""; 0])).is_empty());
    let toolset = Toolset::compute(&AgentMode::new("pm", ["read"], ["developer"]), &manager);
    // Bare names are those of the set: `other__look` is not in it.
    ensure!(call(&toolset, "look").await? == Ok("developer look".to_owned()));
    for name in ["run", "developer__run", "other__look", "echo", "user__echo"] {
        ensure!(matches!(call(&toolset, name).await?, Err(ToolError::NotFound(_))), "{name}");
    }
    manager.close().await;
    Ok(())
}

/// A server that calls itself `read` is not what the group `read` means.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_gets_in_under_the_name_of_a_semantic_group() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = Arc::new(world.manager(vec![world.server("read", &[])?]).await?);
    bounded(manager.list_tools()).await??;
    let names = |groups: [&str; 1]| {
        extensions_in(&Toolset::compute(&AgentMode::new("pm", groups, ["read"]), &manager))
    };
    ensure!(names(["read"]).is_empty(), "{:?}", names(["read"]));
    ensure!(names(["mcp"]) == ["read"], "it is a service like others");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_set_follows_the_extensions_and_is_made_once_for_each_change() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &[]).await?;
    let toolset = Toolset::compute(&builtin_mode("assistant")?, &manager);
    let first = toolset.tools();
    ensure!(Arc::ptr_eq(&first, &toolset.tools()), "nothing changed");
    ensure!(toolset.resolve("todo__run").is_err());
    manager.add_extension(Part::extension("todo"))?;
    bounded(toolset.list()).await?;
    ensure!(call(&toolset, "todo__run").await? == Ok("todo run".to_owned()));
    bounded(manager.remove("user")).await??;
    ensure!(extensions_in(&toolset) == ["memory", "todo"]);
    ensure!(matches!(call(&toolset, "user__echo").await?, Err(ToolError::NotFound(_))));
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_chat_there_are_no_tools_and_they_come_back() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &["developer"]).await?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Chat));
    let toolset =
        Toolset::compute(&builtin_mode("assistant")?, &manager).with_permissions(Arc::clone(&permissions));
    ensure!(toolset.tools().is_empty() && bounded(toolset.list()).await?.is_empty());
    let refused = call(&toolset, "developer__look").await?;
    ensure!(matches!(&refused, Err(ToolError::NotFound(text)) if text.contains("chat")), "{refused:?}");
    permissions.set_mode(Mode::Auto);
    ensure!(call(&toolset, "developer__look").await? == Ok("developer look".to_owned()));
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_say_whose_they_are_and_errors_what_is_near() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = manager(&world, &["developer"]).await?;
    let toolset = Toolset::compute(&builtin_mode("assistant")?, &manager);
    for (name, extension, origin) in [
        ("developer__look", "developer", Origin::Own),
        ("memory__search_memories", "memory", Origin::Own),
        ("search_memories", "memory", Origin::Own),
        ("user__echo", "user", Origin::Foreign),
    ] {
        let handle = toolset.resolve(name)?;
        let found = (handle.extension.as_str(), handle.origin);
        ensure!(found == (extension, origin), "{name}: {found:?}");
    }
    let error = toolset.resolve("developer__looks").err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("developer__look"), "{error}");
    let error = toolset.resolve(&"x".repeat(10_000)).err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.len() < 1000, "{error}");
    manager.close().await;
    Ok(())
}
