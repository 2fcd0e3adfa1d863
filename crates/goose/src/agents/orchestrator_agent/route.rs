//! [`route`]: chooses the agent for a request, and the tasks that it may be split into. No model is asked.
//!
//! ```text
//! @name ─► a list of independent jobs ─► an agent named in the request's words
//!       ├─► first request: a specialist, if it clearly fits and has the means
//!       └─► later request: the session's agent, unless it lacks the means
//! ```
//!
//! If the router is not sure, the default agent answers, because it can do everything.

use std::ops::Range;

use goose_router::{Candidate, Guess, Means, Request, Router};
use serde::{Deserialize, Serialize};

use super::ORCHESTRATOR;
use crate::{
    agents::{
        catalog::{AgentCatalog, AgentOrigin, CatalogEntry, UnknownAgent},
        goose_agent,
        manifest::{AgentManifest, AgentMode},
    },
    config::{ConfigError, Settings},
    exchange::RoutedBy,
};

/// Setting that disables routing and splitting.
const DISABLED: &str = "GOOSE_ORCHESTRATOR_DISABLED";

/// Weight of words from a description; those from a capability and `when_to_use` weigh 1.
const OF_DESCRIPTION: f32 = 0.8;

/// Agent and mode for a request, with the tasks that it can be split into.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// Name of the agent.
    pub agent: String,
    /// Slug of the agent's mode.
    pub mode: String,
    /// Probability that agent and mode are right, from 0 to 1.
    pub confidence: f32,
    /// Tier of the router that decided.
    pub by: RoutedBy,
    /// Reason, for the user.
    pub reason: String,
    /// If true, the agent answers this request only, and the session keeps its agent.
    #[serde(rename = "once", skip_serializing_if = "std::ops::Not::not")]
    pub is_once: bool,
    /// False if a fast model should be asked.
    #[serde(skip)]
    pub(crate) is_clear: bool,
    /// Tasks that the request can be split into. A request that is not an explicit list of independent jobs
    /// has one.
    pub tasks: Vec<RoutedTask>,
}

/// A task of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoutedTask {
    /// Id in the request: `1`, `2`, …
    pub id: String,
    /// Name of the agent.
    pub agent: String,
    /// Slug of the agent's mode.
    pub mode: String,
    /// Words of the request that describe the task.
    pub text: String,
}

impl RoutedTask {
    /// Returns the agent with its mode, such as `coding-agent/backend`.
    pub(crate) fn agent_id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
}

/// Splitting of lists of independent jobs into tasks: the setting `orchestrator.split`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitSetting {
    /// The user is asked. If that is not possible, a list is handled as one request.
    #[default]
    Ask,
    /// Lists are split without a question.
    Auto,
    /// Lists are never split.
    Off,
}

/// Settings of the routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteSettings {
    /// If true, requests are routed and split.
    pub is_on: bool,
    /// Splitting of lists into tasks.
    pub split: SplitSetting,
}

impl Default for RouteSettings {
    fn default() -> Self {
        Self { is_on: true, split: SplitSetting::default() }
    }
}

impl RouteSettings {
    /// Reads `GOOSE_ORCHESTRATOR_DISABLED` and `orchestrator.split`.
    ///
    /// # Errors
    ///
    /// Fails if a value is invalid.
    pub fn load(settings: &Settings) -> Result<Self, ConfigError> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct OrchestratorSection {
            split: SplitSetting,
        }
        let written = settings.get::<OrchestratorSection>(ORCHESTRATOR)?.unwrap_or_default();
        Ok(Self { is_on: !settings.is_on(DISABLED), split: written.split })
    }
}

/// The current agent of a session, for requests after the first one.
#[derive(Debug, Clone)]
pub struct SessionAgent {
    /// Name of the agent.
    pub agent: String,
    /// Slug of the agent's mode.
    pub mode: String,
    /// Means of the agent.
    pub means: Means,
}

impl SessionAgent {
    /// Creates the description of an agent in a mode.
    pub fn new(manifest: &AgentManifest, mode: &AgentMode) -> Self {
        Self { agent: manifest.name.clone(), mode: mode.slug.clone(), means: means(manifest, mode) }
    }
}

/// Returns the route of a request, without asking a model. `session` is the agent of a session that has had
/// earlier requests.
///
/// # Errors
///
/// Fails if the name at the start of the request is ambiguous, or names a mode that the agent does not have.
pub fn route(
    catalog: &AgentCatalog,
    text: &str,
    settings: RouteSettings,
    session: Option<&SessionAgent>,
) -> Result<Route, UnknownAgent> {
    if let Some((manifest, mode)) = catalog.mentioned(text)? {
        return Ok(Route { is_once: true, ..Route::named(text, &manifest.name, &mode.slug) });
    }
    if !settings.is_on {
        let reason = format!("routing is switched off ({DISABLED})");
        let (agent, mode) =
            session.map_or((goose_agent::NAME, goose_agent::ASSISTANT), |it| (&it.agent, &it.mode));
        return Ok(Route::new(text, agent, mode, RoutedBy::Session, reason));
    }
    let (router, request) = (catalog.router(router_to), Request::new(text));
    let jobs = if session.is_none() { request.jobs() } else { Vec::new() };
    if !jobs.is_empty() {
        return Ok(list(router, text, &jobs, settings));
    }
    let is_present =
        |(agent, mode): &(&str, &str)| session.is_some_and(|it| (&*it.agent, &*it.mode) == (*agent, *mode));
    if let Some((agent, mode)) = router.named(&request).filter(|named| !is_present(named)) {
        let named = catalog.find(&format!("{agent}/{mode}"))?;
        // Work on the project stays with its agent; a recipe or a search of earlier sessions is a single
        // answer.
        let is_first =
            session.is_none() && named.0.connection.is_none() && named.1.means().covers(Means::LOOK);
        return Ok(Route { is_once: !is_first, ..Route::named(text, agent, mode) });
    }
    if let Some(session) = session {
        return Ok(later(text, &request, session));
    }
    let guess = router.specialist(&request);
    let (agent, mode) = specialist(&guess);
    let Guess { confidence, is_clear, reason, .. } = guess;
    Ok(Route { confidence, is_clear, ..Route::new(text, agent, mode, RoutedBy::Local, reason) })
}

/// Returns the route of a list of independent jobs: to the default agent, unless it is split into tasks.
fn list(router: &Router, text: &str, jobs: &[Range<usize>], settings: RouteSettings) -> Route {
    let (agent, mode) = (goose_agent::NAME, goose_agent::ASSISTANT);
    let mut route =
        Route::new(text, agent, mode, RoutedBy::Local, "it is a list of independent jobs".to_owned());
    if settings.split != SplitSetting::Off {
        let task = |(at, place): (usize, &Range<usize>)| {
            let text = text.get(place.clone()).unwrap_or_default();
            let guess = router.specialist(&Request::new(text));
            let (agent, mode) = specialist(&guess);
            let (agent, mode, text) = (agent.to_owned(), mode.to_owned(), text.to_owned());
            RoutedTask { id: (at + 1).to_string(), agent, mode, text }
        };
        route.tasks = jobs.iter().enumerate().map(task).collect();
    }
    route
}

fn specialist<'a>(guess: &Guess<'a>) -> (&'a str, &'a str) {
    guess.specialist.unwrap_or((goose_agent::NAME, goose_agent::ASSISTANT))
}

/// Returns the route of a later request: to the session's agent, unless it lacks the means.
fn later(text: &str, request: &Request<'_>, session: &SessionAgent) -> Route {
    let needed = if session.means.covers(Means::ALL) { Means::NONE } else { request.needs() };
    if session.means.covers(needed) {
        let reason = "the session keeps its agent".to_owned();
        return Route::new(text, &session.agent, &session.mode, RoutedBy::Session, reason);
    }
    let missing = session.means.missing(needed);
    let reason = format!("{}/{} cannot {missing}", session.agent, session.mode);
    Route::new(text, goose_agent::NAME, goose_agent::ASSISTANT, RoutedBy::Local, reason)
}

/// Returns the means of a mode. An external agent has its own tools, so it has all means.
pub(super) fn means(manifest: &AgentManifest, mode: &AgentMode) -> Means {
    if manifest.connection.is_some() { Means::ALL } else { mode.means() }
}

/// Creates the router to the modes of agents.
fn router_to(agents: &[CatalogEntry]) -> Router {
    Router::new(agents.iter().flat_map(CatalogEntry::candidates))
}

impl CatalogEntry {
    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.manifest.modes.iter().map(|mode| {
            let is_builtin = self.origin == AgentOrigin::Builtin;
            let about = if is_builtin { Vec::new() } else { about(&self.manifest, mode) };
            let means = means(&self.manifest, mode);
            Candidate { agent: &self.manifest.name, mode: &mode.slug, means, about }
        })
    }
}

/// Returns the texts about the purpose of a mode, each with its weight.
fn about<'a>(manifest: &'a AgentManifest, mode: &'a AgentMode) -> Vec<(&'a str, f32)> {
    let mut texts = vec![
        (mode.when_to_use.as_str(), 1.0),
        (manifest.description.as_str(), OF_DESCRIPTION),
        (mode.description.as_str(), OF_DESCRIPTION),
    ];
    for capability in &manifest.metadata.capabilities {
        texts.extend([(capability.name.as_str(), 1.0), (capability.description.as_str(), OF_DESCRIPTION)]);
    }
    texts
}

impl Route {
    pub(super) fn new(text: &str, agent: &str, mode: &str, by: RoutedBy, reason: String) -> Self {
        let (agent, mode) = (agent.to_owned(), mode.to_owned());
        let task = RoutedTask {
            id: "1".to_owned(),
            agent: agent.clone(),
            mode: mode.clone(),
            text: text.to_owned(),
        };
        Self { agent, mode, confidence: 1.0, by, reason, is_once: false, is_clear: true, tasks: vec![task] }
    }

    fn named(text: &str, agent: &str, mode: &str) -> Self {
        Self::new(text, agent, mode, RoutedBy::User, "the request names it".to_owned())
    }

    /// Returns true if one agent of the session answers the request, and no model has to be asked.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_clear && !self.is_once && self.tasks.len() == 1
    }

    /// Returns the route of the same request to another agent.
    pub(crate) fn for_agent(
        self,
        manifest: &AgentManifest,
        mode: &AgentMode,
        by: RoutedBy,
        reason: &str,
    ) -> Self {
        let (agent, mode, reason) = (manifest.name.clone(), mode.slug.clone(), reason.to_owned());
        Self { agent, mode, by, reason, is_clear: true, ..self }
    }

    /// Returns the agent with its mode, such as `coding-agent/backend`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
}
