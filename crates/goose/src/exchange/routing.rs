//! Which agent answers a request. It stands in front of the loop, so every user interface has it.
//!
//! ```text
//! @name ─► the user's own choice (--agent, /agent) ─► `orchestrator_agent::route` ─► the fast model, if that is not clear
//! ```
//!
//! Only requests of the user are routed: in the session of a delegate nothing is. An agent that the user has named stays.

use std::{sync::Arc, time::Duration};

use goose_extension::{Message, Model as _, Sampling};
use goose_providers::PromptStyle;
use goose_router::needs;
use parking_lot::RwLock;

use super::{
    core::Core,
    event::Event,
    guest::Guest,
    reply_task::{Abort, ReplyTask, StepResult},
    usage_ledger::SamplingModel,
};
use crate::{
    agents::{
        agent::{Agent, ChosenBy},
        catalog::{AgentCatalog, UnknownAgent},
        manifest::{AgentManifest, AgentMode},
        orchestrator_agent::{Route, RouteSettings, RoutedBy, SessionAgent, SplitSetting, means, route},
    },
    session::{Step, said},
};

/// The time that the fast model has to choose an agent.
const ACCELERATOR_TIME: Duration = Duration::from_secs(2);

/// The most tokens of its answer: a name.
const ACCELERATOR_TOKENS: u32 = 64;

/// The part of a request that it reads, in bytes.
const ACCELERATOR_REQUEST: usize = 4_000;

/// The most modes that it chooses from, and the characters of the description of one.
const ACCELERATOR_MODES: usize = 100;
const ACCELERATOR_DESCRIPTION: usize = 300;

const ACCELERATOR_INSTRUCTIONS: &str = "You choose the agent for a request. Answer with one name from the list, exactly as it is \
                                        written there, and nothing else. If you are not sure, answer with the first name.";

/// The choice of agents in one session.
pub(crate) enum Routing {
    /// Requests of the user are routed as the settings say, among the agents as they were at the first one.
    Session { settings: RouteSettings, known: RwLock<Option<Arc<AgentCatalog>>> },
    /// The session of a delegate, whose agent is given.
    Delegate,
}

impl Routing {
    pub(crate) fn session(settings: RouteSettings) -> Self {
        Self::Session { settings, known: RwLock::default() }
    }

    fn settings(&self) -> Option<RouteSettings> {
        match self {
            Self::Session { settings, .. } => Some(*settings),
            Self::Delegate => None,
        }
    }

    /// Returns true if requests are routed.
    pub(super) fn is_on(&self) -> bool {
        self.settings().is_some_and(|settings| settings.is_on)
    }

    /// Splitting of lists into tasks.
    pub(super) fn split(&self) -> SplitSetting {
        self.settings().map_or(SplitSetting::Off, |settings| settings.split)
    }
}

/// An agent in a mode.
type Chosen = (Arc<AgentManifest>, AgentMode);

impl ReplyTask {
    /// Chooses the agent for a request. Returns the route where the router was asked.
    pub(super) async fn choose_agent(&mut self, message: &Message) -> StepResult<Option<Route>> {
        let Some((text, settings)) = request(message).zip(self.core.routing.settings()) else {
            return Ok(None);
        };
        if let Some((manifest, mode)) = self.core.mentioned(&text)? {
            self.begin_guest(Guest::named(manifest, mode, &text)).await?;
            return Ok(None);
        }
        let present = self.core.agent();
        let Some(catalog) = self.core.known_agents().filter(|_| present.chosen_by != ChosenBy::User) else {
            return Ok(None);
        };
        let is_first = self.state.conversation.messages().is_empty();
        let session = (!is_first).then(|| SessionAgent::new(&present.manifest, &present.mode));
        let mut route = route(&catalog, &text, settings, session.as_ref()).map_err(no_agent)?;
        if !route.is_clear
            && let Some((manifest, mode)) = self.ask_accelerator(&text, &catalog, &[]).await?
        {
            route = route.for_agent(&manifest, &mode, RoutedBy::Accelerator, "the fast model chose it");
        }
        // A small model loses more by putting parts together than it gains by doing one at a time.
        if self.core.processor().model().prompt_style == PromptStyle::Brief {
            route.tasks.truncate(1);
        }
        self.handing.request = Some(text);
        if route.is_once {
            let (manifest, mode) = catalog.find(&route.id()).map_err(no_agent)?;
            self.begin_guest(Guest::routed(manifest, mode)).await?;
            return Ok(None);
        }
        // The agents of tasks work in sessions of their own.
        if route.tasks.len() == 1 {
            self.follow_route(&route, &present, &catalog).await?;
        }
        Ok(Some(route))
    }

    /// Lets one agent make the reply, because the request is not split after all.
    pub(super) async fn follow_as_one(&mut self, route: &Route) -> StepResult<()> {
        let (present, catalog) = (self.core.agent(), self.core.agents.catalog());
        self.follow_route(route, &present, &catalog).await
    }

    /// Lets the agent of a route make the reply, and those that follow.
    pub(super) async fn follow_route(
        &mut self,
        route: &Route,
        present: &Arc<Agent>,
        catalog: &AgentCatalog,
    ) -> StepResult<()> {
        let id = route.id();
        let is_switch = id != present.id() && self.switch(&id, present, catalog).await?;
        let (agent, mode) = match is_switch || id == present.id() {
            true => (route.agent.clone(), route.mode.clone()),
            false => return Ok(()),
        };
        let (confidence, by, reason) = (route.confidence, route.by, route.reason.clone());
        self.emit(Event::Routed { agent, mode, confidence, by, reason, is_switch });
        Ok(())
    }

    /// Puts an agent in the place of the present one. Returns false if the user has chosen another one meanwhile, or the
    /// agent cannot be made: the present one then goes on.
    async fn switch(&mut self, id: &str, present: &Arc<Agent>, catalog: &AgentCatalog) -> StepResult<bool> {
        let (manifest, mode) = catalog.find(id).unwrap_or_else(|_| AgentCatalog::default_agent());
        let made = self.core.agents.make(manifest, mode);
        let made = self.cancellation.run_until_cancelled(made).await.ok_or(Abort::Cancelled)?;
        let mut agent = match made {
            Ok(agent) => agent,
            Err(reason) => {
                self.emit(Event::Notice(format!("{id} cannot answer: {reason}. {} does.", present.id())));
                return Ok(false);
            }
        };
        agent.chosen_by = ChosenBy::Routing;
        let agent = Arc::new(agent);
        let is_switched = self.core.agent.replace_if(present, &agent);
        let left = if is_switched { Arc::clone(present) } else { Arc::clone(&agent) };
        if is_switched {
            self.core.events.store_later(Step::agent_changed(agent.id(), agent.chosen_by));
        }
        self.core.close_later(left);
        Ok(is_switched)
    }

    /// Asks the fast model, where there is one besides the working model, among the modes that can do what is asked. An answer that is
    /// not a name from the list, an error and a long wait count as no answer.
    pub(super) async fn ask_accelerator(
        &self,
        text: &str,
        catalog: &AgentCatalog,
        refused: &[String],
    ) -> StepResult<Option<Chosen>> {
        let (processor, accelerator) = self.core.models.pair();
        if Arc::ptr_eq(&processor, &accelerator) {
            return Ok(None);
        }
        let choices = choices(catalog, text, refused);
        let list: Vec<String> = choices.iter().map(|(manifest, mode)| described(manifest, mode)).collect();
        let request = &text[..text.floor_char_boundary(ACCELERATOR_REQUEST)];
        let prompt = format!("<agents>\n{}\n</agents>\n\n<request>\n{request}\n</request>", list.join("\n"));
        let model = SamplingModel { model: accelerator, usage: Arc::clone(&self.core.usage) };
        let sampling = Sampling::new(prompt, ACCELERATOR_TOKENS).with_system_prompt(ACCELERATOR_INSTRUCTIONS);
        let answer = tokio::time::timeout(ACCELERATOR_TIME, model.sample(sampling));
        match self.cancellation.run_until_cancelled(answer).await.ok_or(Abort::Cancelled)? {
            Ok(Ok(answer)) => {
                let answer = answer.text();
                Ok(choices.into_iter().find(|(manifest, mode)| id(manifest, mode) == answer.trim()))
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "the fast model chose no agent");
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }
}

/// The modes that the fast model chooses from, the default one first: those that say what they are for, and can do it.
fn choices(catalog: &AgentCatalog, text: &str, refused: &[String]) -> Vec<Chosen> {
    let needed = needs(text);
    let of_agent = |manifest: &Arc<AgentManifest>| {
        let manifest = Arc::clone(manifest);
        let modes = manifest.modes.clone().into_iter();
        modes.map(move |mode| (Arc::clone(&manifest), mode))
    };
    let modes = catalog.agents.iter().flat_map(|entry| of_agent(&entry.manifest));
    let is_choice = |(manifest, mode): &Chosen| {
        !mode.when_to_use.is_empty()
            && means(manifest, mode).covers(needed)
            && !refused.contains(&id(manifest, mode))
    };
    modes.filter(is_choice).take(ACCELERATOR_MODES).collect()
}

/// A choice as the fast model reads it.
fn described(manifest: &AgentManifest, mode: &AgentMode) -> String {
    let use_for = goose_fs::truncate_chars(&mode.when_to_use, ACCELERATOR_DESCRIPTION).replace('\n', " ");
    format!("{}: {use_for}", id(manifest, mode))
}

fn id(manifest: &AgentManifest, mode: &AgentMode) -> String {
    format!("{}/{}", manifest.name, mode.slug)
}

impl Core {
    /// The agents that requests are routed to; none where nothing is routed. They are read once in a session.
    pub(super) fn known_agents(&self) -> Option<Arc<AgentCatalog>> {
        let Routing::Session { known, settings: RouteSettings { is_on: true, .. } } = &self.routing else {
            return None;
        };
        let catalog = known.read().clone();
        Some(catalog.unwrap_or_else(|| {
            let catalog = Arc::new(self.agents.catalog());
            *known.write() = Some(Arc::clone(&catalog));
            catalog
        }))
    }

    /// The agent that a request names.
    fn mentioned(&self, text: &str) -> StepResult<Option<Chosen>> {
        // The agents are read only for a message that begins so.
        if !text.trim_start().starts_with('@') {
            return Ok(None);
        }
        self.agents.catalog().mentioned(text).map_err(no_agent)
    }
}

fn no_agent(error: UnknownAgent) -> Abort {
    Abort::failed(format!("The message is for no agent: {error}."), None)
}

/// The words of the user in a message, if there are any.
pub(super) fn request(message: &Message) -> Option<String> {
    Some(said(message)).filter(|text| !text.trim().is_empty())
}
