//! Values of commands that depend on the session, for completion.

use std::{sync::OnceLock, time::Duration};

use goose::{
    config::Settings,
    exchange::Exchange,
    session::{ListOptions, SessionStore},
};
use tokio::{runtime::Handle, time::timeout};

use super::chat::Chat;
use crate::terminal::completion::{REMOVE, RESOURCES};

/// Maximum number of sessions that are offered.
const MAX_SESSIONS: u32 = 50;

/// Time that the Tab key may take.
const TIME: Duration = Duration::from_secs(2);

impl Chat {
    /// Offers the values of this session to the keyboard.
    pub(super) fn offer_values(&self) {
        let exchange = self.assembled.exchange.clone();
        let store = self.assembled.store().clone();
        let (settings, runtime) = (self.assembled.manager().settings().clone(), Handle::current());
        let models = OnceLock::new();
        // The thread of the keyboard asks, which has no runtime.
        self.input.values().set(move |command| {
            if command == "/model" {
                let names = models.get_or_init(|| runtime.block_on(live_models(&exchange, &settings)));
                return names.iter().map(|name| (name.clone(), String::new())).collect();
            }
            // A time limit must be made within the runtime.
            let values = async { timeout(TIME, values(command, &exchange, &store)).await };
            runtime.block_on(values).unwrap_or_default()
        });
    }
}

/// Returns the models that the service in use lists.
pub(super) async fn live_models(exchange: &Exchange, settings: &Settings) -> Vec<String> {
    let model = exchange.model();
    let Some(service) = model.provider() else { return Vec::new() };
    let listed = timeout(TIME, settings.registry().list_models(service, settings)).await;
    let names = listed.ok().flatten().unwrap_or_default();
    names.into_iter().map(|name| format!("{service}:{name}")).collect()
}

/// Returns the values of a command, each with a text beside it.
async fn values(command: &str, exchange: &Exchange, store: &SessionStore) -> Vec<(String, String)> {
    let names = |names: Vec<String>| names.into_iter().map(|name| (name, String::new())).collect();
    match command {
        "/resume" => {
            let sessions = store.list(ListOptions::newest(MAX_SESSIONS)).await.unwrap_or_default();
            sessions.into_iter().map(|session| (session.id.to_string(), session.name().to_owned())).collect()
        }
        "/prompts" | REMOVE => names(exchange.extensions().names()),
        "/prompt" => match exchange.extensions().list_prompts(None).await {
            Ok(listed) => names(listed.items.into_iter().map(|owned| owned.item.name).collect()),
            Err(_) => Vec::new(),
        },
        RESOURCES => match exchange.extensions().list_resources(None).await {
            Ok(listed) => names(
                listed.items.into_iter().map(|it| format!("{}:{}", it.extension, it.item.uri)).collect(),
            ),
            Err(_) => Vec::new(),
        },
        "/tasks" => exchange.tasks().into_iter().map(|status| (status.task.id, status.task.text)).collect(),
        _ => Vec::new(),
    }
}
