//! [`LogEntry`]: one event of the log, or a run of text.
//!
//! Most events are pieces of text. A run keeps adjacent pieces as one text, so that they cost no more than their letters;
//! a reader gets it piece by piece, or joined if it came late or fell behind.

use std::sync::Arc;

use super::{EventRecord, EventSink};
use crate::exchange::event::Event;

/// Unread pieces of text from which on a reader gets them joined.
const JOIN_FROM: usize = 64;

/// One event, or adjacent pieces of text.
#[derive(Debug)]
pub(super) enum LogEntry {
    Event(Arc<EventRecord>),
    Text(Box<TextRun>),
}

/// Adjacent pieces of one text, each an event of its own.
#[derive(Debug)]
pub(super) struct TextRun {
    /// The first piece; its text is empty.
    head: EventRecord,
    text: String,
    /// End of each piece within the text.
    ends: Vec<usize>,
}

impl LogEntry {
    /// Number of its first event.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Event(record) => record.number,
            Self::Text(run) => run.head.number,
        }
    }

    /// Number of its last event.
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

    /// The record after the `position`, joined with all that follows in this entry where `joined`.
    pub(super) fn after(&self, position: u64, joined: bool) -> Arc<EventRecord> {
        match self {
            Self::Event(record) => Arc::clone(record),
            Self::Text(run) => Arc::new(run.after(position, joined)),
        }
    }
}

impl TextRun {
    /// A run of one piece, whose record is `head`.
    pub(super) fn new(head: EventRecord, piece: String) -> Self {
        Self { head, ends: vec![piece.len()], text: piece }
    }

    pub(super) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.ends.push(self.text.len());
    }

    /// Returns whether a piece that `sink` reports now belongs to this run.
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
