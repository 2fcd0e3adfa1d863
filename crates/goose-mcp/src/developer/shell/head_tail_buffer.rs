//! [`HeadTailBuffer`]: the head and the tail of an output, however much comes.
//!
//! Cuts are made between lines where one is near, and never inside a character. How much is missing is known exactly.

/// Bytes kept of the beginning.
const HEAD_BYTES: usize = 16 * 1024;

/// Bytes kept of the end. The end of a build or a test says more than its beginning.
const TAIL_BYTES: usize = 32 * 1024;

/// Largest output that is shown without a cut.
pub(super) const MAX_SHOWN_BYTES: u64 = (HEAD_BYTES + TAIL_BYTES) as u64;

/// Maximum distance from a cut to the end of a line that is cut at instead.
const NEAR_BYTES: usize = 1024;

/// An output as it comes in.
#[derive(Debug, Default)]
pub(super) struct HeadTailBuffer {
    head: Vec<u8>,
    /// The last bytes after the head; twice as many as are shown, before they are cut back.
    tail: Vec<u8>,
    total: u64,
    lines: u64,
}

/// The part of an output that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    /// All of it: the first bytes and the rest.
    Whole(&'a [u8], &'a [u8]),
    /// The beginning and the end.
    Cut(Cut<'a>),
}

/// The beginning and the end of an output, and what is missing between them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    pub(super) head: &'a [u8],
    pub(super) tail: &'a [u8],
    pub(super) missing_bytes: u64,
    pub(super) missing_lines: u64,
}

impl HeadTailBuffer {
    /// Adds what has come, and says how many lines end in it.
    pub(super) fn push(&mut self, chunk: &[u8]) -> u64 {
        let lines = count_lines(chunk);
        self.total += chunk.len() as u64;
        self.lines += lines;
        let (head, rest) = chunk.split_at(chunk.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        if self.tail.len() + rest.len() > 2 * TAIL_BYTES {
            let surplus = (self.tail.len() + rest.len() - TAIL_BYTES).min(self.tail.len());
            self.tail.drain(..surplus);
        }
        self.tail.extend_from_slice(rest);
        lines
    }

    /// Bytes read so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Everything, where nothing is missing yet.
    pub(super) fn everything(&self) -> Option<(&[u8], &[u8])> {
        (self.total == (self.head.len() + self.tail.len()) as u64).then_some((&self.head, &self.tail))
    }

    /// The part that is shown.
    pub(super) fn shown(&self) -> Shown<'_> {
        if self.total <= MAX_SHOWN_BYTES {
            return Shown::Whole(&self.head, &self.tail);
        }
        let head = end_of_head(&self.head);
        let tail = start_of_tail(&self.tail[self.tail.len().saturating_sub(TAIL_BYTES)..]);
        Shown::Cut(Cut {
            head,
            tail,
            missing_bytes: self.total - (head.len() + tail.len()) as u64,
            missing_lines: self.lines - count_lines(head) - count_lines(tail),
        })
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The head up to the end of its last line, or of its last character.
fn end_of_head(head: &[u8]) -> &[u8] {
    let near = head.len().saturating_sub(NEAR_BYTES);
    match head[near..].iter().rposition(|&byte| byte == b'\n') {
        Some(at) => &head[..near + at + 1],
        None => without_broken_end(head),
    }
}

/// The tail from the beginning of its first line, or of its first character.
fn start_of_tail(tail: &[u8]) -> &[u8] {
    let near = &tail[..tail.len().min(NEAR_BYTES)];
    match near.iter().position(|&byte| byte == b'\n') {
        Some(at) => &tail[at + 1..],
        None => without_broken_start(tail),
    }
}

/// The longest character has four bytes, so three of a broken one can be left.
const MAX_BROKEN: usize = 3;

/// The bytes without a last character that is not complete.
pub(super) fn without_broken_end(bytes: &[u8]) -> &[u8] {
    let start = bytes.len().saturating_sub(MAX_BROKEN);
    let cut = (start..bytes.len()).find(|&at| {
        std::str::from_utf8(&bytes[at..])
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    });
    &bytes[..cut.unwrap_or(bytes.len())]
}

/// The bytes without the rest of a character that began before them.
fn without_broken_start(bytes: &[u8]) -> &[u8] {
    let is_rest = |byte: &&u8| (**byte & 0b1100_0000) == 0b1000_0000;
    let rest = bytes.iter().take(MAX_BROKEN).take_while(is_rest).count();
    &bytes[rest..]
}

#[cfg(test)]
#[path = "head_tail_buffer_tests.rs"]
mod tests;
