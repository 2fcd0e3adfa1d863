//! `extensionmanager`: extensions that an agent looks at and switches, and the resources of those that it may touch.
#![cfg(target_os = "linux")]

use std::fs;

use anyhow::Context as _;
use goose::{
    agent_manager::{OpenOptions, SessionState},
    agents::catalog::AgentCatalog,
    exchange::{Event, Exchange},
    permission::{Mode, PermissionOptions, Permissions},
    session::{NewSession, Session},
};
use goose_extension::{ElicitAction, Elicited, prelude::*};
use goose_test_support::{
    binary,
    model_server::{ModelServer, Turn, Wire},
};

use crate::{
    exchange_support::{all, done, provider},
    support::{World, bounded},
};

const KEEPER: &str = "name: keeper
modes:
  - slug: main
    tool_groups: [extensionmanager, mcp]
    dependencies: [extensionmanager]
  - slug: narrow
    tool_groups: [extensionmanager]
    dependencies: [extensionmanager]
  - slug: listing
    tool_groups: [extensionmanager, todo]
    dependencies: [extensionmanager, todo]
";

/// A conversation with an agent that has the extension, and two servers in the configuration, one of them switched off.
async fn open(world: &World, model: &ModelServer, mode: &str) -> anyhow::Result<Exchange> {
    open_in(world, model, &format!("keeper/{mode}"), Session::unsaved()).await
}

/// The same with an agent, in a session.
async fn open_in(
    world: &World,
    model: &ModelServer,
    agent: &str,
    session: impl Into<SessionState>,
) -> anyhow::Result<Exchange> {
    let config = world.paths().config;
    fs::create_dir_all(config.join("agents"))?;
    fs::write(config.join("agents/keeper.yaml"), KEEPER)?;
    let (sink, faulty) = (binary("kitchen_sink")?, binary("faulty_server")?);
    let starts = world.file("off.starts");
    let yaml = format!(
        "extensions:\n  notes:\n    enabled: true\n    type: stdio\n    name: notes\n    description: Notes of the team\n    \
         cmd: {}\n    args: []\n    envs:\n      TOKEN: hunter2\n  off:\n    enabled: false\n    type: stdio\n    \
         name: 'off'\n    description: Rarely needed\n    cmd: {}\n    args: ['--starts', '{}']\n",
        sink.display(),
        faulty.display(),
        starts.display(),
    );
    fs::write(config.join("config.yaml"), yaml)?;
    let folder = world.file("").canonicalize()?;
    let agents = world.agents()?;
    let (manifest, mode) = AgentCatalog::load(&world.paths(), &folder).find(agent)?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(model, Wire::Chat)?)
        .with_working_dir(folder)
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_session(session)
        .with_agent(manifest, mode);
    Ok(agents.open(options).await?)
}

/// The results of calls in one reply. Forms are answered with what is given.
async fn results(
    exchange: &Exchange,
    model: &ModelServer,
    answer: Option<Value>,
) -> anyhow::Result<Vec<String>> {
    exchange.set_attended(answer.is_some());
    let mut reply = exchange.reply_to("Go");
    let mut last = None;
    while let Some(record) = bounded(reply.next_record()).await? {
        if let (Event::Elicitation(request), Some(answer)) = (&record.event, &answer) {
            let elicited = Elicited::new(ElicitAction::Accept).with_content(answer.clone());
            assert!(exchange.answer(&request.id, elicited));
        }
        last = Some(record.event.clone());
    }
    assert_eq!(last, Some(Event::Finished(done())));
    let asked = model.asked();
    Ok(asked.last().context("asked")?.tool_results().into_iter().map(|(_, text)| text).collect())
}

fn call(tool: &str, arguments: Value) -> Turn {
    Turn::call(&format!("extensionmanager__{tool}"), arguments)
}

fn manage(action: &str, name: &str) -> Turn {
    call("manage_extensions", json!({"action": action, "extension_name": name}))
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_are_listed_and_switched_at_run_time() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        call("search_available_extensions", json!({})),
        manage("enable", "off"),
        manage("enable", "todo"),
        manage("enable", "no-such"),
        manage("disable", "notes"),
        Turn::call("notes__add", json!({"a": 1, "b": 2})),
        manage("enable", "notes"),
        manage("disable", "extensionmanager"),
        Turn::text("Fine."),
    ])?;
    let exchange = open(&world, &model, "main").await?;
    let results = results(&exchange, &model, None).await?;
    let list = &results[0];
    assert!(list.contains("- notes (stdio, enabled): Notes of the team"), "{list}");
    assert!(list.contains("- off (stdio, switched off): Rarely needed"), "{list}");
    assert!(list.contains("- tutorial (builtin, available)"), "{list}");
    assert!(!list.contains("hunter2") && !list.contains("TOKEN") && !list.contains("kitchen_sink"), "{list}");
    assert!(results[1].contains("the user did not agree"), "nobody can be asked: {}", results[1]);
    assert!(world.starts("off").is_empty());
    assert!(results[2].contains("belongs to the agents that name it"), "{}", results[2]);
    assert!(results[3].contains("There is no extension `no-such`"), "{}", results[3]);
    assert!(results[4].contains("`notes` is disabled"), "{}", results[4]);
    assert!(results[5].contains("There is no tool"), "{}", results[5]);
    assert!(results[6].contains("`notes` is enabled with"), "{}", results[6]);
    assert!(results[7].contains("cannot disable itself"), "{}", results[7]);
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_switched_off_is_started_only_with_consent() -> anyhow::Result<()> {
    for consent in [true, false] {
        let world = World::new()?;
        let model = ModelServer::scripted([
            manage("enable", "off"),
            Turn::call("off__echo", json!({"text": "here"})),
            Turn::text("Fine."),
        ])?;
        let exchange = open(&world, &model, "main").await?;
        let results = results(&exchange, &model, Some(json!({ "enable": consent }))).await?;
        assert_eq!(results[0].contains("`off` is enabled with"), consent, "{}", results[0]);
        assert_eq!(results[1] == "here", consent, "{}", results[1]);
        assert_eq!(world.starts("off").is_empty(), !consent);
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_read_where_the_mode_may_touch_them() -> anyhow::Result<()> {
    for (mode, may) in [("main", true), ("narrow", false)] {
        let world = World::new()?;
        let model = ModelServer::scripted([
            call("list_resources", json!({})),
            call("read_resource", json!({"uri": "note://2"})),
            call("read_resource", json!({"uri": "note://2", "extension_name": "notes"})),
            call("read_resource", json!({"uri": "note://missing"})),
            manage("enable", "off"),
            Turn::text("Fine."),
        ])?;
        let exchange = open(&world, &model, mode).await?;
        let results = results(&exchange, &model, Some(json!({"enable": true}))).await?;
        assert_eq!(results[0].contains("- notes: note://2"), may, "{}", results[0]);
        assert_eq!(results[1] == "Text 2", may, "{}", results[1]);
        assert_eq!(results[2] == "Text 2", may, "{}", results[2]);
        assert!(results[3].contains("note://missing"), "{}", results[3]);
        let others = "The mode `narrow` cannot use it. These can, in this session: goose-agent/assistant, ";
        assert_eq!(results[4].contains("`off` is enabled with"), may, "{}", results[4]);
        assert_eq!(results[4].contains(others), !may, "{}", results[4]);
        assert_eq!(world.starts("off").is_empty(), !may, "only a mode that can use it starts it");
        exchange.close().await;
    }
    Ok(())
}

/// Any mode that has the server has its resources; without one, no tool for them is offered.
#[tokio::test(flavor = "multi_thread")]
async fn a_mode_with_a_server_reads_its_resources() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        call("list_resources", json!({})),
        call("read_resource", json!({"uri": "note://2"})),
        call("read_resource", json!({"uri": "note://broken", "extension_name": "nobody"})),
        Turn::text("Fine."),
    ])?;
    let exchange = open_in(&world, &model, "goose-agent/assistant", Session::unsaved()).await?;
    let results = results(&exchange, &model, None).await?;
    assert!(results[0].contains("- notes: note://2"), "{}", results[0]);
    assert_eq!(results[1], "Text 2");
    assert!(results[2].contains("nobody"), "{}", results[2]);
    let asked = model.asked();
    let offered: Vec<&str> = asked.iter().flat_map(|asked| asked.tool_names()).collect();
    assert!(!offered.iter().any(|name| name.ends_with("manage_extensions")), "{offered:?}");
    exchange.close().await;

    let world = World::new()?;
    let model = ModelServer::scripted([Turn::text("Fine.")])?;
    let agents = world.agents()?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_working_dir(world.file("").canonicalize()?)
        .with_session(Session::unsaved());
    let exchange = agents.open(options).await?;
    bounded(all(exchange.reply_to("hello"))).await??;
    assert!(!has(&model, "extensionmanager"), "{:?}", offered_extensions(&model));
    exchange.close().await;
    Ok(())
}

/// The extensions whose tools the last request offered.
fn offered_extensions(model: &ModelServer) -> Vec<String> {
    let asked = model.asked();
    let names = asked.last().into_iter().flat_map(|asked| asked.tool_names());
    let mut extensions: Vec<String> =
        names.filter_map(|name| Some(name.split_once("__")?.0.to_owned())).collect();
    extensions.dedup();
    extensions
}

fn has(model: &ModelServer, extension: &str) -> bool {
    offered_extensions(model).iter().any(|name| name == extension)
}

#[tokio::test(flavor = "multi_thread")]
async fn switched_extensions_stay_when_the_agent_changes() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        manage("enable", "tutorial"),
        manage("disable", "notes"),
        Turn::text("Fine."),
        Turn::text("As backend."),
        Turn::text("As security."),
        manage("enable", "notes"),
        Turn::text("As keeper."),
        Turn::text("As backend."),
    ])?;
    let exchange = open(&world, &model, "main").await?;
    results(&exchange, &model, None).await?;
    assert!(has(&model, "tutorial") && !has(&model, "notes"), "{:?}", offered_extensions(&model));
    for (agent, tutorial, notes) in [
        ("coding-agent/backend", true, false),
        // No group of it gives a service that it does not depend on.
        ("coding-agent/security", false, false),
        ("keeper/main", true, true),
        ("coding-agent/backend", true, true),
    ] {
        exchange.switch_agent(agent).await.map_err(anyhow::Error::msg)?;
        results(&exchange, &model, None).await?;
        assert_eq!((has(&model, "tutorial"), has(&model, "notes")), (tutorial, notes), "{agent}");
    }
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_orchestrator_enables_extensions_for_agents_that_can_use_them() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        manage("enable", "tutorial"),
        manage("enable", "tutorial"),
        call("search_available_extensions", json!({})),
        Turn::call("delegate", json!({"instructions": "Teach me", "source": "coding-agent/backend"})),
        Turn::text("Taught."),
        Turn::text("Delegated."),
        Turn::text("Here."),
    ])?;
    let exchange = open_in(&world, &model, "orchestrator", Session::unsaved()).await?;
    let results = results(&exchange, &model, None).await?;
    let (first, again, list) = (&results[0], &results[1], &results[2]);
    assert!(first.starts_with("`tutorial` is enabled. The mode `orchestrator` cannot use it."), "{first}");
    assert!(first.contains("coding-agent/backend") && !first.contains("coding-agent/security"), "{first}");
    assert!(again.starts_with("`tutorial` is enabled already. The mode"), "{again}");
    assert!(list.contains("- tutorial (builtin, enabled for other agents)"), "{list}");
    assert!(results[3].contains("Taught."), "{}", results[3]);
    let has_tutorial: Vec<bool> = model
        .asked()
        .iter()
        .map(|asked| asked.tool_names().iter().any(|name| name.starts_with("tutorial__")))
        .collect();
    assert_eq!(has_tutorial, [false, false, false, false, true, false], "only the delegate has it");
    exchange.switch_agent("goose-agent/assistant").await.map_err(anyhow::Error::msg)?;
    self::results(&exchange, &model, None).await?;
    assert!(has(&model, "tutorial"), "{:?}", offered_extensions(&model));
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_goose_that_was_disabled_can_be_enabled_again() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        manage("disable", "todo"),
        Turn::text("Gone."),
        Turn::text("Still gone."),
        manage("enable", "todo"),
        Turn::text("Back."),
    ])?;
    let exchange = open(&world, &model, "listing").await?;
    for expected in [false, false, true] {
        results(&exchange, &model, None).await?;
        assert_eq!(has(&model, "todo"), expected, "{:?}", offered_extensions(&model));
        exchange.switch_agent("keeper/listing").await.map_err(anyhow::Error::msg)?;
    }
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_keeps_what_the_configuration_allows() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        manage("enable", "tutorial"),
        manage("enable", "off"),
        manage("disable", "notes"),
        Turn::text("Fine."),
        Turn::text("Resumed."),
    ])?;
    let store = world.agents()?.store().clone();
    let session = store.create(NewSession::in_folder(world.file(""))).await?;
    let id = session.id().clone();
    let exchange = open_in(&world, &model, "keeper/main", session).await?;
    results(&exchange, &model, Some(json!({"enable": true}))).await?;
    assert!(
        has(&model, "tutorial") && has(&model, "off") && !has(&model, "notes"),
        "{:?}",
        offered_extensions(&model)
    );
    exchange.close().await;
    let starts = world.starts("off").len();

    let resumed = open_in(&world, &model, "keeper/main", store.open_session(&id).await?).await?;
    let events = all(resumed.reply_to("Go on")).await?;
    assert!(has(&model, "tutorial") && !has(&model, "notes"), "{:?}", offered_extensions(&model));
    assert!(!has(&model, "off"), "a log does not stand for the user's consent");
    assert_eq!(world.starts("off").len(), starts);
    let is_told = |event: &Event| matches!(event, Event::Notice(notice) if notice.contains("The extension `off` was enabled in this session"));
    assert!(events.iter().any(is_told), "{events:?}");
    resumed.close().await;
    Ok(())
}
