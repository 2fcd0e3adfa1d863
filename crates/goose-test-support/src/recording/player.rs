//! Playing a recording: finding the script for a request, following it, and the transport that a client sees.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
    sync::Arc,
};

use goose_extension::{ToolError, ToolResult};
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId},
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    Side, Tape,
    file::Document,
    lock,
    normalize::{self, Names, Placeholders, Shape},
    report,
    script::{Line, Script, Scripts, Step},
};

/// Remembered differences.
const MAX_FAULTS: usize = 100;

/// A recording that is being played, on however many connections.
pub(super) struct Player {
    scripts: Scripts,
    /// The scripts that are in use or over, by their place.
    live: HashMap<usize, Live>,
    /// News for streams that are not open yet.
    held: HashMap<usize, Vec<Line>>,
    /// The server's questions that were answered.
    answered: HashSet<String>,
    faults: Vec<String>,
}

/// A request that was made again.
struct Live {
    id: Value,
    token: Value,
    outbox: Arc<Outbox>,
    /// The next step.
    at: usize,
}

/// The recording says that the request was not sent.
struct NotSent;

impl Player {
    pub(super) fn new(document: Document) -> Self {
        Self {
            scripts: Scripts::new(document),
            live: HashMap::new(),
            held: HashMap::new(),
            answered: HashSet::new(),
            faults: Vec::new(),
        }
    }

    /// Returns the differences between the tests and the recording, if there are any.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let scripts = self.scripts.all.iter().enumerate();
        let unused: Vec<_> =
            scripts.filter(|(place, _)| !self.live.contains_key(place)).map(|(_, script)| script).collect();
        report::verdict(&self.faults, &unused)
    }

    /// Takes a message of the client, and answers it.
    fn take(
        &mut self,
        mut message: Value,
        outbox: &Arc<Outbox>,
        placeholders: &Placeholders,
    ) -> Result<(), NotSent> {
        match normalize::shape(&message) {
            Shape::Notification => Ok(()),
            Shape::Answer => {
                placeholders.hide(&mut message);
                self.take_answer(message, placeholders);
                Ok(())
            }
            Shape::Request => {
                let id = message.get("id").cloned().unwrap_or_default();
                let token = normalize::token(&message).unwrap_or(&id).clone();
                placeholders.hide(&mut message);
                normalize::tidy(&mut message);
                self.take_request(
                    message,
                    Live { id, token, outbox: Arc::clone(outbox), at: 0 },
                    placeholders,
                )
            }
        }
    }

    fn take_request(
        &mut self,
        mut request: Value,
        live: Live,
        placeholders: &Placeholders,
    ) -> Result<(), NotSent> {
        let params = request.get_mut("params").map(Value::take);
        let method = normalize::method(&request);
        let fits = |(place, script): &(usize, &Script)| {
            !self.live.contains_key(place) && script.method == method && script.params == params
        };
        let Some((place, _)) = self.scripts.all.iter().enumerate().find(fits) else {
            let fault =
                report::unknown(method, params.as_ref(), &self.scripts.all, |it| self.live.contains_key(&it));
            refuse(&live.id, &live.outbox, &fault);
            self.note(fault);
            return Ok(());
        };
        self.live.insert(place, live);
        let played = self.play(place, placeholders);
        for line in self.held.remove(&place).unwrap_or_default() {
            self.say(line, place, placeholders);
        }
        played
    }

    /// The server's question was answered: as it was recorded, or the request that asked it fails.
    fn take_answer(&mut self, mut answer: Value, placeholders: &Placeholders) {
        let Some(id) = answer.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
        let Some(question) = self.scripts.questions.get(&id) else { return };
        let place = question.script;
        normalize::tidy(&mut answer);
        if let Some(recorded) = question.answer.as_ref().filter(|recorded| **recorded != answer) {
            let fault = report::other_answer(recorded, &answer, &self.scripts.all[place].method);
            self.fail(place, fault);
            return;
        }
        self.answered.insert(id);
        // Nothing that follows an answer fails to be sent.
        let _ = self.play(place, placeholders);
    }

    /// Goes on with a script until it has to wait or ends.
    fn play(&mut self, place: usize, placeholders: &Placeholders) -> Result<(), NotSent> {
        loop {
            let Some(live) = self.live.get_mut(&place) else { return Ok(()) };
            let Some(step) = self.scripts.all[place].steps.get(live.at) else { return Ok(()) };
            match step {
                Step::Await(id) if !self.answered.contains(id) => return Ok(()),
                Step::Await(_) => live.at += 1,
                Step::Fail => return Err(NotSent),
                Step::Close => {
                    live.at += 1;
                    live.outbox.close();
                }
                Step::Say(line) => {
                    live.at += 1;
                    let line = line.clone();
                    self.say(line, place, placeholders);
                }
            }
        }
    }

    /// Sends a message of the server, with the ids of today; later, where it is for a stream that is not open yet.
    fn say(&mut self, line: Line, place: usize, placeholders: &Placeholders) {
        let mut message = line.message.clone();
        let (mut to, mut missing) = (place, None);
        let mut today = |names, number: Option<u64>| {
            let other = self.scripts.by_number(number?)?;
            let Some(live) = self.live.get(&other) else {
                missing = Some(other);
                return None;
            };
            to = other;
            Some(if matches!(names, Names::Token) { live.token.clone() } else { live.id.clone() })
        };
        normalize::places(&mut message, |names, value| {
            if let Some(id) = today(names, value.as_u64()) {
                *value = id;
            }
        });
        let own = message.get("id").and_then(Value::as_u64);
        if let Some(id) = today(Names::Id, own) {
            message["id"] = id;
        }
        let origin = line.stream.map(|number| today(Names::Id, Some(number)));
        match missing {
            Some(missing) => self.held.entry(missing).or_default().push(line),
            None => self.deliver(message, origin, to, placeholders),
        }
    }

    fn deliver(&mut self, mut message: Value, origin: Option<Option<Value>>, to: usize, show: &Placeholders) {
        show.show(&mut message);
        let Some(live) = self.live.get(&to) else { return };
        if let Err(error) = live.outbox.push(Delivery { message, origin }) {
            self.note(report::unreadable(&self.scripts.all[to].method, &error));
        }
    }

    /// Ends a script before its time.
    fn fail(&mut self, place: usize, fault: String) {
        if let Some(live) = self.live.get_mut(&place) {
            live.at = usize::MAX;
            refuse(&live.id, &live.outbox, &fault);
        }
        self.note(fault);
    }

    fn note(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}

/// Fails a request of the client.
fn refuse(id: &Value, outbox: &Outbox, fault: &str) {
    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, fault.to_owned(), None);
    // An error can always be read.
    let _ = outbox.push(Delivery { message: json!({ "id": id, "error": error }), origin: None });
}

/// Messages on their way from the recording to the client.
#[derive(Default)]
struct Outbox {
    queue: Mutex<VecDeque<Option<RxJsonRpcMessage<RoleClient>>>>,
    filled: Notify,
}

/// A message of the server.
struct Delivery {
    message: Value,
    /// The request on whose stream it comes, where that was recorded.
    origin: Option<Option<Value>>,
}

impl Outbox {
    fn push(&self, delivery: Delivery) -> serde_json::Result<()> {
        let message = delivery.into_message()?;
        self.put(Some(message));
        Ok(())
    }

    fn close(&self) {
        self.put(None);
    }

    fn put(&self, item: Option<RxJsonRpcMessage<RoleClient>>) {
        lock(&self.queue).push_back(item);
        self.filled.notify_one();
    }

    /// Cancel-safe: nothing is taken before it is returned.
    async fn next(&self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let next = lock(&self.queue).pop_front();
            match next {
                Some(item) => return item,
                None => self.filled.notified().await,
            }
        }
    }
}

impl Delivery {
    fn into_message(self) -> serde_json::Result<RxJsonRpcMessage<RoleClient>> {
        let mut message = self.message;
        message["jsonrpc"] = json!("2.0");
        let mut message: RxJsonRpcMessage<RoleClient> = serde_json::from_value(message)?;
        let Some(origin) = self.origin else { return Ok(message) };
        let origin = match origin.and_then(|id| RequestId::deserialize(id).ok()) {
            Some(id) => InboundStreamOrigin::OutboundRequest(id),
            None => InboundStreamOrigin::Unassociated,
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(origin);
            }
            JsonRpcMessage::Notification(notification) => {
                notification.notification.extensions_mut().insert(origin);
            }
            _ => {}
        }
        Ok(message)
    }
}

/// A connection to a tape.
pub(super) struct Replayed {
    tape: Tape,
    outbox: Arc<Outbox>,
}

impl Replayed {
    /// # Errors
    ///
    /// The tape records, and then there must be a server.
    pub(super) fn new(tape: Tape) -> ToolResult<Self> {
        if !tape.is_replay() {
            return Err(ToolError::invalid(format!(
                "`{}` is a tape that records; give it to the options, and connect to the real server.",
                tape.0.file.display()
            )));
        }
        Ok(Self { tape, outbox: Arc::default() })
    }

    fn take(&self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let Side::Replay(player) = &self.tape.0.side else { return Ok(()) };
        let message = serde_json::to_value(message)?;
        let taken = lock(player).take(message, &self.outbox, &lock(&self.tape.0.placeholders));
        taken.map_err(|NotSent| io::Error::other("the request could not be sent when it was recorded"))
    }
}

impl Transport<RoleClient> for Replayed {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(self.take(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.outbox.next().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
