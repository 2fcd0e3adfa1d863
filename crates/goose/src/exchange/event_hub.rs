//! [`EventHub`]: the event log of one session, which outlives its readers.
//!
//! ```text
//! AgentLoop, tool calls ── EventSink::emit ──▶ EventHub ──▶ EventReader, EventReader, …
//!                                                 ▲
//!                   Exchange::answer(id, answer) ─┘ pending questions
//! ```
//!
//! The hub keeps the events of the current turn. Earlier ones are made again from the session's stored steps
//! ([`replay`](super::replay)); each record names the last stored step, so a reader knows where to continue there.
//! Readers share the records and never block the reply: one that falls too far behind gets [`Event::Lagged`] in place
//! of dropped events, and text joined into one piece.

mod log_entry;
mod open_questions;
mod position;
mod reader;

use std::{collections::VecDeque, sync::Arc, task::Waker};

use goose_extension::CallerId;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::{
    log_entry::{LogEntry, TextRun},
    open_questions::PendingQuestion,
};
pub use self::{
    position::{BadPosition, EventPosition},
    reader::EventReader,
};
use super::event::{Event, content_weight};
use crate::{
    checkpoints::Moment,
    session::{SessionId, Step, clock},
};

/// Maximum number of entries that are kept for slow readers.
const MAX_ENTRIES: usize = 512;
/// Maximum size of the entries that are kept for slow readers.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Number of progress reports that stay when the log is full. Older ones are dropped first.
const KEPT_PROGRESS: usize = 32;

/// Maximum number of steps that wait to be stored; further ones are shown but not stored.
const MAX_UNSAVED: usize = 1_024;
/// Maximum size of a log entry that is stored; larger ones are only shown.
const MAX_STORED_ENTRY: usize = 256 * 1024;

/// [`Event`] with its place in the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Identifies the event log: another one begins whenever the session is opened. 0 for events that are replayed from
    /// stored steps, which have no number.
    pub epoch: u64,
    /// Position in the event log, counted from 1 while the session is open. Joined text has the position of
    /// its last piece.
    pub number: u64,
    /// Number of the reply, counted from 1 while the session is open.
    pub reply: u64,
    /// Number of the last step that was stored before; 0 if none was.
    pub step: u64,
    /// Id of the session.
    pub session: SessionId,
    /// Id of the tool call inside which this happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call: Option<Arc<str>>,
    /// Id of the task that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    /// Event itself.
    #[serde(flatten)]
    pub event: Event,
}

impl EventRecord {
    /// Returns the position, from which a reader can continue later.
    pub fn position(&self) -> EventPosition {
        EventPosition { epoch: self.epoch, number: self.number, step: self.step }
    }
}

/// Event log of a session.
#[derive(Debug)]
pub(crate) struct EventHub {
    session: SessionId,
    epoch: u64,
    /// Id of the task that the session works on.
    task: Option<Arc<str>>,
    log: Mutex<Log>,
    /// Held while the user is asked, so that the session and its delegates ask one question at a time.
    approvals: tokio::sync::Mutex<()>,
    /// Notified when a reply begins.
    begun: Notify,
    /// Identity of the session as a caller of extensions.
    caller: CallerId,
}

#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<LogEntry>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
    /// Number of the last reply.
    replies: u64,
    /// Number of the last stored step.
    step: u64,
    /// The same, when the last event was reported.
    reported_step: u64,
    /// Number of the first event of the current turn. Earlier events can be dropped once they were read.
    turn_start: u64,
    readers: Vec<Slot>,
    /// Last id that was given to a reader or a question.
    last_id: u64,
    questions: Vec<PendingQuestion>,
    /// Steps that are stored together with the next one: log entries, nested calls, mode changes.
    unsaved: Vec<Step>,
    /// True if a user interface answers the questions of extensions.
    is_attended: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Slot {
    id: u64,
    /// Number of the last event that was read.
    position: u64,
    waker: Option<Waker>,
}

impl Log {
    fn push(&mut self, mut record: EventRecord) -> Arc<EventRecord> {
        self.last += 1;
        record.number = self.last;
        self.reported_step = record.step;
        match record.event {
            Event::Asking { .. } => self.turn_start = self.last,
            Event::Finished(_) => self.turn_start = self.last + 1,
            _ => {}
        }
        let record = Arc::new(record);
        let entry = LogEntry::Event(Arc::clone(&record));
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        self.trim();
        record
    }

    /// Adds a piece of text, to the last run if it continues that.
    fn push_text(&mut self, sink: &EventSink, is_thinking: bool, text: String) {
        self.last += 1;
        self.bytes += text.len();
        match self.entries.back_mut() {
            Some(LogEntry::Text(run)) if run.continues(sink, self.step, is_thinking) => run.push(&text),
            _ => {
                let kind = if is_thinking { Event::Thinking } else { Event::Text };
                let head = EventRecord { number: self.last, ..sink.record(self.step, kind(String::new())) };
                self.reported_step = self.step;
                self.entries.push_back(LogEntry::Text(Box::new(TextRun::new(head, text))));
            }
        }
    }

    /// Drops entries that all readers have read and no new reader needs; if the log is full, also unread
    /// ones.
    fn trim(&mut self) {
        let read = self.readers.iter().map(|reader| reader.position + 1).min().unwrap_or(u64::MAX);
        let needed = read.min(self.turn_start);
        while self.entries.front().is_some_and(|entry| entry.last() < needed) {
            self.drop_first();
        }
        if self.is_full() {
            let mut progress = self.entries.iter().filter(|entry| entry.is_progress()).count();
            let mut freed = 0;
            self.entries.retain(|entry| {
                let drops = entry.is_progress() && progress > KEPT_PROGRESS;
                progress -= usize::from(entry.is_progress());
                freed += if drops { entry.bytes() } else { 0 };
                !drops
            });
            self.bytes -= freed;
        }
        while self.is_full() {
            self.drop_first();
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() > MAX_ENTRIES || (self.bytes > MAX_BYTES && self.entries.len() > 1)
    }

    fn drop_first(&mut self) {
        self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.bytes());
    }

    fn store_later(&mut self, step: Step) {
        if self.unsaved.len() < MAX_UNSAVED {
            self.unsaved.push(step);
        }
    }
}

impl EventHub {
    /// Creates the log of a session whose last stored step has the number `step`. `task` is the task of another session
    /// that it works on, if any.
    pub(crate) fn new(session: SessionId, step: u64, task: Option<Arc<str>>) -> Arc<Self> {
        let (approvals, begun) = (tokio::sync::Mutex::default(), Notify::new());
        let log = Mutex::new(Log { step, reported_step: step, ..Log::default() });
        Arc::new(Self { session, epoch: epoch(), task, log, approvals, begun, caller: CallerId::unique() })
    }

    /// Returns the record of an event that is not in the log.
    pub(super) fn unlogged(&self, event: Event) -> EventRecord {
        EventRecord {
            epoch: self.epoch,
            number: 0,
            reply: 0,
            step: 0,
            session: self.session.clone(),
            parent_call: None,
            task: self.task.clone(),
            event,
        }
    }

    /// Sets the number of the last stored step.
    pub(super) fn stored(&self, step: u64) {
        self.log.lock().step = step;
    }

    /// Returns the numbers of the last stored step and of the last reply.
    pub(crate) fn moment(&self) -> Moment {
        let log = self.log.lock();
        Moment { step: log.step, reply: log.replies }
    }

    /// Takes the steps that are stored before the next one.
    pub(super) fn take_unsaved(&self) -> Vec<Step> {
        std::mem::take(&mut self.log.lock().unsaved)
    }

    /// Keeps a step until the next one is stored.
    pub(crate) fn store_later(&self, step: Step) {
        self.log.lock().store_later(step);
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.log.lock().is_attended
    }

    pub(super) fn set_attended(&self, is_attended: bool) {
        self.log.lock().is_attended = is_attended;
    }

    /// Returns the sink for the events of a new reply.
    pub(super) fn begin_reply(self: &Arc<Self>, cancellation: CancellationToken) -> EventSink {
        let mut log = self.log.lock();
        log.replies += 1;
        let reply = log.replies;
        drop(log);
        self.begun.notify_waiters();
        EventSink { hub: Arc::clone(self), reply, parent_call: None, task: self.task.clone(), cancellation }
    }

    /// Returns a sink for events outside of the loop. They belong to the last reply.
    pub(crate) fn outside(self: &Arc<Self>) -> EventSink {
        let reply = self.log.lock().replies;
        let cancellation = CancellationToken::new();
        EventSink { hub: Arc::clone(self), reply, parent_call: None, task: self.task.clone(), cancellation }
    }

    /// Ends all readers once they have read everything.
    pub(super) fn close(&self) {
        let mut log = self.log.lock();
        log.is_closed = true;
        wake(log);
    }

    /// Returns a reader of the events after a number; without one, of the current turn and of earlier
    /// questions that wait for an answer.
    pub(super) fn subscribe(self: &Arc<Self>, after: Option<u64>) -> EventReader {
        let mut log = self.log.lock();
        log.last_id += 1;
        let (id, last) = (log.last_id, log.last);
        let position = match after {
            Some(after) => after.min(last),
            None => log.turn_start.saturating_sub(1).min(last),
        };
        log.readers.push(Slot { id, position, waker: None });
        let before = |question: &&PendingQuestion| after.is_none() && question.record.number <= position;
        let replayed = log.questions.iter().filter(before).map(|question| Arc::clone(&question.record));
        let replayed = replayed.collect();
        drop(log);
        EventReader { hub: Arc::clone(self), id, caught_up_at: last, replayed }
    }

    /// Returns a reader of the events after a position, or of all. The second value is set if the log does not have all
    /// of them: stored steps up to this number come first.
    pub(super) fn resume(self: &Arc<Self>, after: Option<EventPosition>) -> (EventReader, Option<u64>) {
        let is_in_log = |position: &EventPosition| {
            let log = self.log.lock();
            let first = log.entries.front().map_or(log.last + 1, |entry| entry.head().number);
            position.epoch == self.epoch && (first - 1..=log.last).contains(&position.number)
        };
        if let Some(position) = after.filter(is_in_log) {
            return (self.subscribe(Some(position.number)), None);
        }
        let reader = self.subscribe(None);
        let log = self.log.lock();
        let slot = log.readers.iter().find(|slot| slot.id == reader.id);
        let position = slot.map_or(0, |slot| slot.position);
        let next = log.entries.iter().find(|entry| entry.last() > position);
        let step = next.map_or(log.reported_step, |entry| entry.head().step);
        drop(log);
        (reader, Some(step))
    }

    /// Returns the position of the last event.
    pub(super) fn position(&self) -> EventPosition {
        let log = self.log.lock();
        EventPosition { epoch: self.epoch, number: log.last, step: log.reported_step }
    }

    /// Returns a reader of the events from now on.
    pub(super) fn follow(self: &Arc<Self>) -> EventReader {
        let last = self.log.lock().last;
        self.subscribe(Some(last))
    }
}

/// Returns the epoch of a new log: the time in microseconds, which differs between any two logs of a session.
fn epoch() -> u64 {
    u64::try_from(clock::now().as_microsecond()).unwrap_or_default()
}

/// Wakes the readers after the lock is released.
fn wake(mut log: MutexGuard<'_, Log>) {
    let wakers: Vec<Waker> = log.readers.iter_mut().filter_map(|reader| reader.waker.take()).collect();
    drop(log);
    wakers.into_iter().for_each(Waker::wake);
}

/// Sink for the events of a reply, or of a call inside it.
#[derive(Debug, Clone)]
pub(crate) struct EventSink {
    hub: Arc<EventHub>,
    reply: u64,
    parent_call: Option<Arc<str>>,
    task: Option<Arc<str>>,
    cancellation: CancellationToken,
}

impl EventSink {
    /// Returns the sink for events inside a tool call.
    pub(crate) fn inside(&self, call: &str) -> Self {
        Self { parent_call: Some(call.into()), ..self.clone() }
    }

    pub(super) fn reply(&self) -> u64 {
        self.reply
    }

    fn record(&self, step: u64, event: Event) -> EventRecord {
        let (reply, parent_call, task) = (self.reply, self.parent_call.clone(), self.task.clone());
        EventRecord { reply, step, parent_call, task, ..self.hub.unlogged(event) }
    }

    /// Returns the step that stores an event outside of the conversation: a log entry, or a nested call.
    fn step(&self, event: &Event) -> Option<Step> {
        match (event, &self.parent_call) {
            (Event::Log { call, content }, _) if content_weight(content) <= MAX_STORED_ENTRY => {
                Some(Step::Log { content: content.clone(), call: call.clone() })
            }
            (Event::ToolStarted { id, name, arguments }, Some(parent)) => Some(Step::NestedCall {
                parent: parent.to_string(),
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone().into(),
            }),
            (Event::ToolFinished { id, output, end, .. }, Some(parent)) => Some(Step::NestedResult {
                parent: parent.to_string(),
                id: id.clone(),
                output: output.clone(),
                end: *end,
            }),
            _ => None,
        }
    }

    /// Reports an event. Never waits.
    pub(crate) fn emit(&self, event: Event) {
        let mut log = self.hub.log.lock();
        match event {
            Event::Text(text) => log.push_text(self, false, text),
            Event::Thinking(text) => log.push_text(self, true, text),
            event => {
                if let Some(step) = self.step(&event) {
                    log.store_later(step);
                }
                let record = self.record(log.step, event);
                log.push(record);
            }
        }
        wake(log);
    }

    /// Returns the sink for events of a task.
    pub(crate) fn of_task(&self, task: &str) -> Self {
        Self { task: Some(task.into()), ..self.clone() }
    }

    /// Reports an event that another session stores.
    pub(crate) fn show(&self, event: Event) {
        let mut log = self.hub.log.lock();
        let record = self.record(log.step, event);
        log.push(record);
        wake(log);
    }

    /// Returns true if a user interface answers the questions of extensions.
    pub(crate) fn is_attended(&self) -> bool {
        self.hub.is_attended()
    }

    /// Returns the id of the session as a caller of extensions, the same for all its calls.
    pub(super) fn caller_id(&self) -> CallerId {
        self.hub.caller.clone()
    }
}

#[cfg(test)]
#[path = "event_hub_tests.rs"]
mod tests;
