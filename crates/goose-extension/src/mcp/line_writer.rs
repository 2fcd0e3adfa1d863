//! Lines to a byte stream, in the order in which they were queued, whoever gets to write them.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::oneshot,
};

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
    pub(super) async fn drain(&self, queued: Queued) -> io::Result<()> {
        let mut stream = self.stream.lock().await;
        while let Some(Outgoing { line, done }) = self.take() {
            // Nobody may be left to hear of it.
            let _ = done.send(write(stream.as_mut(), &line).await);
        }
        drop(stream);
        queued.0.await.unwrap_or_else(|_| Err(closed()))
    }

    fn take(&self) -> Option<Outgoing> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Outgoing>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write<W: AsyncWrite + Unpin>(stream: Option<&mut W>, line: &[u8]) -> io::Result<()> {
    let stream = stream.ok_or_else(closed)?;
    stream.write_all(line).await?;
    stream.flush().await
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}
