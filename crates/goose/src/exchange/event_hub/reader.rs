//! [`EventReader`]: one reader of the log, as a stream.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::Stream;

use super::{EventHub, EventRecord, open_questions::PendingQuestion};
use crate::exchange::event::Event;

/// Stream of [`EventRecord`]s from [`Exchange::subscribe`](crate::exchange::Exchange::subscribe). It ends when the
/// exchange is closed. Dropping it does not affect the reply or other readers.
#[derive(Debug)]
pub struct EventReader {
    pub(super) hub: Arc<EventHub>,
    pub(super) id: u64,
    /// Number of the last event when the reader was created. Text up to here is joined.
    pub(super) caught_up_at: u64,
    /// Replayed events, and unanswered questions from before the first event.
    pub(super) replayed: VecDeque<Arc<EventRecord>>,
}

impl EventReader {
    /// Reads these records before everything else.
    pub(in crate::exchange) fn preceded_by(&mut self, records: impl IntoIterator<Item = EventRecord>) {
        let questions = std::mem::take(&mut self.replayed);
        self.replayed = records.into_iter().map(Arc::new).chain(questions).collect();
    }
}

impl Stream for EventReader {
    type Item = Arc<EventRecord>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(question) = this.replayed.pop_front() {
            return Poll::Ready(Some(question));
        }
        let mut log = this.hub.log.lock();
        let log = &mut *log;
        let Some(slot) = log.readers.iter_mut().find(|slot| slot.id == this.id) else {
            return Poll::Ready(None);
        };
        let position = slot.position;
        slot.waker = None;
        let at = log.entries.partition_point(|entry| entry.last() <= position);
        let Some(entry) = log.entries.get(at) else {
            if log.is_closed {
                return Poll::Ready(None);
            }
            slot.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let first = entry.head().number;
        let mut record = entry.after(position, position < this.caught_up_at);
        if first > position + 1 {
            let lost = |question: &&PendingQuestion| (position + 1..first).contains(&question.record.number);
            let lost = log.questions.iter().filter(lost).map(|question| Arc::clone(&question.record));
            this.replayed.extend(lost);
            let event = Event::Lagged { missed: first - position - 1 };
            record = Arc::new(EventRecord { number: first - 1, event, ..EventRecord::clone(&record) });
        }
        slot.position = record.number;
        Poll::Ready(Some(record))
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut log = self.hub.log.lock();
        log.readers.retain(|reader| reader.id != self.id);
        log.trim();
    }
}
