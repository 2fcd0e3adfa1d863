//! Agents, their tools, and extensions.

use axum::extract::State;
use goose::agent_manager::OpenOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MISSING, TAG, sessions::session_id};
use crate::{
    agent_communication::agents,
    body::{Json, JsonBody, PathText, Query},
    endpoint::Endpoint,
    error::{ApiError, ApiResult},
    state::AppState,
    tokens::Scope,
};

/// Tools of an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct ToolList {
    tools: Vec<Tool>,
}

/// Tool of an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct Tool {
    name: String,
    description: String,
}

/// Extensions.
#[derive(Debug, Serialize, JsonSchema)]
struct ExtensionList {
    /// Extensions with their state, or of the configuration with `enabled`.
    extensions: Vec<Value>,
}

/// Extension to enable or disable in a session.
#[derive(Debug, Deserialize, JsonSchema)]
struct ExtensionSwitch {
    /// Name in the server's configuration.
    name: String,
    enabled: bool,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let folder = || json!({"type": "string"});
    vec![
        Endpoint::get("/api/v1/agents/{agent}/tools", tools)
            .about(TAG, "Lists the tools that an agent has in a folder. Starts its services.")
            .scope(Scope::Run)
            .query("folder", "Folder below a root; the first root by default", folder())
            .gives::<ToolList>(200, "Tools")
            .fails(&[(404, "There is no such agent")]),
        Endpoint::get("/api/v1/extensions", configured)
            .about(TAG, "Lists the extensions that the configuration of a folder has")
            .query("folder", "Folder below a root; the first root by default", folder())
            .gives::<ExtensionList>(200, "Extensions"),
        Endpoint::get("/api/v1/sessions/{session}/extensions", of_session)
            .about(TAG, "Lists the extensions of an open session with their state")
            .gives::<ExtensionList>(200, "Extensions")
            .fails(&[MISSING]),
        Endpoint::post("/api/v1/sessions/{session}/extensions", switch)
            .about(TAG, "Enables or disables an extension of the configuration for the rest of a session")
            .takes::<ExtensionSwitch>()
            .gives::<ExtensionList>(200, "Extensions")
            .fails(&[MISSING, (409, "It is enabled or disabled already")]),
    ]
}

async fn tools(
    State(app): State<AppState>,
    PathText(name): PathText,
    query: Query,
) -> ApiResult<Json<ToolList>> {
    let folder = app.sessions.folder(query.text("folder").map(AsRef::as_ref))?;
    let chosen = agents::find(&app.sessions.agents(&folder), &name)?;
    let (manager, profile) = app.sessions.in_folder(&folder)?;
    let options =
        OpenOptions::new(profile).with_agent(chosen.manifest, chosen.mode).with_working_dir(&folder);
    let agent = manager.agent(options).await?;
    agent.toolset.list().await;
    let tool = |tool: &goose_extension::Tool| Tool {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
    };
    let tools = agent.toolset.tools().iter().map(tool).collect();
    agent.extensions.close().await;
    Ok(Json(ToolList { tools }))
}

async fn configured(State(app): State<AppState>, query: Query) -> ApiResult<Json<ExtensionList>> {
    let folder = app.sessions.folder(query.text("folder").map(AsRef::as_ref))?;
    let (manager, _) = app.sessions.in_folder(&folder)?;
    let extensions = manager.settings().extensions().iter();
    // Targets may contain secrets, so only names are shown.
    let extensions = extensions.map(|entry| json!({"name": entry.key, "enabled": entry.enabled})).collect();
    Ok(Json(ExtensionList { extensions }))
}

async fn of_session(State(app): State<AppState>, PathText(id): PathText) -> ApiResult<Json<ExtensionList>> {
    let id = session_id(id)?;
    let Some(session) = app.sessions.opened(&id).await else {
        app.sessions.summary(&id).await?;
        return Ok(Json(ExtensionList { extensions: Vec::new() }));
    };
    Ok(Json(list(&session)))
}

fn list(session: &crate::sessions::OpenSession) -> ExtensionList {
    let status = session.exchange().extensions().status();
    ExtensionList { extensions: status.iter().filter_map(|it| serde_json::to_value(it).ok()).collect() }
}

async fn switch(
    State(app): State<AppState>,
    PathText(id): PathText,
    JsonBody(switch): JsonBody<ExtensionSwitch>,
) -> ApiResult<Json<ExtensionList>> {
    let id = session_id(id)?;
    let session = app.sessions.open(&id).await?;
    let changed = match switch.enabled {
        false => session.exchange().disable_extension(&switch.name).await.map(drop),
        true => {
            let (manager, _) = app.sessions.in_folder(&session.folder)?;
            let entry = manager.settings().extensions().iter().find(|entry| entry.is_called(&switch.name));
            let entry =
                entry.ok_or_else(|| ApiError::bad_request("The configuration has no such extension."))?;
            let config = entry.checked().map_err(|error| ApiError::bad_request(error.to_string()))?;
            session.exchange().enable_extension(config).map(drop)
        }
    };
    changed.map_err(|error| ApiError::conflict("extension", error.to_string()))?;
    Ok(Json(list(&session)))
}
