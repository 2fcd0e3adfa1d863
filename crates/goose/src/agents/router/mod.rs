//! [`Router`]: finds the agent and mode that a request is for, and the tasks that it consists of, without a model.

use serde::Serialize;

use super::{catalog::AgentCatalog, goose_agent};

/// The agent and mode for a request, with the tasks that the request consists of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// The agent's name.
    pub agent: String,
    /// The slug of its mode.
    pub mode: String,
    /// The probability that agent and mode are right, from 0 to 1.
    pub confidence: f32,
    /// The tier that decided.
    pub by: RoutedBy,
    /// The reason, for the user.
    pub reason: String,
    /// The tasks, in an order in which each comes after those it needs. One where nothing is split.
    pub tasks: Vec<RoutedTask>,
}

/// A task of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoutedTask {
    /// Its id in the request: `1`, `2`, …
    pub id: String,
    /// The agent that it is for.
    pub agent: String,
    /// The slug of the agent's mode.
    pub mode: String,
    /// The words of the request that the task is made of.
    pub text: String,
    /// The ids of the tasks whose results it needs.
    pub needs: Vec<String>,
}

/// The tier that decided on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoutedBy {
    /// The user named the agent.
    User,
    /// The session has an agent, and nothing speaks for another one.
    Session,
    /// The router, without a model.
    Local,
    /// The fast model.
    Accelerator,
}

/// Finds agents for requests, among those of a catalog.
#[derive(Debug)]
pub struct Router<'a> {
    catalog: &'a AgentCatalog,
}

impl<'a> Router<'a> {
    /// A router to the agents of a catalog.
    pub fn new(catalog: &'a AgentCatalog) -> Self {
        Self { catalog }
    }

    /// The route of a request.
    pub fn route(&self, text: &str) -> Route {
        let (agent, mode) = (goose_agent::NAME.to_owned(), goose_agent::ASSISTANT.to_owned());
        let known = self.catalog.agents.len();
        let reason = format!("Nothing speaks for another one of {known} agents.");
        let task = RoutedTask {
            id: "1".to_owned(),
            agent: agent.clone(),
            mode: mode.clone(),
            text: text.to_owned(),
            needs: Vec::new(),
        };
        Route { agent, mode, confidence: 0.0, by: RoutedBy::Local, reason, tasks: vec![task] }
    }
}
