//! Lines to a byte stream, in the order in which they were queued, whoever gets to write them. Lines that wait at the
//! same time are written at once.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::oneshot::{self, error::TryRecvError},
};

/// How much is written at once; a longer line is written alone.
const MAX_BATCH_BYTES: usize = 64 * 1024;

pub(super) struct Writer<W> {
    /// Gone when the connection is closed.
    pub(super) stream: tokio::sync::Mutex<Option<W>>,
    waiting: Mutex<VecDeque<Outgoing>>,
}

struct Outgoing {
    line: Vec<u8>,
    done: oneshot::Sender<io::Result<()>>,
}

/// A line that was queued; [`Writer::drain`] waits until it is written.
pub(super) struct Queued(oneshot::Receiver<io::Result<()>>);

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(stream: W) -> Self {
        Self { stream: tokio::sync::Mutex::new(Some(stream)), waiting: Mutex::default() }
    }

    /// Takes a place in the order.
    pub(super) fn queue(&self, line: Vec<u8>) -> Queued {
        let (done, receiver) = oneshot::channel();
        self.lock().push_back(Outgoing { line, done });
        Queued(receiver)
    }

    /// Writes whatever waits, until the given line is written, by us or by somebody else.
    pub(super) async fn drain(&self, mut queued: Queued) -> io::Result<()> {
        match queued.0.try_recv() {
            Ok(written) => return written,
            Err(TryRecvError::Closed) => return Err(closed()),
            Err(TryRecvError::Empty) => {}
        }
        let mut stream = self.stream.lock().await;
        while let Some(batch) = self.take() {
            let written = write(stream.as_mut(), &batch.lines).await;
            batch.tell(&written);
        }
        drop(stream);
        queued.0.await.unwrap_or_else(|_| Err(closed()))
    }

    /// The lines to be written next.
    fn take(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        let Outgoing { line, done } = waiting.pop_front()?;
        let mut batch = Batch { lines: line, done: vec![done] };
        while let Some(Outgoing { line, done }) = waiting.pop_front_if(|next| batch.has_room_for(next)) {
            batch.lines.extend_from_slice(&line);
            batch.done.push(done);
        }
        Some(batch)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Outgoing>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines that are written at once.
struct Batch {
    lines: Vec<u8>,
    done: Vec<oneshot::Sender<io::Result<()>>>,
}

impl Batch {
    fn has_room_for(&self, next: &Outgoing) -> bool {
        self.lines.len() + next.line.len() <= MAX_BATCH_BYTES
    }

    fn tell(self, written: &io::Result<()>) {
        for done in self.done {
            let written = match written {
                Ok(()) => Ok(()),
                Err(error) => Err(same(error)),
            };
            // Nobody may be left to hear of it.
            let _ = done.send(written);
        }
    }
}

fn same(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

async fn write<W: AsyncWrite + Unpin>(stream: Option<&mut W>, line: &[u8]) -> io::Result<()> {
    let stream = stream.ok_or_else(closed)?;
    stream.write_all(line).await?;
    stream.flush().await
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_that_wait_are_written_in_their_order_whoever_writes() -> io::Result<()> {
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
    async fn everybody_hears_that_the_stream_is_broken() {
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
