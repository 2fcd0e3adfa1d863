//! Lines from and to byte streams, for the stdio transport.
//!
//! Lines are written in the order in which they were queued, by whichever sender writes first. Lines that
//! wait at the same time are written together.

use std::{collections::VecDeque, io};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::oneshot::{self, error::TryRecvError},
};

/// Maximum length of a line, in both directions.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Result of [`LineReader::advance`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRead {
    /// A line is complete.
    Line,
    /// A line is longer than the cap; the rest of it is dropped.
    Oversized,
    /// The stream has ended.
    End,
}

/// Reads lines without holding more than [`MAX_LINE_BYTES`].
#[derive(Debug)]
pub struct LineReader<R> {
    reader: BufReader<R>,
    /// Bytes of the current line.
    line: Vec<u8>,
    /// True while the rest of an oversized line is dropped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader of a stream.
    pub fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BUFFER_BYTES, reader),
            line: Vec::new(),
            skipping: false,
        }
    }

    /// Returns the current line, with its line end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads until a line is complete or too long, or the stream ends. Cancel-safe.
    ///
    /// # Errors
    ///
    /// Fails if the stream cannot be read.
    pub async fn advance(&mut self) -> io::Result<LineRead> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                // A last line without a line end is a message too.
                let rest = !self.skipping && !self.line.is_empty();
                return Ok(if rest { LineRead::Line } else { LineRead::End });
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            let fits = self.line.len() + taken <= MAX_LINE_BYTES;
            if !self.skipping && fits {
                self.line.extend_from_slice(&chunk[..taken]);
            }
            self.reader.consume(taken);
            match (self.skipping, fits, end) {
                (false, true, Some(_)) => return Ok(LineRead::Line),
                (false, false, end) => {
                    self.clear();
                    self.skipping = end.is_none();
                    return Ok(LineRead::Oversized);
                }
                (true, _, Some(_)) => self.skipping = false,
                (true, _, None) | (false, true, None) => {}
            }
        }
    }

    /// Clears the current line, and frees a large buffer.
    pub fn clear(&mut self) {
        self.line.clear();
        if self.line.capacity() > READ_BUFFER_BYTES {
            self.line.shrink_to(READ_BUFFER_BYTES);
        }
    }
}

/// Maximum size of lines that are written together; a longer line is written alone.
const MAX_BATCH_BYTES: usize = 64 * 1024;

pub(super) struct Writer<W> {
    output: tokio::sync::Mutex<Output<W>>,
    waiting: Mutex<VecDeque<Outgoing>>,
}

/// The stream, and the lines that are being written. A sender that is dropped meanwhile leaves them here for
/// the next one, because half a line would corrupt the line after it.
struct Output<W> {
    /// `None` once the connection is closed.
    stream: Option<W>,
    batch: Option<Batch>,
}

struct Outgoing {
    line: Vec<u8>,
    done: oneshot::Sender<io::Result<()>>,
}

/// A queued line; [`Writer::drain`] waits until it is written.
pub(super) struct Queued(oneshot::Receiver<io::Result<()>>);

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(stream: W) -> Self {
        let output = Output { stream: Some(stream), batch: None };
        Self { output: tokio::sync::Mutex::new(output), waiting: Mutex::default() }
    }

    /// Closes the stream. Lines that are not written yet fail.
    pub(super) async fn close(&self) {
        self.output.lock().await.stream.take();
    }

    /// Appends a line to the queue.
    pub(super) fn queue(&self, line: Vec<u8>) -> Queued {
        let (done, receiver) = oneshot::channel();
        self.waiting.lock().push_back(Outgoing { line, done });
        Queued(receiver)
    }

    /// Writes queued lines until the given one is written, here or by another sender. Can be dropped at any
    /// time: the line keeps its place, and the next sender writes it.
    pub(super) async fn drain(&self, mut queued: Queued) -> io::Result<()> {
        if let Some(written) = queued.outcome() {
            return written;
        }
        let mut output = self.output.lock().await;
        loop {
            if let Some(written) = queued.outcome() {
                return written;
            }
            let Output { stream, batch } = &mut *output;
            if batch.is_none() {
                *batch = self.take();
            }
            let Some(writing) = batch else { return Err(closed()) };
            let written = writing.write(stream.as_mut()).await;
            if let Some(batch) = batch.take() {
                batch.report(&written);
            }
        }
    }

    /// Takes the next lines from the queue.
    fn take(&self) -> Option<Batch> {
        let mut waiting = self.waiting.lock();
        let Outgoing { line, done } = waiting.pop_front()?;
        let mut batch = Batch { lines: line, written: 0, done: vec![done] };
        while let Some(Outgoing { line, done }) = waiting.pop_front_if(|next| batch.has_room_for(next)) {
            batch.lines.extend_from_slice(&line);
            batch.done.push(done);
        }
        Some(batch)
    }
}

impl Queued {
    /// Returns the outcome, if the line was written or failed.
    fn outcome(&mut self) -> Option<io::Result<()>> {
        match self.0.try_recv() {
            Ok(written) => Some(written),
            Err(TryRecvError::Closed) => Some(Err(closed())),
            Err(TryRecvError::Empty) => None,
        }
    }
}

/// Lines that are written together.
struct Batch {
    lines: Vec<u8>,
    /// Bytes that the stream has accepted.
    written: usize,
    done: Vec<oneshot::Sender<io::Result<()>>>,
}

impl Batch {
    fn has_room_for(&self, next: &Outgoing) -> bool {
        self.lines.len() + next.line.len() <= MAX_BATCH_BYTES
    }

    /// Writes the remaining bytes. Can be dropped and called again.
    async fn write<W: AsyncWrite + Unpin>(&mut self, stream: Option<&mut W>) -> io::Result<()> {
        let stream = stream.ok_or_else(closed)?;
        while let Some(rest) = self.lines.get(self.written..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        stream.flush().await
    }

    fn report(self, written: &io::Result<()>) {
        for done in self.done {
            let written = match written {
                Ok(()) => Ok(()),
                Err(error) => Err(copy_error(error)),
            };
            // The sender may have been dropped.
            let _ = done.send(written);
        }
    }
}

fn copy_error(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_that_wait_are_written_in_their_order() -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(4 * MAX_BATCH_BYTES);
        let writer = Writer::new(ours);
        let long = [b"x".repeat(MAX_BATCH_BYTES), b"\n".to_vec()].concat();
        let lines = [b"a\n".to_vec(), b"b\n".to_vec(), long, b"c\n".to_vec()];
        let mut queued: Vec<Queued> = lines.iter().map(|line| writer.queue(line.clone())).collect();
        while let Some(last) = queued.pop() {
            writer.drain(last).await?;
        }
        drop(writer);
        let mut read = Vec::new();
        theirs.read_to_end(&mut read).await?;
        assert_eq!(read, lines.concat());
        Ok(())
    }

    #[tokio::test]
    async fn a_sender_that_is_dropped_leaves_no_half_line() -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let writer = Writer::new(ours);
        let mut dropped = Box::pin(writer.drain(writer.queue(b"first line\n".to_vec())));
        assert!(futures::poll!(&mut dropped).is_pending(), "the stream takes a part of it only");
        drop(dropped);
        let second = async {
            writer.drain(writer.queue(b"second\n".to_vec())).await?;
            writer.close().await;
            io::Result::Ok(())
        };
        let mut read = String::new();
        let (written, count) = tokio::join!(second, theirs.read_to_string(&mut read));
        written?;
        count?;
        assert_eq!(read, "first line\nsecond\n");
        Ok(())
    }

    #[tokio::test]
    async fn a_sender_waits_for_its_own_line_only() -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(MAX_BATCH_BYTES + 16);
        let writer = Writer::new(ours);
        let first = writer.queue(b"first\n".to_vec());
        let long = [b"x".repeat(MAX_BATCH_BYTES), b"\n".to_vec()].concat();
        let second = writer.queue(long.clone());
        let third = writer.queue(long);
        writer.drain(first).await?;
        writer.drain(second).await?;
        let mut waiting = Box::pin(writer.drain(third));
        assert!(futures::poll!(&mut waiting).is_pending(), "nothing is read yet");
        let mut read = vec![0; 2 * MAX_BATCH_BYTES];
        let (written, count) = tokio::join!(waiting, theirs.read_exact(&mut read));
        written?;
        count?;
        Ok(())
    }

    #[tokio::test]
    async fn a_broken_stream_fails_all_senders() {
        let (ours, theirs) = tokio::io::duplex(64);
        drop(theirs);
        let writer = Writer::new(ours);
        let queued = [b"a\n".to_vec(), b"b\n".to_vec()].map(|line| writer.queue(line));
        for one in queued {
            let error = writer.drain(one).await.map_err(|error| error.kind());
            assert_eq!(error, Err(io::ErrorKind::BrokenPipe));
        }
    }
}
