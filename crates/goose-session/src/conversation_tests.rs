//! Whatever is stored, and wherever it ends, the model gets a valid conversation.

use goose_extension::Reasoning;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use goose_config::Mode;

fn call(id: &str) -> MessageContent {
    MessageContent::ToolCall { id: id.into(), name: "tool".into(), arguments: json!({}), opaque: None }
}

fn said(message: Message) -> Step {
    Step::Message { message }
}

fn asked(ids: &[&str]) -> Step {
    said(Message::new(Role::Assistant, ids.iter().map(|id| call(id))))
}

fn result(id: &str, text: &str) -> Step {
    Step::ToolResult { id: id.into(), output: ToolOutput::text(text) }
}

/// The conversation as text, one line a message.
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

/// Says what is wrong with a conversation, if anything is.
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
            return Err(format!("message {index} answers {results:?}, asked was {waiting:?}"));
        }
        waiting = message.call_ids().map(str::to_owned).collect();
        if let Some(id) = waiting.iter().find(|id| id.is_empty() || !ids.insert((*id).clone())) {
            return Err(format!("the id `{id}` is not unique"));
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("no results for {waiting:?}")) }
}

#[test]
fn results_stand_in_the_order_of_the_calls() {
    let steps = [said("go".into()), asked(&["a", "b"]), result("b", "two"), result("a", "one")];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(lines(&conversation), ["User: go", "Assistant: call a, call b", "User: a = one, b = two"]);
}

#[test]
fn while_results_are_missing_the_calls_are_not_sent_but_tools_see_them() {
    let conversation = Conversation::from_steps([said("go".into()), asked(&["a", "b"]), result("a", "one")]);
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
        Step::NestedResult { parent, id: id.into(), output },
    ]
}

#[test]
fn log_mode_and_nested_steps_do_not_change_the_conversation() {
    let mut conversation = Conversation::default();
    for step in [said("go".into()), asked(&["a"]), result("a", "one"), said(Message::assistant("done"))] {
        conversation.apply(step);
        let before = (lines(&conversation), conversation.open_calls().count());
        for_the_user_only("a").into_iter().for_each(|step| conversation.apply(step));
        assert_eq!((lines(&conversation), conversation.open_calls().count()), before);
    }
    assert_eq!(lines(&conversation).len(), 4);
}

#[test]
fn calls_without_result_are_closed_by_what_comes_next() {
    for next in [
        said("never mind".into()),
        Step::Interrupted { reason: "killed".into() },
        Step::ReplyEnded { outcome: "done".into() },
    ] {
        let steps = [said("go".into()), asked(&["a", "b"]), result("a", "one"), next];
        let conversation = Conversation::from_steps(steps);
        assert_eq!(check(conversation.messages()), Ok(()));
        assert!(line(&conversation.messages()[2]).starts_with("User: a = one, b = Not finished"));
    }
}

#[test]
fn the_same_id_again_is_another_call() {
    let steps = [
        said("go".into()),
        asked(&["a", "a"]),
        result("a", "one"),
        result("a", "two"),
        asked(&["a"]),
        result("a", "three"),
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
fn what_the_user_says_twice_is_one_message() {
    let conversation = Conversation::from_steps([said("one".into()), said("two".into())]);
    assert_eq!(lines(&conversation), ["User: one, two"]);
    assert_eq!(conversation.view().processor.messages.snapshot(), conversation.messages());
}

#[test]
fn a_model_that_only_thinks_has_said_nothing() {
    let thought = MessageContent::Reasoning(Reasoning { text: "hm".into(), opaque: None });
    let thought = Message::new(Role::Assistant, [thought, MessageContent::text(" ")]);
    let conversation = Conversation::from_steps([said("go".into()), said(thought)]);
    assert_eq!(lines(&conversation), ["User: go"]);
}

#[test]
fn compaction_takes_the_place_of_everything_before() {
    let kept = vec![
        Message::user("so far: nothing"),
        Message::new(Role::Assistant, [call("a")]),
        Message::new(Role::User, [MessageContent::tool_result("a", ToolOutput::text("one"))]),
    ];
    let steps = [
        said("go".into()),
        asked(&["a"]),
        result("a", "one"),
        Step::Compacted { messages: kept },
        said(Message::assistant("done")),
    ];
    let conversation = Conversation::from_steps(steps);
    assert_eq!(
        lines(&conversation),
        ["User: so far: nothing", "Assistant: call a", "User: a = one", "Assistant: done"]
    );
}

#[test]
fn a_call_after_compaction_has_no_id_from_before() {
    let compacted = Step::Compacted { messages: vec![Message::user("so far: one call")] };
    let steps =
        [said("go".into()), asked(&["a"]), result("a", "one"), compacted, asked(&["a"]), result("a", "two")];
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
        6 => any_message().prop_map(said),
        4 => any_id().prop_map(|id| result(&id, "result")),
        1 => prop::collection::vec(any_message(), 0..4).prop_map(|messages| Step::Compacted { messages }),
        1 => Just(Step::Interrupted { reason: "cancelled".into() }),
        1 => Just(Step::ReplyEnded { outcome: "done".into() }),
        1 => (any_id(), 0..4_usize).prop_map(|(id, index)| for_the_user_only(&id)[index].clone()),
    ]
}

proptest! {
    /// Invariant 4: whatever was stored, and wherever it stops, each call has exactly one result.
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

    /// Ids that were made unique before they were stored are kept.
    #[test]
    fn ids_are_made_unique_once(steps in prop::collection::vec(any_step(), 0..16), message in any_message()) {
        let mut conversation = Conversation::from_steps(steps);
        let stored = conversation.with_own_ids(Message::new(Role::Assistant, message.content));
        let ids: Vec<String> = stored.call_ids().map(str::to_owned).collect();
        conversation.apply(said(stored));
        if let Some(open) = &conversation.open {
            prop_assert_eq!(open.message.call_ids().map(str::to_owned).collect::<Vec<_>>(), ids);
        }
    }
}
