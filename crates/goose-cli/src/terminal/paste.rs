//! [`Pastes`]: long pasted texts, which the line editor shows as a marker such as `[pasted, 26000 lines]`.

use parking_lot::Mutex;
use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers};

/// Maximum size of a pasted text that is shown as it is.
const MAX_SHOWN_LINES: usize = 10;
const MAX_SHOWN_CHARS: usize = 2_000;

/// Maximum size of all that is pasted into one message, in bytes. More is discarded.
const MAX_PASTED_BYTES: usize = 16 * 1024 * 1024;

/// Texts that were pasted into the current line. Terminals mark their beginning and end.
#[derive(Debug, Default)]
pub(super) struct Pastes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Text that is being pasted.
    current: Option<String>,
    /// True after a carriage return in it, which may be the first half of a line end.
    after_return: bool,
    /// Markers in the line, with their texts.
    marked: Vec<(String, String)>,
    /// Texts of several words that are shown as they are.
    shown: Vec<String>,
}

impl Pastes {
    /// Takes a key that belongs to a pasted text. Returns the command for it, if it is one.
    pub(super) fn key(&self, key: &KeyEvent) -> Option<Cmd> {
        let mut state = self.0.lock();
        match (key.0, state.current.is_some()) {
            (KeyCode::BracketedPasteStart, _) => state.current = Some(String::new()),
            (KeyCode::BracketedPasteEnd, true) => return Some(state.end()),
            (_, true) => state.add(key),
            (_, false) => return None,
        }
        Some(Cmd::Noop)
    }

    /// Forgets what was pasted into an earlier line.
    pub(super) fn clear(&self) {
        *self.0.lock() = State::default();
    }

    /// Returns a line without what was pasted into it. A single path counts as typed: terminals paste the name of a
    /// file that is dropped on them.
    pub(super) fn typed(&self, line: &str) -> String {
        let state = self.0.lock();
        let pasted = state.marked.iter().map(|(marker, _)| marker).chain(&state.shown);
        pasted.fold(line.to_owned(), |line, text| line.replacen(text, " ", 1))
    }

    /// Replaces the markers in a line by their texts.
    pub(super) fn expanded(&self, line: &str) -> String {
        let state = self.0.lock();
        let mut line = line.to_owned();
        for (marker, text) in &state.marked {
            line = line.replacen(marker, text, 1);
        }
        line
    }
}

impl State {
    fn add(&mut self, key: &KeyEvent) {
        let was_return = std::mem::replace(&mut self.after_return, key.0 == KeyCode::Enter);
        let used: usize = self.marked.iter().map(|(_, text)| text.len()).sum();
        let Some(current) = self.current.as_mut().filter(|text| text.len() + used < MAX_PASTED_BYTES) else {
            return;
        };
        match key {
            KeyEvent(KeyCode::Char(letter), Modifiers::NONE) => current.push(*letter),
            KeyEvent(KeyCode::Enter, _) => current.push('\n'),
            key if *key == KeyEvent::ctrl('J') && !was_return => current.push('\n'),
            KeyEvent(KeyCode::Tab, _) => current.push('\t'),
            // Other control characters have no place in a message.
            _ => {}
        }
    }

    fn end(&mut self) -> Cmd {
        let text = self.current.take().unwrap_or_default();
        let (lines, chars) = (text.lines().count(), text.chars().count());
        if lines <= MAX_SHOWN_LINES && chars <= MAX_SHOWN_CHARS {
            if !is_path(&text) {
                self.shown.push(text.clone());
            }
            return Cmd::Insert(1, text);
        }
        let size = match lines {
            1 => format!("{chars} characters"),
            lines => format!("{lines} lines"),
        };
        let is_free = |marker: &String| self.marked.iter().all(|(other, _)| other != marker);
        let first = format!("[pasted, {size}]");
        let marker = match is_free(&first) {
            true => first,
            false => format!("[pasted #{}, {size}]", self.marked.len() + 1),
        };
        self.marked.push((marker.clone(), text));
        Cmd::Insert(1, marker)
    }
}

/// Returns true for a single path, with blanks only within quotes or after `\`.
fn is_path(text: &str) -> bool {
    let text = text.trim();
    let is_quoted = |quote| {
        let inside = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inside.is_some_and(|inside| !inside.contains([quote, '\n']))
    };
    !text.replace("\\ ", "").contains(char::is_whitespace) || is_quoted('\'') || is_quoted('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paste(pastes: &Pastes, text: &str) -> Option<String> {
        pastes.key(&KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE));
        for letter in text.chars() {
            assert_eq!(pastes.key(&KeyEvent::from(letter)), Some(Cmd::Noop));
        }
        match pastes.key(&KeyEvent(KeyCode::BracketedPasteEnd, Modifiers::NONE)) {
            Some(Cmd::Insert(1, text)) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn short_texts_are_shown_and_long_ones_marked() {
        let pastes = Pastes::default();
        assert_eq!(pastes.key(&KeyEvent::from('a')), None);
        assert_eq!(paste(&pastes, "a\tb\r\nc\rd\n\u{3}e").as_deref(), Some("a\tb\nc\nd\ne"));
        let long = "line\n".repeat(26_000);
        assert_eq!(paste(&pastes, &long).as_deref(), Some("[pasted, 26000 lines]"));
        assert_eq!(paste(&pastes, &long).as_deref(), Some("[pasted #2, 26000 lines]"));
        assert_eq!(paste(&pastes, &"ö".repeat(2_001)).as_deref(), Some("[pasted, 2001 characters]"));
        let line = "Look: [pasted, 26000 lines] and [pasted, 2 lines]";
        assert_eq!(pastes.expanded(line), format!("Look: {long} and [pasted, 2 lines]"));
        pastes.clear();
        assert_eq!(pastes.expanded(line), line);
    }

    #[test]
    fn pasted_blocks_are_not_typed() {
        let pastes = Pastes::default();
        let long = "@a.rs\n".repeat(20);
        let shown: String = [long.as_str(), "see @b.rs", "/tmp/my\\ shot.png", "'/tmp/my shot.png'"]
            .into_iter()
            .filter_map(|text| paste(&pastes, text))
            .fold("@mine".to_owned(), |line, shown| line + " " + &shown);
        assert_eq!(
            pastes.typed(&shown).split_whitespace().collect::<Vec<_>>(),
            ["@mine", "/tmp/my\\", "shot.png", "'/tmp/my", "shot.png'"]
        );
    }
}
