//! The body of a response as an outlet: written from a thread, read by the client, with little in between.

use std::{
    io::{self, Write},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use futures::Stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::faulty_server::{
    message::{Outlet, Writing},
    server::Server,
};

/// Bytes that are sent at a time, and the number of such parts that may wait.
const CHUNK: usize = 64 * 1024;
const WAITING: usize = 4;

/// The form of messages in a body.
#[derive(Clone, Copy)]
pub(super) enum Framing {
    /// Each one is an event.
    Events,
    /// There is one, and nothing else.
    Plain,
}

/// A body that is yet to be written, as its two ends.
pub(super) fn open(framing: Framing) -> (Arc<dyn Outlet>, ResponseStream) {
    let (sender, receiver) = channel(WAITING);
    let outlet = ResponseOutlet { sender: Mutex::new(sender), framing };
    (Arc::new(outlet), ResponseStream { receiver, left: None })
}

struct ResponseOutlet {
    sender: Mutex<Sender<Bytes>>,
    framing: Framing,
}

impl Outlet for ResponseOutlet {
    fn send(&self, writing: Writing<'_>) -> io::Result<()> {
        let sender = self.sender.lock();
        let mut output = Chunks { sender: &sender, waiting: Vec::new() };
        match self.framing {
            Framing::Plain => writing(&mut output)?,
            Framing::Events => {
                output.write_all(b"data: ")?;
                writing(&mut output)?;
                output.write_all(b"\n\n")?;
            }
        }
        output.flush()
    }
}

/// Collects what is written into parts of a good size.
struct Chunks<'a> {
    sender: &'a Sender<Bytes>,
    waiting: Vec<u8>,
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = Bytes::from(std::mem::take(&mut self.waiting));
        self.sender.blocking_send(chunk).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The client's end of a body.
pub(super) struct ResponseStream {
    receiver: Receiver<Bytes>,
    /// Notified when the client leaves before the end.
    left: Option<(Arc<Server>, Value)>,
}

impl ResponseStream {
    /// Cancels a request when the client leaves before its answer.
    pub(super) fn when_left(mut self, server: Arc<Server>, request: Value) -> Self {
        self.left = Some((server, request));
        self
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(self)
    }
}

impl Stream for ResponseStream {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.receiver.poll_recv(context);
        if let Poll::Ready(None) = next {
            self.left = None;
        }
        next.map(|chunk| chunk.map(Ok))
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        // The answer may be on its way: then nothing was cancelled.
        if let Some((server, request)) = self.left.take().filter(|_| !self.receiver.is_closed()) {
            server.cancel(request);
        }
    }
}
