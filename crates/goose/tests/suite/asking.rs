//! Questions of servers: to the user of the call, to the model with consent, and for the folder of the call.
#![cfg(target_os = "linux")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::ensure;
use async_trait::async_trait;
use futures::future::try_join_all;
use goose::agents::{
    extension::ExtensionConfig,
    extension_manager::{Consent, ExtensionManager, ManagerOptions},
};
use goose_extension::{
    Answer, CallContext, Caller, ElicitAction, Elicited, Model, Question, QuestionKind, Sampled, Sampling,
    ToolResult,
};
use goose_test_support::binary;
use serde_json::json;

use crate::support::{World, bounded};

/// Number of questions that two sessions ask at the same time.
const ROUNDS: usize = 20;

/// A person who says their name.
struct Person(&'static str);

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _key: &str, _question: Question) -> ToolResult<Answer> {
        let name = json!({ "name": self.0 });
        Ok(Answer::Elicited(Elicited::new(ElicitAction::Accept).with_content(name)))
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::ElicitForm
    }
}

fn context_of(name: &'static str) -> CallContext {
    CallContext::new().with_caller(Arc::new(Person(name))).with_session_id(name)
}

/// Returns the final text of a tool, successful or not.
async fn said(manager: &ExtensionManager, tool: &str, context: &CallContext) -> anyhow::Result<String> {
    let outcome = bounded(manager.call_tool_with(tool, json!({}), context)).await?;
    Ok(match outcome {
        Ok(output) => output.as_text(),
        Err(error) => error.to_string(),
    })
}

/// Two sessions that share a server ask at the same time. Gives what each of them heard.
async fn two_sessions(config: ExtensionConfig, tool: &str) -> anyhow::Result<Vec<(String, String)>> {
    let world = World::new()?;
    let (first, second) = (world.manager(vec![config.clone()]).await?, world.manager(vec![config]).await?);
    let (ada, bob) = (context_of("Ada"), context_of("Bob"));
    let rounds =
        (0..ROUNDS).map(async |_| tokio::try_join!(said(&first, tool, &ada), said(&second, tool, &bob)));
    let heard = try_join_all(rounds).await?;
    ensure!(world.pool.services().len() == 1, "they do not share");
    first.close().await;
    second.close().await;
    Ok(heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_questions_of_two_sessions_reach_their_own_person() -> anyhow::Result<()> {
    let world = World::new()?;
    let kitchen_sink = binary("kitchen_sink")?.to_string_lossy().into_owned();
    for (config, tool) in [
        (world.server("a", &["--ask", "form", "work", "--wire", "2026-07-28"])?, "a__work"),
        (ExtensionConfig::stdio("a", kitchen_sink, Vec::<String>::new()), "a__ask_name"),
    ] {
        for (ada, bob) in two_sessions(config, tool).await? {
            ensure!(ada.contains("Ada") && !ada.contains("Bob"), "{ada}");
            ensure!(bob.contains("Bob") && !bob.contains("Ada"), "{bob}");
        }
    }
    Ok(())
}

/// On the older wire a question does not say to which call it belongs. Where that cannot be told, nobody is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_may_be_anybodys_is_not_asked() -> anyhow::Result<()> {
    let world = World::new()?;
    let config = world.server("a", &["--ask", "form", "work"])?;
    for (ada, bob) in two_sessions(config.clone(), "a__work").await? {
        ensure!(!ada.contains("Bob") && !bob.contains("Ada"), "{ada} {bob}");
    }
    let manager = world.manager(vec![config]).await?;
    for name in ["Ada", "Bob"] {
        let heard = said(&manager, "a__work", &context_of(name)).await?;
        ensure!(heard.contains(name), "one after another they are: {heard}");
    }
    manager.close().await;
    Ok(())
}

/// A model that says its name, and counts.
struct Parrot(&'static str, AtomicUsize);

impl Parrot {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self(name, AtomicUsize::new(0)))
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Model for Parrot {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let said = request.messages().last().map(|(_, text)| text).unwrap_or_default();
        Ok(Sampled::new(self.0, format!("{} heard: {said}", self.0)))
    }
}

/// Allows one extension, or none.
struct Only(&'static str);

#[async_trait]
impl Consent for Only {
    async fn allow_sampling(&self, extension: &str, request: &Sampling) -> bool {
        extension == self.0 && request.max_tokens() <= 100
    }
}

fn with_model(world: &World, model: &Arc<Parrot>, allowed: &'static str) -> ManagerOptions {
    world.options().with_sampling(model.clone(), Arc::new(Only(allowed)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_asked_only_with_consent() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let flags = ["--ask", "sampling", "work", "--wire", wire];
        let configs = || anyhow::Ok(vec![world.server("good", &flags)?, world.server("bad", &flags)?]);
        let model = Parrot::new("polly");
        let manager = world.manager_with(configs()?, with_model(&world, &model, "good")).await?;
        let context = CallContext::new();
        let heard = said(&manager, "good__work", &context).await?;
        ensure!(heard.contains("polly heard: Say hello."), "{wire}: {heard}");
        let refused = said(&manager, "bad__work", &context).await?;
        ensure!(refused.contains("may not ask the model") && model.asked() == 1, "{wire}: {refused}");
        // Without a model there is nobody to ask.
        let without = world.manager(configs()?).await?;
        let refused = said(&without, "good__work", &context).await?;
        ensure!(!refused.contains("polly") && model.asked() == 1, "{wire}: {refused}");
        manager.close().await;
        without.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_ask_the_model_so_often_in_one_call() -> anyhow::Result<()> {
    let world = World::new()?;
    let flags = ["--ask", "sampling", "work"].repeat(12);
    let model = Parrot::new("polly");
    let configs = vec![world.server("a", &flags)?];
    let manager = world.manager_with(configs, with_model(&world, &model, "a")).await?;
    let last = said(&manager, "a__work", &CallContext::new()).await?;
    ensure!(last.contains("may not ask again") && model.asked() == 8, "{} {last}", model.asked());
    said(&manager, "a__work", &CallContext::new()).await?;
    ensure!(model.asked() == 16, "each call has its own budget");
    manager.close().await;
    Ok(())
}

/// Two agents share a server, one lets it ask the model and one does not.
#[tokio::test(flavor = "multi_thread")]
async fn the_consent_of_one_agent_is_not_that_of_another() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let config = world.server("a", &["--ask", "sampling", "work", "--wire", wire])?;
        let (open, closed) = (Parrot::new("open"), Parrot::new("closed"));
        let first = world.manager_with(vec![config.clone()], with_model(&world, &open, "a")).await?;
        let second = world.manager_with(vec![config], with_model(&world, &closed, "nobody")).await?;
        let context = CallContext::new();
        let rounds = (0..ROUNDS).map(async |_| {
            tokio::try_join!(said(&first, "a__work", &context), said(&second, "a__work", &context))
        });
        for (allowed, refused) in try_join_all(rounds).await? {
            ensure!(!refused.contains("heard"), "{wire}: {refused}");
            ensure!(wire == "2025-11-25" || allowed.contains("open heard"), "{wire}: {allowed}");
        }
        ensure!(closed.asked() == 0);
        first.close().await;
        second.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_the_call_is_its_root() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let manager =
            world.manager(vec![world.server("a", &["--ask", "roots", "work", "--wire", wire])?]).await?;
        for folder in ["/projects/one place", "/projects/two"] {
            let heard = said(&manager, "a__work", &CallContext::new().with_working_dir(folder)).await?;
            let url = format!("\"file://{}/\"", folder.replace(' ', "%20"));
            ensure!(heard.contains(&url), "{wire}: {heard}");
        }
        let heard = said(&manager, "a__work", &CallContext::new()).await?;
        ensure!(!heard.contains("file://"), "{wire}: {heard}");
        manager.close().await;
    }
    Ok(())
}
