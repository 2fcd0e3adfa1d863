//! The RFC about extensions and agents: its four open questions as they were decided, and each row of its summary.

use std::{collections::BTreeSet, fs};

use goose::{
    agent_manager::OpenOptions,
    agents::{
        agent::Agent,
        catalog::{AgentCatalog, AgentOrigin},
        manifest::AgentManifest,
    },
    session::Session,
};
use goose_extension::MessageContent;
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use serde_json::json;

use crate::{
    exchange_support::{all, done, outcome, provider},
    support::{World, bounded, until},
};

/// An agent of the catalog as it would be in a session in the world's folder.
async fn agent(world: &World, name: &str) -> anyhow::Result<Agent> {
    let agents = world.agents()?;
    let (manifest, mode) = AgentCatalog::load(&world.paths(), &world.file("")).find(name)?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_agent(manifest, mode)
        .with_working_dir(world.file(""));
    let agent = agents.agent(options).await?;
    bounded(agent.toolset.list()).await?;
    Ok(agent)
}

fn tools(agent: &Agent) -> BTreeSet<String> {
    agent.toolset.tools().iter().map(|tool| tool.name().to_owned()).collect()
}

/// All built-in modes, as `AGENT/MODE`.
fn modes() -> Vec<String> {
    let catalog = AgentCatalog::builtin();
    let modes = catalog.agents.iter().flat_map(|entry| {
        entry.manifest.modes.iter().map(|mode| format!("{}/{}", entry.manifest.name, mode.slug))
    });
    modes.collect()
}

fn configure(world: &World, config: &str) -> anyhow::Result<()> {
    fs::create_dir_all(world.paths().config)?;
    Ok(fs::write(world.paths().config.join("config.yaml"), config)?)
}

/// The configuration of a server that notes its starts.
fn server_entry(world: &World) -> anyhow::Result<String> {
    let config = serde_json::to_value(world.server("mine", &[])?)?;
    Ok(format!("extensions:\n  mine: {config}\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_question_1_load_is_a_service_and_delegate_a_function_of_goose() -> anyhow::Result<()> {
    let world = World::new()?;
    let has = async |name: &str| -> anyhow::Result<(bool, bool)> {
        let tools = tools(&agent(&world, name).await?);
        Ok((tools.contains("summon__load"), tools.contains("delegate")))
    };
    assert_eq!(has("goose-agent/assistant").await?, (true, true));
    assert_eq!(has("coding-agent/backend").await?, (true, true));
    assert_eq!(has("coding-agent/qa").await?, (false, true), "what runs commands may delegate");
    assert_eq!(has("coding-agent/security").await?, (false, false), "what may not change anything may not");
    assert_eq!(has("orchestrator").await?, (true, true));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_question_2_top_of_mind_comes_once_with_each_request() -> anyhow::Result<()> {
    let world = World::new()?;
    configure(&world, "GOOSE_MOIM_MESSAGE_TEXT: Geese first.\n")?;
    let model = ModelServer::scripted([
        Turn::call("developer__tree", json!({})),
        Turn::text("A."),
        Turn::text("B."),
    ])?;
    let agents = world.agents()?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_working_dir(world.file("").canonicalize()?)
        .with_session(Session::unsaved());
    let exchange = agents.open(options).await?;
    for request in ["Review this repository for SQL injection and hard-coded secrets", "thanks"] {
        assert_eq!(outcome(&all(exchange.reply_to(request)).await?)?, &done());
    }
    assert_eq!(
        exchange.agent().id(),
        "coding-agent/security",
        "before routing: whichever agent answers has it"
    );
    let count = |request: usize| model.asked()[request].body.to_string().matches("Geese first.").count();
    assert_eq!([count(0), count(1), count(2)], [1, 1, 2], "once with each request, not with each turn");
    let said = |part: &&MessageContent| part.as_text() == Some("Geese first.");
    let messages = exchange.messages();
    let parts: Vec<&MessageContent> =
        messages.iter().flat_map(|message| &message.content).filter(said).collect();
    assert!(
        parts.len() == 2 && parts.iter().all(|part| part.is_aside()),
        "marked, so that compaction drops it"
    );
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_question_3_an_existing_configuration_is_read_as_it_is_and_never_rewritten() -> anyhow::Result<()>
{
    let world = World::new()?;
    let config = format!(
        "# mine\n{}  memory: {{enabled: false, type: builtin, name: memory}}\n  todo: {{enabled: false, type: platform, name: todo}}\n",
        server_entry(&world)?
    );
    configure(&world, &config)?;
    let assistant = tools(&agent(&world, "goose-agent/assistant").await?);
    let having = |extension: &str| assistant.iter().any(|tool| tool.starts_with(&format!("{extension}__")));
    assert_eq!(
        ["mine", "developer", "memory", "todo"].map(having),
        [true, true, false, false],
        "{assistant:?}"
    );
    let security = tools(&agent(&world, "coding-agent/security").await?);
    assert!(!security.iter().any(|tool| tool.starts_with("mine__")), "only modes with `mcp` see it");
    assert_eq!(fs::read_to_string(world.paths().config.join("config.yaml"))?, config);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_question_4_dependencies_of_an_agent_that_we_host_are_resolved_or_named() -> anyhow::Result<()> {
    let world = World::new()?;
    configure(&world, "extensions:\n  memory: {enabled: false, type: builtin, name: memory}\n")?;
    let folder = world.paths().config.join("agents");
    fs::create_dir_all(&folder)?;
    let manifest = json!({
        "name": "external",
        "metadata": {"dependencies": ["developer"]},
        "modes": [{"slug": "main", "tool_groups": ["read", "memory", "nowhere"], "dependencies": ["developer", "memory", "nowhere"]}],
    });
    fs::write(folder.join("external.json"), manifest.to_string())?;
    let agent = agent(&world, "external").await?;
    assert_eq!(agent.extensions.names(), ["developer"]);
    let unresolved: Vec<&str> = agent.unresolved.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(unresolved, ["memory", "nowhere"], "reported by name, not skipped");
    assert!(agent.unresolved.iter().all(|it| it.to_string().contains(&it.name)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_extension_loading_is_per_agent_and_mode() -> anyhow::Result<()> {
    let world = World::new()?;
    let builtin = AgentCatalog::builtin();
    for name in modes() {
        let agent = agent(&world, &name).await?;
        let (_, mode) = builtin.find(&name)?;
        for extension in agent.extensions.names() {
            let is_service = mode.has_group("mcp");
            let delegates = extension == "summon" && mode.can_run_commands();
            assert!(mode.depends_on(&extension) || is_service || delegates, "{name} has {extension}");
        }
        assert_eq!(agent.extensions.names().is_empty(), mode.tool_groups.is_empty(), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_tool_visibility_is_scoped_by_tool_groups() -> anyhow::Result<()> {
    let world = World::new()?;
    for (name, seen, unseen) in [
        ("goose-agent/assistant", "developer__shell", "apps__create_app"),
        ("goose-agent/app_maker", "apps__create_app", "developer__read"),
        ("coding-agent/security", "developer__read", "developer__write"),
        ("orchestrator", "delegate", "developer__read"),
    ] {
        let agent = agent(&world, name).await?;
        assert!(
            tools(&agent).contains(seen) && !tools(&agent).contains(unseen),
            "{name}: {:?}",
            tools(&agent)
        );
        assert!(agent.toolset.resolve(seen).is_ok() && agent.toolset.resolve(unseen).is_err(), "{name}");
    }
    for name in ["planner", "judge", "recipe_maker"] {
        assert!(tools(&agent(&world, name).await?).is_empty(), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_orchestration_tools_are_part_of_the_orchestrator() -> anyhow::Result<()> {
    let world = World::new()?;
    let owned = |tool: &String| {
        let is_owned =
            ["summon__", "extensionmanager__", "chatrecall__"].iter().any(|it| tool.starts_with(it));
        is_owned && tool != "summon__load"
    };
    for name in modes() {
        let tools = tools(&agent(&world, &name).await?);
        match name.as_str() {
            "orchestrator/orchestrator" => {
                assert!(tools.iter().filter(|tool| owned(tool)).count() >= 5, "{tools:?}")
            }
            _ => assert!(!tools.iter().any(owned), "{name}: {tools:?}"),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_context_injection_is_done_before_the_agent_and_is_no_extension() -> anyhow::Result<()> {
    for (config, is_told) in
        [("", true), ("extensions:\n  tom: {enabled: false, type: platform, name: tom}\n", false)]
    {
        let world = World::new()?;
        configure(&world, &format!("GOOSE_MOIM_MESSAGE_TEXT: Geese first.\n{config}"))?;
        let model = ModelServer::scripted([Turn::text("A.")])?;
        let agents = world.agents()?;
        let (manifest, mode) = AgentCatalog::builtin().find("judge")?;
        let options = OpenOptions::new(agents.settings().profile(None)?)
            .with_provider(provider(&model, Wire::Chat)?)
            .with_working_dir(world.file(""))
            .with_session(Session::unsaved())
            .with_agent(manifest, mode);
        let exchange = agents.open(options).await?;
        assert_eq!(outcome(&all(exchange.reply_to("Judge")).await?)?, &done());
        assert!(exchange.extensions().names().is_empty(), "the mode has no extensions at all");
        assert_eq!(model.asked()[0].body.to_string().contains("Geese first."), is_told);
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_agents_are_separated_by_their_manifests() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.paths().config.join("agents");
    fs::create_dir_all(&folder)?;
    for entry in &AgentCatalog::builtin().agents {
        let written = serde_json::to_string(&*entry.manifest)?;
        assert_eq!(serde_json::from_str::<AgentManifest>(&written)?, *entry.manifest, "nothing is left out");
        let copy =
            AgentManifest { name: format!("{}-copy", entry.manifest.name), ..(*entry.manifest).clone() };
        fs::write(folder.join(format!("{}.json", copy.name)), serde_json::to_string(&copy)?)?;
    }
    let catalog = AgentCatalog::load(&world.paths(), &world.file(""));
    assert_eq!(catalog.problems, []);
    let copies = catalog.agents.iter().filter(|entry| matches!(entry.origin, AgentOrigin::User(_)));
    assert_eq!(copies.count(), 3);
    for name in ["goose-agent/assistant", "coding-agent/architect", "orchestrator/orchestrator"] {
        let copy = name.replacen('/', "-copy/", 1);
        assert_eq!(tools(&agent(&world, &copy).await?), tools(&agent(&world, name).await?), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_summary_service_wiring_is_resolved_at_run_time() -> anyhow::Result<()> {
    let world = World::new()?;
    configure(&world, &server_entry(&world)?)?;
    let model = ModelServer::scripted(["A.", "B."].map(Turn::text))?;
    let agents = world.agents()?;
    let (manifest, mode) = AgentCatalog::builtin().find("security")?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_working_dir(world.file(""))
        .with_session(Session::unsaved())
        .with_agent(manifest, mode);
    let exchange = agents.open(options).await?;
    assert_eq!(outcome(&all(exchange.reply_to("Look")).await?)?, &done());
    assert!(world.starts("mine").is_empty(), "a service that no mode asked for is not started");
    assert!(bounded(exchange.switch_agent("backend")).await?.is_ok());
    assert_eq!(outcome(&all(exchange.reply_to("Look")).await?)?, &done());
    until("the service has started", || world.starts("mine").len() == 1).await?;
    let offered =
        |request: usize| model.asked()[request].tool_names().iter().any(|name| name.starts_with("mine__"));
    assert_eq!([offered(0), offered(1)], [false, true]);
    exchange.close().await;
    Ok(())
}
