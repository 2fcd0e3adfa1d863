//! Turns the bytes of an answer into events, in linear time and within a cap.
//!
//! - [`SseReader`]: server-sent events. It takes what servers really send: any line end, no last line end, comments as
//!   keep-alives, a byte order mark, characters cut in two by packets, and bytes that are not text.
//! - [`LineReader`]: one JSON object per line, as Ollama sends them.
//! - [`FrameReader`]: Amazon's binary event stream.

use std::collections::VecDeque;

use memchr::{memchr, memchr2};

/// Largest event. The largest honest ones repeat a whole answer at its end.
pub(super) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamEvent {
    /// The kind of event; empty if the server does not name it. A `!` before it marks an exception of Amazon's.
    pub(super) name: String,
    /// The payload.
    pub(super) data: String,
}

/// The reason why an event cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadEvent {
    /// It is larger than [`MAX_EVENT_BYTES`].
    TooLarge,
    /// Its lengths contradict each other.
    Malformed,
}

/// The way a service divides its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Sse,
    Lines,
    Frames,
}

/// A reader for any [`Framing`].
#[derive(Debug)]
pub(super) enum EventReader {
    Sse(SseReader),
    Lines(LineReader),
    Frames(FrameReader),
}

impl EventReader {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseReader::default()),
            Framing::Lines => Self::Lines(LineReader::default()),
            Framing::Frames => Self::Frames(FrameReader::default()),
        }
    }

    /// Takes a chunk; the events that it completes are appended to `events`.
    pub(super) fn push(&mut self, chunk: &[u8], events: &mut VecDeque<StreamEvent>) -> Result<(), BadEvent> {
        match self {
            Self::Sse(reader) => reader.push(chunk, events),
            Self::Lines(reader) => reader.push(chunk, events),
            Self::Frames(reader) => reader.push(chunk, events),
        }
    }

    /// Takes the end of the stream: what is left counts as an event, unless it is half a frame.
    pub(super) fn finish(&mut self, events: &mut VecDeque<StreamEvent>) {
        match self {
            Self::Sse(reader) => reader.finish(events),
            Self::Lines(reader) => reader.end_line(events),
            Self::Frames(_) => {}
        }
    }

    /// Returns whether a keep-alive came since this was asked last: a comment, or an empty line.
    pub(super) fn took_keep_alive(&mut self) -> bool {
        match self {
            Self::Sse(reader) => std::mem::take(&mut reader.had_keep_alive),
            Self::Lines(reader) => std::mem::take(&mut reader.had_keep_alive),
            Self::Frames(_) => false,
        }
    }

    /// Returns whether anything so far looked like a stream of events.
    pub(super) fn saw_field(&self) -> bool {
        match self {
            Self::Sse(reader) => reader.saw_field,
            Self::Lines(_) | Self::Frames(_) => true,
        }
    }
}

/// Joins chunks to lines and lines to server-sent events.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    past_first_line: bool,
    saw_field: bool,
    had_keep_alive: bool,
}

impl SseReader {
    fn push(&mut self, mut chunk: &[u8], events: &mut VecDeque<StreamEvent>) -> Result<(), BadEvent> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_carriage_return)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                chunk = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', chunk) else {
                return self.hold(chunk);
            };
            let (head, tail) = chunk.split_at(end);
            self.hold(head)?;
            self.after_carriage_return = tail.first() == Some(&b'\r');
            chunk = tail.get(1..).unwrap_or_default();
            self.end_line(events);
        }
        Ok(())
    }

    fn finish(&mut self, events: &mut VecDeque<StreamEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.end_event(events);
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), BadEvent> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(BadEvent::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<StreamEvent>) {
        let mut held = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.past_first_line, true);
        let line = match held.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if is_first => rest,
            _ => &held,
        };
        self.had_keep_alive |= line.first().is_none_or(|byte| *byte == b':');
        if line.is_empty() {
            self.end_event(events);
        } else {
            self.take_field(line);
        }
        // Keep the buffer: it is never larger than an event.
        held.clear();
        self.line = held;
    }

    fn take_field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, rest) = line.split_at(colon);
        let value = rest.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.take_data(value),
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"" | b"id" | b"retry" => {}
            _ => return,
        }
        self.saw_field = true;
    }

    fn take_data(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn end_event(&mut self, events: &mut VecDeque<StreamEvent>) {
        let name = std::mem::take(&mut self.name);
        if !std::mem::take(&mut self.has_data) {
            return;
        }
        let data = match String::from_utf8(std::mem::take(&mut self.data)) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        events.push_back(StreamEvent { name, data });
    }
}

/// Joins chunks to lines. A line is an event without a name.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    line: Vec<u8>,
    had_keep_alive: bool,
}

impl LineReader {
    fn push(&mut self, mut chunk: &[u8], events: &mut VecDeque<StreamEvent>) -> Result<(), BadEvent> {
        while let Some(end) = memchr(b'\n', chunk) {
            let (head, tail) = chunk.split_at(end);
            self.hold(head)?;
            self.end_line(events);
            chunk = tail.get(1..).unwrap_or_default();
        }
        self.hold(chunk)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), BadEvent> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(BadEvent::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<StreamEvent>) {
        let data = String::from_utf8_lossy(&self.line).trim().to_owned();
        self.line.clear();
        self.had_keep_alive |= data.is_empty();
        if !data.is_empty() {
            events.push_back(StreamEvent { name: String::new(), data });
        }
    }
}

/// Bytes of a frame around its headers and its payload: two lengths and two checksums.
const FRAME_OVERHEAD: usize = 16;
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// Splits Amazon's event stream: `total length, headers length, checksum, headers, payload, checksum`. The checksums
/// are not verified: TLS has done that, and a damaged payload is not valid JSON.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    held: Vec<u8>,
}

impl FrameReader {
    fn push(&mut self, chunk: &[u8], events: &mut VecDeque<StreamEvent>) -> Result<(), BadEvent> {
        self.held.extend_from_slice(chunk);
        let mut start = 0;
        while let Some((event, length)) = frame(self.held.get(start..).unwrap_or_default())? {
            events.push_back(event);
            start += length;
        }
        self.held.drain(..start);
        Ok(())
    }
}

/// Returns the first frame and its length, if it is complete.
fn frame(bytes: &[u8]) -> Result<Option<(StreamEvent, usize)>, BadEvent> {
    let Some((total, headers)) = length(bytes, 0).zip(length(bytes, 4)) else { return Ok(None) };
    if total > MAX_EVENT_BYTES {
        return Err(BadEvent::TooLarge);
    }
    if total < FRAME_OVERHEAD.saturating_add(headers) {
        return Err(BadEvent::Malformed);
    }
    let Some(frame) = bytes.get(..total) else { return Ok(None) };
    let payload = PRELUDE_BYTES + headers;
    let name = event_name(frame.get(PRELUDE_BYTES..payload).unwrap_or_default());
    let data = frame.get(payload..total - CHECKSUM_BYTES).unwrap_or_default();
    Ok(Some((StreamEvent { name, data: String::from_utf8_lossy(data).into_owned() }, total)))
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*four)).ok()
}

/// Reads the headers: a name and a string each, both with their lengths before them.
fn event_name(mut headers: &[u8]) -> String {
    let mut event = String::new();
    while let Some((name, value, rest)) = header(headers) {
        match name {
            b":event-type" => event = String::from_utf8_lossy(value).into_owned(),
            b":exception-type" | b":error-code" => event = format!("!{}", String::from_utf8_lossy(value)),
            _ => {}
        }
        headers = rest;
    }
    event
}

fn header(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    const STRING: u8 = 7;
    let (name_length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*name_length))?;
    let (kind, rest) = rest.split_first()?;
    let (value_length, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*value_length)))?;
    (*kind == STRING).then_some((name, value, rest))
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
