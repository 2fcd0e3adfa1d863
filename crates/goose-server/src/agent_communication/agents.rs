//! The agents of goose as listed agents: each agent, and each of its modes.
//!
//! Names are DNS labels: the mode `backend` of `coding-agent` is `coding-agent-backend`. The name of the agent alone
//! means its first mode; for the default agent, goose routes each request to the agent that suits it.

use std::sync::Arc;

use axum::extract::State;
use goose::agents::{
    catalog::AgentCatalog,
    manifest::{AgentManifest, AgentMode},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    body::{Json, PathText, Query},
    endpoint::Endpoint,
    error::{ApiError, ApiResult},
    sessions::ChosenAgent,
    state::AppState,
};

/// Maximum number of agents of an answer.
const MAX_AGENTS: u64 = 1_000;
/// Number of agents of an answer by default.
const DEFAULT_AGENTS: u64 = 100;

/// Content types that agents read.
const INPUT_TYPES: [&str; 6] =
    ["text/plain", "text/*", "application/json", "image/png", "image/jpeg", "image/webp"];

/// Content types that agents write: text, and whatever files a run makes.
const OUTPUT_TYPES: [&str; 2] = ["text/plain", "*/*"];

/// Description of an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) description: String,
    input_content_types: Vec<&'static str>,
    output_content_types: Vec<&'static str>,
    metadata: Map<String, Value>,
}

/// List of agents.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentList {
    agents: Vec<Agent>,
}

/// Answer of `/ping`.
#[derive(Debug, Serialize, JsonSchema)]
struct Pong {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    const TAG: &str = "Agent Communication Protocol";
    let number =
        |minimum: u64, maximum: u64| json!({"type": "integer", "minimum": minimum, "maximum": maximum});
    vec![
        Endpoint::get("/ping", async || Json(Pong {}))
            .about(TAG, "Does nothing")
            .gives::<Pong>(200, "It was reached"),
        Endpoint::get("/agents", list)
            .about(TAG, "Lists the agents and their modes")
            .query("limit", "Maximum number of agents", number(1, MAX_AGENTS))
            .query("offset", "Number of agents to leave out", number(0, u64::from(u32::MAX)))
            .gives::<AgentList>(200, "Agents"),
        Endpoint::get("/agents/{name}", read)
            .about(TAG, "Describes an agent")
            .gives::<Agent>(200, "The agent")
            .fails(&[(404, "There is no such agent")]),
    ]
}

async fn list(State(app): State<AppState>, query: Query) -> ApiResult<Json<AgentList>> {
    let limit = query.number("limit", 1..=MAX_AGENTS)?.unwrap_or(DEFAULT_AGENTS);
    let offset = query.number("offset", 0..=u64::from(u32::MAX))?.unwrap_or_default();
    let cut = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let agents = all(&app.sessions.agents(app.sessions.root()));
    Ok(Json(AgentList { agents: agents.into_iter().skip(cut(offset)).take(cut(limit)).collect() }))
}

async fn read(State(app): State<AppState>, PathText(name): PathText) -> ApiResult<Json<Agent>> {
    let agents = all(&app.sessions.agents(app.sessions.root()));
    let found = agents.into_iter().find(|agent| agent.name == name);
    found.map(Json).ok_or_else(|| unknown(&name))
}

fn unknown(name: &str) -> ApiError {
    let name = goose_fs::truncate_chars(name, 100);
    ApiError::not_found(format!("There is no agent `{name}`. GET /agents lists them."))
}

/// Returns the label of an agent, or of one of its modes.
pub(crate) fn label(agent: &str, mode: Option<&str>) -> String {
    let name = match mode {
        Some(mode) => format!("{agent}-{mode}"),
        None => agent.to_owned(),
    };
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// Returns the label of an agent's id, such as `coding-agent/backend`.
pub(crate) fn label_of_id(id: &str) -> String {
    match id.split_once('/') {
        Some((agent, mode)) => label(agent, Some(mode)),
        None => label(id, None),
    }
}

/// Returns all agents and modes of a folder, without those that work for goose itself.
fn choices(catalog: &AgentCatalog) -> impl Iterator<Item = (String, ChosenAgent)> {
    let (default, _) = AgentCatalog::default_agent();
    let served = catalog.agents.iter().filter(|entry| !entry.is_internal());
    served.flat_map(move |entry| {
        let manifest = &entry.manifest;
        let chosen = |mode: &AgentMode, is_routed| ChosenAgent {
            manifest: Arc::clone(manifest),
            mode: mode.clone(),
            is_routed,
        };
        let is_default = manifest.name == default.name;
        let first =
            manifest.modes.first().map(|mode| (label(&manifest.name, None), chosen(mode, is_default)));
        let modes =
            manifest.modes.iter().map(|mode| (label(&manifest.name, Some(&mode.slug)), chosen(mode, false)));
        first.into_iter().chain(modes).collect::<Vec<_>>()
    })
}

/// Returns the agent of a label.
pub(crate) fn find(catalog: &AgentCatalog, name: &str) -> ApiResult<ChosenAgent> {
    let found = choices(catalog).find(|(label, _)| label == name);
    found.map(|(_, chosen)| chosen).ok_or_else(|| unknown(name))
}

/// Returns the descriptions of all agents and modes.
pub(crate) fn all(catalog: &AgentCatalog) -> Vec<Agent> {
    let described = choices(catalog).map(|(label, chosen)| {
        let is_mode = label != self::label(&chosen.manifest.name, None);
        describe(label, &chosen.manifest, is_mode.then_some(&chosen.mode))
    });
    described.collect()
}

fn describe(name: String, manifest: &AgentManifest, mode: Option<&AgentMode>) -> Agent {
    let mut shown = manifest.clone();
    if let Some(mode) = mode {
        shown.modes = vec![mode.clone()];
        if !mode.dependencies.is_empty() {
            shown.metadata.dependencies.clone_from(&mode.dependencies);
        }
        if !mode.recommended_models.is_empty() {
            shown.metadata.recommended_models.clone_from(&mode.recommended_models);
        }
    }
    let texts = mode.map_or(vec![&manifest.description], |mode| vec![&mode.description, &mode.when_to_use]);
    let texts: Vec<&str> =
        texts.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    let metadata = match shown.to_acp()["metadata"].take() {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    Agent {
        name,
        description: texts.join(" "),
        input_content_types: INPUT_TYPES.to_vec(),
        output_content_types: OUTPUT_TYPES.to_vec(),
        metadata,
    }
}
