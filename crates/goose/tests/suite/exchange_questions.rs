//! Questions and log entries of running tools: questions are answered by id, log entries are stored, and the notifier
//! hears of both.

use std::sync::Arc;

use anyhow::Context as _;
use futures::StreamExt as _;
use goose::{
    agent_manager::{AgentManager, OpenOptions},
    config::{Profile, ProfileExtension, Settings, SettingsSource},
    exchange::{Answer, Event, Reply},
    permission::{Mode, PermissionOptions, Permissions},
    session::{NewSession, Session, SessionStore, Step},
};
use goose_extension::{ElicitAction, Elicited, Notifier, Requirements, RichRenderable, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use parking_lot::Mutex;

use crate::{
    exchange_support::{Stage, all, done, outcome, provider, until_event},
    support::{World, bounded},
};

/// Notes what it hears.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl Listener {
    fn note(&self, text: String) {
        self.0.lock().push(text);
    }
}

impl Notifier for Listener {
    fn log(&self, content: RichRenderable) {
        self.note(format!("log {}", content.plain()));
    }

    fn status(&self, message: String) {
        self.note(format!("status {message}"));
    }
}

/// Shows what it does.
struct Showing;

#[extension(name = "showing", description = "Shows")]
impl Showing {
    /// Works and shows it.
    #[tool]
    async fn work(&self, context: &CallContext) -> ToolResult<String> {
        context.status("working");
        context.log("a plan");
        Ok("done".to_owned())
    }
}

/// Shows what it does through the notifier that it was built with.
struct Built(Box<dyn Notifier>);

#[extension(name = "built", description = "Shows")]
impl Built {
    fn new(notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        Self(notifier)
    }

    /// Works and shows it.
    #[tool]
    async fn work(&self) -> ToolResult<String> {
        self.0.status("working".to_owned());
        self.0.log("a plan");
        Ok("done".to_owned())
    }
}

/// Both for what a tool shows in its call, and for an extension that keeps the notifier of `build_exchange`.
#[tokio::test]
async fn log_and_status_reach_the_notifier_the_events_and_the_store() -> anyhow::Result<()> {
    for (tool, in_call) in [("showing__work", true), ("built__work", false)] {
        let world = World::new()?;
        let model = ModelServer::scripted([Turn::call(tool, json!({})), Turn::text("Fine.")])?;
        let store = SessionStore::at(world.file("sessions.db"));
        let heard = Listener::default();
        let mut profile = Profile::default();
        profile.extensions = vec![ProfileExtension::new("built")];
        let options = OpenOptions::new(profile)
            .with_notifier(heard.clone())
            .with_provider(provider(&model, Wire::Chat)?)
            .with_session(store.create(NewSession::in_folder(world.file(""))).await?)
            .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
            .with_working_dir(world.file(""))
            .with_extension::<Built>("built");
        let exchange = world.agents()?.open(options).await?;
        let stage = Stage { world, model, store, exchange };
        stage.exchange.extensions().add_extension(Arc::new(Showing))?;
        let events = stage.say("Work").await?;
        assert_eq!(outcome(&events)?, &done());
        assert_eq!(*heard.0.lock(), ["status working", "log a plan"], "{tool}");
        let shown: Vec<&Event> =
            events.iter().filter(|event| matches!(event, Event::Log { .. } | Event::Status { .. })).collect();
        let [Event::Status { message, .. }, Event::Log { call, .. }] = &shown[..] else {
            panic!("{tool}: {shown:?}")
        };
        assert_eq!((message.as_str(), call.is_some()), ("working", in_call), "{tool}");
        let steps = stage.steps().await?;
        let is_log = |step: &Step| matches!(step, Step::Log { content, .. } if content.plain() == "a plan");
        let logged = steps.iter().position(is_log);
        let result = steps.iter().position(|step| matches!(step, Step::ToolResult { .. }));
        assert!(logged.is_some() && logged < result, "{steps:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_change_of_the_mode_is_stored() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("Fine.")]).await?;
    stage.exchange.set_mode(Mode::Auto);
    stage.exchange.set_mode(Mode::Chat);
    stage.say("Hello").await?;
    let steps = stage.steps().await?;
    let changes = steps.iter().filter(|step| matches!(step, Step::ModeChanged { .. })).count();
    assert!(
        matches!(steps[0], Step::ModeChanged { permission: Some(Mode::Chat), .. }) && changes == 1,
        "{steps:?}"
    );
    Ok(())
}

/// Reads until a question is there.
async fn question(reply: &mut Reply) -> anyhow::Result<Event> {
    let is_question = |event: &Event| matches!(event, Event::Elicitation(_) | Event::Consent(_));
    until_event(reply, is_question).await?.pop().context("that is what was waited for")
}

#[tokio::test]
async fn a_question_of_a_server_is_answered_by_id() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::call("server__work", json!({})), Turn::text("Fine.")]).await?;
    stage.add_server(&["--ask", "form", "work"]).await?;
    stage.exchange.set_attended(true);
    let mut reply = stage.exchange.reply_to("Work");
    let Event::Elicitation(request) = question(&mut reply).await? else { anyhow::bail!("another question") };
    assert_eq!(request.extension, "server");
    assert!(!stage.exchange.answer(&request.id, Answer::Consent(true)), "it is not asked for consent");
    let name = Elicited::new(ElicitAction::Accept).with_content(json!({"name": "Ada"}));
    assert!(stage.exchange.answer(&request.id, name.clone()));
    assert!(!stage.exchange.answer(&request.id, name), "it is answered");
    assert_eq!(outcome(&all(reply).await?)?, &done());
    let results = stage.results_in(1);
    assert!(results[0].contains("Ada"), "{results:?}");
    Ok(())
}

/// A question that waits while the reply is cancelled is withdrawn.
#[tokio::test]
async fn a_cancel_withdraws_the_question() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::call("server__work", json!({})), Turn::text("Fine.")]).await?;
    stage.add_server(&["--ask", "form", "work"]).await?;
    stage.exchange.set_attended(true);
    let mut reply = stage.exchange.reply_to("Work");
    let Event::Elicitation(request) = question(&mut reply).await? else { anyhow::bail!("another question") };
    assert_eq!(stage.exchange.questions().len(), 1);
    reply.cancel();
    bounded(stage.exchange.question_closed(&request.id)).await?;
    while bounded(reply.next()).await?.is_some() {}
    assert!(stage.exchange.questions().is_empty());
    Ok(())
}

/// Without a user interface a server is not offered to ask.
#[tokio::test]
async fn an_unattended_question_is_refused() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::call("server__work", json!({})), Turn::text("Fine.")]).await?;
    stage.add_server(&["--ask", "form", "work"]).await?;
    let events = stage.say("Work").await?;
    assert_eq!(outcome(&events)?, &done());
    assert!(!events.iter().any(|event| matches!(event, Event::Elicitation(_))), "{events:?}");
    Ok(())
}

/// Asks the model, as a foreign server may.
#[tokio::test]
async fn a_server_uses_the_model_only_with_consent() -> anyhow::Result<()> {
    for consent in [true, false] {
        let turns = [Turn::call("server__work", json!({})), Turn::text("A poem."), Turn::text("Fine.")];
        let stage = Stage::new(turns).await?;
        stage.add_server(&["--ask", "sampling", "work"]).await?;
        stage.exchange.set_attended(true);
        let mut reply = stage.exchange.reply_to("Work");
        let Event::Consent(request) = question(&mut reply).await? else { anyhow::bail!("another question") };
        assert!(stage.exchange.answer(&request.id, Answer::Consent(consent)));
        assert_eq!(outcome(&all(reply).await?)?, &done());
        let asked = stage.model.asked().len();
        assert_eq!(asked, if consent { 3 } else { 2 });
    }
    Ok(())
}

/// A server's question goes to the model that works, not to the fast one beside it.
#[tokio::test]
async fn a_server_is_answered_by_the_working_model() -> anyhow::Result<()> {
    let turns = [Turn::call("server__work", json!({})), Turn::text("A poem."), Turn::text("Fine.")];
    let (world, model) = (World::new()?, ModelServer::scripted(turns)?);
    let environment = [
        ("OPENAI_HOST", model.url()),
        ("OPENAI_API_KEY", "key".to_owned()),
        ("GOOSE_PROVIDER", "openai".to_owned()),
        ("GOOSE_MODEL", "gpt-4o".to_owned()),
        ("GOOSE_ACCELERATOR", "openai:gpt-4o-mini".to_owned()),
        // The fast model would be asked which agent is meant.
        ("GOOSE_ORCHESTRATOR_DISABLED", "true".to_owned()),
    ];
    let settings = Settings::load(
        SettingsSource::new(world.paths()).with_builtins(goose_mcp::BUILTINS).with_environment(environment),
    )?;
    let manager = AgentManager::new(settings).with_pool(Arc::clone(&world.pool));
    let options = OpenOptions::new(manager.settings().profile(None)?)
        .with_session(Session::unsaved())
        .with_working_dir(world.file(""))
        .with_extensions([world.server("server", &["--ask", "sampling", "work"])?]);
    let exchange = manager.open(options).await?;
    exchange.set_attended(true);
    let mut reply = exchange.reply_to("Work");
    let Event::Consent(request) = question(&mut reply).await? else { anyhow::bail!("another question") };
    assert!(exchange.answer(&request.id, Answer::Consent(true)));
    assert_eq!(outcome(&all(reply).await?)?, &done());
    let models: Vec<_> = model.asked().iter().map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(models, ["gpt-4o", "gpt-4o", "gpt-4o"]);
    exchange.close().await;
    Ok(())
}
