//! [`TypeAhead`]: text that the user types during a reply. Complete messages wait, and the last line is edited at the
//! next prompt.
//!
//! The terminal sends Esc as the byte that also begins the keys with arrows. The rest of such a key may come a little
//! later, so Esc is known only after [`ESCAPE_TIME`], or when something else follows.

use std::{collections::VecDeque, mem, time::Duration};

use super::input::TypedMessage;
use crate::escape;

/// Time for the rest of a key that begins with Esc.
pub(super) const ESCAPE_TIME: Duration = Duration::from_millis(250);

/// Maximum number of messages that wait. Further ones stay in the line.
const MAX_MESSAGES: usize = 20;

/// Maximum size of the line. More is discarded.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Maximum length of a key; a longer one is discarded.
const MAX_KEY_BYTES: usize = 32;

/// Number of waiting messages that are shown.
const MAX_SHOWN: usize = 3;

const ESC: u8 = 0x1b;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Text that is typed during a reply.
#[derive(Debug, Default)]
pub(crate) struct TypeAhead {
    line: String,
    messages: VecDeque<TypedMessage>,
    /// Bytes of a key that is not complete.
    pending: Vec<u8>,
    is_pasting: bool,
    /// True if a part of the line was pasted, so that nothing in it counts as typed.
    has_paste: bool,
}

impl TypeAhead {
    /// Takes bytes from the terminal. Returns true if Esc was pressed.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend_from_slice(bytes);
        let mut is_escape = false;
        while let Some((length, key)) = self.key() {
            self.pending.drain(..length);
            is_escape |= key == Key::Escape;
            self.apply(key);
        }
        is_escape
    }

    /// Returns true if a key is not complete.
    pub(super) fn is_within_key(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends a key that was not completed in time. Returns true if it is Esc alone.
    pub(super) fn end_key(&mut self) -> bool {
        mem::take(&mut self.pending) == [ESC]
    }

    /// Returns the next key and its length; `None` if it is not complete.
    fn key(&self) -> Option<(usize, Key)> {
        let bytes = self.pending.as_slice();
        match bytes {
            [] | [ESC] => None,
            [ESC, b'[' | b'O', rest @ ..] => {
                let is_last = |byte: &u8| (b'@'..=b'~').contains(byte);
                match rest.iter().position(is_last) {
                    Some(end) => Some((end + 3, Key::of_sequence(bytes.get(..end + 3)?))),
                    None if rest.len() > MAX_KEY_BYTES => Some((bytes.len(), Key::Other)),
                    None => None,
                }
            }
            [ESC, b'\r' | b'\n', ..] => Some((2, Key::NewLine)),
            [ESC, ..] => Some((1, Key::Escape)),
            [b'\r', ..] => Some((1, Key::Enter)),
            [b'\n', ..] => Some((1, Key::NewLine)),
            [0x08 | 0x7f, ..] => Some((1, Key::Backspace)),
            [0x15, ..] => Some((1, Key::ClearLine)),
            [0x17, ..] => Some((1, Key::ClearWord)),
            [b'\t', ..] => Some((1, Key::Letter('\t'))),
            [byte, ..] if byte.is_ascii_control() => Some((1, Key::Other)),
            _ => letter(bytes),
        }
    }

    fn apply(&mut self, key: Key) {
        match key {
            Key::Letter(letter) => self.add(letter),
            Key::NewLine => self.add('\n'),
            Key::Enter if self.is_pasting => self.add('\n'),
            Key::Enter => self.enter(),
            Key::PasteBegins => (self.is_pasting, self.has_paste) = (true, true),
            Key::PasteEnds => self.is_pasting = false,
            Key::Backspace => drop(self.line.pop()),
            Key::ClearLine => self.clear_line(),
            Key::ClearWord => {
                let text = self.line.trim_end();
                let word = text.rfind(char::is_whitespace).map_or(0, |at| text.ceil_char_boundary(at + 1));
                self.line.truncate(word);
            }
            Key::Up if self.line.is_empty() => {
                self.line = self.messages.pop_back().map(|message| message.text).unwrap_or_default();
            }
            Key::Up | Key::Escape | Key::Other => {}
        }
    }

    fn add(&mut self, letter: char) {
        if self.line.len() < MAX_LINE_BYTES {
            self.line.push(letter);
        }
    }

    /// Ends the line: it waits, or is continued after a backslash.
    fn enter(&mut self) {
        if let Some(begun) = self.line.strip_suffix('\\') {
            self.line = format!("{begun}\n");
        } else if self.line.trim().is_empty() {
            self.clear_line();
        } else if self.messages.len() < MAX_MESSAGES {
            let text = mem::take(&mut self.line);
            let typed = if self.has_paste { String::new() } else { text.clone() };
            self.messages.push_back(TypedMessage { text, typed });
            self.has_paste = false;
        }
    }

    fn clear_line(&mut self) {
        self.line.clear();
        self.has_paste = false;
    }

    /// Takes the message that has waited longest.
    pub(super) fn next_message(&mut self) -> Option<TypedMessage> {
        self.messages.pop_front()
    }

    /// Takes the line that was not ended.
    pub(super) fn take_line(&mut self) -> String {
        self.has_paste = false;
        mem::take(&mut self.line)
    }

    /// Puts the waiting messages back into the line.
    pub(super) fn take_back(&mut self) {
        let line = self.take_line();
        let texts = self.messages.drain(..).map(|message| message.text).chain([line]);
        self.line = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    }

    /// The lines that show what waits and what is typed.
    pub(super) fn shown(&self) -> Vec<String> {
        let hidden = self.messages.len().saturating_sub(MAX_SHOWN);
        let more = (hidden > 0).then(|| format!("… {hidden} more queued"));
        let queued =
            self.messages.iter().skip(hidden).map(|message| format!("queued: {}", one_line(&message.text)));
        let line = (!self.line.is_empty()).then(|| format!("› {}", one_line(&self.line)));
        more.into_iter().chain(queued).chain(line).collect()
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    escape::line(&text.replace('\n', " ↵ ")).into_owned()
}

/// A key, as far as it has a meaning during a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Letter(char),
    Enter,
    NewLine,
    Backspace,
    ClearLine,
    ClearWord,
    Up,
    Escape,
    PasteBegins,
    PasteEnds,
    Other,
}

impl Key {
    fn of_sequence(bytes: &[u8]) -> Self {
        match bytes {
            PASTE_BEGINS => Self::PasteBegins,
            PASTE_ENDS => Self::PasteEnds,
            b"\x1b[A" | b"\x1bOA" => Self::Up,
            _ => Self::Other,
        }
    }
}

/// Returns the first character of some bytes, and its length; `None` if it is not complete.
fn letter(bytes: &[u8]) -> Option<(usize, Key)> {
    let first = bytes.get(..bytes.len().min(4))?;
    let chunk = first.utf8_chunks().next()?;
    match chunk.valid().chars().next() {
        Some(letter) => Some((letter.len_utf8(), Key::Letter(letter))),
        None if bytes.len() < 4 && str::from_utf8(first).is_err_and(|error| error.error_len().is_none()) => {
            None
        }
        None => Some((1, Key::Other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state after some bytes, in pieces of a size.
    fn typed(bytes: &[u8], size: usize) -> (TypeAhead, bool) {
        let mut ahead = TypeAhead::default();
        let mut is_escape = false;
        for piece in bytes.chunks(size) {
            is_escape |= ahead.push(piece);
        }
        (ahead, is_escape)
    }

    fn texts(ahead: &TypeAhead) -> Vec<&str> {
        ahead.messages.iter().map(|message| message.text.as_str()).collect()
    }

    #[test]
    fn keys_are_read_in_pieces_of_any_size() {
        let bytes = "größe\x1b[D\x1b[1;5Cab\x7f\rtwo\\\rlines\r  \rlast one\x17".as_bytes();
        for size in 1..bytes.len() {
            let (ahead, is_escape) = typed(bytes, size);
            assert_eq!(texts(&ahead), ["größea", "two\nlines"], "{size}");
            assert_eq!((ahead.line.as_str(), is_escape), ("last ", false), "{size}");
        }
    }

    #[test]
    fn escape_is_a_key_of_its_own_only_without_a_sequence() {
        let (mut ahead, is_escape) = typed(b"a\x1b", 1);
        assert!(!is_escape && ahead.is_within_key() && ahead.end_key());
        assert!(!ahead.is_within_key() && ahead.line == "a");
        let (mut ahead, is_escape) = typed(b"\x1b[", 1);
        assert!(!is_escape && ahead.is_within_key() && !ahead.end_key());
        let (ahead, is_escape) = typed(b"\x1bqueued", 7);
        assert!(is_escape && ahead.line == "queued");
        assert!(typed(b"\x1b\x1b[A", 1).1);
    }

    #[test]
    fn messages_are_taken_back() {
        let (mut ahead, _) = typed(b"one\rtwo\r\x1b[A", 3);
        assert_eq!((texts(&ahead), ahead.line.as_str()), (vec!["one"], "two"));
        assert_eq!(ahead.shown(), ["queued: one", "› two"]);
        ahead.push(b"\x1b[A");
        assert_eq!(ahead.line, "two", "only an empty line takes one back");
        ahead.take_back();
        assert_eq!((ahead.next_message(), ahead.take_line()), (None, "one\ntwo".to_owned()));
    }

    #[test]
    fn pasted_lines_are_one_message_that_attaches_nothing() {
        let (ahead, _) = typed(b"see \x1b[200~@a\r@b\x1b[201~\rtyped\r", 2);
        assert_eq!(texts(&ahead), ["see @a\n@b", "typed"]);
        let typed: Vec<&str> = ahead.messages.iter().map(|message| message.typed.as_str()).collect();
        assert_eq!(typed, ["", "typed"]);
        let (ahead, _) = self::typed("x\r".repeat(MAX_MESSAGES + 2).as_bytes(), 1);
        assert_eq!((ahead.messages.len(), ahead.line.as_str()), (MAX_MESSAGES, "xx"));
        assert_eq!(ahead.shown().len(), MAX_SHOWN + 2);
    }
}
