//! [`Router`]: finds the agent and mode that a request is for, and the tasks that it consists of, without a model.
//!
//! `words` reads the request, `features` is what the linear `classifier` sees of it, with the word classes of `lexicon`. `intent` keeps
//! requests to change code away from modes that cannot, `language` sends what is not English to the default agent, `own_agents`
//! matches agents that do not come with goose. `pieces` cuts a request where a task could end, `splitter` decides, `needs` finds
//! the order.

mod classifier;
mod cuts;
mod decision;
mod features;
mod intent;
mod language;
mod lexicon;
mod needs;
mod own_agents;
mod phrases;
mod pieces;
mod splitter;
mod words;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::decision::SURE;
use self::{
    classifier::{COUNT, DEFAULT, LABELS, Weights},
    decision::{Ability, Decision, decide, quoted},
    splitter::{Choice, split},
    words::words,
};
use super::{
    catalog::{AgentCatalog, AgentOrigin},
    goose_agent,
    manifest::AgentMode,
};

/// The weights of the classifier.
const WEIGHTS: &[u8] = include_bytes!("weights.bin");

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

impl Route {
    /// Returns true if the route is more than a guess.
    pub fn is_sure(&self) -> bool {
        self.confidence > SURE
    }

    /// The agent with its mode, such as `coding-agent/backend`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// An agent and mode for a text.
struct Chosen<'a> {
    agent: &'a str,
    mode: &'a str,
    choice: Choice,
    reason: String,
}

impl<'a> Router<'a> {
    /// A router to the agents of a catalog.
    pub fn new(catalog: &'a AgentCatalog) -> Self {
        Self { catalog }
    }

    /// The route of a request.
    pub fn route(&self, text: &str) -> Route {
        let abilities = self.abilities();
        let parts = split(text, |piece| self.choose(&abilities, piece).choice);
        let chosen: Vec<Chosen<'_>> = parts.iter().map(|part| self.choose(&abilities, part.text)).collect();
        let tasks = parts.iter().zip(&chosen).enumerate().map(|(at, (part, chosen))| RoutedTask {
            id: (at + 1).to_string(),
            agent: chosen.agent.to_owned(),
            mode: chosen.mode.to_owned(),
            text: part.text.to_owned(),
            needs: part.needs.iter().map(|needed| (needed + 1).to_string()).collect(),
        });
        let tasks: Vec<RoutedTask> = tasks.collect();
        let confidence = chosen.iter().map(|chosen| chosen.choice.confidence).fold(1.0, f32::min);
        let reasons: Vec<String> = chosen.iter().map(|chosen| chosen.reason.clone()).collect();
        let (agent, mode) = chosen
            .first()
            .map_or((goose_agent::NAME, goose_agent::ASSISTANT), |first| (first.agent, first.mode));
        Route {
            agent: agent.to_owned(),
            mode: mode.to_owned(),
            confidence,
            by: RoutedBy::Local,
            reason: reasons.join("; "),
            tasks,
        }
    }

    /// The abilities of the built-in modes, in the order of the labels.
    fn abilities(&self) -> [Ability; COUNT] {
        LABELS.map(|(agent, mode)| {
            let builtin = self.catalog.agents.iter().filter(|entry| entry.origin == AgentOrigin::Builtin);
            let mut named = builtin.filter(|entry| entry.manifest.name == agent);
            match named.find_map(|entry| entry.manifest.mode(mode)) {
                None => Ability::Absent,
                Some(mode) if may_edit_all(mode) => Ability::Edits,
                Some(_) => Ability::ReadsOnly,
            }
        })
    }

    fn choose(&self, abilities: &[Ability; COUNT], text: &str) -> Chosen<'a> {
        let words = words(text);
        let Decision { label, confidence, strongest, probabilities, reason } =
            decide(&Weights::new(WEIGHTS), abilities, text, &words);
        match own_agents::best(self.catalog, &words) {
            Some(own) if own.confidence >= strongest => {
                let reason = format!("{} matches the purpose of {}", quoted(&own.words), own.agent);
                let mode = COUNT + own.place;
                let choice = Choice { mode, confidence: own.confidence, probabilities, is_default: false };
                Chosen { agent: own.agent, mode: own.mode, choice, reason }
            }
            _ => {
                let (agent, mode) = LABELS[label];
                let choice = Choice { mode: label, confidence, probabilities, is_default: label == DEFAULT };
                Chosen { agent, mode, choice, reason }
            }
        }
    }
}

/// Returns true if a mode may edit any file.
fn may_edit_all(mode: &AgentMode) -> bool {
    let is_edit = |group: &str| matches!(group, "edit" | "developer");
    mode.tool_groups.iter().any(|access| access.files.is_none() && is_edit(&access.group))
}
