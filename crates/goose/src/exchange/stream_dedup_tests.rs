//! Tests of [`StreamDedup`]: the user sees the last answer, once.

use proptest::prelude::*;

use super::*;

/// Returns the text on the screen after these events.
fn read(events: &[Event]) -> Vec<(Kind, String)> {
    let mut shown = StreamDedup::default();
    for event in events {
        match event {
            Event::Restarted => shown = StreamDedup::default(),
            Event::Text(text) => shown.push(Kind::Text, text),
            Event::Thinking(text) => shown.push(Kind::Thinking, text),
            _ => {}
        }
    }
    shown.pieces
}

fn text(piece: &str) -> (Kind, String) {
    (Kind::Text, piece.to_owned())
}

fn show(attempts: &[Vec<(Kind, String)>]) -> Vec<Event> {
    let mut shown = StreamDedup::default();
    let mut events = Vec::new();
    for attempt in attempts {
        shown.again();
        for (kind, piece) in attempt {
            events.extend(shown.more(*kind, piece.clone()));
        }
    }
    events.extend(shown.end());
    events
}

#[test]
fn the_same_beginning_is_not_shown_twice() {
    let events = show(&[vec![text("Hel"), text("lo wor")], vec![text("Hello"), text(" world!")]]);
    let told: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(told, [r#"Text("Hel")"#, r#"Text("lo wor")"#, r#"Text("ld!")"#]);
}

#[test]
fn another_answer_is_shown_whole() {
    let events = show(&[vec![text("Hello")], vec![text("Help"), text("!")]]);
    let told: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(told, [r#"Text("Hello")"#, "Restarted", r#"Text("Help")"#, r#"Text("!")"#]);
}

#[test]
fn a_shorter_answer_is_another_answer() {
    let events = show(&[vec![text("Hello")], vec![text("Hell")]]);
    assert_eq!(read(&events), [text("Hell")]);
}

fn any_pieces() -> impl Strategy<Value = Vec<(Kind, String)>> {
    let kind = prop_oneof![Just(Kind::Text), Just(Kind::Thinking)];
    prop::collection::vec((kind, "[aé]{1,3}"), 0..5)
}

proptest! {
    /// After any number of broken streams, the user has read the last answer.
    #[test]
    fn what_is_read_is_the_last_answer(attempts in prop::collection::vec(any_pieces(), 1..5)) {
        let mut last = StreamDedup::default();
        attempts[attempts.len() - 1].iter().for_each(|(kind, piece)| last.push(*kind, piece));
        prop_assert_eq!(read(&show(&attempts)), last.pieces);
    }
}
