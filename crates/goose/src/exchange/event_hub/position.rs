//! [`EventPosition`]: a place in the events of a session, as a reader keeps it to continue later.

use std::{fmt, str::FromStr};

/// Place in the events of a session, written as `epoch.number.step`. It stays valid when the session is closed and
/// opened again, and when goose is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventPosition {
    /// Event log that the number belongs to; 0 for replayed events.
    pub epoch: u64,
    /// Number of the event in that log.
    pub number: u64,
    /// Number of the last step that was stored before.
    pub step: u64,
}

/// Error for a text that is not a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a position in the events of a session, which is three numbers: epoch.number.step")]
pub struct BadPosition;

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.epoch, self.number, self.step)
    }
}

impl FromStr for EventPosition {
    type Err = BadPosition;

    fn from_str(text: &str) -> Result<Self, BadPosition> {
        let mut numbers = text.split('.').map(|part| part.parse().map_err(|_| BadPosition));
        let mut next = || numbers.next().unwrap_or(Err(BadPosition));
        let position = Self { epoch: next()?, number: next()?, step: next()? };
        if numbers.next().is_some() { Err(BadPosition) } else { Ok(position) }
    }
}
