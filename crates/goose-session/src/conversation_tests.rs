//! The model gets a valid conversation, whatever is stored and wherever it ends.

use goose_extension::Reasoning;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ToolEnd;
use goose_config::Mode;

fn call(id: &str) -> MessageContent {
    MessageContent::ToolCall { id: id.into(), name: "tool".into(), arguments: json!({}), opaque: None }
}

fn message_step(message: Message) -> Step {
    Step::Message { message }
}

fn call_step(ids: &[&str]) -> Step {
    message_step(Message::new(Role::Assistant, ids.iter().map(|id| call(id))))
}

fn result_step(id: &str, text: &str) -> Step {
    Step::ToolResult { id: id.into(), output: ToolOutput::text(text), end: ToolEnd::Ran }
}

/// Returns the conversation as text, one line for each message.
fn lines(conversation: &Conversation) -> Vec<String> {
    conversation.messages().iter().map(|message| line(message)).collect()
}

fn line(message: &Message) -> String {
    let parts: Vec<String> = message
        .content
        .iter()
        .map(|part| match part {
            MessageContent::ToolCall { id, .. } => format!("call {id}"),
            MessageContent::ToolResult { id, output } => {
                format!("{id} = {}", output.as_text().chars().take(12).collect::<String>())
            }
            part => part.as_text().unwrap_or("?").to_owned(),
        })
        .collect();
    format!("{:?}: {}", message.role, parts.join(", "))
}

/// Checks the rules of providers, and returns the first violation.
fn check(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        if message.role != expected || message.content.is_empty() {
            return Err(format!("message {index} is out of order or empty: {message:?}"));
        }
        let results: Vec<String> = message
            .content
            .iter()
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        if results != waiting {
            return Err(format!("message {index} has results for {results:?}, expected {waiting:?}"));
        }
        waiting = message.call_ids().map(str::to_owned).collect();
        if let Some(id) = waiting.iter().find(|id| id.is_empty() || !ids.insert((*id).clone())) {
            return Err(format!("the id `{id}` is not unique"));
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("no results for {waiting:?}")) }
}

#[test]
fn results_have_the_order_of_the_calls() {
    let steps =
        [message_step("go".into()), call_step(&["a", "b"]), result_step("b", "two"), result_step("a", "one")];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(lines(&conversation), ["User: go", "Assistant: call a, call b", "User: a = one, b = two"]);
}

#[test]
fn calls_without_results_are_visible_to_tools_only() {
    let conversation = Conversation::from_steps([
        message_step("go".into()),
        call_step(&["a", "b"]),
        result_step("a", "one"),
    ]);
    assert_eq!(lines(&conversation), ["User: go"]);
    assert_eq!(conversation.open_calls().collect::<Vec<_>>(), ["b"]);
    let seen = conversation.view().processor.messages.last().unwrap();
    assert_eq!(line(&seen), "Assistant: call a, call b");
}

/// Steps that the user sees and the model does not.
fn for_the_user_only(id: &str) -> [Step; 4] {
    let (parent, output) = (id.to_owned(), ToolOutput::text("nested"));
    [
        Step::Log { content: "ran".into(), call: Some(id.into()) },
        Step::ModeChanged { permission: Some(Mode::Chat), agent: None, routed: false },
        Step::NestedCall { parent: parent.clone(), id: id.into(), name: "tool".into(), arguments: json!({}) },
        Step::NestedResult { parent, id: id.into(), output, end: ToolEnd::Ran },
    ]
}

#[test]
fn log_mode_and_nested_steps_do_not_change_the_conversation() {
    let mut conversation = Conversation::default();
    for step in [
        message_step("go".into()),
        call_step(&["a"]),
        result_step("a", "one"),
        message_step(Message::assistant("done")),
    ] {
        conversation.apply(step);
        let before = (lines(&conversation), conversation.open_calls().count());
        for_the_user_only("a").into_iter().for_each(|step| conversation.apply(step));
        assert_eq!((lines(&conversation), conversation.open_calls().count()), before);
    }
    assert_eq!(lines(&conversation).len(), 4);
}

#[test]
fn next_step_closes_calls_without_results() {
    for next in [
        message_step("never mind".into()),
        Step::Interrupted { reason: "killed".into() },
        Step::ReplyEnded { outcome: "done".into() },
    ] {
        let steps = [message_step("go".into()), call_step(&["a", "b"]), result_step("a", "one"), next];
        let conversation = Conversation::from_steps(steps);
        assert_eq!(check(conversation.messages()), Ok(()));
        assert!(line(&conversation.messages()[2]).starts_with("User: a = one, b = Not finished"));
    }
}

#[test]
fn repeated_ids_are_made_unique() {
    let steps = [
        message_step("go".into()),
        call_step(&["a", "a"]),
        result_step("a", "one"),
        result_step("a", "two"),
        call_step(&["a"]),
        result_step("a", "three"),
    ];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(
        lines(&conversation)[1..],
        [
            "Assistant: call a, call a_2",
            "User: a = one, a_2 = two",
            "Assistant: call a_3",
            "User: a_3 = three"
        ]
    );
}

#[test]
fn consecutive_user_messages_are_merged() {
    let conversation = Conversation::from_steps([message_step("one".into()), message_step("two".into())]);
    assert_eq!(lines(&conversation), ["User: one, two"]);
    assert_eq!(conversation.view().processor.messages.snapshot(), conversation.messages());
}

#[test]
fn message_with_reasoning_only_is_left_out() {
    let thought = MessageContent::Reasoning(Reasoning { text: "hm".into(), opaque: None });
    let thought = Message::new(Role::Assistant, [thought, MessageContent::text(" ")]);
    let conversation = Conversation::from_steps([message_step("go".into()), message_step(thought)]);
    assert_eq!(lines(&conversation), ["User: go"]);
}

#[test]
fn compaction_replaces_the_earlier_messages() {
    let kept = vec![
        Message::user("so far: nothing"),
        Message::new(Role::Assistant, [call("a")]),
        Message::new(Role::User, [MessageContent::tool_result("a", ToolOutput::text("one"))]),
    ];
    let steps = [
        message_step("go".into()),
        call_step(&["a"]),
        result_step("a", "one"),
        Step::compacted(kept),
        message_step(Message::assistant("done")),
    ];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(
        lines(&conversation),
        ["User: so far: nothing", "Assistant: call a", "User: a = one", "Assistant: done"]
    );
}

#[test]
fn ids_from_before_compaction_are_not_reused() {
    let compacted = Step::compacted(vec![Message::user("so far: one call")]);
    let steps = [
        message_step("go".into()),
        call_step(&["a"]),
        result_step("a", "one"),
        compacted,
        call_step(&["a"]),
        result_step("a", "two"),
    ];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(lines(&conversation), ["User: so far: one call", "Assistant: call a_2", "User: a_2 = two"]);
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ab]", "[ab]_2"]
}

fn any_part() -> impl Strategy<Value = MessageContent> {
    prop_oneof![
        "[a-c ]{0,3}".prop_map(MessageContent::text),
        any_id().prop_map(|id| call(&id)),
        any_id().prop_map(|id| MessageContent::tool_result(id, ToolOutput::text("said"))),
        Just(MessageContent::Reasoning(Reasoning::default())),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    (role, prop::collection::vec(any_part(), 0..5)).prop_map(|(role, parts)| Message::new(role, parts))
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_message().prop_map(message_step),
        4 => any_id().prop_map(|id| result_step(&id, "result")),
        1 => prop::collection::vec(any_message(), 0..4).prop_map(Step::compacted),
        1 => Just(Step::Interrupted { reason: "cancelled".into() }),
        1 => Just(Step::ReplyEnded { outcome: "done".into() }),
        1 => (any_id(), 0..4_usize).prop_map(|(id, index)| for_the_user_only(&id)[index].clone()),
    ]
}

proptest! {
    /// Each call has exactly one result, whatever was stored and wherever it stops.
    #[test]
    fn every_prefix_of_any_steps_is_valid(steps in prop::collection::vec(any_step(), 0..24)) {
        let mut conversation = Conversation::default();
        for step in steps {
            conversation.apply(step);
            prop_assert_eq!(check(conversation.messages()), Ok(()));
            let mut seen = conversation.messages().to_vec();
            seen.extend(conversation.open.as_ref().map(|open| Arc::clone(&open.message)));
            prop_assert_eq!(conversation.view().processor.messages.snapshot(), seen);
        }
        conversation.close();
        prop_assert_eq!(check(conversation.messages()), Ok(()));
    }

    /// Ids that were made unique before they were stored do not change again.
    #[test]
    fn ids_are_made_unique_once(steps in prop::collection::vec(any_step(), 0..16), message in any_message()) {
        let mut conversation = Conversation::from_steps(steps);
        let stored = conversation.with_own_ids(Message::new(Role::Assistant, message.content));
        let ids: Vec<String> = stored.call_ids().map(str::to_owned).collect();
        conversation.apply(message_step(stored));
        if let Some(open) = &conversation.open {
            prop_assert_eq!(open.message.call_ids().map(str::to_owned).collect::<Vec<_>>(), ids);
        }
    }
}
