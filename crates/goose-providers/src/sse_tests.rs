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
    assert!(events.is_empty() && !reader.saw_field());
    reader.push(b": ping\n\n", &mut events).unwrap();
    assert!(reader.saw_field());
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
