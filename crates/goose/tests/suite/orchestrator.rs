//! The orchestrator: which agent answers a request, handing it back, and what earlier sessions have about it.

use std::{fs, path::Path, sync::Arc};

use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::{
        catalog::AgentCatalog,
        orchestrator_agent::{RouteSettings, RoutedBy, SplitSetting, route},
    },
    config::{Settings, SettingsSource},
    exchange::{Event, Exchange},
    permission::{Mode, PermissionOptions, Permissions},
    session::{NewSession, Session, SessionStore, Step},
};
use goose_extension::{Message, MessageContent};
use goose_router::Means;
use goose_session::ChosenBy;
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use serde_json::json;

use crate::{
    exchange_support::{Stage, all, done, outcome, problem, provider},
    support::World,
};

/// The agents that requests were routed to, and by what.
fn routed(events: &[Event]) -> Vec<(String, RoutedBy, bool)> {
    let routed = events.iter().filter_map(|event| match event {
        Event::Routed { agent, mode, by, is_switch, .. } => {
            Some((format!("{agent}/{mode}"), *by, *is_switch))
        }
        _ => None,
    });
    routed.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_question_is_one_request_to_the_default_agent() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("Paris.")]).await?;
    let events = stage.say("What is the capital of France?").await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(stage.model.asked().len(), 1);
    let routed = routed(&events);
    assert!(
        matches!(routed.as_slice(), [(agent, _, false)] if agent == "goose-agent/assistant"),
        "{routed:?}"
    );
    let changes = stage.steps().await?.into_iter().filter(|step| matches!(step, Step::ModeChanged { .. }));
    assert_eq!(changes.count(), 0);
    Ok(())
}

const BACKEND: &str = "Add a REST endpoint for orders with pagination to the server";
const SECURITY: &str = "Review this repository for SQL injection and hard-coded secrets";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_chooses_the_agent_and_the_session_keeps_it() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B.", "C.", "D."].map(Turn::text)).await?;
    for (request, by) in [
        (BACKEND, RoutedBy::Local),
        ("thanks", RoutedBy::Session),
        ("The login button overlaps the logo on small screens, fix the css", RoutedBy::Session),
        ("Write unit tests for the cart", RoutedBy::Session),
    ] {
        let events = stage.say(request).await?;
        assert_eq!(outcome(&events)?, &done());
        let is_switch = by == RoutedBy::Local;
        assert_eq!(routed(&events), [("coding-agent/backend".to_owned(), by, is_switch)], "{request}");
    }
    assert_eq!(stage.model.asked().len(), 4, "routing asks no model");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_ten_messages_has_one_system_prompt_and_one_tool_list() -> anyhow::Result<()> {
    let stage = Stage::new((0..10).map(|_| Turn::text("Done."))).await?;
    for request in [
        "The function average in src/calc.py divides by len + 1, which is wrong",
        "Fix it and add a test for it",
        "Build a todo app with React in ./todo",
        "make a plan for adding i18n",
        "why does npm run build fail?",
        "1. Rename Order to Purchase\n2. Add a Dockerfile for the worker\n3. Draft the release notes",
        "Write a user story for login",
        "implement that",
        "is the upload handler vulnerable to path traversal?",
        "thanks, commit everything",
    ] {
        stage.say(request).await?;
    }
    let asked = stage.model.asked();
    assert_eq!(asked.len(), 10);
    for (number, asked) in asked.iter().enumerate().skip(1) {
        let first = &stage.model.asked()[0].body;
        assert_eq!(asked.body["tools"], first["tools"], "request {number}");
        assert_eq!(asked.body["messages"][0], first["messages"][0], "request {number}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_lacks_the_means_leaves_the_session_to_the_default_agent() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B.", "C.", "D."].map(Turn::text)).await?;
    for (request, agent, is_switch) in [
        (SECURITY, "coding-agent/security", true),
        ("What about the login form?", "coding-agent/security", false),
        ("fix it", "goose-agent/assistant", true),
        ("thanks", "goose-agent/assistant", false),
    ] {
        let events = stage.say(request).await?;
        let found = routed(&events);
        assert_eq!((found[0].0.as_str(), found[0].2), (agent, is_switch), "{request}");
        assert_eq!(stage.exchange.agent().id(), agent);
    }
    let instructions = stage.model.asked()[0].body["messages"][0].to_string();
    assert!(instructions.contains("security reviewer"), "{instructions}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_request_that_names_a_specialist_is_answered_by_it_once() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::text("A."),
        Turn::text("No flaws."),
        Turn::text("C."),
        hand_back("I may only read."),
        Turn::text("E."),
    ])?;
    let exchange = open(&world, &model).await?;
    say(&exchange, "Hello! upload.py takes avatars").await?;
    let events = say(&exchange, "Please do a security review of the upload code").await?;
    assert_eq!(routed(&events), [("coding-agent/security".to_owned(), RoutedBy::User, true)]);
    let asked = model.asked();
    assert!(asked[1].body.to_string().contains("upload.py takes avatars"), "it sees the whole session");
    assert_eq!(exchange.agent().id(), "goose-agent/assistant");
    say(&exchange, "What did security say?").await?;
    let events = say(&exchange, "Now do a security audit of the download code").await?;
    let lines = hand_backs(&events);
    assert_eq!(lines, ["to coding-agent/security", "from coding-agent/security: I may only read."]);
    let asked = model.asked();
    assert_eq!(asked[2].body["tools"], asked[0].body["tools"], "a question about an agent is not for it");
    assert_eq!(asked[4].body["tools"], asked[0].body["tools"], "the session's agent goes on");
    exchange.close().await;
    Ok(())
}

const LIST: &str = "1. Rename the class Order to Purchase\n2. Add a Dockerfile for the worker\n3. Explain how the cache expires";

/// A session in which an explicit list is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_written_after_a_look_around_with_tools_that_read() -> anyhow::Result<()> {
    let world = World::new()?;
    configure(&world, "GOOSE_PLANNER_PROVIDER: openai\nGOOSE_PLANNER_MODEL: gpt-5\n")?;
    let folder = world.file("").canonicalize()?;
    let model = ModelServer::scripted([
        Turn::call("developer__tree", json!({"path": "."})),
        Turn::text("There is one module."),
        Turn::text("1. Split it."),
        Turn::text("Done."),
    ])?;
    let settings = SettingsSource::new(world.paths())
        .with_builtins(goose_mcp::BUILTINS)
        .with_environment([("OPENAI_HOST", model.url()), ("OPENAI_API_KEY", "key".to_owned())]);
    let agents = AgentManager::new(Settings::load(settings)?).with_pool(Arc::clone(&world.pool));
    let exchange = agents.open(options(&agents, &model, &folder).await?).await?;
    let events = say(&exchange, "Plan the split of the parser into modules").await?;
    let agents: Vec<String> = routed(&events).into_iter().map(|(agent, ..)| agent).collect();
    assert_eq!(agents, ["goose-agent/assistant", "goose-agent/planner"]);
    say(&exchange, "go ahead").await?;
    let asked = model.asked();
    for asked in &asked[..2] {
        let tools = asked.tool_names();
        assert!(tools.contains(&"developer__read"), "{tools:?}");
        assert!(
            !tools.iter().any(|name| ["developer__shell", "developer__write", "delegate"].contains(name))
        );
    }
    assert!(asked[2].tool_names().is_empty() && asked[2].body["model"] == "gpt-5", "the planner writes");
    assert!(asked[2].body.to_string().contains("There is one module."), "from what was found");
    assert!(asked[3].tool_names().contains(&"developer__shell"), "the session goes on with its agent");
    assert!(asked[3].body.to_string().contains("1. Split it."));
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_is_enabled_as_a_step_and_the_request_goes_on() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::call(
            "extensionmanager__manage_extensions",
            json!({"action": "enable", "extension_name": "tutorial"}),
        ),
        Turn::text("It is enabled."),
        Turn::call("tutorial__load_tutorial", json!({"name": "build-mcp-extension"})),
        Turn::text("Let us begin."),
        Turn::text("Next."),
    ])?;
    let exchange = open(&world, &model).await?;
    say(&exchange, "enable the tutorial and start it").await?;
    assert_eq!(exchange.agent().id(), "goose-agent/assistant");
    say(&exchange, "next").await?;
    let asked = model.asked();
    let has = |request: usize, tool: &str| asked[request].tool_names().contains(&tool);
    assert!(has(0, "extensionmanager__manage_extensions") && !has(0, "developer__shell"));
    assert!(!has(0, "hand_back"), "the request goes on by itself");
    assert!(has(2, "tutorial__load_tutorial") && has(2, "developer__shell"), "{:?}", asked[2].tool_names());
    assert!(asked[3].tool_results().len() == 2, "{:?}", asked[3].tool_results());
    assert!(has(4, "tutorial__load_tutorial"));
    exchange.close().await;
    Ok(())
}

async fn say_list(split: Option<SplitSetting>, config: &str) -> anyhow::Result<(ModelServer, Vec<Event>)> {
    let world = World::new()?;
    configure(&world, config)?;
    let model = ModelServer::answering(|_| Turn::text("Done."))?;
    let agents = world.agents()?;
    let options = options(&agents, &model, &world.file("").canonicalize()?).await?;
    let options = split.into_iter().fold(options, OpenOptions::with_split);
    let exchange = agents.open(options).await?;
    let events = say(&exchange, LIST).await?;
    exchange.close().await;
    Ok((model, events))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_independent_jobs_is_split_only_as_the_settings_say() -> anyhow::Result<()> {
    for (split, config, requests) in [
        (None, "", 1),
        (None, "orchestrator: {split: off}\n", 1),
        (None, "orchestrator: {split: auto}\n", 4),
        (Some(SplitSetting::Auto), "orchestrator: {split: off}\n", 4),
        (Some(SplitSetting::Off), "orchestrator: {split: auto}\n", 1),
        (None, "orchestrator: {split: auto}\nGOOSE_ORCHESTRATOR_DISABLED: true\n", 1),
    ] {
        let (model, events) = say_list(split, config).await?;
        assert_eq!(model.asked().len(), requests, "{split:?} {config}");
        let is_planned = events.iter().any(|event| matches!(event, Event::TaskPlan(_)));
        assert_eq!(is_planned, requests > 1, "{split:?} {config}");
    }
    Ok(())
}

#[test]
fn ordinary_requests_are_one_request_for_an_agent_that_can_do_them() -> anyhow::Result<()> {
    let catalog = AgentCatalog::builtin();
    for text in [
        "Fix it and add a test for it",
        "Find the bug, fix it, run the tests and commit the fix.",
        "I have this failing test output: FAILED tests/test_api.py::test_orders - AssertionError: 500 != 200\nE sqlalchemy: no such table: orders\n1. The migration ran fine locally.\n2. The docker image was rebuilt.\nWhat is wrong?",
        "Implement this ticket:\n## Requirements\n- Users can filter orders by status in the UI\n- The API gets a new query parameter status\n- Add tests\n- Update the docs. Keep the code style. Do everything in one commit.",
        "The login button does nothing; the API returns 500. Fix both.",
        "The server prints >> error: connection refused << when I open the page. Fix it.",
        "The test in tests/test_calc.py fails. Find the bug, fix it, run the tests and commit the fix.",
        "Find out why CI fails and fix it",
        "Fix the bug in average and add a test for it",
        "Read main.rs. Then explain how errors are handled. Then suggest improvements.",
        "Look at the design in docs/design.md and implement step 1",
        "Build a todo app with React in ./todo",
        "Create a small HTML timer app in timer.html",
        "make a plan for adding i18n",
        "Add a function median to src/calc.py with tests, run them, and update the README.",
        "fix the failing test",
        "Refactor calc.py and run the tests",
        "Update the dependencies and make sure the tests pass",
    ] {
        let route = route(&catalog, text, RouteSettings::default(), None)?;
        assert_eq!(route.tasks.len(), 1, "{text}");
        let (_, mode) = catalog.find(&route.id())?;
        assert!(mode.can_run_commands() && mode.means().covers(Means::ALL), "{text}: {}", route.id());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_the_user_names_is_not_routed_away() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::text("A."), Turn::text("B.")])?;
    let (manifest, mode) = AgentCatalog::builtin().find("security")?;
    let stage = Stage::with(Wire::Chat, model, |options| options.with_agent(manifest, mode)).await?;
    let events = stage.say("Write a haiku about the sea").await?;
    assert_eq!((outcome(&events)?, routed(&events)), (&done(), vec![]));
    assert_eq!(stage.exchange.agent().chosen_by, ChosenBy::User);
    let events = stage.say("@architect and you?").await?;
    assert_eq!(routed(&events), [("coding-agent/architect".to_owned(), RoutedBy::User, true)]);
    assert_eq!(stage.exchange.agent().id(), "coding-agent/security");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_several_agents_have_is_refused_with_their_names() -> anyhow::Result<()> {
    let stage = Stage::new([]).await?;
    let folder = stage.world.paths().config.join("agents");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("mine.yaml"), "name: mine\nmodes: [{slug: backend, tool_groups: [read]}]\n")?;
    let events = stage.say("@backend fix it").await?;
    let end = format!("{:?}", outcome(&events)?);
    assert!(end.contains("coding-agent, mine") && end.contains("AGENT/MODE"), "{end}");
    assert!(stage.model.asked().is_empty() && stage.exchange.messages().is_empty());
    Ok(())
}

#[tokio::test]
async fn the_log_says_who_chose_an_agent() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = SessionStore::at(folder.path().join("sessions.db"));
    let session = store.create(NewSession::in_folder(folder.path())).await?;
    for routed in [false, true] {
        let step = Step::ModeChanged { permission: None, agent: Some("coding-agent/qa".into()), routed };
        session.append(&step).await?;
        let stored = store.steps(session.id()).await?.steps.pop().map(|stored| stored.step);
        assert_eq!(stored, Some(step));
    }
    let plain = r#"{"step": "mode_changed", "agent": "coding-agent/qa"}"#;
    let read: Step = serde_json::from_str(plain)?;
    assert!(
        matches!(read, Step::ModeChanged { routed: false, .. }),
        "earlier versions only know the user's choice"
    );
    Ok(())
}

/// Options of a session of the store, with the extensions that agents depend on.
async fn options(agents: &AgentManager, model: &ModelServer, folder: &Path) -> anyhow::Result<OpenOptions> {
    let session = agents.store().create(NewSession::in_folder(folder)).await?;
    Ok(OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(model, Wire::Chat)?)
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_working_dir(folder)
        .with_session(session))
}

async fn open(world: &World, model: &ModelServer) -> anyhow::Result<Exchange> {
    let agents = world.agents()?;
    let options = options(&agents, model, &world.file("").canonicalize()?).await?;
    Ok(agents.open(options).await?)
}

fn configure(world: &World, config: &str) -> anyhow::Result<()> {
    fs::create_dir_all(world.paths().config)?;
    Ok(fs::write(world.paths().config.join("config.yaml"), config)?)
}

/// The events of a reply that ends well.
async fn say(exchange: &Exchange, text: &str) -> anyhow::Result<Vec<Event>> {
    let events = all(exchange.reply_to(text)).await?;
    assert_eq!(outcome(&events)?, &done(), "{text}");
    Ok(events)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_agent_stays_for_the_rest_of_the_session() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B."].map(Turn::text)).await?;
    stage.say(BACKEND).await?;
    let chosen = stage.exchange.switch_agent("pm").await;
    assert_eq!(chosen?, "coding-agent/pm");
    let events = stage.say(SECURITY).await?;
    assert_eq!(routed(&events), []);
    assert_eq!(stage.exchange.agent().id(), "coding-agent/pm");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_turns_routing_off_but_not_names() -> anyhow::Result<()> {
    for (value, is_off) in [("true", true), ("1", true), ("'on'", true), ("false", false), ("0", false)] {
        let world = World::new()?;
        configure(&world, &format!("GOOSE_ORCHESTRATOR_DISABLED: {value}\n"))?;
        let model = ModelServer::scripted(["A.", "B."].map(Turn::text))?;
        let exchange = open(&world, &model).await?;
        let events = say(&exchange, BACKEND).await?;
        assert_eq!(routed(&events).is_empty(), is_off, "{value}");
        let agent = if is_off { "goose-agent/assistant" } else { "coding-agent/backend" };
        assert_eq!(exchange.agent().id(), agent, "{value}");
        let events = say(&exchange, "@security and you?").await?;
        assert_eq!(routed(&events), [("coding-agent/security".to_owned(), RoutedBy::User, true)]);
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_knows_who_chose_its_agent() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    let model = ModelServer::scripted(["A.", "B.", "C.", "D.", "E."].map(Turn::text))?;
    let exchange = open(&world, &model).await?;
    let id = exchange.session_id().clone();
    say(&exchange, BACKEND).await?;
    exchange.close().await;
    let resume = async |agents: &AgentManager| -> anyhow::Result<Exchange> {
        let loaded = agents.store().open_session(&id).await?;
        let name = loaded.summary.agent.clone().unwrap_or_default();
        let (manifest, mode) = AgentCatalog::builtin().find(&name)?;
        let options = options(agents, &model, &folder).await?;
        Ok(agents.open(options.with_session(loaded).with_last_agent(manifest, mode)).await?)
    };

    let agents = world.agents()?;
    let exchange = resume(&agents).await?;
    assert_eq!(exchange.agent().chosen_by, ChosenBy::Routing);
    let events = say(&exchange, "thanks").await?;
    assert_eq!(routed(&events), [("coding-agent/backend".to_owned(), RoutedBy::Session, false)]);
    let events = say(&exchange, SECURITY).await?;
    assert_eq!(routed(&events), [("coding-agent/backend".to_owned(), RoutedBy::Session, false)]);
    assert!(exchange.switch_agent("security").await.is_ok());
    say(&exchange, "thanks").await?;
    exchange.close().await;

    let exchange = resume(&agents).await?;
    assert_eq!(exchange.agent().chosen_by, ChosenBy::User);
    assert_eq!(routed(&say(&exchange, BACKEND).await?), []);
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fast_model_is_asked_only_about_an_unclear_first_request() -> anyhow::Result<()> {
    const UNCLEAR: &str = "Bitte schreibe ein Gedicht über das Meer und die Möwen";
    // Of what it cannot read, it does not know what it needs.
    for (request, answer, agent, by) in [
        (UNCLEAR, Some("coding-agent/frontend\n"), "coding-agent/frontend", RoutedBy::Accelerator),
        (UNCLEAR, Some("coding-agent/architect"), "goose-agent/assistant", RoutedBy::Local),
        (UNCLEAR, Some("I would take the architect."), "goose-agent/assistant", RoutedBy::Local),
        (UNCLEAR, Some("coding-agent/nothing"), "goose-agent/assistant", RoutedBy::Local),
        (BACKEND, None, "coding-agent/backend", RoutedBy::Local),
    ] {
        let world = World::new()?;
        let model = ModelServer::scripted(["A.", "B."].map(Turn::text))?;
        let fast = ModelServer::scripted(answer.map(Turn::text))?;
        let agents = world.agents()?;
        let options = options(&agents, &model, &world.file("").canonicalize()?).await?;
        let exchange = agents.open(options.with_accelerator(provider(&fast, Wire::Chat)?)).await?;
        let events = say(&exchange, request).await?;
        let expected: Vec<(String, RoutedBy)> = vec![(agent.to_owned(), by)];
        let found: Vec<_> = routed(&events).into_iter().map(|(agent, by, _)| (agent, by)).collect();
        assert_eq!(found, expected, "{request}: {answer:?}");
        say(&exchange, "Und jetzt noch ein anderes Gedicht über die Berge").await?;
        assert_eq!(fast.asked().len(), usize::from(answer.is_some()), "{request}: {answer:?}");
        if let Some(asked) = fast.asked().first() {
            let body = asked.body.to_string();
            assert!(body.contains("coding-agent/backend: ") && body.contains(UNCLEAR), "{body}");
            assert!(body.len() < 20_000 && asked.tool_names().is_empty());
        }
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fast_model_cannot_choose_a_mode_that_only_reads_for_a_change() -> anyhow::Result<()> {
    let mut asked = 0;
    for request in [
        "Refactor the report for the board of the clinic",
        "Rewrite the plan of the game so that the server tests it",
        "Fix the tests of the deploy script for the login page",
    ] {
        let world = World::new()?;
        let model = ModelServer::scripted([Turn::text("A.")])?;
        let fast = ModelServer::answering(|_| Turn::text("coding-agent/security"))?;
        let agents = world.agents()?;
        let options = options(&agents, &model, &world.file("").canonicalize()?).await?;
        let exchange = agents.open(options.with_accelerator(provider(&fast, Wire::Chat)?)).await?;
        say(&exchange, request).await?;
        assert_ne!(exchange.agent().id(), "coding-agent/security", "{request}");
        for asked in fast.asked() {
            let body = asked.body.to_string();
            assert!(
                body.contains("coding-agent/backend: ") && !body.contains("coding-agent/security"),
                "{body}"
            );
        }
        asked += fast.asked().len();
        exchange.close().await;
    }
    assert!(asked > 0, "one of them is not clear");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_the_user_that_only_reads_gets_no_request_to_change_code() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.paths().config.join("agents");
    fs::create_dir_all(&folder)?;
    let agent = "name: ledger\nmodes:\n  - {slug: main, when_to_use: 'The ledger, invoices and tax code', tool_groups: [read]}\n";
    fs::write(folder.join("ledger.yaml"), agent)?;
    let routed = |text: &str| {
        let catalog = AgentCatalog::load(&world.paths(), &world.file(""));
        route(&catalog, text, RouteSettings::default(), None).map(|route| route.id())
    };
    let changes = [
        "Change how the ledger rounds tax on invoices",
        "Rewrite the ledger so that invoices have their tax in a column",
    ];
    assert_eq!(routed("Explain how the ledger computes tax on invoices")?, "ledger/main");
    for change in changes {
        assert_ne!(routed(change)?, "ledger/main", "{change}");
    }
    fs::write(folder.join("ledger.yaml"), agent.replace("[read]", "[read, edit, command]"))?;
    assert!(changes.iter().any(|change| routed(change).is_ok_and(|id| id == "ledger/main")));
    Ok(())
}

#[test]
fn a_request_that_names_its_agent_is_one_task() -> anyhow::Result<()> {
    let text = "@security look at the login and restyle the CSS buttons of the checkout page";
    let route = route(&AgentCatalog::builtin(), text, RouteSettings::default(), None)?;
    let tasks: Vec<(&str, &str)> =
        route.tasks.iter().map(|task| (task.id.as_str(), task.text.as_str())).collect();
    assert_eq!((route.id().as_str(), tasks), ("coding-agent/security", vec![("1", text)]));
    Ok(())
}

fn hand_back(reason: &str) -> Turn {
    Turn::call("hand_back", json!({"reason": reason}))
}

/// The routes and hand-backs, in order.
fn hand_backs(events: &[Event]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match event {
        Event::Routed { agent, mode, .. } => Some(format!("to {agent}/{mode}")),
        Event::HandedBack { agent, mode, reason } => Some(format!("from {agent}/{mode}: {reason}")),
        _ => None,
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_handed_back_goes_to_the_default_agent() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::text("There is an injection."),
        hand_back(&format!("I\u{1b}[31m may only read.\nReally. {}", "No. ".repeat(200)))
            .and_call("developer__tree", json!({})),
        Turn::text("Fixed."),
        Turn::text("You are welcome."),
    ])?;
    let exchange = open(&world, &model).await?;
    say(&exchange, SECURITY).await?;
    let events = say(&exchange, "What do you think of src/login.py?").await?;
    let lines = hand_backs(&events);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(!lines[1].contains(['\u{1b}', '\n']) && lines[1].len() < 400, "{lines:?}");
    assert_eq!(
        (lines[0].as_str(), lines[2].as_str()),
        ("to coding-agent/security", "to goose-agent/assistant")
    );
    let asked = model.asked();
    for (number, asked) in asked.iter().enumerate() {
        assert_eq!(asked.tool_names().contains(&"hand_back"), number < 2, "request {number}");
    }
    assert!(asked[2].tool_names().contains(&"developer__edit"));
    let results = asked[2].tool_results();
    assert!(results.len() == 2 && results[0].1.contains("Handed back"), "{results:?}");
    assert_eq!(problem(&exchange.messages()), None, "each call has one result");
    assert!(exchange.agent().toolset.resolve("hand_back").is_err(), "it is in no toolset");
    assert_eq!(routed(&say(&exchange, "thanks").await?)[0].0, "goose-agent/assistant");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fast_model_chooses_after_a_hand_back_and_nobody_is_asked_twice() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        hand_back("One."),
        hand_back("Two."),
        hand_back("Three."),
        Turn::text("Done."),
    ])?;
    let fast = ModelServer::scripted(["coding-agent/qa", "coding-agent/sre"].map(Turn::text))?;
    let agents = world.agents()?;
    let options = options(&agents, &model, &world.file("").canonicalize()?).await?;
    let exchange = agents.open(options.with_accelerator(provider(&fast, Wire::Chat)?)).await?;
    let events = say(&exchange, BACKEND).await?;
    let lines = hand_backs(&events);
    let tos: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("to ")).collect();
    assert_eq!(tos, ["coding-agent/backend", "coding-agent/qa", "coding-agent/sre", "goose-agent/assistant"]);
    let asked = fast.asked();
    assert!(!asked[1].body.to_string().contains("coding-agent/backend"), "it has handed back");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_without_tools_can_hand_back_and_a_named_agent_cannot() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::text("Deployed."),
        hand_back("I cannot save it."),
        Turn::text("Saved."),
        hand_back("I will not."),
        Turn::text("Well."),
    ])?;
    let exchange = open(&world, &model).await?;
    say(&exchange, "Deploy the site with rsync").await?;
    let events = say(&exchange, "Turn this conversation into a recipe").await?;
    assert_eq!(
        hand_backs(&events),
        ["to goose-agent/recipe_maker", "from goose-agent/recipe_maker: I cannot save it."]
    );
    assert!(exchange.switch_agent("security").await.is_ok());
    let events = say(&exchange, "look again").await?;
    assert_eq!(hand_backs(&events), Vec::<String>::new());
    let asked = model.asked();
    assert_eq!(asked[1].tool_names(), ["hand_back"]);
    assert!(asked[2].tool_names().contains(&"developer__shell"));
    assert!(!asked[3].tool_names().contains(&"hand_back"));
    let results = asked[4].tool_results();
    let refused = results.last().map(|result| result.1.as_str()).unwrap_or_default();
    assert!(refused.contains("There is no tool `hand_back`"), "{results:?}");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_orchestrator_has_its_own_tools_and_its_delegates_are_not_routed() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    let agents = world.agents()?;
    earlier(agents.store(), &folder, &format!("{BACKEND}: done")).await?;
    let task = json!({"instructions": format!("@backend {BACKEND}"), "source": "coding-agent/security"});
    let model = ModelServer::scripted([
        Turn::call("delegate", task),
        Turn::text("Looked."),
        Turn::text("It was looked at."),
    ])?;
    let (manifest, mode) = AgentCatalog::builtin().find("orchestrator")?;
    let options = options(&agents, &model, &folder).await?.with_agent(manifest, mode);
    let exchange = agents.open(options).await?;
    say(&exchange, "Let somebody look").await?;
    let asked = model.asked();
    let own = |name: &str| {
        ["summon__", "delegate", "extensionmanager__", "chatrecall__"].iter().any(|it| name.starts_with(it))
    };
    assert!(asked[0].tool_names().len() >= 6 && asked[0].tool_names().iter().all(|name| own(name)));
    let child = &asked[1];
    assert!(child.tool_names().contains(&"developer__read"), "{:?}", child.tool_names());
    assert!(!child.tool_names().iter().any(|name| ["developer__shell", "hand_back"].contains(name)));
    assert!(!child.body.to_string().contains(RECALLED), "a delegate gets its task and nothing else");
    exchange.close().await;
    Ok(())
}

const RECALLED: &str = "Said in earlier sessions";

/// An earlier session in which something was said.
async fn earlier(store: &SessionStore, folder: &Path, text: &str) -> anyhow::Result<Session> {
    let session = store.create(NewSession::in_folder(folder)).await?;
    session.append(&Step::Message { message: Message::user(text) }).await?;
    session.append(&Step::ReplyEnded { outcome: "done".into() }).await?;
    session.sync().await?;
    Ok(session)
}

const QUESTION: &str = "Why does the tokenizer lose accents in German texts?";
const SAID: &str = "The tokenizer loses accents in German texts because of the normalization form";

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_with_what_earlier_sessions_of_the_folder_have() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    let agents = world.agents()?;
    let here = earlier(agents.store(), &folder, SAID).await?;
    earlier(agents.store(), Path::new("/elsewhere"), &format!("{SAID}, as elsewhere")).await?;
    earlier(agents.store(), &folder, "The nightly backup of the photo archive fails on Sundays").await?;
    let model = ModelServer::scripted(["A.", "B.", "C."].map(Turn::text))?;
    let exchange = agents.open(options(&agents, &model, &folder).await?).await?;
    let events = say(&exchange, QUESTION).await?;
    let recalled = events.iter().find_map(|event| match event {
        Event::Recalled { sessions, bytes } => Some((sessions.clone(), *bytes)),
        _ => None,
    });
    assert_eq!(
        recalled.as_ref().map(|(sessions, _)| sessions.as_slice()),
        Some([here.id().clone()].as_slice())
    );
    let part = exchange.messages()[0]
        .content
        .iter()
        .find(|part| part.as_text().is_some_and(|text| text.starts_with(RECALLED)))
        .cloned();
    assert!(part.as_ref().is_some_and(MessageContent::is_aside), "compaction drops it as it drops tom");
    let body = model.asked()[0].body.to_string();
    assert!(body.contains("normalization") && !body.contains("elsewhere"), "{body}");
    say(&exchange, &format!("And {QUESTION}")).await?;
    let body = model.asked()[1].body.to_string();
    assert_eq!(body.matches(RECALLED).count(), 1, "a session is recalled once");
    say(&exchange, "Why does the nightly backup of the photo archive fail?").await?;
    let body = model.asked()[2].body.to_string();
    assert_eq!(body.matches(RECALLED).count(), 2, "{body}");
    assert!(body.contains("Sundays"), "{body}");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recall_is_bounded_relevant_and_can_be_switched() -> anyhow::Result<()> {
    for (config, request, is_recalled) in [
        ("", QUESTION, Some(false)),
        ("orchestrator: {recall: folder}\n", QUESTION, Some(false)),
        ("orchestrator: {recall: all}\n", QUESTION, Some(true)),
        ("orchestrator: {recall: off}\n", QUESTION, None),
        ("extensions:\n  chatrecall: {enabled: false, type: platform, name: chatrecall}\n", QUESTION, None),
        ("GOOSE_ORCHESTRATOR_DISABLED: true\n", QUESTION, Some(false)),
        ("", "Please write a letter to the landlord about the rent", None),
        ("", "accents", None),
        ("", "What does this do with that?", None),
    ] {
        let world = World::new()?;
        configure(&world, config)?;
        let folder = world.file("").canonicalize()?;
        let agents = world.agents()?;
        for number in 0..20 {
            earlier(
                agents.store(),
                &folder,
                &format!("{SAID}, number {number}. {}", "More words. ".repeat(50)),
            )
            .await?;
        }
        earlier(agents.store(), Path::new("/elsewhere"), &format!("{SAID}, elsewhere")).await?;
        let model = ModelServer::scripted([Turn::text("A.")])?;
        let exchange = agents.open(options(&agents, &model, &folder).await?).await?;
        let events = say(&exchange, request).await?;
        let bytes = events.iter().find_map(|event| match event {
            Event::Recalled { bytes, .. } => Some(*bytes),
            _ => None,
        });
        assert_eq!(bytes.is_some(), is_recalled.is_some(), "{config}: {request}");
        assert!(bytes.is_none_or(|bytes| (100..=2_048).contains(&bytes)), "{bytes:?}");
        let body = model.asked()[0].body.to_string();
        assert_eq!(body.contains(RECALLED), is_recalled.is_some());
        if is_recalled == Some(true) {
            assert!(body.contains("elsewhere"), "{body}");
        }
        exchange.close().await;
    }
    Ok(())
}

/// The texts of a set of everyday requests.
fn everyday(name: &str) -> anyhow::Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        #[serde(default)]
        before: Vec<String>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/routing").join(name);
    let cases: Vec<Case> = serde_saphyr::from_str(&fs::read_to_string(path)?)?;
    Ok(cases.into_iter().map(|case| case.before.into_iter().next().unwrap_or(case.text)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_sessions_are_not_recalled() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    let agents = world.agents()?;
    for text in everyday("everyday_3.yaml")? {
        earlier(agents.store(), &folder, &text).await?;
    }
    let model = ModelServer::answering(|_| Turn::text("Done."))?;
    let mut recalled = Vec::new();
    for text in everyday("everyday_5.yaml")?.into_iter().step_by(4) {
        let exchange = agents.open(options(&agents, &model, &folder).await?).await?;
        let events = say(&exchange, &text).await?;
        if events.iter().any(|event| matches!(event, Event::Recalled { .. })) {
            recalled.push(text);
        }
        exchange.close().await;
    }
    assert!(recalled.len() <= 1, "{recalled:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_agent_has_is_said_and_the_message_is_sent_as_it_is() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B.", "C."].map(Turn::text)).await?;
    fs::write(stage.world.file("notes"), "")?;
    let notices = |events: &[Event]| -> Vec<String> {
        let notices = events.iter().filter_map(|event| match event {
            Event::Notice(notice) => Some(notice.clone()),
            _ => None,
        });
        notices.collect()
    };
    let said = notices(&stage.say("@backnd fix it").await?).join("");
    assert!(said.contains("no agent `backnd`") && said.contains("@backend"), "{said}");
    assert!(stage.model.asked()[0].body.to_string().contains("@backnd fix it"));
    let said = notices(&stage.say("@zzyzx says hello").await?).join("");
    assert!(said.contains("no agent `zzyzx`") && !said.contains("mean"), "{said}");
    assert_eq!(notices(&stage.say("@notes is a file").await?), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_agent_can_be_left_to_goose_again() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B."].map(Turn::text)).await?;
    assert!(stage.exchange.switch_agent("security").await.is_ok());
    assert_eq!(routed(&stage.say("fix the typo in a.txt").await?), []);
    stage.exchange.choose_agent_automatically();
    let events = stage.say("fix the typo in b.txt").await?;
    assert_eq!(routed(&events), [("goose-agent/assistant".to_owned(), RoutedBy::Local, true)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_replaces_a_built_in_agent_is_named() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.paths().config.join("agents");
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join("mine.yaml"),
        "name: coding-agent\nmodes: [{slug: backend, tool_groups: [read]}]\n",
    )?;
    let model = ModelServer::scripted(["A.", "B."].map(Turn::text))?;
    let exchange = open(&world, &model).await?;
    let named = |events: &[Event]| {
        let is_named = |event: &&Event| matches!(event, Event::Notice(notice) if notice.contains("mine.yaml") && notice.contains("coding-agent"));
        events.iter().filter(is_named).count()
    };
    assert_eq!(named(&say(&exchange, "Hello there, goose").await?), 1);
    assert_eq!(named(&say(&exchange, "Hello again, goose").await?), 0, "once");
    exchange.close().await;
    Ok(())
}
