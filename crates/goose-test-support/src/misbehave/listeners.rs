//! Who wants to hear that the tools have changed.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use super::{
    message::{Reply, Request, notification},
    outlet::Outlet,
    server::Server,
};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The streams that get news.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Listener>>);

#[derive(Clone)]
struct Listener {
    outlet: Arc<dyn Outlet>,
    /// On the newer wire: the request that opened the stream.
    subscription: Option<Value>,
}

impl Listeners {
    pub(super) fn add(&self, outlet: Arc<dyn Outlet>, subscription: Option<Value>) {
        let listener = Listener { outlet, subscription };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    pub(super) fn remove(&self, subscription: &Value) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.subscription.as_ref() != Some(subscription));
    }

    /// Says that the tools have changed; forgets those who are gone. Nobody is kept out while a slow one is told.
    pub(super) fn tools_changed(&self) {
        let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for gone in listeners.iter().filter(|listener| listener.tell().is_err()) {
            let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|listener| !Arc::ptr_eq(&listener.outlet, &gone.outlet));
        }
    }
}

impl Listener {
    fn tell(&self) -> io::Result<()> {
        let params = match &self.subscription {
            Some(id) => json!({ "_meta": { SUBSCRIPTION_KEY: id } }),
            None => json!({}),
        };
        self.outlet.message(&notification("notifications/tools/list_changed", params))
    }
}

impl Server {
    /// Opens a stream of news on the newer wire. The request stays open; it gets no answer.
    pub(super) fn listen(&self, request: &Request) -> Reply {
        let wanted = request.params["notifications"]["toolsListChanged"] == true;
        let granted = if wanted { json!({ "toolsListChanged": true }) } else { json!({}) };
        let params = json!({ "_meta": { SUBSCRIPTION_KEY: request.id }, "notifications": granted });
        let acknowledged = notification("notifications/subscriptions/acknowledged", params);
        // Whoever has read that it is listening is told of the next change; nothing is told before.
        let _ = request.outlet.send(&mut |output| {
            if wanted {
                self.listeners.add(Arc::clone(&request.outlet), Some(request.id.clone()));
            }
            Ok(serde_json::to_writer(output, &acknowledged)?)
        });
        Reply::Nothing
    }
}
