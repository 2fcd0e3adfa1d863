//! Answers as they come, in pieces of every size.

use goose_extension::{JsonObject, Tool};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn offer() -> Offer {
    Offer::of(&[Tool::new("developer__shell", "", JsonObject::new())], &[])
}

fn events(raw: &str, piece: usize) -> (Vec<ReplyEvent>, Option<ToolCall>) {
    let offer = offer();
    let mut reading = Reading::new(&offer, "id".to_owned());
    let events = raw.as_bytes().chunks(piece).flat_map(|bytes| reading.push(bytes)).collect();
    (events, reading.call(None))
}

fn joined(events: &[ReplyEvent]) -> String {
    let text = |event: &ReplyEvent| match event {
        ReplyEvent::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    events.iter().map(text).collect()
}

proptest! {
    #[test]
    fn the_final_answer_is_streamed_whole_whatever_the_pieces(text in any::<String>(), piece in 1_usize..40) {
        let raw = json!({"tool": FINAL_ANSWER, TEXT: text}).to_string();
        let (events, call) = events(&raw, piece);
        prop_assert_eq!(joined(&events), text);
        prop_assert!(call.is_none());
    }
}

#[test]
fn escapes_of_all_kinds_are_read() {
    let raw = r#"{"tool":"final_answer","text":"a\n\t\"\\\u00e9\ud83e\udebf!"}"#;
    for piece in 1..raw.len() {
        assert_eq!(joined(&events(raw, piece).0), "a\n\t\"\\é🪿!");
    }
}

#[test]
fn a_call_is_announced_and_then_whole() {
    let (events, call) = events(r#"{"tool":"shell","command":"ls \"a b\""}"#, 3);
    let started = ReplyEvent::CallStarted { id: "id".to_owned(), name: "developer__shell".to_owned() };
    assert_eq!(events, [started]);
    let arguments = Arguments::Object(json!({"command": "ls \"a b\""}).as_object().cloned().unwrap());
    let whole =
        ToolCall { id: "id".to_owned(), name: "developer__shell".to_owned(), arguments, opaque: None };
    assert_eq!(call, Some(whole));
}

#[test]
fn a_call_that_was_cut_is_never_made() {
    let offer = offer();
    let mut reading = Reading::new(&offer, "id".to_owned());
    reading.push(br#"{"tool":"shell","command":"rm -r bui"#);
    let call = reading.call(Some("It was cut.")).unwrap();
    assert_eq!(call.name, "developer__shell");
    assert!(matches!(call.arguments, Arguments::Malformed { why, .. } if why == "It was cut."));
}

#[test]
fn characters_wait_for_their_rest() {
    let mut text = FreeText::default();
    let goose = "🪿".as_bytes();
    assert_eq!(text.push(&goose[..2]), None);
    assert_eq!(text.push(&goose[2..]), Some("🪿".to_owned()));
    assert_eq!(text.push(&[0xFF]), Some("\u{FFFD}".to_owned()));
}
