//! Tests of the event log: readers, lag, joined text, and questions.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use goose_extension::{ElicitAction, Elicited, JsonObject, Message, RichRenderable, ToolOutput};
use serde_json::json;

use super::*;
use crate::exchange::event::{
    Answer, Approval, ConsentRequest, Cost, Decision, ElicitationRequest, Failure, Outcome, PlanDecision,
    ToolEnd,
};

fn hub() -> Arc<EventHub> {
    EventHub::new("20261115_1".parse().unwrap(), 0, None)
}

fn sink(hub: &Arc<EventHub>) -> EventSink {
    hub.begin_reply(CancellationToken::new())
}

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn progress(message: impl ToString) -> Event {
    Event::ToolProgress { id: "1".to_owned(), message: message.to_string() }
}

fn approval(id: &str) -> Event {
    let (id, tool) = (id.to_owned(), "developer__shell".to_owned());
    let (arguments, reasons) = (JsonObject::new(), vec!["it writes".to_owned()]);
    let (always, session, preview) = (Vec::new(), Vec::new(), None);
    Event::Approval(Approval { id, tool, arguments, reasons, always, session, preview })
}

fn elicitation() -> Event {
    let question =
        json!({"mode": "url", "message": "Log in", "url": "https://example.com/", "elicitationId": "1"});
    Event::Elicitation(ElicitationRequest {
        id: "call/1".to_owned(),
        call: "call".to_owned(),
        extension: "server".to_owned(),
        question: serde_json::from_value(question).unwrap(),
    })
}

/// Returns all events that can be read without waiting.
fn read(reader: &mut EventReader) -> Vec<Event> {
    std::iter::from_fn(|| reader.next().now_or_never().flatten()).map(|record| record.event.clone()).collect()
}

fn joined(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| if let Event::Text(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

#[test]
fn every_reader_reads_everything() {
    let hub = hub();
    let (mut one, mut two) = (hub.follow(), hub.follow());
    let sink = sink(&hub);
    sink.emit(Event::Asking { turn: 1 });
    sink.emit(text("Hello "));
    assert_eq!(read(&mut one), [Event::Asking { turn: 1 }, text("Hello ")]);
    sink.emit(text("world"));
    drop(one);
    assert_eq!(read(&mut two), [Event::Asking { turn: 1 }, text("Hello "), text("world")]);
}

#[test]
fn a_late_reader_finds_the_turn_under_way_with_its_text_joined() {
    let hub = hub();
    let sink = sink(&hub);
    sink.emit(Event::Asking { turn: 1 });
    sink.emit(text("old"));
    sink.emit(Event::Asking { turn: 2 });
    ["a", "b", "c"].into_iter().for_each(|piece| sink.emit(text(piece)));
    let mut late = hub.subscribe(None);
    sink.emit(text("d"));
    assert_eq!(read(&mut late), [Event::Asking { turn: 2 }, text("abcd")]);
    sink.emit(text("e"));
    assert_eq!(read(&mut late), [text("e")]);
    sink.emit(Event::Finished(Outcome::Cancelled));
    assert_eq!(read(&mut hub.subscribe(None)), []);
}

#[test]
fn a_reader_continues_after_a_number() {
    let hub = hub();
    let sink = sink(&hub);
    sink.emit(Event::Asking { turn: 1 });
    let mut first = hub.subscribe(None);
    sink.emit(text("a"));
    let number = first.next().now_or_never().flatten().map(|record| record.number);
    sink.emit(text("b"));
    assert_eq!(joined(&read(&mut hub.subscribe(number))), "ab");
    assert_eq!(joined(&read(&mut hub.subscribe(number.map(|number| number + 1)))), "b");
    assert_eq!(read(&mut hub.subscribe(Some(1_000))), []);
}

#[test]
fn many_pieces_that_wait_come_as_one() {
    let hub = hub();
    let mut reader = hub.follow();
    let sink = sink(&hub);
    (0..1_000).for_each(|_| sink.emit(text("x")));
    assert_eq!(read(&mut reader), [text(&"x".repeat(1_000))]);
}

#[test]
fn progress_goes_before_results_and_no_gap_is_silent() {
    let hub = hub();
    let mut slow = hub.follow();
    let sink = sink(&hub);
    sink.emit(Event::Asking { turn: 1 });
    (0..10 * MAX_ENTRIES).for_each(|n| sink.emit(progress(n)));
    sink.emit(Event::Notice("end".to_owned()));
    let events = read(&mut slow);
    assert_eq!(events[0], Event::Asking { turn: 1 });
    assert!(matches!(events[1], Event::Lagged { missed } if missed > MAX_ENTRIES as u64), "{:?}", events[1]);
    assert_eq!(events.last(), Some(&Event::Notice("end".to_owned())));
    assert!(events.len() <= MAX_ENTRIES + 2);
}

#[test]
fn what_waits_for_a_stuck_reader_is_bounded() {
    let hub = hub();
    let mut stuck = hub.follow();
    let sink = sink(&hub);
    let question = sink.ask("q".to_owned(), approval("q"));
    for turn in 0..40 {
        sink.emit(Event::Asking { turn });
        let output = ToolOutput::text("x".repeat(1024 * 1024));
        let (id, name) = (turn.to_string(), "server__long".to_owned());
        sink.emit(Event::ToolFinished { id, name, output, end: ToolEnd::Ran });
    }
    assert!(hub.log.lock().bytes <= MAX_BYTES);
    let events = read(&mut stuck);
    assert!(matches!(events[..2], [Event::Lagged { .. }, Event::Approval(_)]), "the question is still open");
    assert!(matches!(events.last(), Some(Event::ToolFinished { id, .. }) if id == "39"));
    drop((question, stuck));
    assert!(hub.log.lock().bytes <= 2 * 1024 * 1024, "only the turn under way stays");
}

#[test]
fn steps_parents_and_replies_are_named() {
    let hub = hub();
    let mut reader = hub.follow();
    hub.stored(7);
    let _first = sink(&hub);
    let sink = sink(&hub);
    sink.inside("call").emit(text("a"));
    sink.emit(text("b"));
    let record = reader.next().now_or_never().flatten().unwrap();
    assert_eq!(
        (record.number, record.reply, record.step, record.parent_call.as_deref()),
        (1, 2, 7, Some("call"))
    );
    assert_eq!(read(&mut reader), [text("b")]);
}

#[test]
fn log_entries_and_nested_calls_wait_to_be_stored() {
    let hub = hub();
    let sink = sink(&hub);
    let (id, name) = (|| "1".to_owned(), || "server__echo".to_owned());
    let started = || Event::ToolStarted { id: id(), name: name(), arguments: JsonObject::new() };
    let ended =
        Event::ToolFinished { id: id(), name: name(), output: ToolOutput::text("x"), end: ToolEnd::Ran };
    sink.emit(started());
    sink.emit(Event::Log { call: Some(id()), content: "a plan".into() });
    sink.emit(Event::Log { call: Some(id()), content: "x".repeat(MAX_STORED_ENTRY + 1).into() });
    sink.inside("0").emit(started());
    sink.inside("0").emit(ended);
    let steps = hub.take_unsaved();
    assert!(
        matches!(&steps[..], [Step::Log { .. }, Step::NestedCall { parent, .. }, Step::NestedResult { .. }] if parent == "0"),
        "{steps:?}"
    );
    assert!(hub.take_unsaved().is_empty());
    (0..2 * MAX_UNSAVED).for_each(|_| sink.emit(Event::Log { call: None, content: "x".into() }));
    assert_eq!(hub.take_unsaved().len(), MAX_UNSAVED);
}

#[tokio::test]
async fn the_first_answer_counts_and_none_after_a_cancel() {
    let hub = hub();
    let cancellation = CancellationToken::new();
    let sink = hub.begin_reply(cancellation.clone());
    let mut question = sink.ask("1".to_owned(), approval("1"));
    let mut late = hub.subscribe(None);
    assert!(matches!(read(&mut late)[..], [Event::Approval(_)]), "a late reader finds it");
    assert!(!hub.answer("2", Decision::Allow.into()));
    assert!(hub.answer("1", Decision::Allow.into()));
    assert!(!hub.answer("1", Decision::Always.into()));
    assert_eq!(question.answer().await, Some(Decision::Allow.into()));
    assert_eq!(read(&mut late), [Event::QuestionClosed { id: "1".to_owned() }]);

    let question = sink.ask("2".to_owned(), approval("2"));
    let closed = hub.closed("2").unwrap();
    cancellation.cancel();
    assert!(!hub.answer("2", Decision::Allow.into()));
    assert_eq!(hub.questions().len(), 1);
    drop(question);
    assert!(hub.questions().is_empty() && closed.is_cancelled());
}

#[tokio::test]
async fn a_reader_is_woken_and_ends_with_the_log() {
    let hub = hub();
    let mut reader = hub.follow();
    let waiting = tokio::spawn(async move {
        let first = reader.next().await.map(|record| record.event.clone());
        (first, reader.next().await)
    });
    tokio::task::yield_now().await;
    sink(&hub).emit(text("a"));
    tokio::task::yield_now().await;
    hub.close();
    assert_eq!(waiting.await.unwrap(), (Some(text("a")), None));
}

/// Returns one event of each kind.
fn one_of_each() -> Vec<Event> {
    let id = || "call".to_owned();
    let name = || "server__tool".to_owned();
    let cost = Cost { dollars: Some(0.5), context_used: 10, context_limit: 100, ..Cost::default() };
    let failure = Failure { message: "broken".to_owned(), hint: Some("repair it".to_owned()) };
    let outcomes = [
        Outcome::Done { structured: Some(json!({"n": 1})) },
        Outcome::Done { structured: None },
        Outcome::MaxTurns(3),
        Outcome::MaxTokens,
        Outcome::Refused,
        Outcome::Empty,
        Outcome::Cancelled,
        Outcome::Failed(failure),
    ];
    let mut output = ToolOutput::text("out");
    output.structured = Some(json!([1]));
    let mut events = vec![
        Event::Prompt(Arc::new(Message::user("hello"))),
        Event::Asking { turn: 2 },
        text("hi"),
        Event::Thinking("hm".to_owned()),
        Event::Retrying { reason: "slow".to_owned(), delay: Duration::from_millis(1_500), attempt: 2 },
        Event::Restarted,
        Event::Answered(Arc::new(Message::assistant("hi"))),
        approval("call"),
        Event::QuestionClosed { id: id() },
        Event::ToolStarted { id: id(), name: name(), arguments: JsonObject::new() },
        progress("half"),
        Event::Log { call: Some(id()), content: RichRenderable::from("a plan") },
        Event::Log { call: None, content: RichRenderable::from("a note") },
        Event::Status { call: Some(id()), message: "shell command running".to_owned() },
        elicitation(),
        Event::Consent(ConsentRequest {
            id: id(),
            call: id(),
            extension: "server".to_owned(),
            prompt: "Say hello".to_owned(),
        }),
        Event::ToolFinished { id: id(), name: name(), output, end: ToolEnd::Ran },
        Event::Cost(cost),
        Event::Compacted { before: 10, after: 5 },
        Event::Notice("note".to_owned()),
        Event::Lagged { missed: 3 },
    ];
    events.extend(outcomes.map(Event::Finished));
    events
}

#[test]
fn every_event_can_be_written_and_read() {
    let hub = hub();
    let mut reader = hub.follow();
    let sink = sink(&hub).inside("parent");
    one_of_each().into_iter().for_each(|event| sink.emit(event));
    let mut count = 0;
    while let Some(record) = reader.next().now_or_never().flatten() {
        let json = serde_json::to_string(&record).unwrap();
        let again: EventRecord = serde_json::from_str(&json).unwrap();
        assert_eq!(again, *record, "{json}");
        count += 1;
    }
    assert_eq!(count, one_of_each().len());
}

#[test]
fn a_record_is_flat_json() {
    let hub = hub();
    let mut reader = hub.follow();
    sink(&hub).emit(Event::Asking { turn: 1 });
    let record = reader.next().now_or_never().flatten().unwrap();
    let expected = json!({"epoch": record.epoch, "number": 1, "reply": 1, "step": 0, "session": "20261115_1", "event": "asking",
        "data": {"turn": 1}});
    assert_eq!(serde_json::to_value(&*record).unwrap(), expected);
}

#[test]
fn answers_and_delays_are_tagged_json() {
    let answers: [(Answer, serde_json::Value); 4] = [
        (Decision::Allow.into(), json!({"answer": "decision", "value": {"decision": "allow"}})),
        (Answer::Consent(true), json!({"answer": "consent", "value": true})),
        (
            Elicited::new(ElicitAction::Decline).into(),
            json!({"answer": "elicited", "value": {"action": "decline"}}),
        ),
        (PlanDecision::AsOne.into(), json!({"answer": "plan", "value": {"plan": "as_one"}})),
    ];
    for (answer, expected) in answers {
        assert_eq!(serde_json::to_value(&answer).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Answer>(expected).unwrap(), answer);
    }
    let retrying =
        Event::Retrying { reason: "slow".to_owned(), delay: Duration::from_millis(1_500), attempt: 2 };
    let expected = json!({"event": "retrying", "data": {"reason": "slow", "delay_ms": 1_500, "attempt": 2}});
    assert_eq!(serde_json::to_value(retrying).unwrap(), expected);
}

#[test]
fn a_position_is_in_the_log_or_before_it() {
    let hub = hub();
    let events = sink(&hub);
    hub.stored(4);
    events.emit(text("a"));
    events.emit(Event::Asking { turn: 1 });
    hub.stored(6);
    events.emit(text("b"));
    let position = |epoch, number| EventPosition { epoch, number, step: 4 };
    let (mut reader, stored) = hub.resume(Some(position(hub.epoch, 2)));
    assert_eq!((joined(&read(&mut reader)), stored), ("b".to_owned(), None));
    for other in [None, Some(position(hub.epoch + 1, 2)), Some(position(hub.epoch, 9)), Some(position(0, 0))]
    {
        let (mut reader, stored) = hub.resume(other);
        assert_eq!((joined(&read(&mut reader)), stored), ("b".to_owned(), Some(4)), "{other:?}");
    }
    let written = position(7, 2).to_string();
    assert_eq!((written.as_str(), written.parse()), ("7.2.4", Ok(position(7, 2))));
    for bad in ["", "1.2", "1.2.3.4", "a.2.3", "-1.2.3"] {
        assert_eq!(bad.parse::<EventPosition>(), Err(BadPosition), "{bad}");
    }
}
