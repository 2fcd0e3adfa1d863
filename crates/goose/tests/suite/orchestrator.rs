//! The orchestrator: which agent answers a request, and what it is told beforehand.

use goose::{
    agents::{agent::ChosenBy, catalog::AgentCatalog, router::RoutedBy},
    exchange::Event,
    session::{NewSession, SessionStore, Step},
};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::exchange_support::{Stage, done, outcome};

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
async fn a_clear_request_switches_the_agent_and_what_is_about_it_stays() -> anyhow::Result<()> {
    let stage = Stage::new(["A.", "B.", "C.", "D."].map(Turn::text)).await?;
    for (request, agent, by, is_switch) in [
        (BACKEND, "coding-agent/backend", RoutedBy::Local, true),
        ("thanks", "coding-agent/backend", RoutedBy::Session, false),
        (SECURITY, "coding-agent/security", RoutedBy::Local, true),
        ("fix it", "coding-agent/security", RoutedBy::Session, false),
    ] {
        let events = stage.say(request).await?;
        assert_eq!(outcome(&events)?, &done());
        assert_eq!(routed(&events), [(agent.to_owned(), by, is_switch)], "{request}");
        assert_eq!(stage.exchange.agent().id(), agent);
    }
    assert_eq!(stage.model.asked().len(), 4, "routing asks no model");
    let instructions = stage.model.asked()[2].body["messages"][0].to_string();
    assert!(instructions.contains("security reviewer"), "{instructions}");
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
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("mine.yaml"), "name: mine\nmodes: [{slug: backend, tool_groups: [read]}]\n")?;
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
