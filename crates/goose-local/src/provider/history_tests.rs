use super::{
    super::conversation_tests::{conversation, read, search, shell, tools},
    *,
};

#[test]
fn calls_are_what_the_model_wrote_and_results_are_short() {
    let calls =
        [search("port", 1), read("a.ini", "port = 80"), shell("make", ToolOutput::error("x".repeat(10_000)))];
    let turns = turns(&tools(), "Be brief.", &conversation(&["a.ini"], "Which port?", &calls));
    let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts[0], "Be brief.\n\nFiles here: a.ini\nWhich port?");
    assert_eq!(texts[1], r#"{"tool":"search","pattern":"port"}"#);
    assert_eq!(texts[3], r#"{"tool":"read","path":"a.ini"}"#);
    assert_eq!(texts[4], "Result:\nport = 80\n\nTask: Which port?");
    assert!(
        texts[6].starts_with("Error: xxx") && texts[6].chars().count() < 2 * MAX_RESULT_CHARS,
        "{}",
        texts[6]
    );
    assert_eq!(turns.len(), 7);
}

#[test]
fn the_task_is_repeated_once_after_all_results() {
    let mut messages = conversation(&["a", "b"], "Which port?", &[read("a", "1"), read("b", "2")]);
    // Both calls are made in one message.
    let second = messages.remove(3);
    Arc::make_mut(&mut messages[1]).content.extend(second.content.clone());
    let turns = turns(&tools(), "", &messages);
    assert_eq!(turns[2].text, "Result:\n1\n\nResult:\n2\n\nTask: Which port?");
}

#[test]
fn an_answer_becomes_a_call_if_tools_are_offered() {
    let said = [Message::user("Hi"), Message::assistant("Hello"), Message::user("Bye")].map(Arc::new);
    let with_tools = turns(&tools(), "", &said);
    assert_eq!(with_tools[1].text, r#"{"tool":"final_answer","text":"Hello"}"#);
    let none = Tools::new(&[], &[]);
    assert_eq!(turns(&none, "", &said)[1].text, "Hello");
}
