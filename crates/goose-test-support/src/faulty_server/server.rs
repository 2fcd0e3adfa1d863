//! The server: takes messages, answers requests side by side, and keeps what they share.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use std::{io, thread};

use parking_lot::{Condvar, Mutex};
use serde_json::{Map, Value, json};

use super::message::{
    INVALID_PARAMS, METHOD_NOT_FOUND, Outlet, Refusal, Reply, Request, UNSUPPORTED_VERSION, notification,
};
use super::options::{Options, Wire};
use super::questions::Questions;

/// The methods that each wire has.
const COMMON: &[&str] = &["tools/list", "tools/call", "resources/list", "prompts/list"];
const OLD_ONLY: &[&str] = &["initialize", "ping", "logging/setLevel"];
const NEW_ONLY: &[&str] = &["server/discover", "subscriptions/listen"];

/// State that all requests share.
pub(super) struct Server {
    pub(super) options: Options,
    pub(super) grandchildren: Vec<u32>,
    /// The number of answered calls.
    pub(super) calls: AtomicU64,
    /// The number of calls of the tool `count`.
    pub(super) counted: AtomicU64,
    /// The number of tools that `grow` has added.
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

    /// Records that a request was cancelled.
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
        (wire == Wire::New).then(|| check_meta(params)).flatten()
    }

    fn reply(&self, request: &Request) -> Reply {
        match request.method.as_str() {
            "initialize" => Reply::Result(initialized()),
            "server/discover" => Reply::Result(discovered()),
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
            result.extend(freshness());
        }
        Reply::Result(result)
    }
}

const NAME: &str = "faulty_server";
const INSTRUCTIONS: &str = "Expect anything.";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The answer to `initialize`.
pub(super) fn initialized() -> Value {
    json!({
        "protocolVersion": Wire::Old.version(),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

/// The answer to `server/discover`.
pub(super) fn discovered() -> Value {
    json!({
        "supportedVersions": [Wire::New.version()],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO_KEY: server_info() },
    })
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "resources": {}, "prompts": {}, "logging": {} })
}

fn server_info() -> Value {
    json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") })
}

/// The time for which lists of the newer wire may be kept.
pub(super) fn freshness() -> Map<String, Value> {
    Map::from_iter([("ttlMs".to_owned(), json!(0)), ("cacheScope".to_owned(), json!("private"))])
}

/// Returns the fault in the `_meta` of a request on the newer wire.
pub(super) fn check_meta(params: &Value) -> Option<Refusal> {
    let meta = &params["_meta"];
    let Some(version) = meta[VERSION_KEY].as_str().filter(|_| meta[CAPABILITIES_KEY].is_object()) else {
        let text = format!("`_meta` needs {VERSION_KEY} and {CAPABILITIES_KEY}.");
        return Some(Refusal::new(INVALID_PARAMS, text));
    };
    let supported = Wire::New.version();
    (version != supported).then(|| Refusal {
        data: Some(json!({ "requested": version, "supported": [supported] })),
        ..Refusal::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
    })
}

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
        self.0.lock().push(listener);
    }

    pub(super) fn remove(&self, subscription: &Value) {
        let mut listeners = self.0.lock();
        listeners.retain(|listener| listener.subscription.as_ref() != Some(subscription));
    }

    /// Announces that the tools have changed, and drops closed listeners. A slow listener does not block others.
    pub(super) fn tools_changed(&self) {
        let listeners = self.0.lock().clone();
        for gone in listeners.iter().filter(|listener| listener.tell().is_err()) {
            let mut listeners = self.0.lock();
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
        // A listener gets changes only after it has read that it is subscribed.
        let _ = request.outlet.send(&mut |output| {
            if wanted {
                self.listeners.add(Arc::clone(&request.outlet), Some(request.id.clone()));
            }
            Ok(serde_json::to_writer(output, &acknowledged)?)
        });
        Reply::Nothing
    }
}

/// The ids of the requests that were cancelled.
#[derive(Default)]
pub(super) struct Cancelled {
    ids: Mutex<Vec<Value>>,
    more: Condvar,
}

impl Cancelled {
    pub(super) fn note(&self, id: Value) {
        self.ids.lock().push(id);
        self.more.notify_all();
    }

    pub(super) fn ids(&self) -> Vec<Value> {
        self.ids.lock().clone()
    }

    /// Waits for that long. Says whether the request was cancelled meanwhile.
    pub(super) fn wait(&self, id: &Value, time: Duration) -> bool {
        let mut ids = self.ids.lock();
        !self.more.wait_while_for(&mut ids, |ids| !ids.contains(id), time).timed_out()
    }
}
