//! The reader gives the same events however the bytes are cut.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let mut reader = SseReader::default();
    let mut events = VecDeque::new();
    for chunk in chunks {
        reader.push(chunk, &mut events).unwrap();
    }
    reader.finish(&mut events);
    events.into_iter().map(|event| (event.name, event.data)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect()
}

#[test]
fn all_line_ends_and_comments_are_taken() {
    for end in ["\n", "\r\n", "\r"] {
        let text =
            ["\u{feff}: hello", "event: a", "data: 1", "", ":ping", "", "data:2", "data: 3", "id: 7", "", ""];
        let text = text.join(end);
        assert_eq!(read(&[text.as_bytes()]), pairs(&[("a", "1"), ("", "2\n3")]), "{end:?}");
    }
}

#[test]
fn the_last_event_needs_no_line_end() {
    assert_eq!(read(&[b"data: 1\n\ndata: [DONE]"]), pairs(&[("", "1"), ("", "[DONE]")]));
}

#[test]
fn what_is_no_text_is_replaced() {
    assert_eq!(read(&[b"data: a\xffb\n\n"]), pairs(&[("", "a\u{fffd}b")]));
}

#[test]
fn an_event_has_a_cap_however_many_lines_it_has() {
    let mut reader = SseReader::default();
    let mut events = VecDeque::new();
    let line = [b"data: ".as_slice(), &[b'x'; 1024 * 1024], b"\n"].concat();
    let taken = (0..100).take_while(|_| reader.push(&line, &mut events).is_ok()).count();
    assert!((10..=16).contains(&taken), "{taken}");
    assert!(events.is_empty());
}

#[test]
fn something_else_is_known_as_such() {
    let mut reader = SseReader::default();
    let mut events = VecDeque::new();
    reader.push(b"upstream is down\n\n", &mut events).unwrap();
    assert!(events.is_empty() && !reader.saw_field);
    reader.push(b": ping\n\n", &mut events).unwrap();
    assert!(reader.saw_field);
}

proptest! {
    #[test]
    fn cuts_change_nothing(cuts in prop::collection::vec(0_usize..64, 0..8)) {
        let bytes = "event: é\r\ndata: {\"a\":\"日本\"}\r\n\r\n: k\n\ndata: x\rdata: y\r\rdata: z".as_bytes();
        let whole = read(&[bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&chunks), whole);
    }
}

fn lines(chunks: &[&[u8]]) -> Vec<String> {
    let (mut reader, mut events) = (LineReader::default(), VecDeque::new());
    for chunk in chunks {
        reader.push(chunk, &mut events).unwrap();
    }
    reader.end_line(&mut events);
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
    assert_eq!(reader.push(b"x", &mut events), Err(BadEvent::TooLarge));
}

/// A frame with a wrong checksum: nothing looks at it.
fn frame_bytes(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut written = Vec::new();
    for (name, value) in headers {
        written.push(u8::try_from(name.len()).unwrap());
        written.extend_from_slice(name.as_bytes());
        written.push(7);
        written.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        written.extend_from_slice(value.as_bytes());
    }
    let total = u32::try_from(FRAME_OVERHEAD + written.len() + payload.len()).unwrap();
    let lengths = [total.to_be_bytes(), u32::try_from(written.len()).unwrap().to_be_bytes()].concat();
    [&lengths, &[0; 4][..], &written, payload.as_bytes(), &[0; 4]].concat()
}

#[test]
fn frames_are_joined_wherever_they_were_cut() {
    let event = [(":message-type", "event"), (":event-type", "messageStart")];
    let exception = [(":message-type", "exception"), (":exception-type", "throttlingException")];
    let bytes = [frame_bytes(&event, "{\"a\":\"é\"}"), frame_bytes(&exception, "{}")].concat();
    for at in 0..=bytes.len() {
        let (mut reader, mut events) = (FrameReader::default(), VecDeque::new());
        let (head, tail) = bytes.split_at(at);
        reader.push(head, &mut events).unwrap();
        reader.push(tail, &mut events).unwrap();
        let read: Vec<(String, String)> = events.into_iter().map(|event| (event.name, event.data)).collect();
        assert_eq!(read, pairs(&[("messageStart", "{\"a\":\"é\"}"), ("!throttlingException", "{}")]), "{at}");
    }
}

#[test]
fn frames_with_impossible_lengths_are_refused() {
    let read = |bytes: &[u8]| FrameReader::default().push(bytes, &mut VecDeque::new());
    assert_eq!(read(&[0xff; 64]), Err(BadEvent::TooLarge));
    assert_eq!(read(&[0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0]), Err(BadEvent::Malformed));
    // Headers that claim to be longer than they are name nothing.
    let mut broken = frame_bytes(&[(":event-type", "messageStart")], "{}");
    broken[12] = 200;
    assert_eq!(read(&broken), Ok(()));
}
