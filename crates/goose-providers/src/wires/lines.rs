//! [`LineReader`]: bytes become lines of JSON, in linear time and within a cap.

use std::collections::VecDeque;

use crate::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent};

/// Joins chunks to lines. A line counts as an event without a name.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    line: Vec<u8>,
}

impl LineReader {
    /// Takes a chunk; the lines that it completes are appended to `events`.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        events: &mut VecDeque<SseEvent>,
    ) -> Result<(), EventTooLarge> {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            self.hold(head)?;
            self.end_line(events);
            rest = tail.get(1..).unwrap_or_default();
        }
        self.hold(rest)
    }

    /// Nothing more comes: what is there counts as a line.
    pub(super) fn finish(&mut self, events: &mut VecDeque<SseEvent>) {
        self.end_line(events);
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) {
        let data = String::from_utf8_lossy(&self.line).trim().to_owned();
        self.line.clear();
        if !data.is_empty() {
            events.push_back(SseEvent { name: String::new(), data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let (mut reader, mut events) = (LineReader::default(), VecDeque::new());
        for chunk in chunks {
            reader.push(chunk, &mut events).unwrap();
        }
        reader.finish(&mut events);
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn lines_are_joined_wherever_they_were_cut() {
        let text = "{\"a\":\"é\"}\r\n\n{\"b\":2}\n{\"c\"".as_bytes();
        let expected = ["{\"a\":\"é\"}", "{\"b\":2}", "{\"c\""];
        for at in 0..=text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(lines(&[head, tail]), expected, "cut at {at}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let (mut reader, mut events) = (LineReader::default(), VecDeque::new());
        let chunk = vec![b'x'; MAX_EVENT_BYTES];
        assert_eq!(reader.push(&chunk, &mut events), Ok(()));
        assert_eq!(reader.push(b"x", &mut events), Err(EventTooLarge));
    }
}
