//! Support for tests of the loop: an exchange in its own folder, with a scripted model behind a real connection.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use futures::StreamExt as _;
use goose::{
    agent_manager::{OpenOptions, SessionState},
    config::Profile,
    exchange::{Decision, Event, Exchange, Outcome, Reply},
    permission::{Mode, PermissionOptions, Permissions},
    session::{NewSession, SessionStore, Step},
};
use goose_extension::{Message, MessageContent, Role};
use goose_providers::{Anthropic, Endpoint, OpenAiChat, OpenAiResponses, Provider, RetryPolicy, model_info};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::support::{World, bounded};

/// The wires that everything has to work over.
pub(crate) const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Anthropic];

/// An exchange, and everything around it.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) model: ModelServer,
    pub(crate) store: SessionStore,
    pub(crate) exchange: Exchange,
}

impl Stage {
    /// An exchange with a model that follows a script.
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<Self> {
        Self::with(Wire::Chat, ModelServer::scripted(turns)?, |options| options).await
    }

    /// The same over a wire.
    pub(crate) async fn over(wire: Wire, turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<Self> {
        Self::with(wire, ModelServer::scripted(turns)?, |options| options).await
    }

    /// The same, with more said about it.
    pub(crate) async fn with(
        wire: Wire,
        model: ModelServer,
        change: impl FnOnce(OpenOptions) -> OpenOptions,
    ) -> anyhow::Result<Self> {
        let world = World::new()?;
        let store = SessionStore::at(world.file("sessions.db"));
        let session = store.create(NewSession::in_folder(world.file(""))).await?;
        let exchange = exchange(&world, &model, wire, session, change).await?;
        Ok(Self { world, model, store, exchange })
    }

    /// The events of a reply to a text.
    pub(crate) async fn say(&self, text: &str) -> anyhow::Result<Vec<Event>> {
        all(self.exchange.reply_to(text)).await
    }

    /// The steps as they are stored.
    pub(crate) async fn steps(&self) -> anyhow::Result<Vec<Step>> {
        let steps = self.store.steps(self.exchange.session_id()).await?;
        Ok(steps.steps.into_iter().map(|stored| stored.step).collect())
    }

    /// The texts of the results that the model was sent with its nth request, from 0.
    pub(crate) fn results_in(&self, request: usize) -> Vec<String> {
        let asked = self.model.asked();
        let results = asked.get(request).map(|asked| asked.tool_results()).unwrap_or_default();
        results.into_iter().map(|(_, text)| text).collect()
    }

    /// Adds a server that does wrong what the flags say, under the name `server`.
    pub(crate) async fn add_server(&self, flags: &[&str]) -> anyhow::Result<()> {
        let config = self.world.server("server", flags)?;
        self.exchange.extensions().add(&config)?;
        bounded(self.exchange.extensions().list_tools()).await??;
        Ok(())
    }
}

/// An exchange in a world.
pub(crate) async fn exchange(
    world: &World,
    model: &ModelServer,
    wire: Wire,
    session: impl Into<SessionState>,
    change: impl FnOnce(OpenOptions) -> OpenOptions,
) -> anyhow::Result<Exchange> {
    let options = OpenOptions::new(Profile::default())
        .with_provider(provider(model, wire)?)
        .with_session(session)
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_working_dir(world.file(""))
        .with_retry(RetryPolicy { base: Duration::from_millis(5), ..RetryPolicy::default() });
    Ok(world.agents()?.open(change(options)).await?)
}

/// The scripted model behind a wire.
pub(crate) fn provider(model: &ModelServer, wire: Wire) -> anyhow::Result<Arc<dyn Provider>> {
    let path = match wire {
        Wire::Chat => "v1/chat/completions",
        Wire::Responses => "v1/responses",
        Wire::Anthropic => "v1/messages",
    };
    let url = format!("{}/{path}", model.url()).parse()?;
    let endpoint = Endpoint::new("scripted", url).with_key("key", "SCRIPTED_KEY");
    let mut info = model_info("gpt-4o");
    info.context_limit = 100_000;
    Ok(match wire {
        Wire::Chat => Arc::new(OpenAiChat::new(endpoint, info)),
        Wire::Responses => Arc::new(OpenAiResponses::new(endpoint, info)),
        Wire::Anthropic => Arc::new(Anthropic::new(endpoint, info)),
    })
}

/// All events of a reply. Approvals are allowed.
pub(crate) async fn all(reply: Reply) -> anyhow::Result<Vec<Event>> {
    all_with(reply, |_| Decision::Allow).await
}

/// All events of a reply, with approvals answered.
pub(crate) async fn all_with(
    mut reply: Reply,
    mut decide: impl FnMut(&goose::exchange::Approval) -> Decision,
) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    while let Some(event) = bounded(reply.next()).await? {
        if let Event::Approval(approval) = &event {
            reply.answer(&approval.id, decide(approval));
        }
        events.push(event);
    }
    Ok(events)
}

/// Reads events until one of them is what is waited for.
pub(crate) async fn until_event(
    reply: &mut Reply,
    mut is_it: impl FnMut(&Event) -> bool,
) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    loop {
        let event = bounded(reply.next()).await?.context("the reply ended before")?;
        let found = is_it(&event);
        events.push(event);
        if found {
            return Ok(events);
        }
    }
}

/// Returns the outcome of a reply.
pub(crate) fn outcome(events: &[Event]) -> anyhow::Result<&Outcome> {
    match events.last() {
        Some(Event::Finished(outcome)) => Ok(outcome),
        other => anyhow::bail!("the last event is no end: {other:?}"),
    }
}

/// A reply that ended well.
pub(crate) fn done() -> Outcome {
    Outcome::Done { structured: None }
}

/// The events in short, without costs.
pub(crate) fn lines(events: &[Event]) -> Vec<String> {
    events.iter().filter_map(line).collect()
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Asking { turn } => format!("asking {turn}"),
        Event::Text(text) => format!("text {text}"),
        Event::Thinking(text) => format!("thinking {text}"),
        Event::Retrying { attempt, .. } => format!("retrying {attempt}"),
        Event::Restarted => "restarted".to_owned(),
        Event::Answered(message) => format!("answered {}", short(message)),
        Event::Approval(approval) => format!("approval {}", approval.tool),
        Event::ToolStarted { name, .. } => format!("started {name}"),
        Event::ToolProgress { message, .. } => format!("progress {message}"),
        Event::Log { content, .. } => format!("log {}", content.plain()),
        Event::ToolFinished { name, output, end, .. } => {
            format!("finished {name} {end:?}: {}", output.as_text())
        }
        Event::Compacted { .. } => "compacted".to_owned(),
        Event::Notice(text) => format!("notice {text}"),
        Event::Finished(outcome) => format!("end {outcome:?}"),
        _ => return None,
    })
}

fn short(message: &Message) -> String {
    let parts = message.content.iter().map(|part| match part {
        MessageContent::ToolCall { name, .. } => format!("[{name}]"),
        MessageContent::Reasoning(_) => "(thought)".to_owned(),
        part => part.as_text().unwrap_or("?").to_owned(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns the final text on the screen: the text since the last restart of each question.
pub(crate) fn read(events: &[Event]) -> String {
    let (mut read, mut since_asking) = (String::new(), String::new());
    for event in events {
        match event {
            Event::Asking { .. } => read.push_str(&std::mem::take(&mut since_asking)),
            Event::Restarted => since_asking.clear(),
            Event::Text(text) => since_asking.push_str(text),
            _ => {}
        }
    }
    read + &since_asking
}

/// Says what is wrong with a conversation, if anything is: each call has exactly one result, in the message after it.
pub(crate) fn problem(messages: &[Arc<Message>]) -> Option<String> {
    let mut waiting: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        if message.role != expected {
            return Some(format!("message {index} is out of order"));
        }
        let results: Vec<String> = message
            .content
            .iter()
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        if results != waiting {
            return Some(format!("message {index} answers {results:?}, asked was {waiting:?}"));
        }
        waiting = message.call_ids().map(str::to_owned).collect();
    }
    (!waiting.is_empty()).then(|| format!("no results for {waiting:?}"))
}

/// The session of an exchange, opened again as after a restart.
pub(crate) async fn reopened(stage: &Stage) -> anyhow::Result<goose::session::LoadedSession> {
    let store = SessionStore::at(stage.store.path());
    Ok(store.open_session(stage.exchange.session_id()).await?)
}
