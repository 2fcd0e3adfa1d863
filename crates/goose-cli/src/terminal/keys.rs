//! [`Keys`]: keys of the line editor that goose handles itself.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, KeyCode, KeyEvent, Modifiers, RepeatCount,
};

use super::paste::Pastes;

/// Handler of all keys.
pub(super) struct Keys {
    /// Set if Ctrl-C discards a line.
    pub(super) dropped: Arc<AtomicBool>,
    pub(super) pastes: Arc<Pastes>,
}

impl ConditionalEventHandler for Keys {
    fn handle(&self, event: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let key = event.get(0)?;
        if let Some(command) = self.pastes.key(key) {
            return Some(command);
        }
        match key {
            key if *key == KeyEvent::ctrl('J') || *key == KeyEvent::alt('\r') => Some(Cmd::Newline),
            key if *key == KeyEvent::ctrl('C') => {
                self.dropped.store(!context.line().is_empty(), Ordering::SeqCst);
                Some(Cmd::Interrupt)
            }
            // Esc that was typed during a reply is read together with the next letter, as Alt and that letter.
            KeyEvent(KeyCode::Char(letter), Modifiers::ALT)
                if context.line().is_empty() && letter.is_alphanumeric() =>
            {
                Some(Cmd::SelfInsert(1, *letter))
            }
            _ => None,
        }
    }
}
