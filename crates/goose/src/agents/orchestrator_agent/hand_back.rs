//! Handing back a request: a mode that was chosen by routing and cannot do what is asked says so, and another
//! agent continues.
//!
//! `hand_back` is a function outside the toolset. It is answered before the call path, so no list of tools
//! has it. The default agent, agents that the user named, and delegates do not have it.

use goose_extension::{JsonObject, Tool, visible_line};
use goose_providers::PromptStyle;
use serde_json::json;

use super::{RequestHandler, route::Route};
use goose_session::ChosenBy;

use crate::{
    agents::{catalog::AgentCatalog, goose_agent},
    exchange::{Event, LoopFunction, RoutedBy, StepResult},
};

/// Name of the function.
const HAND_BACK: &str = "hand_back";

/// Result of the call.
const HANDED_BACK: &str = "Handed back. The agent that answers next has other tools and instructions; it goes on with the user's request.";

/// Maximum number of times that a request is routed again. After that, the default agent answers.
const MAX_ROUTED_AGAIN: usize = 2;

/// Maximum number of characters of a reason.
const MAX_REASON_CHARS: usize = 300;

const DESCRIPTION: &str = "Gives the user's request to another agent. Call it, alone, if your tools or your role do not allow what is \
                           asked: for example to change files that you may only read. Do not call it for what you can do yourself.";

/// State of a request that may be handed back.
#[derive(Debug, Default)]
pub(super) struct HandBack {
    /// Words of the user.
    pub(super) request: Option<String>,
    /// Modes that have handed the request back.
    refused: Vec<String>,
}

fn function() -> LoopFunction {
    let schema = json!({
        "type": "object",
        "properties": {"reason": {"type": "string", "description": "What is missing, in one sentence for the user"}},
        "required": ["reason"],
        "additionalProperties": false,
    });
    let tool = Tool::new(HAND_BACK, DESCRIPTION, schema.as_object().cloned().unwrap_or_default());
    LoopFunction { tool, answer: HANDED_BACK }
}

impl RequestHandler<'_> {
    /// Returns the functions that the agent has besides its tools.
    pub(super) fn functions(&self) -> Vec<LoopFunction> {
        if self.may_hand_back() { vec![function()] } else { Vec::new() }
    }

    /// Returns true if the agent may hand a request back. A small model may not, because it would mistake the
    /// function for a step of the work.
    fn may_hand_back(&self) -> bool {
        let agent = self.work.context.agent();
        self.orchestrator.is_routing()
            && agent.chosen_by == ChosenBy::Routing
            && agent.id() != goose_agent::id(goose_agent::ASSISTANT)
            && self.work.context.processor().model().prompt_style == PromptStyle::Full
    }

    /// Lets another agent continue with a request that was handed back: the session's agent, if this one was
    /// chosen for one message; otherwise the choice of the fast model, or the default agent.
    pub(super) async fn take_back(&mut self, arguments: &JsonObject) -> StepResult<()> {
        let reason = arguments.get("reason").and_then(|reason| reason.as_str()).unwrap_or_default();
        let reason = visible_line(&goose_fs::truncate_chars(reason.trim(), MAX_REASON_CHARS)).into_owned();
        let present = self.work.context.agent();
        // The user may have chosen another agent meanwhile.
        let Some(catalog) = self.known_agents().filter(|_| present.chosen_by == ChosenBy::Routing) else {
            return Ok(());
        };
        let (agent, mode) = (present.manifest.name.clone(), present.mode.slug.clone());
        self.handing.refused.push(present.id());
        self.work.emit(Event::HandedBack { agent, mode, reason });
        if self.one_reply.is_some() {
            self.end_one_reply().await;
            return Ok(());
        }
        let text = self.handing.request.clone().unwrap_or_default();
        let chosen = match self.handing.refused.len() {
            ..=MAX_ROUTED_AGAIN => self.ask_accelerator(&text, &catalog, &self.handing.refused).await?,
            _ => None,
        };
        let by = if chosen.is_some() { RoutedBy::Accelerator } else { RoutedBy::Local };
        let (manifest, mode) = chosen.unwrap_or_else(AgentCatalog::default_agent);
        let reason = "the request was handed back".to_owned();
        let route = Route::new(&text, &manifest.name, &mode.slug, by, reason);
        self.follow_route(&route, &present, &catalog).await
    }
}
