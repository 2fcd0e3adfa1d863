//! Where messages go: standard output, or the stream of an HTTP response.

use std::io::{self, Write};

use serde_json::Value;

/// Writes one message, as JSON without a line end.
pub(super) type Writing<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// A way to the client. One message does not get mixed up with another.
pub(super) trait Outlet: Send + Sync {
    /// Sends what `writing` writes.
    fn send(&self, writing: Writing<'_>) -> io::Result<()>;
}

impl dyn Outlet {
    /// Sends an ordinary message.
    pub(super) fn message(&self, message: &Value) -> io::Result<()> {
        self.send(&mut |output| Ok(serde_json::to_writer(output, message)?))
    }
}
