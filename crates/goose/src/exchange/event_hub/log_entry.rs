//! [`LogEntry`]: one event of the log, or a run of text.
//!
//! Most events are pieces of text. A run keeps adjacent pieces as one text, so that they need little more
//! memory than their characters. A reader gets them one by one, or joined if it started late or fell behind.

use std::sync::Arc;

use super::{EventRecord, EventSink};
use crate::exchange::event::Event;

/// Number of unread pieces of text from which a reader gets them joined.
const JOIN_FROM: usize = 64;

/// Event, or run of adjacent pieces of text.
#[derive(Debug)]
pub(super) enum LogEntry {
    Event(Arc<EventRecord>),
    Text(Box<TextRun>),
}

/// Adjacent pieces of one text, each with its own event number.
#[derive(Debug)]
pub(super) struct TextRun {
    /// Record of the first piece, with an empty text.
    head: EventRecord,
    text: String,
    /// End of each piece within the text.
    ends: Vec<usize>,
}

impl LogEntry {
    /// Returns the record of the event, or of the first piece of text.
    pub(super) fn head(&self) -> &EventRecord {
        match self {
            Self::Event(record) => record,
            Self::Text(run) => &run.head,
        }
    }

    /// Returns the number of the last event.
    pub(super) fn last(&self) -> u64 {
        match self {
            Self::Event(record) => record.number,
            Self::Text(run) => run.head.number + run.ends.len() as u64 - 1,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Event(record) => record.event.weight(),
            Self::Text(run) => run.text.len(),
        }
    }

    pub(super) fn is_progress(&self) -> bool {
        matches!(self, Self::Event(record) if matches!(record.event, Event::ToolProgress { .. }))
    }

    /// Returns the record after `position`; if `joined`, with all text that follows in this entry.
    pub(super) fn after(&self, position: u64, joined: bool) -> Arc<EventRecord> {
        match self {
            Self::Event(record) => Arc::clone(record),
            Self::Text(run) => Arc::new(run.after(position, joined)),
        }
    }
}

impl TextRun {
    /// Creates a run of one piece, whose record is `head`.
    pub(super) fn new(head: EventRecord, piece: String) -> Self {
        Self { head, ends: vec![piece.len()], text: piece }
    }

    pub(super) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.ends.push(self.text.len());
    }

    /// Returns true if a piece that `sink` reports now continues this run.
    pub(super) fn continues(&self, sink: &EventSink, step: u64, is_thinking: bool) -> bool {
        let head = &self.head;
        matches!(head.event, Event::Thinking(_)) == is_thinking
            && (head.reply, head.step) == (sink.reply, step)
            && (&head.parent_call, &head.task) == (&sink.parent_call, &sink.task)
    }

    fn after(&self, position: u64, joined: bool) -> EventRecord {
        let read = usize::try_from((position + 1).saturating_sub(self.head.number)).unwrap_or(usize::MAX);
        let last = self.ends.len() - 1;
        let until = if joined || last - read.min(last) >= JOIN_FROM { last } else { read.min(last) };
        let from = read.checked_sub(1).map_or(0, |before| self.ends[before.min(last)]);
        let text = self.text[from..self.ends[until]].to_owned();
        let event = match self.head.event {
            Event::Thinking(_) => Event::Thinking(text),
            _ => Event::Text(text),
        };
        EventRecord { number: self.head.number + until as u64, event, ..self.head.clone() }
    }
}
