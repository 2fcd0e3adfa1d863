//! `extensionmanager`: extensions that an agent looks at and switches, and the resources of those that it may touch.
#![cfg(target_os = "linux")]

use std::fs;

use anyhow::Context as _;
use goose::{
    agent_manager::OpenOptions,
    agents::catalog::AgentCatalog,
    exchange::{Event, Exchange},
    permission::{Mode, PermissionOptions, Permissions},
    session::Session,
};
use goose_extension::{ElicitAction, Elicited, prelude::*};
use goose_test_support::{
    binary,
    model_server::{ModelServer, Turn, Wire},
};

use crate::{
    exchange_support::{done, provider},
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
";

/// A conversation with an agent that has the extension, and two servers in the configuration, one of them switched off.
async fn open(world: &World, model: &ModelServer, mode: &str) -> anyhow::Result<Exchange> {
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
    let (manifest, mode) = AgentCatalog::load(&world.paths(), &folder).find(&format!("keeper/{mode}"))?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(model, Wire::Chat)?)
        .with_working_dir(folder)
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_session(Session::unsaved())
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
        assert_eq!(results[4].contains("may not use `off`"), !may, "{}", results[4]);
        exchange.close().await;
    }
    Ok(())
}
