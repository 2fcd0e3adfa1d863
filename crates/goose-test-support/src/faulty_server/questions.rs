//! Questions to the client in the middle of a call: sent and waited for on the older wire, a round of their own on the
//! newer.

use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    message::{Reply, Request},
    options::{Ask, Wire},
    server::Server,
};

/// The key of the only question of a round.
const KEY: &str = "question";

/// The questions that wait for an answer.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<HashMap<String, SyncSender<Value>>>,
}

impl Questions {
    fn open(&self, id: &str) -> Receiver<Value> {
        let (sender, receiver) = sync_channel(1);
        self.open.lock().insert(id.to_owned(), sender);
        receiver
    }

    /// Takes a response of the client.
    pub(super) fn answered(&self, id: &Value, response: Value) {
        let open = id.as_str().and_then(|id| self.open.lock().remove(id));
        if let Some(waiting) = open {
            let _ = waiting.try_send(response);
        }
    }
}

impl Server {
    /// Asks, and gives back what came, as text.
    pub(super) fn ask(&self, request: &Request, ask: Ask) -> Reply {
        match self.options.wire {
            Wire::Old => self.ask_and_wait(request, ask),
            Wire::New => ask_in_rounds(request, ask),
        }
    }

    fn ask_and_wait(&self, request: &Request, ask: Ask) -> Reply {
        let id = format!("ask-{}", request.id);
        let answer = self.questions.open(&id);
        let mut question = question(ask);
        question["jsonrpc"] = json!("2.0");
        question["id"] = json!(id);
        if request.outlet.message(&question).is_err() {
            return Reply::Nothing;
        }
        match answer.recv() {
            Ok(mut response) if response["error"].is_null() => {
                Reply::text(response["result"].take().to_string())
            }
            Ok(mut response) => Reply::text(response["error"].take().to_string()),
            Err(_) => Reply::Nothing,
        }
    }
}

fn ask_in_rounds(request: &Request, ask: Ask) -> Reply {
    match request.params["inputResponses"].get(KEY) {
        Some(answer) => Reply::text(answer.to_string()),
        None => Reply::Result(json!({
            "resultType": "input_required",
            "inputRequests": { KEY: question(ask) },
            "requestState": "asked",
        })),
    }
}

/// A method and its parameters.
fn question(ask: Ask) -> Value {
    match ask {
        Ask::Form => json!({ "method": "elicitation/create", "params": {
            "mode": "form",
            "message": "Who are you?",
            "requestedSchema": {
                "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"],
            },
        } }),
        Ask::Url => json!({ "method": "elicitation/create", "params": {
            "mode": "url",
            "message": "Please sign in.",
            "url": "https://example.invalid/sign-in",
            "elicitationId": "sign-in",
        } }),
        Ask::Sampling => json!({ "method": "sampling/createMessage", "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": "Say hello." } }],
            "maxTokens": 100,
        } }),
        Ask::Roots => json!({ "method": "roots/list", "params": {} }),
    }
}
