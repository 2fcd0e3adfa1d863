//! A session with an external agent, in a folder of its own.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use goose::{
    agent_manager::{AgentManager, OpenOptions, SessionState},
    agents::catalog::AgentCatalog,
    config::{Paths, Settings, SettingsSource},
    exchange::{Answer, Event, Exchange, Outcome, Reply, ToolEnd},
    permission::{Mode, PermissionOptions, Permissions},
    session::{Facts, NewSession},
};
use goose_acp::Connector;
use goose_providers::{Endpoint, OpenAiChat, model_info};
use goose_test_support::{ModelServer, Turn, binary};
use tempfile::TempDir;

/// The time that something that has to happen may take, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a configuration, and a manager of its sessions.
pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) manager: AgentManager,
    pub(crate) model: ModelServer,
}

/// The replies of a session, as a person sees them.
pub(crate) struct Seen {
    pub(crate) events: Vec<Event>,
}

impl World {
    /// A world whose `config.yaml` has these agents, and whose model says nothing but `ok`.
    pub(crate) fn new(agents: &str) -> anyhow::Result<Self> {
        Self::with_model(agents, ModelServer::answering(|_| Turn::text("ok"))?)
    }

    pub(crate) fn with_model(agents: &str, model: ModelServer) -> anyhow::Result<Self> {
        Self::with(agents, model, &[])
    }

    pub(crate) fn with(
        config: &str,
        model: ModelServer,
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let paths = Paths::under(home.path());
        std::fs::create_dir_all(&paths.config)?;
        std::fs::create_dir_all(home.path().join("work"))?;
        std::fs::write(paths.config_file(), config)?;
        let path = std::env::var("PATH")?;
        let variables = environment.iter().copied().chain([("PATH", path.as_str())]);
        let settings = Settings::load(
            SettingsSource::new(paths).with_builtins(goose_mcp::BUILTINS).with_environment(variables),
        )?;
        let manager = AgentManager::new(settings).with_connector(Connector::shared());
        Ok(Self { home, manager, model })
    }

    /// The folder that sessions work in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("work").canonicalize().unwrap_or_default()
    }

    /// A session with an agent, in a mode of the permissions.
    pub(crate) async fn open(&self, agent: &str, mode: Mode) -> anyhow::Result<Exchange> {
        let session = self.manager.store().create(NewSession::in_folder(self.folder())).await?;
        self.open_session(session, agent, mode).await
    }

    /// The same without a model of goose's own.
    pub(crate) async fn open_without_model(&self, agent: &str) -> anyhow::Result<Exchange> {
        let (manifest, mode) =
            AgentCatalog::load(self.manager.settings().paths(), &self.folder()).find(agent)?;
        let options = OpenOptions::new(self.manager.settings().profile(None)?)
            .with_session(self.manager.store().create(NewSession::in_folder(self.folder())).await?)
            .with_working_dir(self.folder())
            .with_agent(manifest, mode);
        Ok(self.manager.open(options).await?)
    }

    pub(crate) async fn open_session(
        &self,
        session: impl Into<SessionState>,
        agent: &str,
        mode: Mode,
    ) -> anyhow::Result<Exchange> {
        let permissions = Permissions::new(
            PermissionOptions::new(mode)
                .with_paths(self.manager.settings().paths())
                .with_home(self.home.path()),
        );
        let catalog = AgentCatalog::load(self.manager.settings().paths(), &self.folder());
        ensure!(catalog.problems.is_empty(), "{:?}", catalog.problems);
        let (manifest, mode) = catalog.find(agent)?;
        let url = format!("{}/v1/chat/completions", self.model.url()).parse()?;
        let endpoint = Endpoint::new("scripted", url).with_key("key", "SCRIPTED_KEY");
        let provider = OpenAiChat::new(endpoint, model_info("gpt-4o"));
        let options = OpenOptions::new(self.manager.settings().profile(None)?)
            .with_provider(Arc::new(provider))
            .with_session(session)
            .with_permissions(permissions)
            .with_working_dir(self.folder())
            .with_agent(manifest, mode);
        let exchange = self.manager.open(options).await?;
        exchange.set_attended(true);
        Ok(exchange)
    }
}

/// An entry of `config.yaml` for the program that does as it is told, under the name `other`.
pub(crate) fn program(flags: &[&str]) -> anyhow::Result<String> {
    program_with(flags, "")
}

/// The same, with more lines in the entry.
pub(crate) fn program_with(flags: &[&str], more: &str) -> anyhow::Result<String> {
    let path = binary("foreign_agent")?;
    let flags = serde_json::to_string(flags)?;
    Ok(format!(
        "agents:\n  other:\n    description: Does as it is told\n    type: acp\n    command: {}\n    args: {flags}\n{more}",
        path.display()
    ))
}

/// A reply to a text. Questions get the given answer.
pub(crate) async fn say(exchange: &Exchange, text: &str, answer: impl Into<Answer>) -> anyhow::Result<Seen> {
    follow(exchange.reply_to(text), Some(answer.into())).await
}

/// A reply to a text that asks nothing.
pub(crate) async fn tell(exchange: &Exchange, text: &str) -> anyhow::Result<Seen> {
    let seen = follow(exchange.reply_to(text), None).await?;
    ensure!(seen.questions().is_empty(), "{:?}", seen.events);
    Ok(seen)
}

pub(crate) async fn follow(mut reply: Reply, answer: Option<Answer>) -> anyhow::Result<Seen> {
    let mut events = Vec::new();
    while let Some(event) = bounded(reply.next()).await? {
        let id = match &event {
            Event::Approval(approval) => Some(approval.id.clone()),
            Event::Elicitation(request) => Some(request.id.clone()),
            _ => None,
        };
        if let (Some(id), Some(answer)) = (id, &answer) {
            ensure!(reply.answer(&id, answer.clone()), "the answer to {id} did not count");
        }
        events.push(event);
    }
    Ok(Seen { events })
}

/// Reads events until a text came.
pub(crate) async fn until_text(reply: &mut Reply) -> anyhow::Result<()> {
    loop {
        match bounded(reply.next()).await?.context("the reply ended before")? {
            Event::Text(_) => return Ok(()),
            Event::Finished(outcome) => anyhow::bail!("the reply ended before: {outcome:?}"),
            _ => {}
        }
    }
}

impl Seen {
    /// The text of the answer.
    pub(crate) fn text(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            Event::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The way that the reply ended.
    pub(crate) fn outcome(&self) -> anyhow::Result<&Outcome> {
        match self.events.last() {
            Some(Event::Finished(outcome)) => Ok(outcome),
            other => anyhow::bail!("the last event is no end: {other:?}"),
        }
    }

    /// The reason why the reply failed.
    pub(crate) fn failure(&self) -> anyhow::Result<&str> {
        match self.outcome()? {
            Outcome::Failed(failure) => Ok(&failure.message),
            other => anyhow::bail!("it did not fail: {other:?}, {}", self.text()),
        }
    }

    /// The tools that the person was asked about.
    pub(crate) fn questions(&self) -> Vec<String> {
        let asked = self.events.iter().filter_map(|event| match event {
            Event::Approval(approval) => Some(approval.tool.clone()),
            Event::Elicitation(request) => Some(request.extension.clone()),
            _ => None,
        });
        asked.collect()
    }

    /// The facts that are told after the answer.
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        self.events.iter().for_each(|event| event.add_to(&mut facts));
        facts
    }

    /// The reasons of what was not allowed.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let refusals = self.events.iter().filter_map(|event| match event {
            Event::ToolFinished { output, end: ToolEnd::Denied, .. } => Some(output.as_text()),
            _ => None,
        });
        refusals.collect()
    }

    /// The lines in the log.
    pub(crate) fn logs(&self) -> Vec<String> {
        let logs = self.events.iter().filter_map(|event| match event {
            Event::Log { content, .. } => Some(content.plain()),
            _ => None,
        });
        logs.collect()
    }
}

/// A reply that ended well.
pub(crate) fn done() -> Outcome {
    Outcome::Done { structured: None }
}

/// The result of something that must not hang.
pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, work).await.context("it hangs")
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !holds() {
        ensure!(begun.elapsed() < PATIENCE, "{what} does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
