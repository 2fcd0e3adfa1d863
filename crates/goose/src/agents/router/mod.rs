//! [`Router`]: finds the agent and mode that a request is for, and the tasks that it consists of, without a model.
//!
//! `words` reads the request, `features` is what the linear `classifier` sees of it, with the word classes of `lexicon`. `intent` keeps
//! requests to change code away from modes that cannot, `language` sends what is not English to the default agent, `own_agents`
//! matches agents that do not come with goose. `pieces` cuts a request where a task could end, `lattice` has all ways to split it,
//! `splitter` finds the best one, `needs` the order, from what `task_view` sees of each task.

mod abilities;
mod classifier;
mod cuts;
mod decision;
mod features;
mod intent;
mod language;
mod lattice;
mod lexicon;
mod needs;
mod own_agents;
mod pieces;
mod splitter;
mod table;
mod task_view;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use self::words::is_file_name;
use self::{
    abilities::{Ability, abilities},
    classifier::{COUNT, Classifier, DEFAULT, LABELS, Weights},
    decision::{Change, probabilities, quoted, reason},
    lattice::{Lattice, MODES, OWN},
    own_agents::OwnModes,
    pieces::Request,
    splitter::{CUT_BIAS, MAX_TASKS, Part, split},
};
use super::{catalog::AgentCatalog, goose_agent, manifest::AgentMode};

/// The confidence below which a request goes to the default agent: there, the likeliest mode is more often wrong than right. Of requests by
/// authors whose lines were left out of the training, 39 % were right below it, and 67 % in the next twentieth.
pub const SURE: f32 = 0.45;

/// The same for a request of few words, where one word that the examples happen to have in one mode only decides alone.
const SURE_OF_FEW_WORDS: f32 = 0.75;

/// The number of words that are few.
const FEW_WORDS: usize = 3;

/// The weights of the classifier, of the splitter and of the order.
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

impl RoutedTask {
    /// The agent with its mode.
    pub(crate) fn agent_id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
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

/// An agent and mode for a part of a request.
struct Chosen<'a> {
    agent: &'a str,
    mode: &'a str,
    confidence: f32,
    reason: String,
}

impl<'a> Router<'a> {
    /// A router to the agents of a catalog.
    pub fn new(catalog: &'a AgentCatalog) -> Self {
        Self { catalog }
    }

    /// The route of a request.
    pub fn route(&self, text: &str) -> Route {
        let request = Request::new(text);
        let weights = Weights::new(WEIGHTS);
        if request.words.is_empty() {
            return whole(text, Chosen::default_agent(1.0, "there are no words to go by"));
        }
        if language::is_foreign(text, &request.words, |word| weights.knows(word)) {
            return whole(text, self.foreign(&request));
        }
        let reading = Reading {
            classifier: Classifier::new(weights.modes, &request.words),
            abilities: abilities(self.catalog),
            own: OwnModes::new(self.catalog),
            request: &request,
        };
        let lattice = Lattice::new(&request, weights.starts, |words| reading.probabilities(words));
        let parts = split(&lattice, weights.splits, CUT_BIAS);
        let chosen: Vec<Chosen<'_>> = parts.iter().map(|part| reading.choose(*part)).collect();
        if !(2..=MAX_TASKS).contains(&parts.len()) {
            let all = Part { start: 0, end: request.pieces.len(), label: DEFAULT };
            return whole(
                text,
                chosen.into_iter().next().filter(|_| parts.len() == 1).unwrap_or_else(|| reading.best(all)),
            );
        }
        let needs = needs::needs(&request, &parts, weights.needs);
        route(tasks(text, &request, &parts, &chosen, &needs), &chosen)
    }

    /// Returns true if a request is to change code, and a mode of the catalog cannot do that.
    pub(crate) fn is_beyond(&self, text: &str, agent: &str, mode: &AgentMode) -> bool {
        let abilities = abilities(self.catalog);
        let label = LABELS.iter().position(|label| *label == (agent, mode.slug.as_str()));
        let is_closed = match label.map_or(Ability::Absent, |label| abilities[label]) {
            Ability::ReadsOnly => true,
            Ability::Edits => false,
            Ability::Absent => mode.only_reads(),
        };
        if !is_closed {
            return false;
        }
        let words = words::words(text);
        let found = Classifier::new(Weights::new(WEIGHTS).modes, &words).probabilities(&(0..words.len()));
        Change::new(&words, &found, &abilities).is_of_code(&mode.slug)
    }

    /// The choice for a request that is not in English: only agents of the user have words in their language.
    fn foreign(&self, request: &Request) -> Chosen<'a> {
        let own = OwnModes::new(self.catalog).best(&request.words, |_| false);
        own.map_or_else(
            || Chosen::default_agent(SURE, "the request does not seem to be in English"),
            Chosen::own,
        )
    }
}

impl<'a> Chosen<'a> {
    fn default_agent(confidence: f32, reason: &str) -> Self {
        let (agent, mode) = (goose_agent::NAME, goose_agent::ASSISTANT);
        Self { agent, mode, confidence, reason: reason.to_owned() }
    }

    fn own(own: own_agents::OwnMatch<'a>) -> Self {
        let reason = format!("{} matches the purpose of {}", quoted(&own.words), own.agent);
        Self { agent: own.agent, mode: own.mode, confidence: own.confidence, reason }
    }
}

/// A request with all that decides on its modes.
struct Reading<'a, 'r> {
    request: &'r Request,
    classifier: Classifier<'r>,
    abilities: [Ability; COUNT],
    own: OwnModes<'a>,
}

impl<'a> Reading<'a, '_> {
    /// The probability of each mode for a part of the words.
    fn probabilities(&self, words: &Range<usize>) -> [f32; MODES] {
        let known = probabilities(&self.classifier, &self.abilities, &self.request.words, words);
        let mut found = [0.0; MODES];
        let strongest = known.iter().skip(1).copied().fold(0.0, f32::max);
        match self.own(words).filter(|own| own.confidence >= strongest) {
            Some(own) => found[OWN] = own.confidence,
            None => found[..COUNT].copy_from_slice(&known),
        }
        found
    }

    fn own(&self, words: &Range<usize>) -> Option<own_agents::OwnMatch<'a>> {
        let part = self.request.words.get(words.clone()).unwrap_or_default();
        // Only a match costs a look at what is asked for.
        self.own.best(part, |mode| {
            let found = || self.classifier.probabilities(words);
            mode.only_reads() && Change::new(part, &found(), &self.abilities).is_of_code(&mode.slug)
        })
    }

    /// The agent and mode of a task whose mode is known.
    fn choose(&self, part: Part) -> Chosen<'a> {
        let words = self.request.words_of(part.start, part.end);
        let own = self.own(&words).filter(|_| part.label == OWN);
        if let Some(own) = own {
            return Chosen::own(own);
        }
        let found = self.probabilities(&words);
        let confidence = found[part.label];
        // A task of several has its mode from its neighbours too.
        let is_whole = part.end - part.start == self.request.pieces.len();
        let needed = if words.len() <= FEW_WORDS { SURE_OF_FEW_WORDS } else { SURE };
        let (label, confidence) = match is_whole && confidence < needed {
            true => (DEFAULT, found[DEFAULT]),
            false => (part.label, confidence),
        };
        let (agent, mode) = LABELS.get(label).copied().unwrap_or(LABELS[DEFAULT]);
        Chosen { agent, mode, confidence, reason: reason(&self.classifier, label, &words) }
    }

    /// The most probable agent and mode of a part.
    fn best(&self, part: Part) -> Chosen<'a> {
        let found = self.probabilities(&self.request.words_of(part.start, part.end));
        let best = (0..MODES).max_by(|one, two| found[*one].total_cmp(&found[*two]));
        self.choose(Part { label: best.unwrap_or(DEFAULT), ..part })
    }
}

/// The route of a request that is one task.
fn whole(text: &str, chosen: Chosen<'_>) -> Route {
    let task = RoutedTask {
        id: "1".to_owned(),
        agent: chosen.agent.to_owned(),
        mode: chosen.mode.to_owned(),
        text: text.to_owned(),
        needs: Vec::new(),
    };
    route(vec![task], &[chosen])
}

fn route(tasks: Vec<RoutedTask>, chosen: &[Chosen<'_>]) -> Route {
    let confidence = chosen.iter().map(|chosen| chosen.confidence).fold(1.0, f32::min);
    let reasons: Vec<&str> = chosen.iter().map(|chosen| chosen.reason.as_str()).collect();
    let (agent, mode) = tasks.first().map(|task| (task.agent.clone(), task.mode.clone())).unwrap_or_default();
    Route { agent, mode, confidence, by: RoutedBy::Local, reason: reasons.join("; "), tasks }
}

/// The tasks of a request, each after those that it needs.
fn tasks(
    text: &str,
    request: &Request,
    parts: &[Part],
    chosen: &[Chosen<'_>],
    needs: &[Vec<usize>],
) -> Vec<RoutedTask> {
    let order = order(needs);
    let id = |at: usize| (order.iter().position(|other| *other == at).unwrap_or_default() + 1).to_string();
    let task = |at: &usize| {
        let (part, chosen) = (parts[*at], &chosen[*at]);
        let place = request.pieces[part.start].text.start..request.pieces[part.end - 1].text.end;
        // Tasks that need each other in a circle keep only what is before them.
        let before = order.iter().take_while(|other| *other != at);
        let needed = before.filter(|other| needs[*at].contains(other));
        RoutedTask {
            id: id(*at),
            agent: chosen.agent.to_owned(),
            mode: chosen.mode.to_owned(),
            text: text.get(place).unwrap_or_default().to_owned(),
            needs: needed.map(|needed| id(*needed)).collect(),
        }
    };
    order.iter().map(task).collect()
}

/// The places of tasks in an order in which each comes after those it needs, else as they are in the request.
fn order(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < needs.len() {
        let is_ready =
            |at: &usize| !order.contains(at) && needs[*at].iter().all(|needed| order.contains(needed));
        let is_left = |at: &usize| !order.contains(at);
        let next = (0..needs.len()).find(is_ready).or_else(|| (0..needs.len()).find(is_left));
        order.extend(next);
    }
    order
}
