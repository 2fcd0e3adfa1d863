//! The server: takes messages, answers requests side by side, and keeps what they share.

use std::{
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use serde_json::{Value, json};

use super::{
    cancelled::Cancelled,
    greeting,
    listeners::Listeners,
    message::{METHOD_NOT_FOUND, Refusal, Reply, Request},
    options::{Options, Wire},
    outlet::Outlet,
    questions::Questions,
};

/// The methods that each wire has.
const COMMON: &[&str] = &["tools/list", "tools/call", "resources/list", "prompts/list"];
const OLD_ONLY: &[&str] = &["initialize", "ping", "logging/setLevel"];
const NEW_ONLY: &[&str] = &["server/discover", "subscriptions/listen"];

/// What all requests share.
pub(super) struct Server {
    pub(super) options: Options,
    pub(super) grandchildren: Vec<u32>,
    /// How many calls were answered.
    pub(super) calls: AtomicU64,
    /// How often the tool `count` was called.
    pub(super) counted: AtomicU64,
    /// How many tools `grow` has added.
    pub(super) grown: AtomicU64,
    pub(super) cancelled: Cancelled,
    pub(super) listeners: Listeners,
    pub(super) questions: Questions,
}

impl Server {
    pub(super) fn new(options: Options, grandchildren: Vec<u32>) -> Self {
        Self {
            options,
            grandchildren,
            calls: AtomicU64::default(),
            counted: AtomicU64::default(),
            grown: AtomicU64::default(),
            cancelled: Cancelled::default(),
            listeners: Listeners::default(),
            questions: Questions::default(),
        }
    }

    /// Takes a message of the client. Requests are answered in threads of their own: it reads on while they work.
    pub(super) fn take(self: &Arc<Self>, mut message: Value, outlet: Arc<dyn Outlet>) {
        if self.options.never_answers {
            return;
        }
        let (id, method) = (message.get("id").cloned(), message["method"].as_str().map(str::to_owned));
        match (id, method) {
            (Some(id), Some(method)) => {
                let request = Request { id, method, params: message["params"].take(), outlet };
                let server = Arc::clone(self);
                thread::spawn(move || server.serve(&request));
            }
            (Some(id), None) => self.questions.answered(&id, message),
            (None, Some(method)) if method == "notifications/cancelled" => {
                self.cancel(message["params"]["requestId"].take());
            }
            (None, _) => {}
        }
    }

    /// Notes that nobody waits for a request any more.
    pub(super) fn cancel(&self, id: Value) {
        self.listeners.remove(&id);
        self.cancelled.note(id);
    }

    fn serve(&self, request: &Request) {
        thread::sleep(self.options.slow_answer);
        let wire = self.options.wire;
        let reply = match self.refuse(&request.method, &request.params) {
            Some(refusal) => Reply::Error(refusal),
            None => self.reply(request),
        };
        // A client that is gone needs no answer.
        let _ = request.answer(wire, reply);
        if request.method == "tools/call" {
            self.after_call();
        }
    }

    /// Why a request cannot even be looked at.
    pub(super) fn refuse(&self, method: &str, params: &Value) -> Option<Refusal> {
        let wire = self.options.wire;
        let own = if wire == Wire::Old { OLD_ONLY } else { NEW_ONLY };
        if !COMMON.contains(&method) && !own.contains(&method) {
            return Some(Refusal::new(METHOD_NOT_FOUND, format!("There is no method `{method}`.")));
        }
        (wire == Wire::New).then(|| greeting::check_meta(params)).flatten()
    }

    fn reply(&self, request: &Request) -> Reply {
        match request.method.as_str() {
            "initialize" => Reply::Result(greeting::initialized()),
            "server/discover" => Reply::Result(greeting::discovered()),
            "subscriptions/listen" => self.listen(request),
            "tools/list" => self.list_tools(request),
            "tools/call" => self.call(request),
            "resources/list" => self.empty_list("resources"),
            "prompts/list" => self.empty_list("prompts"),
            _ => Reply::Result(json!({})),
        }
    }

    fn empty_list(&self, name: &str) -> Reply {
        let mut result = json!({ name: [] });
        if let (Wire::New, Some(result)) = (self.options.wire, result.as_object_mut()) {
            result.extend(greeting::freshness());
        }
        Reply::Result(result)
    }
}
