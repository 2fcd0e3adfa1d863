//! Conversations as turns.

use goose_extension::Tool;

use super::*;

fn offer() -> Offer {
    let tool = |name: &'static str| Tool::new(name, "", JsonObject::new());
    Offer::of(&[tool("developer__read"), tool("developer__search")], &[])
}

fn call(id: &str, name: &str, arguments: Value) -> Arc<Message> {
    let call = MessageContent::ToolCall { id: id.into(), name: name.into(), arguments, opaque: None };
    Arc::new(Message::new(Role::Assistant, [call]))
}

fn result(id: &str, output: ToolOutput) -> Arc<Message> {
    Arc::new(Message::new(Role::User, [MessageContent::tool_result(id, output)]))
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    turns(&offer(), Vec::new(), "", messages).into_iter().map(|turn| turn.text).collect()
}

#[test]
fn calls_are_literal_results_are_short_and_lines_have_no_numbers() {
    let long = "x".repeat(MAX_RESULT_CHARS * 3);
    let messages = [
        Arc::new(Message::user("Look.")),
        call("1", "developer__read", json!({"path": "a.txt"})),
        result("1", ToolOutput::text("1\tone\n2\ttwo\tand")),
        call("2", "developer__search", json!({"pattern": "x", "ignore_case": true})),
        result("2", ToolOutput::text(long)),
        Arc::new(Message::assistant("It says one.")),
    ];
    let texts = texts(&messages);
    assert_eq!(
        texts[..3],
        ["Look.", r#"{"tool":"read","path":"a.txt"}"#, "Result:\none\ntwo\tand\n\nTask: Look."]
    );
    assert_eq!(texts[3], r#"{"tool":"search","pattern":"x"}"#);
    assert!(texts[4].chars().count() < MAX_RESULT_CHARS + 100);
    assert_eq!(texts[5], r#"{"tool":"final_answer","text":"It says one."}"#);
}

#[test]
fn errors_say_so_and_a_call_made_again_is_noted() {
    let read = |id: &str| call(id, "developer__read", json!({"path": "a"}));
    let failed = |id: &str| result(id, ToolOutput::error("There is no file a."));
    let texts = texts(&[Arc::new(Message::user("Go.")), read("1"), failed("1"), read("2"), failed("2")]);
    assert_eq!(texts[2], "Error: There is no file a.\n\nTask: Go.");
    assert!(texts[4].contains(AGAIN), "{}", texts[4]);
}

#[test]
fn another_result_of_the_same_call_is_news() {
    let test = |id: &str| call(id, "developer__shell", json!({"command": "make test"}));
    let first = result("1", ToolOutput::error("1 failed"));
    let again = result("2", ToolOutput::text("ok"));
    let texts = texts(&[Arc::new(Message::user("Go.")), test("1"), first, test("2"), again]);
    assert!(!texts[4].contains(AGAIN), "{}", texts[4]);
}

#[test]
fn more_history_leaves_what_was_there_as_it_was() {
    let messages = [
        Arc::new(Message::user("Go.")),
        call("1", "developer__read", json!({"path": "a"})),
        result("1", ToolOutput::text("1\tone")),
        Arc::new(Message::assistant("one")),
    ];
    let all = texts(&messages);
    for count in 0..messages.len() {
        assert_eq!(texts(&messages[..count]), all[..count]);
    }
}

#[test]
fn two_messages_of_one_speaker_are_one_turn() {
    let messages = [Arc::new(Message::user("One.")), Arc::new(Message::user("Two."))];
    assert_eq!(texts(&messages), ["One.\n\nTwo."]);
}

#[test]
fn the_surroundings_are_told_with_the_first_question() {
    let messages = [
        Arc::new(Message::user("One.")),
        Arc::new(Message::assistant("Yes.")),
        Arc::new(Message::user("Two.")),
    ];
    let turns = turns(&offer(), Vec::new(), "Folder: /home/ada", &messages);
    assert_eq!(turns[0].text, "Folder: /home/ada\n\nOne.");
    assert_eq!(turns[2].text, "Two.");
}

#[test]
fn errors_are_told_with_the_way_out() {
    let shell = call("1", "developer__shell", json!({"command": "./tool.py -v"}));
    let denied = result("1", ToolOutput::error("./tool.py: Permission denied\n[exit code 126]"));
    let texts = texts(&[Arc::new(Message::user("Go.")), shell, denied]);
    assert!(texts[2].contains("Run it as: python3 ./tool.py -v"), "{}", texts[2]);
    let not_run = "Not run: the arguments of `x` cannot be read: it is there already. Call it again with one JSON object. It takes: x";
    assert_eq!(reason_alone(not_run.to_owned()), "it is there already.");
}
