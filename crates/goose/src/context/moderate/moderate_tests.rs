//! Tests of making room that need no model: shrinking and leaving out.

use goose_extension::{MessageContent, Role, ToolOutput};
use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: serde_json::Value) -> Arc<Message> {
    let call = MessageContent::ToolCall { id: id.into(), name: name.into(), arguments, opaque: None };
    Arc::new(Message::new(Role::Assistant, [call]))
}

fn result(id: &str, text: String) -> Arc<Message> {
    Arc::new(Message::new(Role::User, [MessageContent::tool_result(id, ToolOutput::text(text))]))
}

/// A task and `steps` calls with long results.
fn long_work(steps: usize, result_bytes: usize) -> Vec<Arc<Message>> {
    let mut messages = vec![Arc::new(Message::user("Count the stars."))];
    for step in 0..steps {
        let id = format!("call_{step}");
        messages.push(call(&id, "developer__shell", json!({"command": format!("count {step}")})));
        messages.push(result(&id, format!("{step} {}", "x".repeat(result_bytes))));
    }
    messages
}

fn making(messages: &[Arc<Message>], limit: u64) -> (Meter, Budget) {
    let mut meter = Meter::default();
    messages.iter().for_each(|message| meter.add(message));
    (meter, Budget::new(limit, None, None))
}

fn room(
    messages: &[Arc<Message>],
    limit: u64,
    cut: fn(&Units<'_>, &Goal<'_>) -> Vec<Arc<Message>>,
) -> Vec<Arc<Message>> {
    let (meter, budget) = making(messages, limit);
    cut(&Units::of(messages), &Goal { meter: &meter, tokens: budget.goal() })
}

fn truncated(units: &Units<'_>, goal: &Goal<'_>) -> Vec<Arc<Message>> {
    truncate::oldest(units, goal).messages
}

/// Each call has exactly one result, in the message after it, and each result its call.
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

    let shorter = room(&messages, 30_000, shrink::older_results);

    assert!(is_valid(&shorter));
    assert_eq!(shorter.len(), messages.len());
    assert_eq!(shorter[messages.len() - 8..], messages[messages.len() - 8..]);
    assert!(tokens(&shorter[2]) < 100 && tokens(&messages[2]) > 900);
}

#[test]
fn only_as_many_results_shrink_as_it_takes() {
    let messages = long_work(20, 4_000);
    let all = making(&messages, 1).0.used();

    let shorter = room(&messages, all * 2 - 1_000, shrink::older_results);

    let shrunk = shorter.iter().zip(&messages).filter(|(now, before)| now != before).count();
    assert_eq!(shrunk, 1, "the goal was half a result below what there was");
}

#[test]
fn what_is_left_out_leaves_the_task_and_the_plan() {
    let mut messages = long_work(10, 4_000);
    messages.insert(1, result("p", "noted".into()));
    messages.insert(1, call("p", "developer__plan", json!({"plan": "- [ ] look up"})));

    let shorter = room(&messages, 12_000, truncated);

    assert!(is_valid(&shorter));
    assert!(shorter.len() < messages.len());
    let opening = shorter[0].text();
    assert!(opening.contains("Count the stars.") && opening.contains("- [ ] look up"), "{opening}");
    assert_eq!(shorter[shorter.len() - 8..], messages[messages.len() - 8..]);
}

#[test]
fn a_recent_result_that_fills_the_context_alone_is_cut_at_last() {
    let messages = long_work(1, 400_000);
    let (meter, budget) = making(&messages, 20_000);
    let room = Room { messages: messages.clone(), usage: None, notice: None };
    let nobody = Nobody(goose_providers::ModelInfo::new("nobody", 1));
    let making = Making { moderator: Moderator::Truncate, meter: &meter, budget, summarizer: &nobody };

    let room = check(room, &making).unwrap();

    assert!(is_valid(&room.messages));
    assert!(meter.would_use(room.messages.iter().map(AsRef::as_ref)) < 20_000);
}

#[test]
fn a_request_that_never_fits_is_an_honest_error() {
    let messages = vec![Arc::new(Message::user("x".repeat(400_000)))];
    let (meter, budget) = making(&messages, 20_000);
    let room = Room { messages, usage: None, notice: None };
    let nobody = Nobody(goose_providers::ModelInfo::new("nobody", 1));
    let making = Making { moderator: Moderator::Truncate, meter: &meter, budget, summarizer: &nobody };

    let error = check(room, &making).unwrap_err();

    assert_eq!(error, NoRoom::TooLong { needed: 100_004, limit: 18_000 });
}

fn tokens(message: &Message) -> u64 {
    crate::context::tokens::of_message(message)
}

/// A model that is not asked.
struct Nobody(goose_providers::ModelInfo);

#[async_trait::async_trait]
impl Provider for Nobody {
    fn name(&self) -> &str {
        "nobody"
    }

    fn model(&self) -> &goose_providers::ModelInfo {
        &self.0
    }

    async fn stream(
        &self,
        _: goose_providers::Request<'_>,
    ) -> goose_providers::ProviderResult<goose_providers::ReplyStream> {
        Err(goose_providers::ProviderError::Network { message: "nobody is there".to_owned() })
    }
}
