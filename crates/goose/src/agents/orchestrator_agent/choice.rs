//! Chooses the agent that answers a request of a session.
//!
//! ```text
//! @name ─► the user's choice (--agent, /agent) ─► `orchestrator_agent::route` ─► the fast model, if unclear
//! ```
//!
//! Only requests of the user are routed; the session of a delegate keeps its agent. An agent that the user
//! has named stays.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use goose_extension::{Message, Model as _, Sampling, visible_line};
use goose_providers::PromptStyle;
use goose_router::Request;

use super::{
    OneReplyAgent, OrchestratorAgent, RequestHandler,
    route::{Route, RouteSettings, SessionAgent, SplitSetting, means, route},
};
use goose_session::ChosenBy;

use crate::{
    agents::{
        agent::Agent,
        catalog::{AgentCatalog, UnknownAgent},
        goose_agent,
        manifest::{AgentManifest, AgentMode, RequestStep},
        mention::unknown_mention,
    },
    exchange::{Abort, Event, Outcome, RoutedBy, StepResult},
    session::Step,
};

/// Time limit for the fast model to choose an agent.
const ACCELERATOR_TIME: Duration = Duration::from_secs(2);

/// Maximum number of tokens of the fast model's answer, which is a name.
const ACCELERATOR_TOKENS: u32 = 64;

/// Maximum length of the part of a request that the fast model reads, in bytes.
const ACCELERATOR_REQUEST: usize = 4_000;

/// Maximum number of modes that the fast model chooses from.
const ACCELERATOR_MODES: usize = 100;

/// Maximum number of characters of the description of a mode for the fast model.
const ACCELERATOR_DESCRIPTION: usize = 300;

const ACCELERATOR_INSTRUCTIONS: &str = "You choose the agent for a request. Answer with one name from the list, exactly as it is \
                                        written there, and nothing else. If you are not sure, answer with the first name.";

/// An agent in a mode.
type AgentChoice = (Arc<AgentManifest>, AgentMode);

impl OrchestratorAgent {
    /// Returns true if requests are routed.
    pub(super) fn is_routing(&self) -> bool {
        self.routing.is_some_and(|settings| settings.is_on)
    }
}

impl RequestHandler<'_> {
    /// Chooses the agent for a request. Returns the route if the router was asked and the session's agent
    /// answers.
    pub(super) async fn choose_agent(&mut self, message: &Message) -> StepResult<Option<Route>> {
        let Some((text, settings)) = request(message).zip(self.orchestrator.routing) else {
            return Ok(None);
        };
        if let Some((manifest, mode)) = self.mentioned(&text)? {
            self.begin_one_reply(OneReplyAgent::named(manifest, mode, &text)).await?;
            return Ok(None);
        }
        let present = self.work.context.agent();
        let Some(catalog) = self.known_agents().filter(|_| present.chosen_by != ChosenBy::User) else {
            return Ok(None);
        };
        if let Some(route) = self.first_route(&text, &present) {
            self.handing.request = Some(text);
            return Ok(Some(route));
        }
        let mut route = self.route(&text, settings, &present, &catalog)?;
        if !route.is_clear
            && let Some((manifest, mode)) = self.ask_accelerator(&text, &catalog, &[]).await?
        {
            route = route.for_agent(&manifest, &mode, RoutedBy::Accelerator, "the fast model chose it");
        }
        self.handing.request = Some(text);
        if route.is_once {
            // A small model cannot hand back a request that is not for its agent.
            if self.work.context.processor().model().prompt_style == PromptStyle::Brief {
                return Ok(None);
            }
            let (manifest, mode) = catalog.find(&route.id()).map_err(no_agent)?;
            let step = mode.step;
            let agent = first_agent(&present, manifest, mode);
            // An external agent explores by itself, and a response schema applies to the whole answer.
            let is_whole = present.external.is_some() || self.work.context.final_output.is_some();
            if step.is_some() && is_whole {
                return Ok(None);
            }
            self.unfinished_step = step;
            if let Err(Abort::Failed(failure)) = self.begin_one_reply(agent).await {
                self.unfinished_step = None;
                let notice =
                    format!("{} cannot answer: {} {} does.", route.id(), failure.message, present.id());
                self.work.emit(Event::Notice(notice));
            }
            return Ok(None);
        }
        // The agents of tasks work in separate sessions.
        if route.tasks.len() == 1 {
            self.follow_route(&route, &present, &catalog).await?;
        }
        Ok(Some(route))
    }

    /// Returns the agents that requests are routed to, or `None` if nothing is routed.
    pub(super) fn known_agents(&self) -> Option<Arc<AgentCatalog>> {
        if !self.orchestrator.is_routing() {
            return None;
        }
        let catalog = self.work.context.agents.catalog();
        if !self.orchestrator.has_told_replaced.swap(true, Ordering::Relaxed) {
            for (name, path) in &catalog.replaced {
                let path = path.display();
                self.work.emit(Event::Notice(format!("{path} replaces the built-in agent `{name}`.")));
            }
        }
        Some(catalog)
    }

    /// Returns the agent that a request names.
    fn mentioned(&self, text: &str) -> StepResult<Option<AgentChoice>> {
        // The agents are read only for such a message.
        if !text.trim_start().starts_with('@') {
            return Ok(None);
        }
        let catalog = self.work.context.agents.catalog();
        let found = catalog.mentioned(text).map_err(no_agent)?;
        let unknown = unknown_mention(text, &self.work.context.folder.working_dir);
        if let Some(name) = unknown.filter(|_| found.is_none()) {
            let guess =
                catalog.similar(name).map(|name| format!(" Did you mean @{name}?")).unwrap_or_default();
            let notice = format!("There is no agent `{name}`, so the message is sent as it is.{guess}");
            self.work.emit(Event::Notice(visible_line(&notice).into_owned()));
        }
        Ok(found)
    }

    /// Returns the route that the session was opened with, if it belongs to this request.
    fn first_route(&self, text: &str, present: &Agent) -> Option<Route> {
        let route = self.orchestrator.first_route.lock().take()?;
        let is_of_this =
            route.tasks.first().is_some_and(|task| task.text == text) && route.id() == present.id();
        let is_switch = route.id() != goose_agent::id(goose_agent::ASSISTANT);
        is_of_this.then(|| {
            self.report(&route, is_switch);
            route
        })
    }

    fn report(&self, route: &Route, is_switch: bool) {
        let (agent, mode, reason) = (route.agent.clone(), route.mode.clone(), route.reason.clone());
        let (confidence, by) = (route.confidence, route.by);
        self.work.emit(Event::Routed { agent, mode, confidence, by, reason, is_switch });
    }

    /// Returns the route of a request in this session.
    fn route(
        &self,
        text: &str,
        settings: RouteSettings,
        present: &Agent,
        catalog: &AgentCatalog,
    ) -> StepResult<Route> {
        let is_first = self.work.state.conversation.messages().is_empty();
        let session = (!is_first).then(|| SessionAgent::new(&present.manifest, &present.mode));
        let mut route = route(catalog, text, settings, session.as_ref()).map_err(no_agent)?;
        // A small model loses more by joining results than it gains by splitting the request.
        if self.work.context.processor().model().prompt_style == PromptStyle::Brief {
            route.tasks.truncate(1);
        }
        Ok(route)
    }

    /// Runs a list of jobs as tasks, if the user agrees. If no user can be asked, the list is handled as one
    /// request.
    pub(super) async fn run_list(&mut self, route: &Route) -> StepResult<Option<Outcome>> {
        let split = self.orchestrator.routing.map_or(SplitSetting::Off, |settings| settings.split);
        let asks = split == SplitSetting::Ask;
        match asks && !self.work.events.is_attended() {
            true => Ok(None),
            false => self.run_tasks(route.tasks.clone(), asks).await,
        }
    }

    /// Lets one agent make the reply if the request is not split after all.
    pub(super) async fn follow_as_one(&mut self, route: &Route) -> StepResult<()> {
        let present = self.work.context.agent();
        let Some(catalog) = self.known_agents() else { return Ok(()) };
        self.follow_route(route, &present, &catalog).await
    }

    /// Lets the agent of a route make this reply and the following ones.
    pub(super) async fn follow_route(
        &mut self,
        route: &Route,
        present: &Arc<Agent>,
        catalog: &AgentCatalog,
    ) -> StepResult<()> {
        let id = route.id();
        let is_switch = id != present.id() && self.switch(&id, present, catalog).await?;
        if is_switch || id == present.id() {
            self.report(route, is_switch);
        }
        Ok(())
    }

    /// Replaces the present agent. Returns false if the user has chosen another one meanwhile or the agent
    /// cannot be created; the present one then continues. The default agent is kept, because it may take over
    /// again.
    async fn switch(&mut self, id: &str, present: &Arc<Agent>, catalog: &AgentCatalog) -> StepResult<bool> {
        let (manifest, mode) = catalog.find(id).unwrap_or_else(|_| AgentCatalog::default_agent());
        let parked = self.orchestrator.parked.lock().take_if(|parked| parked.id() == id);
        let agent = match parked {
            Some(parked) => parked,
            None => {
                let made = self.work.context.agents.make(manifest, mode);
                match self.work.cancellation.run_until_cancelled(made).await.ok_or(Abort::Cancelled)? {
                    Ok(agent) => Arc::new(Agent { chosen_by: ChosenBy::Routing, ..agent }),
                    Err(reason) => {
                        let notice = format!("{id} cannot answer: {reason}. {} does.", present.id());
                        self.work.emit(Event::Notice(notice));
                        return Ok(false);
                    }
                }
            }
        };
        let context = &self.work.context;
        if !context.agent.replace_if(present, &agent) {
            context.close_later(agent);
            return Ok(false);
        }
        context.outlets.events.store_later(Step::agent_changed(agent.id(), ChosenBy::Routing));
        if present.id() == goose_agent::id(goose_agent::ASSISTANT) {
            let earlier = self.orchestrator.parked.lock().replace(Arc::clone(present));
            earlier.into_iter().for_each(|earlier| context.close_later(earlier));
        } else {
            context.close_later(Arc::clone(present));
        }
        Ok(true)
    }

    /// Asks the fast model, if it is not the working model, to choose among the modes that can do what is
    /// asked. An answer that is not in the list, an error and a timeout count as no answer.
    pub(super) async fn ask_accelerator(
        &self,
        text: &str,
        catalog: &AgentCatalog,
        refused: &[String],
    ) -> StepResult<Option<AgentChoice>> {
        let Some(model) = self.work.context.fast_model() else { return Ok(None) };
        let choices = choices(catalog, text, refused);
        let list: Vec<String> = choices.iter().map(|(manifest, mode)| described(manifest, mode)).collect();
        let request = &text[..text.floor_char_boundary(ACCELERATOR_REQUEST)];
        let prompt = format!("<agents>\n{}\n</agents>\n\n<request>\n{request}\n</request>", list.join("\n"));
        let sampling = Sampling::new(prompt, ACCELERATOR_TOKENS).with_system_prompt(ACCELERATOR_INSTRUCTIONS);
        let answer = tokio::time::timeout(ACCELERATOR_TIME, model.sample(sampling));
        match self.work.cancellation.run_until_cancelled(answer).await.ok_or(Abort::Cancelled)? {
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

/// Returns the modes that the fast model chooses from, the default one first. Only modes that say what they
/// are for and have the means are included.
fn choices(catalog: &AgentCatalog, text: &str, refused: &[String]) -> Vec<AgentChoice> {
    let needed = Request::new(text).needs();
    let of_agent = |manifest: &Arc<AgentManifest>| {
        let manifest = Arc::clone(manifest);
        let modes = manifest.modes.clone().into_iter();
        modes.map(move |mode| (Arc::clone(&manifest), mode))
    };
    let modes = catalog.agents.iter().flat_map(|entry| of_agent(&entry.manifest));
    let is_choice = |(manifest, mode): &AgentChoice| {
        !mode.when_to_use.is_empty()
            && means(manifest, mode).covers(needed)
            && !refused.contains(&id(manifest, mode))
    };
    modes.filter(is_choice).take(ACCELERATOR_MODES).collect()
}

/// Describes a choice for the fast model.
fn described(manifest: &AgentManifest, mode: &AgentMode) -> String {
    let use_for = goose_fs::truncate_chars(&mode.when_to_use, ACCELERATOR_DESCRIPTION).replace('\n', " ");
    format!("{}: {use_for}", id(manifest, mode))
}

fn id(manifest: &AgentManifest, mode: &AgentMode) -> String {
    format!("{}/{}", manifest.name, mode.slug)
}

/// Returns the agent that answers a request first. A plan is written after an exploration; the orchestrator
/// does its own part first.
fn first_agent(present: &Agent, manifest: Arc<AgentManifest>, mode: AgentMode) -> OneReplyAgent {
    match mode.step {
        Some(RequestStep::Plan) => OneReplyAgent::explorer(present),
        Some(RequestStep::OwnPart) => OneReplyAgent::orchestrator(manifest, mode),
        None => OneReplyAgent::routed(manifest, mode),
    }
}

fn no_agent(error: UnknownAgent) -> Abort {
    Abort::failed(format!("The message is for no agent: {error}."), None)
}

/// Returns the user's words in a message, if there are any.
pub(super) fn request(message: &Message) -> Option<String> {
    Some(message.own_text()).filter(|text| !text.trim().is_empty())
}
