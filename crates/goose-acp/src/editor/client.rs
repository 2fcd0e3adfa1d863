//! [`Client`]: the editor: what it can do, its requests as errors see them, and questions to it.

use std::sync::OnceLock;

use goose_extension::visible;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::rpc::{Failure, INTERNAL_ERROR, Peer, RpcError};

/// Code of a request that needs a model or a login first.
pub(super) const AUTH_REQUIRED: i64 = -32000;

/// Code of a session that does not exist.
pub(super) const NOT_FOUND: i64 = -32002;

/// The editor at the other end.
#[derive(Default)]
pub(super) struct Client {
    peer: OnceLock<Peer>,
    capabilities: OnceLock<Value>,
    /// Session of the last prompt.
    active: Mutex<Option<String>>,
}

/// Things that an editor may offer, by their place in its capabilities.
#[derive(Debug, Clone, Copy)]
pub(super) enum Offer {
    ReadFiles,
    WriteFiles,
    Terminal,
    Forms,
    Pages,
    /// Tools of the editor, an extension of the protocol.
    Tools,
}

impl Client {
    pub(super) fn connect(&self, peer: Peer) {
        // A connection is made once.
        let _ = self.peer.set(peer);
    }

    /// Keeps what the editor said about itself. Only the first time counts.
    pub(super) fn introduce(&self, capabilities: Value) {
        let _ = self.capabilities.set(capabilities);
    }

    /// Notes the session that the user works in.
    pub(super) fn works_in(&self, session: &str) {
        *self.active.lock() = Some(session.to_owned());
    }

    /// Returns the session that the user last worked in.
    pub(super) fn active(&self) -> Option<String> {
        self.active.lock().clone()
    }

    /// Returns true if the editor offers something.
    pub(super) fn offers(&self, offer: Offer) -> bool {
        let place = match offer {
            Offer::ReadFiles => "/fs/readTextFile",
            Offer::WriteFiles => "/fs/writeTextFile",
            Offer::Terminal => "/terminal",
            Offer::Forms => "/elicitation/form",
            Offer::Pages => "/elicitation/url",
            Offer::Tools => "/_meta/goose/tools",
        };
        let said = self.capabilities.get().and_then(|it| it.pointer(place));
        said.is_some_and(|it| it.is_object() || it == &Value::Bool(true))
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// Fails with a sentence about the editor.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let Some(peer) = self.peer.get() else { return Err("The editor is not connected.".to_owned()) };
        peer.request(method, params).await.map_err(|failure| match failure {
            Failure::Answered(error) => format!("The editor refused {method}: {}", error.message),
            Failure::Ended(why) => format!("The editor {why}."),
        })
    }

    /// Tells the editor what happens in a session.
    pub(super) async fn update(&self, session: &str, update: Value) {
        if let Some(peer) = self.peer.get() {
            peer.notify("session/update", json!({"sessionId": session, "update": update})).await;
        }
    }
}

/// Returns the error for something that failed in goose.
pub(super) fn failed(error: &dyn std::fmt::Display) -> RpcError {
    RpcError { code: INTERNAL_ERROR, message: visible(&error.to_string()).into_owned() }
}
