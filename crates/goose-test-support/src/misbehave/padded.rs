//! Messages of any length, of which only the two ends are held in memory.

use std::io::{self, Write};

use serde_json::Value;

/// Where the filling goes in a message.
pub(super) const FILLING: &str = "<filling>";

/// How much is written at a time.
const CHUNK: usize = 64 * 1024;

/// A message with a long middle.
pub(super) struct Padded {
    head: String,
    tail: String,
    fill: u64,
}

impl Padded {
    /// A message with `fill` bytes where it says [`FILLING`].
    pub(super) fn new(message: &Value, fill: u64) -> Self {
        let text = message.to_string();
        let (head, tail) = text.split_once(FILLING).unwrap_or((&text, ""));
        Self { head: head.to_owned(), tail: tail.to_owned(), fill }
    }

    /// A message that is `bytes` long as a whole, or as long as it is without the filling.
    pub(super) fn of_length(message: &Value, bytes: u64) -> Self {
        let mut padded = Self::new(message, 0);
        padded.fill = bytes.saturating_sub((padded.head.len() + padded.tail.len()) as u64);
        padded
    }

    pub(super) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let chunk = [b'A'; CHUNK];
        output.write_all(self.head.as_bytes())?;
        let mut rest = self.fill;
        while rest > 0 {
            let part = usize::try_from(rest).unwrap_or(CHUNK).min(CHUNK);
            output.write_all(&chunk[..part])?;
            rest -= part as u64;
        }
        output.write_all(self.tail.as_bytes())
    }
}
