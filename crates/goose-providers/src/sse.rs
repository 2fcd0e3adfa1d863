//! [`SseReader`]: bytes become server-sent events, in linear time and within a cap.
//!
//! It takes what servers really send: any line end, no last line end, comments as keep-alives, a byte order mark,
//! characters cut in two by packets, and bytes that are no text.

use std::collections::VecDeque;

/// How large one event may be. The largest honest ones repeat a whole answer at its end.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// What kind it is; empty where the server does not say.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) data: String,
}

/// An event was larger than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// Joins chunks to lines and lines to events.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    past_first_line: bool,
    saw_field: bool,
}

impl SseReader {
    /// Takes a chunk; the events that it completes are appended to `events`.
    pub(crate) fn push(
        &mut self,
        mut chunk: &[u8],
        events: &mut VecDeque<SseEvent>,
    ) -> Result<(), EventTooLarge> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_carriage_return)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                chunk = rest;
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
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

    /// Nothing more comes: what is there counts as an event, even without its line ends.
    pub(crate) fn finish(&mut self, events: &mut VecDeque<SseEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.end_event(events);
    }

    /// Whether anything so far looked like a stream of events.
    pub(crate) fn saw_field(&self) -> bool {
        self.saw_field
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) {
        let mut held = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.past_first_line, true);
        let line = match held.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if is_first => rest,
            _ => &held,
        };
        if line.is_empty() {
            self.end_event(events);
        } else {
            self.take_field(line);
        }
        // The buffer is used again; it is never larger than an event.
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

    fn end_event(&mut self, events: &mut VecDeque<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        if !std::mem::take(&mut self.has_data) {
            return;
        }
        let data = match String::from_utf8(std::mem::take(&mut self.data)) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        events.push_back(SseEvent { name, data });
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
