//! One manager, several conversations: folders, shared services, requirements, modes, and replacing an agent.

use std::{path::Path, sync::Arc};

use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::manifest::AgentMode,
    config::{ExtensionConfig, Profile, ProfileExtension, Settings, SettingsSource},
    exchange::{Event, Exchange},
    permission::Mode,
    session::{NewSession, Session, SessionStore, Step},
};
use goose_extension::{Requirements, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::{
    exchange_support::{all, done, outcome, provider},
    support::{World, bounded, builtin_mode},
};

fn options(model: &ModelServer, profile: Profile) -> anyhow::Result<OpenOptions> {
    Ok(OpenOptions::new(profile).with_provider(provider(model, Wire::Chat)?).with_session(Session::unsaved()))
}

fn profile(names: &[&str]) -> Profile {
    let mut profile = Profile::default();
    profile.extensions = names.iter().map(|name| ProfileExtension::new(*name)).collect();
    profile
}

async fn text(exchange: &Exchange, tool: &str, arguments: Value) -> anyhow::Result<String> {
    Ok(bounded(exchange.extensions().call_tool(tool, arguments)).await??.as_text())
}

/// The folder that a process works in.
fn folder_of(process: &str) -> anyhow::Result<std::path::PathBuf> {
    Ok(std::fs::read_link(Path::new("/proc").join(process).join("cwd"))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_of_one_process_work_in_their_own_folders() -> anyhow::Result<()> {
    let world = World::new()?;
    let agents = world.agents()?;
    let server = world.server("server", &[])?;
    let mut open = Vec::new();
    for name in ["one", "two"] {
        let folder = world.file(name);
        std::fs::create_dir(&folder)?;
        let folder = folder.canonicalize()?;
        let model = ModelServer::scripted([
            Turn::call("developer__shell", json!({"command": "pwd"})),
            Turn::text("Here."),
        ])?;
        let options = options(&model, profile(&["developer", "memory"]))?
            .with_extensions([server.clone()])
            .with_working_dir(&folder);
        open.push((agents.open(options).await?, model, folder));
    }
    for (exchange, model, folder) in &open {
        let events = all(exchange.reply_to("Where are you?")).await?;
        assert_eq!(outcome(&events)?, &done(), "{events:?}");
        let said = &model.asked()[1].tool_results()[0].1;
        assert!(said.contains(&folder.display().to_string()), "{said}");
        // Without a folder in the call, what was bound counts.
        let said = text(exchange, "developer__shell", json!({"command": "pwd"})).await?;
        assert!(said.contains(&folder.display().to_string()), "{said}");
        assert_eq!(&folder_of(&text(exchange, "server__pid", json!({})).await?)?, folder);
        let fact = json!({"category": "c", "data": "A fact.", "is_global": false});
        text(exchange, "memory__remember_memory", fact).await?;
        assert!(folder.join(".goose/memory").is_dir(), "{}", folder.display());
    }
    assert_eq!(world.starts("server").len(), 2, "one child for each folder");
    for (exchange, ..) in open {
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_run_the_same_is_shared() -> anyhow::Result<()> {
    let world = World::new()?;
    let here = world.context.clone().with_working_dir(world.file("here"));
    let there = world.context.clone().with_working_dir(world.file("there"));
    let mut elsewhere = here.clone();
    elsewhere.environment = Arc::new([("PATH", "/elsewhere")].into_iter().collect());
    let child = world.server("child", &[])?;
    let first = world.pool.bind(&child, &here);
    assert_eq!(first.id(), world.pool.bind(&child, &here).id());
    assert_ne!(first.id(), world.pool.bind(&child, &there).id(), "another folder");
    assert_ne!(first.id(), world.pool.bind(&child, &elsewhere).id(), "another environment");
    let site = ExtensionConfig::streamable_http("site", "http://127.0.0.1:9/mcp");
    let first = world.pool.bind(&site, &here);
    assert_eq!(first.id(), world.pool.bind(&site, &there).id(), "a server sees no folder");
    let mut stranger = here.clone();
    stranger.oauth = None;
    assert_ne!(first.id(), world.pool.bind(&site, &stranger).id(), "another login");
    Ok(())
}

/// An extension of the program that requires another one.
struct Reader {
    memory: Arc<dyn Extension>,
}

#[extension(name = "reader", description = "Reads what another extension keeps")]
impl Reader {
    fn new(_notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
        Self { memory: requires.get("facts") }
    }

    /// Says which instance is read.
    #[tool]
    async fn instance(&self) -> ToolResult<String> {
        Ok(format!("{:p}", Arc::as_ptr(&self.memory)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_extension_requires_is_the_instance_of_the_pool() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([])?;
    let mut profile = profile(&["memory", "reader"]);
    profile.extensions[1].requires.insert("facts".to_owned(), "memory".to_owned());
    let options = options(&model, profile)?.with_extension::<Reader>("reader");
    let exchange = world.agents()?.open(options).await?;
    let required = text(&exchange, "reader__instance", json!({})).await?;
    let bound = bounded(exchange.extensions().service("memory")?.extension()).await??;
    assert_eq!(required, format!("{:p}", Arc::as_ptr(&bound)));
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_the_mode_cannot_use_are_not_started() -> anyhow::Result<()> {
    let world = World::new()?;
    let agents = world.agents()?;
    let server = world.server("server", &[])?;
    let named = AgentMode::new("named", ["server"], [""; 0]);
    let reading = AgentMode::new("reading", ["read"], ["developer"]);
    for (mode, expected) in
        [(builtin_mode("judge")?, vec![]), (reading, vec!["developer"]), (named, vec!["server"])]
    {
        let model = ModelServer::scripted([Turn::text("Done.")])?;
        let options = options(&model, profile(&["developer", "memory"]))?
            .with_extensions([server.clone()])
            .with_working_dir(world.file(""))
            .with_mode(mode.clone());
        let exchange = agents.open(options).await?;
        assert_eq!(outcome(&all(exchange.reply_to("Hi")).await?)?, &done());
        assert_eq!(exchange.extensions().names(), expected, "{mode:?}");
        let running = world.pool.services();
        let running: Vec<&str> = running.iter().map(|service| service.name()).collect();
        assert_eq!(running, expected, "{mode:?}");
        let starts = usize::from(expected.contains(&"server"));
        assert_eq!(world.starts("server").len(), starts, "{mode:?}");
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_replaced_between_two_replies() -> anyhow::Result<()> {
    let world = World::new()?;
    let agents = world.agents()?;
    let model = ModelServer::scripted([
        Turn::text("One."),
        Turn::call("memory__remember_memory", json!({"category": "c", "data": "d", "is_global": true})),
        Turn::text("Two."),
    ])?;
    let folder = world.file("");
    let first =
        options(&model, profile(&["developer", "memory"]))?.with_working_dir(&folder).with_mode(AgentMode {
            instructions: "Be quick.".into(),
            ..AgentMode::new("coder", ["developer"], ["developer"])
        });
    let store = SessionStore::at(world.file("sessions.db"));
    let first = first.with_session(store.create(NewSession::in_folder(&folder)).await?);
    let exchange = agents.open(first).await?;
    assert_eq!(outcome(&all(exchange.reply_to("Hi")).await?)?, &done());
    let earlier = exchange.extensions();

    let scribe = AgentMode {
        temperature: Some(0.5),
        instructions: "Be thorough.".into(),
        ..AgentMode::new("scribe", ["memory"], ["memory"])
    };
    let manifest = Arc::clone(&exchange.agent().manifest);
    assert_eq!(exchange.set_agent(manifest, scribe).await?, "goose-agent/scribe");
    let events = all(exchange.reply_to("And now?")).await?;
    assert_eq!(outcome(&events)?, &done(), "{events:?}");

    let asked = model.asked();
    let has = |request: usize, text: &str| asked[request].body["messages"][0].to_string().contains(text);
    assert!(asked[0].tool_names().iter().all(|name| name.starts_with("developer__")));
    assert!(has(0, "Be quick.") && !has(0, "Be thorough."));
    assert!(!asked[1].tool_names().is_empty());
    assert!(asked[1].tool_names().iter().all(|name| name.starts_with("memory__")));
    assert!(has(1, "Be thorough.") && !has(1, "Be quick."));
    assert_eq!((&asked[0].body["temperature"], &asked[1].body["temperature"]), (&Value::Null, &json!(0.5)));
    assert!(asked[1].body.to_string().contains("One."), "the conversation goes on");
    assert_eq!(asked[2].tool_results().len(), 1);
    let steps = store.steps(exchange.session_id()).await?.steps;
    let is_change = |step: &Step| matches!(step, Step::ModeChanged { agent: Some(agent), .. } if agent.ends_with("/scribe"));
    assert!(steps.iter().any(|stored| is_change(&stored.step)), "the log says so: {steps:?}");
    exchange.close().await;
    assert!(earlier.names().is_empty(), "the earlier agent's extensions are given back");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_is_in_its_permission_mode_unless_another_one_is_stricter_or_given()
-> anyhow::Result<()> {
    for (configured, given, stored, expected, is_told) in [
        (None, None, Mode::Approve, Mode::Approve, false),
        (Some("auto"), None, Mode::Chat, Mode::Chat, false),
        (Some("approve"), None, Mode::Auto, Mode::Approve, true),
        (Some("smart_approve"), None, Mode::SmartApprove, Mode::SmartApprove, false),
        (Some("approve"), Some("auto"), Mode::Chat, Mode::Auto, false),
        (None, Some("approve"), Mode::Auto, Mode::Approve, false),
    ] {
        let case = format!("{configured:?} {given:?} {stored}");
        let world = World::new()?;
        if let Some(mode) = configured {
            std::fs::create_dir_all(&world.paths().config)?;
            std::fs::write(world.paths().config_file(), format!("GOOSE_MODE: {mode}\n"))?;
        }
        let model = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
        let store = SessionStore::at(world.file("sessions.db"));
        let session = store.create(NewSession::in_folder(world.file(""))).await?;
        let id = session.id().clone();
        let open = async |session: goose::agent_manager::SessionState| -> anyhow::Result<Exchange> {
            let variables = given.map(|mode| ("GOOSE_MODE", mode));
            let settings = Settings::load(
                SettingsSource::new(world.paths())
                    .with_builtins(goose_mcp::BUILTINS)
                    .with_environment(variables),
            )?;
            let agents = AgentManager::new(settings).with_pool(Arc::clone(&world.pool));
            let options = OpenOptions::new(agents.settings().profile(None)?)
                .with_provider(provider(&model, Wire::Chat)?)
                .with_session(session)
                .with_working_dir(world.file(""));
            Ok(agents.open(options).await?)
        };
        let exchange = open(session.into()).await?;
        all(exchange.reply_to("First")).await?;
        // Nothing is said after the change: it is stored when the session is closed.
        exchange.set_mode(stored);
        exchange.close().await;

        let resumed = open(store.open_session(&id).await?.into()).await?;
        assert_eq!(resumed.permissions().mode(), expected, "{case}");
        let events = all(resumed.reply_to("Second")).await?;
        let tells = |event: &Event| matches!(event, Event::Notice(text) if text.contains("was last in the permission mode"));
        assert_eq!(events.iter().any(tells), is_told, "{case}: {events:?}");
        resumed.close().await;
    }
    Ok(())
}
