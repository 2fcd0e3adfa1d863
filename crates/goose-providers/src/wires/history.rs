//! [`History`]: the bytes of conversations, of tools and of the system prompt, kept from request to request. A
//! conversation only grows, so each message is written once; turn 1,000 copies bytes where it would write a thousand
//! messages.

use std::{collections::VecDeque, ops::Range, ptr, sync::Arc};

use goose_extension::{JsonObject, Message, Tool};
use parking_lot::Mutex;

/// Limits of the cache. Whatever exceeds them is encoded anew each time.
const MAX_CONVERSATIONS: usize = 4;
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Largest message that is kept. Encoding an image is as fast as copying it, and it must not crowd out the rest.
const MAX_MESSAGE_BYTES: usize = 512 * 1024;

/// The encoded conversations.
#[derive(Default)]
pub(super) struct History {
    kept: Mutex<VecDeque<Kept>>,
    tools: Mutex<KeptTools>,
    system: Mutex<KeptSystem>,
}

/// The tools of the last request. Holding them keeps the addresses of their schemas from being used again.
#[derive(Default)]
struct KeptTools {
    tools: Vec<Tool>,
    bytes: Vec<u8>,
}

/// The system prompt of the last request.
#[derive(Default)]
struct KeptSystem {
    text: String,
    bytes: Vec<u8>,
}

/// The beginning of a conversation. Holding the messages keeps their addresses from being used again.
#[derive(Default)]
struct Kept {
    messages: Vec<Written>,
    bytes: Vec<u8>,
}

struct Written {
    message: Arc<Message>,
    /// Its range in the bytes; none if it was too large.
    place: Option<Range<usize>>,
}

impl History {
    /// Writes messages to `out`, as `write` does it for each, with the message before it. Gives back where each of them
    /// ends in `out`.
    pub(super) fn write(
        &self,
        messages: &[Arc<Message>],
        write: impl Fn(&Message, Option<&Message>, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Vec<usize> {
        let mut kept = self.take(messages);
        kept.forget_from(messages);
        let mut ends = Vec::with_capacity(messages.len());
        let mut before = None;
        for (at, message) in messages.iter().enumerate() {
            let start = out.len();
            match kept.bytes_of(at) {
                Some(bytes) => out.extend_from_slice(bytes),
                None => write(message, before, out),
            }
            if at == kept.messages.len() {
                kept.remember(message, out.get(start..).unwrap_or_default());
            }
            ends.push(out.len());
            before = Some(message.as_ref());
        }
        self.put(kept);
        ends
    }

    /// Writes tools to `out`, as `write` does it for each of them, by their names, descriptions and input schemas
    /// alone.
    pub(super) fn write_tools(&self, tools: &[Tool], write: impl Fn(&Tool, &mut Vec<u8>), out: &mut Vec<u8>) {
        let mut kept = self.tools.lock();
        if !kept.tools.iter().map(written_fields).eq(tools.iter().map(written_fields)) {
            kept.bytes.clear();
            tools.iter().for_each(|tool| write(tool, &mut kept.bytes));
            kept.tools = tools.to_vec();
        }
        out.extend_from_slice(&kept.bytes);
        if kept.bytes.len() > MAX_KEPT_BYTES {
            *kept = KeptTools::default();
        }
    }

    /// Writes the system prompt to `out`, as `write` does it.
    pub(super) fn write_system(&self, system: &str, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let mut kept = self.system.lock();
        if kept.text != system {
            kept.bytes.clear();
            write(&mut kept.bytes);
            system.clone_into(&mut kept.text);
        }
        out.extend_from_slice(&kept.bytes);
    }

    /// The conversation that begins with the same message, out of the shelf while it is worked with.
    fn take(&self, messages: &[Arc<Message>]) -> Kept {
        let mut shelf = self.kept.lock();
        let begins_alike = |kept: &Kept| match (kept.messages.first(), messages.first()) {
            (Some(written), Some(message)) => Arc::ptr_eq(&written.message, message),
            _ => false,
        };
        let at = shelf.iter().position(begins_alike);
        at.and_then(|at| shelf.remove(at)).unwrap_or_default()
    }

    fn put(&self, kept: Kept) {
        let mut shelf = self.kept.lock();
        shelf.push_front(kept);
        shelf.truncate(MAX_CONVERSATIONS);
    }
}

/// The parts of a tool that are written. Schemas are compared by their address.
fn written_fields(tool: &Tool) -> (&str, &str, *const JsonObject) {
    (tool.name(), tool.description(), ptr::from_ref(tool.input_schema()))
}

impl Kept {
    /// Forgets everything from the first message on that is not the same.
    fn forget_from(&mut self, messages: &[Arc<Message>]) {
        let is_same = |(written, message): &(&Written, &Arc<Message>)| Arc::ptr_eq(&written.message, message);
        let common = self.messages.iter().zip(messages).take_while(is_same).count();
        self.messages.truncate(common);
        let last = self.messages.iter().rev().find_map(|written| written.place.as_ref());
        self.bytes.truncate(last.map_or(0, |place| place.end));
    }

    fn bytes_of(&self, at: usize) -> Option<&[u8]> {
        self.bytes.get(self.messages.get(at)?.place.clone()?)
    }

    fn remember(&mut self, message: &Arc<Message>, bytes: &[u8]) {
        let start = self.bytes.len();
        let fits = bytes.len() <= MAX_MESSAGE_BYTES && start + bytes.len() <= MAX_KEPT_BYTES;
        if fits {
            self.bytes.extend_from_slice(bytes);
        }
        let place = fits.then_some(start..self.bytes.len());
        self.messages.push(Written { message: Arc::clone(message), place });
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
        let write = |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| {
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
    fn the_same_tools_are_written_once() {
        let history = History::default();
        let count = Cell::new(0);
        let written = |tools: &[Tool]| {
            let mut out = Vec::new();
            let write = |tool: &Tool, out: &mut Vec<u8>| {
                count.set(count.get() + 1);
                out.extend_from_slice(tool.name().as_bytes());
                out.extend_from_slice(tool.description().as_bytes());
            };
            history.write_tools(tools, write, &mut out);
            (String::from_utf8(out).unwrap(), count.get())
        };
        let tools = [Tool::new("a", "1", JsonObject::new()), Tool::new("b", "2", JsonObject::new())];
        assert_eq!(written(&tools), ("a1b2".into(), 2));
        assert_eq!(written(&tools.clone()), ("a1b2".into(), 2));
        assert_eq!(written(&tools[..1]), ("a1".into(), 3));
        let mut changed = tools[0].clone().with_name("c");
        assert_eq!(written(&[changed.clone()]), ("c1".into(), 4));
        changed = Tool::new("c", "1", JsonObject::new());
        assert_eq!(written(&[changed]), ("c1".into(), 5), "another schema");
        assert_eq!(written(&[]), (String::new(), 5));
    }

    #[test]
    fn the_same_system_prompt_is_written_once() {
        let history = History::default();
        let count = Cell::new(0);
        let written = |system: &str| {
            let mut out = Vec::new();
            let write = |out: &mut Vec<u8>| {
                count.set(count.get() + 1);
                out.extend_from_slice(system.as_bytes());
            };
            history.write_system(system, write, &mut out);
            (String::from_utf8(out).unwrap(), count.get())
        };
        assert_eq!(written("a"), ("a".into(), 1));
        assert_eq!(written("a"), ("a".into(), 1));
        assert_eq!(written("b"), ("b".into(), 2));
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

    /// An image is written anew each time; what comes after it is not.
    #[test]
    fn what_is_large_is_not_kept_and_does_not_crowd_out_the_rest() {
        let history = History::default();
        let image = "x".repeat(MAX_KEPT_BYTES);
        let messages = [message("a"), message(&image), message("b"), message(&image), message("c")];
        let (first, count) = written(&history, &messages);
        assert_eq!((first.len(), count), (2 * MAX_KEPT_BYTES + 7, 5));
        let (second, count) = written(&history, &messages);
        assert!(first == second && first.ends_with("xc"));
        assert_eq!(count, 2);
        assert_eq!(written(&history, &messages[..1]), ("heada".into(), 0));
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        let history = History::default();
        let text = "x".repeat(MAX_MESSAGE_BYTES);
        let messages: Vec<Arc<Message>> =
            (0..=MAX_KEPT_BYTES / MAX_MESSAGE_BYTES).map(|_| message(&text)).collect();
        written(&history, &messages);
        assert_eq!(written(&history, &messages).1, 1);
    }
}
