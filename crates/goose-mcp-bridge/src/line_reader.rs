//! Lines from a byte stream, without ever holding more than the cap.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::lines::MAX_LINE_BYTES;

const READ_BUFFER_BYTES: usize = 64 * 1024;

/// What the stream had next.
pub(super) enum LineRead {
    Line,
    Oversized,
    End,
}

/// Reads lines without ever holding more than the cap.
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    /// The line read so far.
    pub(super) line: Vec<u8>,
    /// The rest of an oversized line is being dropped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BUFFER_BYTES, reader),
            line: Vec::new(),
            skipping: false,
        }
    }

    /// Reads on until a line is complete, too long, or the stream ends. Cancel-safe.
    pub(super) async fn advance(&mut self) -> io::Result<LineRead> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                // A last line without its end is a message too.
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

    /// Forgets the line; a large buffer is given back.
    pub(super) fn clear(&mut self) {
        self.line.clear();
        if self.line.capacity() > READ_BUFFER_BYTES {
            self.line.shrink_to(READ_BUFFER_BYTES);
        }
    }
}
