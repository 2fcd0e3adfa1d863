//! Stable names for everything that differs from run to run: ids, tokens, sealed states, our own version, and texts
//! that a test names itself ([`Placeholders`]).

use std::collections::{HashMap, HashSet};

use goose_mcp_bridge::{CALL_META, SESSION_META, WORKING_DIR_META};
use serde_json::{Map, Value, json};

/// The request that opens a stream of news.
pub(super) const LISTEN: &str = "subscriptions/listen";

/// The notification that withdraws a request.
pub(super) const CANCELLED: &str = "notifications/cancelled";
const PROGRESS: &str = "notifications/progress";
const PROGRESS_TOKEN: &str = "progressToken";
const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
const CLIENT_META: &str = "io.modelcontextprotocol/clientInfo";

/// Stands for our version.
const ANY_VERSION: &str = "*";

/// The kinds of JSON-RPC messages.
pub(super) enum Shape {
    Request,
    Notification,
    Answer,
}

pub(super) fn shape(message: &Value) -> Shape {
    match (message.get("method"), message.get("id")) {
        (Some(_), Some(_)) => Shape::Request,
        (Some(_), None) => Shape::Notification,
        (None, _) => Shape::Answer,
    }
}

pub(super) fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

/// The token of a request.
pub(super) fn token(request: &Value) -> Option<&Value> {
    request.get("params")?.get("_meta")?.get(PROGRESS_TOKEN)
}

/// Takes out of a request what says nothing about it.
pub(super) fn tidy(request: &mut Value) {
    let Some(fields) = request.as_object_mut() else { return };
    fields.remove("jsonrpc");
    let Some(Value::Object(params)) = fields.get_mut("params") else { return };
    forget_version(params.get_mut("clientInfo"));
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        for key in [PROGRESS_TOKEN, SESSION_META, WORKING_DIR_META] {
            meta.remove(key);
        }
        forget_version(meta.get_mut(CLIENT_META));
        if meta.is_empty() {
            params.remove("_meta");
        }
    }
    if params.is_empty() {
        fields.remove("params");
    }
}

fn forget_version(client: Option<&mut Value>) {
    if let Some(version) = client.and_then(|client| client.get_mut("version")) {
        *version = json!(ANY_VERSION);
    }
}

/// The kind of value at a place in a message.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// A request, by its id.
    Id,
    /// A request, by its progress token.
    Token,
}

/// The places in a message that name a request, other than its own id.
pub(super) fn places(message: &mut Value, mut visit: impl FnMut(Names, &mut Value)) {
    let (progresses, cancels) = (method(message) == PROGRESS, method(message) == CANCELLED);
    for part in ["params", "result"] {
        let Some(Value::Object(part)) = message.get_mut(part) else { continue };
        let mut at = |fields: &mut Map<String, Value>, key, names| {
            if let Some(place) = fields.get_mut(key) {
                visit(names, place);
            }
        };
        if progresses {
            at(part, PROGRESS_TOKEN, Names::Token);
        }
        if cancels {
            at(part, "requestId", Names::Id);
        }
        if let Some(Value::Object(meta)) = part.get_mut("_meta") {
            at(meta, CALL_META, Names::Token);
            at(meta, SUBSCRIPTION_META, Names::Id);
        }
    }
}

/// An id on one of a tape's connections. Some servers answer the id `5` with `"5"`.
type Key = (u32, String);

fn key(connection: u32, id: &Value) -> Key {
    (connection, id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

/// The names that a recording has given so far.
#[derive(Default)]
pub(super) struct Register {
    requests: HashMap<Key, u64>,
    tokens: HashMap<Key, u64>,
    /// The server's requests that we have not answered.
    questions: HashMap<Key, u64>,
    states: HashMap<String, usize>,
    listens: HashSet<u64>,
    cancelled: HashSet<u64>,
    last_request: u64,
    last_question: u64,
}

impl Register {
    /// A message of ours as it is recorded; nothing if it is not.
    pub(super) fn client(&mut self, connection: u32, mut message: Value) -> Option<Value> {
        match shape(&message) {
            Shape::Request => self.request(connection, &mut message),
            Shape::Answer => {
                let number = self.questions.remove(&key(connection, message.get("id")?))?;
                message["id"] = question(number);
            }
            Shape::Notification if method(&message) == CANCELLED => {
                let number = self.number(connection, message.get("params")?.get("requestId")?)?;
                self.cancelled.insert(number);
                if self.listens.contains(&number) {
                    return None;
                }
                message["params"]["requestId"] = json!(number);
            }
            Shape::Notification => {}
        }
        tidy(&mut message);
        Some(message)
    }

    fn request(&mut self, connection: u32, message: &mut Value) {
        self.last_request += 1;
        let number = self.last_request;
        if let Some(token) = token(message) {
            self.tokens.insert(key(connection, token), number);
        }
        if method(message) == LISTEN {
            self.listens.insert(number);
        }
        if let Some(state) = message.pointer_mut("/params/requestState") {
            self.name_state(state);
        }
        let id = std::mem::replace(&mut message["id"], json!(number));
        self.requests.insert(key(connection, &id), number);
    }

    /// A message of the server as it is recorded; nothing if it is not.
    pub(super) fn server(&mut self, connection: u32, mut message: Value) -> Option<Value> {
        self.rename_places(connection, &mut message)?;
        match shape(&message) {
            Shape::Request => {
                self.last_question += 1;
                let id = std::mem::replace(&mut message["id"], question(self.last_question));
                self.questions.insert(key(connection, &id), self.last_question);
            }
            Shape::Answer => {
                let number = self.number(connection, message.get("id")?)?;
                if self.cancelled.contains(&number) {
                    return None;
                }
                message["id"] = json!(number);
                if let Some(state) = message.pointer_mut("/result/requestState") {
                    self.name_state(state);
                }
            }
            Shape::Notification => {}
        }
        tidy(&mut message);
        Some(message)
    }

    /// Nothing where the message is about a request that was cancelled.
    fn rename_places(&self, connection: u32, message: &mut Value) -> Option<()> {
        let cancels = method(message) == CANCELLED;
        let mut is_wanted = true;
        places(message, |names, place| {
            let key = key(connection, place);
            if let Some(number) = self.questions.get(&key).filter(|_| cancels) {
                *place = question(*number);
                return;
            }
            let numbers = if matches!(names, Names::Token) { &self.tokens } else { &self.requests };
            if let Some(number) = numbers.get(&key) {
                *place = json!(number);
                is_wanted &= !self.cancelled.contains(number);
            }
        });
        is_wanted.then_some(())
    }

    /// The number of a request of ours.
    pub(super) fn number(&self, connection: u32, id: &Value) -> Option<u64> {
        self.requests.get(&key(connection, id)).copied()
    }

    fn name_state(&mut self, state: &mut Value) {
        let Some(text) = state.as_str() else { return };
        let next = self.states.len() + 1;
        let number = *self.states.entry(text.to_owned()).or_insert(next);
        *state = json!(format!("state-{number}"));
    }
}

fn question(number: u64) -> Value {
    json!(format!("s{number}"))
}

/// Texts that differ between runs and the names that stand for them, the longest text first.
#[derive(Default)]
pub(super) struct Placeholders(Vec<Placeholder>);

struct Placeholder {
    real: String,
    mark: String,
}

impl Placeholders {
    pub(super) fn add(&mut self, real: String, name: &str) {
        if real.is_empty() {
            return;
        }
        self.0.push(Placeholder { real, mark: format!("{{{{{name}}}}}") });
        self.0.sort_by_key(|placeholder| std::cmp::Reverse(placeholder.real.len()));
    }

    /// Puts names for the real text.
    pub(super) fn hide(&self, value: &mut Value) {
        self.0.iter().for_each(|it| replace(value, &it.real, &it.mark));
    }

    /// Puts the real text for names.
    pub(super) fn show(&self, value: &mut Value) {
        self.0.iter().for_each(|it| replace(value, &it.mark, &it.real));
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => replace_in(fields, from, to),
        _ => {}
    }
}

fn replace_in(fields: &mut Map<String, Value>, from: &str, to: &str) {
    fields.values_mut().for_each(|field| replace(field, from, to));
    if fields.keys().any(|key| key.contains(from)) {
        let renamed = std::mem::take(fields).into_iter();
        *fields = renamed.map(|(key, field)| (key.replace(from, to), field)).collect();
    }
}
