//! A recording as scripts: for each request, what the server did because of it.
//!
//! A message that names a request (an answer, progress, a log message with its call) belongs to it. Anything else
//! belongs to the request that was open when it came, or, where none was, to the last one before. A stream of news is
//! open all the time, so its news belong to the call that caused them, and come when that call is made.

use std::collections::HashMap;

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::{
    file::{Document, Entry, Event},
    normalize::{self, CANCELLED, LISTEN, Shape},
};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const DISCOVER: &str = "server/discover";

/// One recorded request, and what follows when it is made.
pub(super) struct Script {
    pub(super) number: u64,
    pub(super) method: String,
    pub(super) params: Option<Value>,
    pub(super) steps: Vec<Step>,
    is_answered: bool,
}

/// One thing that follows.
pub(super) enum Step {
    /// The server sends a message.
    Say(Line),
    /// The server waits for our answer to its question.
    Await(String),
    /// The request does not leave us.
    Fail,
    /// The server ends the connection.
    Close,
}

/// A message of the server.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) message: Value,
    /// The request on whose stream it came; 0 for none.
    pub(super) stream: Option<u64>,
}

/// A question of the server, and what it was answered.
pub(super) struct Question {
    /// The script that asks it.
    pub(super) script: usize,
    pub(super) answer: Option<Value>,
}

/// All scripts of a recording.
#[derive(Default)]
pub(super) struct Scripts {
    pub(super) all: Vec<Script>,
    pub(super) questions: HashMap<String, Question>,
    numbers: HashMap<u64, usize>,
    connections: HashMap<u32, Connection>,
}

/// The state of a connection at some place of the recording.
#[derive(Default)]
struct Connection {
    /// The requests without an answer, streams of news left out.
    open: Vec<usize>,
    /// The last request that was made or answered.
    recent: Option<usize>,
    /// Messages before any request.
    prelude: Vec<Step>,
}

impl Scripts {
    pub(super) fn new(document: Document) -> Self {
        let mut scripts = Self::default();
        document.messages.into_iter().for_each(|entry| scripts.add(entry));
        scripts.all.iter_mut().for_each(Script::answer_probe);
        scripts
    }

    fn add(&mut self, entry: Entry) {
        let Entry { connection, stream, event } = entry;
        match event {
            Event::Client(message) => match normalize::shape(&message) {
                Shape::Request => self.open(connection, message),
                Shape::Answer => self.answer_question(message),
                Shape::Notification => self.withdraw(connection, message),
            },
            Event::Server(message) => self.say(connection, Line { message, stream }),
            Event::Unsent(number) => {
                if let Some(&script) = self.numbers.get(&number) {
                    self.all[script].steps.push(Step::Fail);
                    self.settle(connection, script);
                }
            }
            Event::Closed {} => self.push(connection, None, Step::Close),
        }
    }

    fn open(&mut self, connection: u32, mut request: Value) {
        let script = self.all.len();
        let number = request.get("id").and_then(Value::as_u64).unwrap_or_default();
        let method = normalize::method(&request).to_owned();
        let params = request.get_mut("params").map(Value::take);
        let state = self.connections.entry(connection).or_default();
        if method != LISTEN {
            state.open.push(script);
        }
        state.recent = Some(script);
        let steps = std::mem::take(&mut state.prelude);
        self.numbers.insert(number, script);
        self.all.push(Script { number, method, params, steps, is_answered: false });
    }

    /// A request that was cancelled is open no longer; what comes then belongs to others.
    fn withdraw(&mut self, connection: u32, mut notification: Value) {
        if normalize::method(&notification) != CANCELLED {
            return;
        }
        let mut number = None;
        normalize::places(&mut notification, |_, place| number = place.as_u64());
        let script = number.and_then(|number| self.by_number(number));
        if let (Some(script), Some(state)) = (script, self.connections.get_mut(&connection)) {
            state.open.retain(|open| *open != script);
        }
    }

    fn answer_question(&mut self, answer: Value) {
        let Some(id) = answer.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
        let Some(question) = self.questions.get_mut(&id) else { return };
        question.answer = Some(answer);
        self.all[question.script].steps.push(Step::Await(id));
    }

    fn say(&mut self, connection: u32, mut line: Line) {
        let owner = self.owner(&mut line);
        let asked = match normalize::shape(&line.message) {
            Shape::Request => line.message.get("id").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        let answers = matches!(normalize::shape(&line.message), Shape::Answer);
        let script = self.place(connection, owner, normalize::method(&line.message));
        if let (Some(id), Some(script)) = (asked, script) {
            self.questions.insert(id, Question { script, answer: None });
        }
        self.push(connection, script, Step::Say(line));
        if let (true, Some(owner)) = (answers, owner) {
            self.settle(connection, owner);
        }
    }

    /// The script of the request that a message names.
    fn owner(&self, line: &mut Line) -> Option<usize> {
        let mut number = match normalize::shape(&line.message) {
            Shape::Answer => line.message.get("id").and_then(Value::as_u64),
            _ => None,
        };
        normalize::places(&mut line.message, |_, place| number = number.or_else(|| place.as_u64()));
        self.numbers.get(&number.or(line.stream)?).copied()
    }

    fn place(&self, connection: u32, owner: Option<usize>, method: &str) -> Option<usize> {
        let is_news = |owner: &usize| self.all[*owner].method == LISTEN && method != ACKNOWLEDGED;
        owner.filter(|owner| !is_news(owner)).or_else(|| {
            let state = self.connections.get(&connection)?;
            state.open.last().copied().or(state.recent)
        })
    }

    fn push(&mut self, connection: u32, script: Option<usize>, step: Step) {
        let script = script.or_else(|| self.place(connection, None, ""));
        match script {
            Some(script) => self.all[script].steps.push(step),
            None => self.connections.entry(connection).or_default().prelude.push(step),
        }
    }

    fn settle(&mut self, connection: u32, script: usize) {
        self.all[script].is_answered = true;
        let state = self.connections.entry(connection).or_default();
        state.open.retain(|open| *open != script);
        state.recent = Some(script);
    }

    pub(super) fn by_number(&self, number: u64) -> Option<usize> {
        self.numbers.get(&number).copied()
    }
}

impl Script {
    /// A probe that an old server left unanswered is refused, which says the same without a wait.
    fn answer_probe(&mut self) {
        if self.method == DISCOVER && !self.is_answered {
            let error = json!({ "code": ErrorCode::METHOD_NOT_FOUND.0, "message": "Method not found" });
            let message = json!({ "id": self.number, "error": error });
            self.steps.push(Step::Say(Line { message, stream: None }));
        }
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
