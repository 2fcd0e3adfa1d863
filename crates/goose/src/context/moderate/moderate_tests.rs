//! Tests of compaction, with a scripted model.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use goose_extension::{MessageContent, Role, ToolOutput};
use goose_providers::{
    ModelInfo, ProviderError, ProviderResult, ReplyEvent, ReplyStream, Request, StopReason,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: serde_json::Value) -> Arc<Message> {
    let call = MessageContent::ToolCall { id: id.into(), name: name.into(), arguments, opaque: None };
    Arc::new(Message::new(Role::Assistant, [call]))
}

fn result(id: &str, text: String) -> Arc<Message> {
    Arc::new(Message::new(Role::User, [MessageContent::tool_result(id, ToolOutput::text(text))]))
}

/// Returns a task and `steps` calls with long results.
fn long_work(steps: usize, result_bytes: usize) -> Vec<Arc<Message>> {
    let mut messages = vec![Arc::new(Message::user("Count the stars."))];
    for step in 0..steps {
        let id = format!("call_{step}");
        messages.push(call(&id, "developer__shell", json!({"command": format!("count {step}")})));
        messages.push(result(&id, format!("{step} {}", "x".repeat(result_bytes))));
    }
    messages
}

/// Returns a meter for a service that counts `ratio` times the estimate.
fn meter(messages: &[Arc<Message>], ratio: u64) -> Meter {
    let mut meter = Meter::default();
    messages.iter().for_each(|message| meter.add(message));
    meter.count(&Usage { input: meter.used() * ratio, ..Usage::default() });
    meter
}

fn goal(meter: &Meter, limit: u64) -> Goal<'_> {
    Goal { meter, tokens: Budget::new(limit, None, None).goal() }
}

fn shrunk(messages: &[Arc<Message>], limit: u64, ratio: u64) -> Vec<Arc<Message>> {
    let (meter, mut units) = (meter(messages, ratio), Units::new(messages));
    shrink::older_results(&mut units, &goal(&meter, limit));
    units.messages()
}

/// Compacts messages with a scripted summarizer.
async fn made(
    messages: &[Arc<Message>],
    limit: u64,
    how: (Moderator, Pressure),
    model: &Scripted,
    ratio: u64,
) -> Result<Room, NoRoom> {
    let meter = meter(messages, ratio);
    let (moderator, pressure) = how;
    let retry = RetryPolicy { base: std::time::Duration::from_millis(1), ..RetryPolicy::default() };
    let book = |usage: Usage| {
        model.booked.fetch_add(usage.total(), Ordering::Relaxed);
    };
    let budget = Budget::new(limit, None, None);
    let request = CompactionRequest {
        moderator,
        pressure,
        meter: &meter,
        budget,
        summarizer: Summarizer { model, retry: &retry, book: &book },
    };
    make_room(messages, request).await
}

const TRUNCATE: (Moderator, Pressure) = (Moderator::Truncate, Pressure::Ahead);
const SUMMARIZE: (Moderator, Pressure) = (Moderator::Summarize, Pressure::Ahead);

/// Returns true if each call has exactly one result, in the next message, and each result has its call.
fn is_valid(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let results: Vec<String> = message
            .content
            .iter()
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        if results != open {
            return false;
        }
        open = message.call_ids().map(str::to_owned).collect();
    }
    open.is_empty() && messages[0].role == Role::User
}

#[test]
fn older_results_shrink_first_and_the_recent_ones_stay_word_for_word() {
    let messages = long_work(20, 4_000);

    let shorter = shrunk(&messages, 30_000, 1);

    assert!(is_valid(&shorter));
    assert_eq!(shorter.len(), messages.len());
    assert_eq!(shorter[messages.len() - 8..], messages[messages.len() - 8..]);
    assert!(tokens(&shorter[2]) < 100 && tokens(&messages[2]) > 900);
}

#[test]
fn only_as_many_results_shrink_as_it_takes_whatever_the_service_counts() {
    let messages = long_work(20, 4_000);
    for ratio in [1, 2, 3] {
        let all = meter(&messages, ratio).used();

        let shorter = shrunk(&messages, all * 2 - 1_000 * ratio, ratio);

        let changed = shorter.iter().zip(&messages).filter(|(now, before)| now != before).count();
        assert_eq!(changed, 1, "the goal was half a result below what there was ({ratio})");
    }
}

#[tokio::test]
async fn what_is_left_out_leaves_the_task_and_the_plan() {
    for (tool, argument) in [("developer__plan", "plan"), ("todo__todo_write", "content")] {
        let mut messages = long_work(10, 4_000);
        messages.insert(1, result("p", "noted".into()));
        messages.insert(1, call("p", tool, json!({ argument: "- [ ] look up" })));

        let room = made(&messages, 9_000, TRUNCATE, &Scripted::silent(), 1).await.unwrap();

        assert!(is_valid(&room.messages));
        assert!(room.messages.len() < messages.len());
        let opening = room.messages[0].text();
        assert!(
            opening.contains("Count the stars.") && opening.contains("- [ ] look up"),
            "{tool}: {opening}"
        );
        assert_eq!(room.messages[room.messages.len() - 8..], messages[messages.len() - 8..]);
    }
}

/// A user's message after a cancelled call is in the same message as the results, and is still a request.
#[tokio::test]
async fn a_request_beside_results_outlives_them() {
    for how in [TRUNCATE, SUMMARIZE] {
        let mut messages = long_work(40, 4_000);
        Arc::make_mut(&mut messages[4]).content.push(MessageContent::text("Rather count the planets."));

        let room = made(&messages, 9_000, how, &Scripted::saying("They counted."), 1).await.unwrap();

        let opening = room.messages[0].text();
        assert!(opening.contains("Count the stars."), "{opening}");
        assert!(opening.contains("Rather count the planets."), "{opening}");
        assert!(!opening.contains("xxx"), "the result is gone: {opening}");
    }
}

/// Text that goose wrote in the user's role is not a request.
#[tokio::test]
async fn a_reminder_is_no_request() {
    let mut messages = long_work(12, 4_000);
    Arc::make_mut(&mut messages[4]).content.push(crate::session::synthetic("Your last answer was empty."));

    let room = made(&messages, 9_000, TRUNCATE, &Scripted::silent(), 1).await.unwrap();

    assert!(!room.messages[0].text().contains("empty"), "{}", room.messages[0].text());
}

/// If the service's limit is lower than stated, recent results are cut as well.
#[tokio::test]
async fn what_was_refused_becomes_shorter_although_it_should_fit() {
    let messages = long_work(3, 100_000);
    let before = meter(&messages, 1).used();
    let half = Budget::new(before, None, None).limit;
    let how = (Moderator::Summarize, Pressure::Now);

    let room = made(&messages, half, how, &Scripted::silent(), 1).await.unwrap();

    assert!(is_valid(&room.messages));
    assert!(meter(&room.messages, 1).used() < before / 2);
}

#[tokio::test]
async fn a_recent_result_that_fills_the_context_alone_is_cut_at_last() {
    let messages = long_work(1, 400_000);

    let room = made(&messages, 20_000, TRUNCATE, &Scripted::silent(), 1).await.unwrap();

    assert!(is_valid(&room.messages));
    assert!(meter(&room.messages, 1).used() < 20_000);
}

#[tokio::test]
async fn a_request_that_never_fits_is_an_honest_error() {
    let messages = vec![Arc::new(Message::user("x".repeat(400_000)))];

    let error = made(&messages, 20_000, TRUNCATE, &Scripted::silent(), 1).await.unwrap_err();

    assert_eq!(error, NoRoom::TooLong { needed: 100_004, limit: 18_000 });
}

#[tokio::test]
async fn a_summarizer_that_stumbles_is_asked_again_and_paid() {
    let messages = long_work(40, 4_000);
    let model = Scripted::new([None, None, Some(("They counted.", StopReason::EndTurn))]);

    let room = made(&messages, 9_000, SUMMARIZE, &model, 1).await.unwrap();

    assert!(room.messages[0].text().contains("They counted."));
    assert_eq!((room.notice, model.booked.load(Ordering::Relaxed)), (None, 10));
}

#[tokio::test]
async fn a_refusal_is_no_summary() {
    let messages = long_work(40, 4_000);
    let model = Scripted::new([Some(("I would rather not.", StopReason::Refused))]);

    let room = made(&messages, 9_000, SUMMARIZE, &model, 1).await.unwrap();

    assert!(!room.messages[0].text().contains("rather not"));
    assert!(room.notice.is_some_and(|notice| notice.contains("refused")));
    assert_eq!(model.booked.load(Ordering::Relaxed), 10);
}

#[tokio::test]
async fn the_summarizer_is_not_asked_about_its_own_words() {
    let messages = made(&long_work(12, 4_000), 6_000, SUMMARIZE, &Scripted::saying("They counted."), 1).await;
    let messages = messages.unwrap().messages;
    let model = Scripted::saying("again");

    let room = made(&messages, 5_000, SUMMARIZE, &model, 1).await.unwrap();

    assert_eq!((model.booked.load(Ordering::Relaxed), room.messages), (0, messages));
}

/// Steps between two compactions.
#[derive(Debug, Clone)]
enum Piece {
    Call(usize),
    Plan(usize),
    /// User's text beside the last results, as after a cancel.
    Interjection(usize),
    Talk(usize),
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = prop_oneof![
        6 => (0..9_000_usize).prop_map(Piece::Call),
        1 => (0..600_usize).prop_map(Piece::Plan),
        1 => (0..900_usize).prop_map(Piece::Interjection),
        1 => (0..900_usize).prop_map(Piece::Talk),
    ];
    prop::collection::vec(piece, 3..14)
}

/// Growing conversation, and the parts of it that every compaction must keep.
struct Story {
    messages: Vec<Arc<Message>>,
    next: usize,
    request: String,
    plan: Option<String>,
}

impl Story {
    fn new(task: &str) -> Self {
        Self { messages: vec![Arc::new(Message::user(task))], next: 0, request: task.to_owned(), plan: None }
    }

    fn words(&mut self, kind: &str, filler: usize) -> String {
        self.next += 1;
        format!("{kind} {}{}", self.next, "w".repeat(filler))
    }

    fn ask(&mut self, words: String) {
        match self.messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => Arc::make_mut(last).content.push(MessageContent::text(&words)),
            None => self.messages.push(Arc::new(Message::user(&words))),
        }
        self.request = words;
    }

    fn go_on(&mut self, piece: &Piece) {
        match piece {
            Piece::Call(bytes) => {
                let id = self.words("id", 0);
                self.messages.push(call(&id, "developer__shell", json!({"command": "count"})));
                self.messages.push(result(&id, "x".repeat(*bytes)));
            }
            Piece::Plan(filler) => {
                let (id, plan) = (self.words("id", 0), self.words("plan", *filler));
                self.messages.push(call(&id, "developer__plan", json!({"plan": &plan})));
                self.messages.push(result(&id, "noted".to_owned()));
                self.plan = Some(plan);
            }
            Piece::Interjection(filler) => {
                let words = self.words("request", *filler);
                self.ask(words);
            }
            Piece::Talk(filler) => {
                if self.messages.last().is_some_and(|last| last.role == Role::User) {
                    self.messages.push(Arc::new(Message::assistant("Here you are.")));
                }
                let words = self.words("request", *filler);
                self.ask(words);
            }
        }
    }
}

fn alternates(messages: &[Arc<Message>]) -> bool {
    messages.windows(2).all(|pair| pair[0].role != pair[1].role)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any number of compactions, the task, the newest request and the newest plan remain, and it is
    /// shorter.
    #[test]
    fn what_matters_outlives_every_compaction(
        rounds in prop::collection::vec(pieces(), 1..6),
        ratio in 1..4_u64,
        is_summarized: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let how = if is_summarized { SUMMARIZE } else { TRUNCATE };
        let mut story = Story::new("the task: count the stars");
        for round in &rounds {
            round.iter().for_each(|piece| story.go_on(piece));
            if story.messages.last().is_some_and(|last| last.role == Role::Assistant) {
                continue;
            }
            let before = meter(&story.messages, ratio).used();
            let model = Scripted::saying("The stars were counted.");
            let Ok(room) = runtime.block_on(made(&story.messages, before, how, &model, ratio)) else { continue };
            prop_assert!(is_valid(&room.messages) && alternates(&room.messages));
            let all = serde_json::to_string(&room.messages).unwrap();
            prop_assert!(all.contains("the task: count the stars"), "{all}");
            prop_assert!(all.contains(&story.request), "{} in {all}", story.request);
            prop_assert!(story.plan.as_ref().is_none_or(|plan| all.contains(plan)), "{all}");
            let after = meter(&story.messages, ratio).would_use(room.messages.iter().map(AsRef::as_ref));
            prop_assert!(after < before || room.messages == story.messages, "{before} {after}");
            story.messages = room.messages;
        }
    }
}

fn tokens(message: &Message) -> u64 {
    crate::context::tokens::of_message(message)
}

/// Model that answers from a list; `None` is a temporary error. Each answer costs 10 tokens.
struct Scripted {
    info: ModelInfo,
    answers: Mutex<VecDeque<Option<(&'static str, StopReason)>>>,
    booked: AtomicU64,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Option<(&'static str, StopReason)>>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self { info: ModelInfo::new("scripted", 100_000), answers, booked: AtomicU64::new(0) }
    }

    fn silent() -> Self {
        Self::new([])
    }

    fn saying(text: &'static str) -> Self {
        Self::new([Some((text, StopReason::EndTurn))])
    }
}

#[async_trait::async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(&self, _: Request<'_>) -> ProviderResult<ReplyStream> {
        let answer = self.answers.lock().unwrap().pop_front().flatten();
        let (text, stop) =
            answer.ok_or_else(|| ProviderError::Network { message: "no connection".to_owned() })?;
        let events = [
            Ok(ReplyEvent::Text(text.to_owned())),
            Ok(ReplyEvent::Usage(Usage { input: 10, ..Usage::default() })),
            Ok(ReplyEvent::Finished(stop)),
        ];
        Ok(Box::pin(futures::stream::iter(events)))
    }
}
