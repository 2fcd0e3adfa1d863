//! The agent card, for clients of both versions.
//!
//! The open card lists the agents that come with goose. With a token, the extended card has those of the user too.

use axum::extract::State;
use goose::agents::catalog::AgentCatalog;
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};

use super::{PATH, TAG};
use crate::{agent_communication::agents, body::Json, endpoint::Endpoint, state::AppState};

pub(super) fn endpoint() -> Endpoint {
    Endpoint::get("/.well-known/agent-card.json", open)
        .open()
        .about(TAG, "Describes this server to other agents")
        .gives::<Map<String, Value>>(200, "The agent card")
}

async fn open(State(app): State<AppState>, headers: HeaderMap) -> Json<Value> {
    Json(card(&app, &headers, &AgentCatalog::builtin()))
}

/// Returns the card with all agents.
pub(super) fn extended(app: &AppState, headers: &HeaderMap) -> Value {
    card(app, headers, &app.sessions.agents(app.sessions.root()))
}

fn card(app: &AppState, headers: &HeaderMap, catalog: &AgentCatalog) -> Value {
    // The gate has checked that this is a name of ours.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = format!("{}://{host}{PATH}", app.names.scheme);
    let skill = |agent: agents::Agent| {
        let about = if agent.description.is_empty() { agent.name.clone() } else { agent.description };
        json!({"id": agent.name, "name": agent.name, "description": about, "tags": ["goose"]})
    };
    let skills: Vec<Value> = agents::all(catalog).into_iter().map(skill).collect();
    let interface =
        |version: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version});
    json!({
        "name": "goose",
        "description": "An agent that works with the tools of this machine. `metadata.agent` of a message names a skill; \
                        without it, the agent that suits the request answers.",
        "version": env!("CARGO_PKG_VERSION"),
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": true},
        "defaultInputModes": ["text/plain", "application/json", "image/png", "image/jpeg"],
        "defaultOutputModes": ["text/plain"],
        "skills": skills,
        // Version 1.0.
        "supportedInterfaces": [interface("1.0"), interface("0.3")],
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        // Version 0.3.
        "protocolVersion": "0.3.0",
        "url": url,
        "preferredTransport": "JSONRPC",
        "supportsAuthenticatedExtendedCard": true,
        "security": [{"bearer": []}],
        // Both: each reads its own fields.
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "bearer"}},
        },
    })
}
