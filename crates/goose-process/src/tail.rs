//! [`Tail`]: the last lines of a stream, however much it writes.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::watch,
    task::AbortHandle,
};

/// Bytes kept of a stream.
const MAX_BYTES: usize = 64 * 1024;

/// Lines kept of a stream.
const MAX_LINES: usize = 200;

/// Bytes kept of the beginning of one line.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// Size of one read.
const CHUNK_BYTES: usize = 8 * 1024;

/// The last lines that a program wrote: at most 200, and 64 KiB. The stream is read to its end, so that the program
/// never waits for us; when the last copy of this is dropped, the stream is closed.
///
/// Control characters are kept as they are; escape them before you show them. A long line keeps its beginning, and says
/// how much is missing. No character is cut in two.
#[derive(Clone)]
pub struct Tail(Arc<Following>);

struct Following {
    lines: Arc<Mutex<Lines>>,
    ended: watch::Receiver<bool>,
    task: AbortHandle,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Tail {
    /// Reads a stream in the background.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn follow(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Lines::default()));
        let (ends, ended) = watch::channel(false);
        let task = tokio::spawn(read(stream, Arc::clone(&lines), ends)).abort_handle();
        Self(Arc::new(Following { lines, ended, task }))
    }

    /// All that is kept.
    pub fn text(&self) -> String {
        self.last_lines(usize::MAX)
    }

    /// The last lines of what is kept.
    pub fn last_lines(&self, count: usize) -> String {
        self.0.lines.lock().last(count)
    }

    /// Waits until the stream has ended: nothing more will come.
    pub async fn ended(&self) {
        // It also has ended when its task is gone.
        let _ = self.0.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl std::fmt::Debug for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tail").field(&self.last_lines(1)).finish()
    }
}

async fn read(
    mut stream: impl AsyncRead + Send + Unpin,
    lines: Arc<Mutex<Lines>>,
    ends: watch::Sender<bool>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) => break,
            Ok(count) => lines.lock().push(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::debug!(%error, "a program's stream broke");
                break;
            }
        }
    }
    ends.send_replace(true);
}

/// Whole lines, and the one that is not complete yet.
#[derive(Default)]
struct Lines {
    whole: VecDeque<Line>,
    current: Line,
    /// The bytes of all whole lines.
    bytes: usize,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) {
        let mut pieces = chunk.split(|&byte| byte == b'\n');
        self.current.extend(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.end_line();
            self.current.extend(piece);
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.current);
        line.kept.shrink_to_fit();
        self.bytes += line.kept.len();
        self.whole.push_back(line);
        // What is shown has one more line, the one that is not complete.
        while self.whole.len() >= MAX_LINES || self.bytes > MAX_BYTES - 2 * MAX_LINE_BYTES {
            let Some(oldest) = self.whole.pop_front() else { break };
            self.bytes -= oldest.kept.len();
        }
    }

    fn last(&self, count: usize) -> String {
        let current = Some(self.current.text_so_far()).filter(|text| !text.is_empty());
        let whole = self.whole.iter().rev().map(Line::text);
        let mut lines: Vec<String> = current.into_iter().chain(whole).take(count).collect();
        lines.reverse();
        lines.join("\n")
    }
}

#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    /// Number of bytes dropped.
    cut: u64,
}

impl Line {
    fn extend(&mut self, piece: &[u8]) {
        let room = if self.cut > 0 { 0 } else { MAX_LINE_BYTES - self.kept.len() };
        let (kept, dropped) = piece.split_at(piece.len().min(room));
        self.kept.extend_from_slice(kept);
        if !dropped.is_empty() {
            if self.cut == 0 {
                self.drop_broken_end();
            }
            self.cut += dropped.len() as u64;
        }
    }

    /// Drops the last character where the cut went through it.
    fn drop_broken_end(&mut self) {
        let whole = without_broken_end(&self.kept).len();
        self.cut += (self.kept.len() - whole) as u64;
        self.kept.truncate(whole);
    }

    fn text(&self) -> String {
        self.show(&self.kept)
    }

    /// The same while the line goes on: the rest of its last character may still come.
    fn text_so_far(&self) -> String {
        self.show(without_broken_end(&self.kept))
    }

    fn show(&self, kept: &[u8]) -> String {
        let text = String::from_utf8_lossy(kept);
        match self.cut {
            0 => text.into_owned(),
            cut => format!("{text}… ({cut} bytes more)"),
        }
    }
}

/// The bytes without a last character that is not complete.
fn without_broken_end(bytes: &[u8]) -> &[u8] {
    let last = bytes.utf8_chunks().last();
    let broken = last.map_or(0, |chunk| chunk.invalid().len());
    let is_incomplete = std::str::from_utf8(&bytes[bytes.len() - broken..])
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
    if is_incomplete { &bytes[..bytes.len() - broken] } else { bytes }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
