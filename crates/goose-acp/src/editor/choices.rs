//! Modes, options and commands that an editor offers for a session.

use goose::{config::Settings, exchange::Exchange, permission::Mode, session::ChosenBy};
use serde_json::{Value, json};

/// Id of the mode in which goose chooses the agent.
pub(super) const AUTOMATIC: &str = "auto";

/// Ids of the options.
pub(super) const MODEL: &str = "model";
pub(super) const PERMISSIONS: &str = "permissions";

/// Commands that are given as a prompt, with their descriptions.
pub(super) const COMMANDS: [(&str, &str); 3] = [
    ("compact", "Summarize the conversation so far, to make room"),
    ("clear", "Clear what the model sees; the session keeps all messages"),
    ("plan", "Look around and write a plan, change nothing"),
];

/// Returns the modes of the session: the agents that can be chosen, each in its modes.
pub(super) fn modes(exchange: &Exchange) -> Value {
    let catalog = exchange.agents();
    let named = catalog.agents.iter().filter(|entry| !entry.is_internal()).flat_map(|entry| {
        entry.manifest.modes.iter().map(|mode| {
            let id = format!("{}/{}", entry.manifest.name, mode.slug);
            json!({"id": id, "name": id, "description": mode.description})
        })
    });
    let automatic = json!({
        "id": AUTOMATIC, "name": "Automatic", "description": "goose chooses the agent for each request",
    });
    let available: Vec<Value> = std::iter::once(automatic).chain(named).collect();
    json!({"currentModeId": current_mode(exchange), "availableModes": available})
}

/// Returns the id of the current mode.
pub(super) fn current_mode(exchange: &Exchange) -> String {
    let agent = exchange.agent();
    match agent.chosen_by {
        ChosenBy::User => agent.id(),
        _ => AUTOMATIC.to_owned(),
    }
}

/// Returns the options of the session.
pub(super) fn options(exchange: &Exchange, settings: &Settings) -> Value {
    let model = exchange.model();
    let in_use = model.to_string();
    let known = model.provider().and_then(|name| settings.registry().info(name));
    let known =
        known.map(|info| info.models.iter().map(|it| format!("{}:{it}", info.name)).collect::<Vec<_>>());
    let mut models: Vec<String> = known.unwrap_or_default();
    if !models.contains(&in_use) {
        models.insert(0, in_use.clone());
    }
    let models: Vec<Value> = models.iter().map(|model| json!({"value": model, "name": model})).collect();
    let modes: Vec<Value> = Mode::ALL
        .iter()
        .map(|mode| json!({"value": mode.as_str(), "name": mode.as_str(), "description": described(*mode)}))
        .collect();
    json!([
        {"id": MODEL, "name": "Model", "category": "model", "type": "select", "currentValue": in_use, "options": models},
        {
            "id": PERMISSIONS, "name": "Permissions", "description": "What goose does without asking", "type": "select",
            "currentValue": exchange.permissions().mode().as_str(), "options": modes,
        },
    ])
}

fn described(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "Runs every call, except where a rule denies it or asks",
        Mode::SmartApprove => "Runs calls that only read; asks about the others",
        Mode::Approve => "Asks about every call",
        Mode::Chat => "Runs no tools",
    }
}

/// Returns the update with the commands.
pub(super) fn commands() -> Value {
    let commands: Vec<Value> = COMMANDS
        .iter()
        .map(|(name, about)| match *name {
            "plan" => json!({"name": name, "description": about, "input": {"hint": "what to plan"}}),
            _ => json!({"name": name, "description": about}),
        })
        .collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": commands})
}
