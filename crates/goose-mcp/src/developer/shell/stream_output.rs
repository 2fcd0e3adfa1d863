//! [`LiveOutput`]: the output as it comes, for whoever watches. Whole lines, a few times in a second, and never much at once.

use std::time::Duration;

use goose_extension::CallContext;
use tokio::time::Instant;

use super::clean::clean_text;

/// How often somebody who watches is told. What is done sooner is not told at all: its result says it.
const PAUSE: Duration = Duration::from_millis(100);

/// How much is told at once; of more, the end.
const MAX_BYTES: usize = 4 * 1024;

/// Tells the caller what comes.
pub(super) struct LiveOutput<'a> {
    context: &'a CallContext,
    /// What was not told yet.
    pending: Vec<u8>,
    lines: u64,
    told_lines: u64,
    last: Instant,
}

impl<'a> LiveOutput<'a> {
    pub(super) fn new(context: &'a CallContext) -> Self {
        Self { context, pending: Vec::new(), lines: 0, told_lines: 0, last: Instant::now() }
    }

    /// Takes what has come, in which so many lines end, and tells of it where it is time to.
    pub(super) fn push(&mut self, chunk: &[u8], lines: u64) {
        if self.context.caller().is_none() {
            return;
        }
        self.lines += lines;
        self.pending.extend_from_slice(&chunk[chunk.len().saturating_sub(MAX_BYTES)..]);
        let surplus = self.pending.len().saturating_sub(MAX_BYTES);
        self.pending.drain(..surplus);
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.tell();
        }
    }

    /// When there is something to tell: from when on.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.lines > self.told_lines).then(|| self.last + PAUSE)
    }

    /// Tells of the lines that are complete.
    pub(super) fn tell(&mut self) {
        self.last = Instant::now();
        self.told_lines = self.lines;
        let Some(end) = self.pending.iter().rposition(|&byte| byte == b'\n') else { return };
        let lines: Vec<u8> = self.pending.drain(..=end).collect();
        let text = clean_text(&String::from_utf8_lossy(&lines));
        #[expect(clippy::cast_precision_loss, reason = "nobody watches 2^53 lines")]
        self.context.progress(self.lines as f64, None, text);
    }

    /// Tells the rest, to somebody who has seen the beginning.
    pub(super) fn finish(&mut self) {
        if self.told_lines > 0 && self.due().is_some() {
            self.tell();
        }
    }
}
