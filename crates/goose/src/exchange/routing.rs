//! Which agent answers a request. It stands in front of the loop, so every user interface has it.
//!
//! ```text
//! @name ─► the user's own choice (--agent, /agent) ─► the local router ─► the fast model ─► the agent as it is
//! ```
//!
//! Only requests of the user are routed: in the session of a delegate nothing is. An agent that the user has named stays. A
//! request that does not clearly speak for another specialist stays with the session's agent.

use std::{sync::Arc, time::Duration};

use goose_extension::{Message, Model as _, Sampling};
use goose_providers::PromptStyle;
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
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
        orchestrator_agent::is_followed,
        router::{Route, RoutedBy, Router},
    },
    session::{Step, said},
};

/// The time that the fast model has to choose an agent.
const ACCELERATOR_TIME: Duration = Duration::from_secs(5);

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
    /// Each request of the user is routed, among the agents as they were at the first one.
    On(RwLock<Option<Arc<AgentCatalog>>>),
    /// Nothing is routed. A message may still name its agent.
    Off,
    /// The session of a delegate, whose agent is given.
    Delegate,
}

impl Routing {
    pub(crate) fn on() -> Self {
        Self::On(RwLock::default())
    }
}

/// An agent in a mode.
type Chosen = (Arc<AgentManifest>, AgentMode);

impl ReplyTask {
    /// Chooses the agent for a request. Returns the route where the router was asked.
    pub(super) async fn choose_agent(&mut self, message: &Message) -> StepResult<Option<Route>> {
        let Some(text) = request(message).filter(|_| !matches!(self.core.routing, Routing::Delegate)) else {
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
        let mut route = self.route(&text, &present, &catalog).await?;
        // A small model loses more by putting parts together than it gains by doing one at a time.
        if self.core.processor().model().prompt_style == PromptStyle::Brief {
            route = route.into_one(&text, &catalog);
        }
        // The agents of tasks work in sessions of their own.
        if route.tasks.len() == 1 {
            self.follow_route(&route, &present, &catalog).await?;
        }
        self.handing.request = Some(text);
        Ok(Some(route))
    }

    /// Lets one agent make the reply, because the request is not split after all.
    pub(super) async fn follow_as_one(&mut self, route: Route) -> StepResult<()> {
        let (present, catalog) = (self.core.agent(), self.core.agents.catalog());
        let text = self.handing.request.clone().unwrap_or_default();
        self.follow_route(&route.into_one(&text, &catalog), &present, &catalog).await
    }

    /// The route of a request in this session.
    async fn route(&self, text: &str, present: &Agent, catalog: &AgentCatalog) -> StepResult<Route> {
        let router = Router::new(catalog);
        let route = router.route(text);
        let is_first = self.state.conversation.messages().is_empty();
        // A mode without tools can only talk: it was right for the request before, and stays for no other.
        let can_only_talk = present.chosen_by == ChosenBy::Routing && present.mode.tool_groups.is_empty();
        if !is_first && !can_only_talk {
            return Ok(follow_up(&router, route, text, present));
        }
        if is_followed(&route, text) {
            return Ok(route);
        }
        if is_first
            && !route.is_sure()
            && let Some((manifest, mode)) = self.ask_accelerator(text, catalog).await?
        {
            return Ok(route.for_agent(&manifest, &mode, RoutedBy::Accelerator, "the fast model chose it"));
        }
        Ok(route.for_default_agent())
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

    /// Asks the fast model, where there is one besides the working model. An answer that is not a name from the list, an
    /// error and a long wait count as no answer.
    async fn ask_accelerator(&self, text: &str, catalog: &AgentCatalog) -> StepResult<Option<Chosen>> {
        let (processor, accelerator) = self.core.models.pair();
        if Arc::ptr_eq(&processor, &accelerator) {
            return Ok(None);
        }
        let choices = choices(catalog, text);
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

/// The route of a request after others. Only a request that clearly speaks for another specialist leaves the session's agent:
/// `thanks` and `fix it` are about what that one did. A mode that only reads fixes nothing, so the default agent does.
fn follow_up(router: &Router<'_>, route: Route, text: &str, present: &Agent) -> Route {
    let (manifest, mode) = AgentCatalog::default_agent();
    let is_default = route.id() == id(&manifest, &mode) && route.tasks.len() == 1;
    if route.id() == present.id() || (is_followed(&route, text) && !is_default) {
        return route;
    }
    if present.mode.only_reads() && router.is_beyond(text, &present.manifest.name, &present.mode) {
        return route.for_default_agent();
    }
    let reason = "nothing speaks clearly for another agent than the session's";
    route.for_agent(&present.manifest, &present.mode, RoutedBy::Session, reason)
}

/// The modes that the fast model chooses from, the default one first: those that say what they are for, and can do it.
fn choices(catalog: &AgentCatalog, text: &str) -> Vec<Chosen> {
    let router = Router::new(catalog);
    let of_agent = |manifest: &Arc<AgentManifest>| {
        let manifest = Arc::clone(manifest);
        let modes = manifest.modes.clone().into_iter();
        modes.map(move |mode| (Arc::clone(&manifest), mode))
    };
    let modes = catalog.agents.iter().flat_map(|entry| of_agent(&entry.manifest));
    let is_choice = |(manifest, mode): &Chosen| {
        !mode.when_to_use.is_empty() && !router.is_beyond(text, &manifest.name, mode)
    };
    modes.filter(is_choice).take(ACCELERATOR_MODES).collect()
}

/// A choice as the fast model reads it.
fn described(manifest: &AgentManifest, mode: &AgentMode) -> String {
    let use_for = goose_fs::truncate_chars(&mode.when_to_use, ACCELERATOR_DESCRIPTION).replace('\n', " ");
    // The local router knows only in English what a request would change.
    let limit = if mode.only_reads() { " It cannot change files." } else { "" };
    format!("{}: {use_for}{limit}", id(manifest, mode))
}

fn id(manifest: &AgentManifest, mode: &AgentMode) -> String {
    format!("{}/{}", manifest.name, mode.slug)
}

impl Core {
    /// The agents that requests are routed to; none where nothing is routed. They are read once in a session.
    pub(super) fn known_agents(&self) -> Option<Arc<AgentCatalog>> {
        let Routing::On(known) = &self.routing else { return None };
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
        self.agents
            .catalog()
            .mentioned(text)
            .map_err(|error| Abort::failed(format!("The message is for no agent: {error}."), None))
    }
}

/// The words of the user in a message, if there are any.
pub(super) fn request(message: &Message) -> Option<String> {
    Some(said(message)).filter(|text| !text.trim().is_empty())
}
