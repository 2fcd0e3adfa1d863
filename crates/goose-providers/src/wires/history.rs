//! [`History`]: the bytes of conversations, kept from request to request. A conversation only grows, so each message is
//! written once; turn 1,000 copies bytes where it would write a thousand messages.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use goose_extension::Message;

/// How many conversations are kept, and how many bytes of each. What is longer is written anew from there on.
const MAX_CONVERSATIONS: usize = 4;
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;

/// What was written before.
#[derive(Default)]
pub(super) struct History {
    kept: Mutex<VecDeque<Kept>>,
}

/// The beginning of a conversation. Holding the messages keeps their addresses from being used again.
#[derive(Default)]
struct Kept {
    messages: Vec<Written>,
    bytes: Vec<u8>,
}

struct Written {
    message: Arc<Message>,
    end: usize,
}

impl History {
    /// Writes messages to `out`, as `write` does it for each. Gives back where each of them ends in `out`.
    pub(super) fn write(
        &self,
        messages: &[Arc<Message>],
        write: impl Fn(&Message, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Vec<usize> {
        let mut kept = self.take(messages);
        kept.grow(messages, &write);
        let start = out.len();
        out.extend_from_slice(&kept.bytes);
        let mut ends: Vec<usize> = kept.messages.iter().map(|written| start + written.end).collect();
        for message in messages.iter().skip(ends.len()) {
            write(message, out);
            ends.push(out.len());
        }
        self.put(kept);
        ends
    }

    /// The conversation that begins with the same message, out of the shelf while it is worked with.
    fn take(&self, messages: &[Arc<Message>]) -> Kept {
        let mut shelf = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let begins_alike = |kept: &Kept| match (kept.messages.first(), messages.first()) {
            (Some(written), Some(message)) => Arc::ptr_eq(&written.message, message),
            _ => false,
        };
        let at = shelf.iter().position(begins_alike);
        at.and_then(|at| shelf.remove(at)).unwrap_or_default()
    }

    fn put(&self, kept: Kept) {
        let mut shelf = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.push_front(kept);
        shelf.truncate(MAX_CONVERSATIONS);
    }
}

impl Kept {
    fn grow(&mut self, messages: &[Arc<Message>], write: &impl Fn(&Message, &mut Vec<u8>)) {
        let is_same = |(written, message): &(&Written, &Arc<Message>)| Arc::ptr_eq(&written.message, message);
        let common = self.messages.iter().zip(messages).take_while(is_same).count();
        self.messages.truncate(common);
        self.bytes.truncate(self.messages.last().map_or(0, |written| written.end));
        for message in messages.iter().skip(common) {
            let before = self.bytes.len();
            write(message, &mut self.bytes);
            if self.bytes.len() > MAX_KEPT_BYTES {
                self.bytes.truncate(before);
                return;
            }
            self.messages.push(Written { message: Arc::clone(message), end: self.bytes.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn message(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text))
    }

    fn written(history: &History, messages: &[Arc<Message>]) -> (String, usize) {
        let count = Cell::new(0);
        let mut out = b"head".to_vec();
        let write = |message: &Message, out: &mut Vec<u8>| {
            count.set(count.get() + 1);
            out.extend_from_slice(message.text().as_bytes());
        };
        let ends = history.write(messages, write, &mut out);
        assert_eq!(ends.len(), messages.len());
        assert_eq!(ends.last().copied().unwrap_or(4), out.len());
        (String::from_utf8(out).unwrap(), count.get())
    }

    #[test]
    fn each_message_is_written_once() {
        let history = History::default();
        let mut messages = vec![message("a"), message("b")];
        assert_eq!(written(&history, &messages), ("headab".into(), 2));
        messages.push(message("c"));
        assert_eq!(written(&history, &messages), ("headabc".into(), 1));
        messages[1] = message("B");
        assert_eq!(written(&history, &messages), ("headaBc".into(), 2));
        messages.truncate(1);
        assert_eq!(written(&history, &messages), ("heada".into(), 0));
        assert_eq!(written(&history, &[]), ("head".into(), 0));
    }

    #[test]
    fn conversations_side_by_side_do_not_disturb_each_other() {
        let history = History::default();
        let talks: Vec<Vec<Arc<Message>>> = (0..4).map(|n| vec![message(&n.to_string())]).collect();
        for talk in &talks {
            written(&history, talk);
        }
        assert!(talks.iter().all(|talk| written(&history, talk).1 == 0));
    }

    #[test]
    fn what_is_too_long_is_written_but_not_kept() {
        let history = History::default();
        let messages = [message("a"), message(&"x".repeat(MAX_KEPT_BYTES)), message("b")];
        let (first, _) = written(&history, &messages);
        let (second, count) = written(&history, &messages);
        assert!(first == second && first.len() == MAX_KEPT_BYTES + 6);
        // The large one is tried again for the shelf, then written for the request, and so is what follows.
        assert_eq!(count, 3);
    }
}
