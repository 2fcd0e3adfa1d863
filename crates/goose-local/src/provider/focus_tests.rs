use goose_extension::ToolOutput;

use super::{
    super::conversation_tests::{conversation, edit as edited, read, shell, tools},
    *,
};

fn page(text: &str) -> Page {
    Page { path: "a.py".to_owned(), text: text.to_owned(), is_whole: true }
}

/// The call for a request after a.py was read with this text.
fn call_after_read(text: &str, path: Option<&str>, goal: Goal, answer: &str) -> Option<(Capability, Value)> {
    let messages = conversation(&[], "Go.", &[read("a.py", text)]);
    call(path, &RequestState::new(&messages, &tools()), goal, answer)
}

fn change(old: &str, new: &str) -> Option<(String, String)> {
    let answer = format!("Here it is:\n```python\n{new}\n```\nDone.");
    let (_, arguments) = call_after_read(old, Some("a.py"), Goal::Change, &answer)?;
    Some((arguments["before"].as_str()?.to_owned(), arguments["after"].as_str()?.to_owned()))
}

#[test]
fn differing_lines_become_the_edit() {
    let own = |before: &str, after: &str| Some((before.to_owned(), after.to_owned()));
    assert_eq!(change("a = 1\nb = 2\nc = 3", "a = 1\nb = 5\nc = 3"), own("b = 2", "b = 5"));
    assert_eq!(change("x = 1\ny\nx = 1", "x = 1\ny\nx = 2"), own("y\nx = 1", "y\nx = 2"));
    assert_eq!(change("a = 1\nb = 2", "a = 1\nb = 2\nc = 3"), own("b = 2", "b = 2\nc = 3"));
    assert_eq!(
        change("def f(a):\n    return a", "def f(a, b=1):\n    return a + b").map(|it| it.0),
        Some("def f(a):\n    return a".to_owned())
    );
    assert_eq!(change("a\nb\nc", "a\nc"), own("a\nb", "a"));
    assert_eq!(change("a = 1\nb = 2\nc = 3", "a = 1\nb = 2\nc = 3"), None);
    assert_eq!(call_after_read("a", Some("a.py"), Goal::Change, "no block"), None);
    let new = |answer| call_after_read("a", Some("b.py"), Goal::Create, answer);
    let written = json!({ "path": "b.py", "content": "x = 1\n" });
    assert_eq!(new("```\nx = 1\n```"), Some((Capability::Write, written.clone())));
    assert_eq!(new("x = 1"), Some((Capability::Write, written)), "a short text comes without a block");
    assert_eq!(new("```\nx = 1"), None, "it was cut off");
}

#[test]
fn a_command_comes_from_the_block_and_must_not_write_for_a_question() {
    let command = |goal, text: &str| call_after_read("a", None, goal, text).map(|(_, arguments)| arguments);
    let both = "```sh\nmkdir x\nmv a.py x/\n```";
    assert_eq!(command(Goal::Run, both), Some(json!({ COMMAND: "mkdir x\nmv a.py x/" })));
    let writes = "```\nsort a.py > b.py\n```";
    assert!(command(Goal::Run, writes).is_some() && command(Goal::Answer, writes).is_none());
    assert_eq!(command(Goal::Run, "mv a.py b.py"), None, "no block");
    assert_eq!(command(Goal::Run, "```\n\n```"), None, "nothing in it");
    let messages = conversation(&["a.py", "b.py"], "Move it.", &[read("a.py", "x")]);
    let prompt = |goal| command_prompt(&RequestState::new(&messages, &tools()), goal)[1].text.clone();
    let expected = "Files here: a.py, b.py\n\nFile a.py (1 lines):\nx\n\nTask: Move it.\nWrite the shell \
                    commands that do this";
    assert!(prompt(Goal::Run).starts_with(expected), "{}", prompt(Goal::Run));
    assert!(prompt(Goal::Answer).contains("change no file"), "{}", prompt(Goal::Answer));
}

#[test]
fn only_small_files_that_were_read_completely_are_rewritten() {
    let messages = conversation(&[], "Go.", &[read("a.py", "a = 1"), read("VERSION", "1.2")]);
    let state = RequestState::new(&messages, &tools());
    let rewrite_prompt = |page: &Page| rewrite_prompt(page, &state);
    let turns = rewrite_prompt(&page("a = 1")).unwrap();
    let before = "Task: Go.\n\nFile VERSION (1 lines):\n1.2\n\nFile a.py:\n```\na = 1\n```\n\nTask: Go.\n";
    assert!(turns[1].text.starts_with(before), "{}", turns[1].text);
    assert!(rewrite_prompt(&page("")).is_none());
    assert!(rewrite_prompt(&page("```\n")).is_none());
    assert!(rewrite_prompt(&page(&"x".repeat(MAX_FILE_CHARS + 1))).is_none());
    assert!(rewrite_prompt(&Page { is_whole: false, ..page("a = 1") }).is_none());
}

#[test]
fn focused_prompts_show_the_results_first() {
    let calls = [
        read("a.ini", "port = 80"),
        shell("make", ToolOutput::error("no rule")),
        edited("a.ini", "80", "81"),
    ];
    let messages = conversation(&[], "Which port?", &calls);
    let turns = answer_prompt(&RequestState::new(&messages, &tools()));
    let text = &turns[1].text;
    assert!(
        text.starts_with(
            "File a.ini (1 lines):\nport = 80\n\nThe command `make` was run and printed:\nno rule\n\n"
        ),
        "{text}"
    );
    assert!(text.contains("Question: Which port?"), "{text}");
    let turns = file_prompt("b.ini", &RequestState::new(&messages, &tools()));
    assert!(turns[1].text.contains("whole content of b.ini"), "{}", turns[1].text);
    let written = json!({ "path": "b.ini", "content": "port = 90" });
    let written = [("developer__write", written, ToolOutput::text("Created b.ini"))];
    let messages = conversation(&[], "Write two files.", &written);
    let turns = file_prompt("c.ini", &RequestState::new(&messages, &tools()));
    assert!(
        turns[1].text.starts_with("Task: Write two files.\n\nFile b.ini:\nport = 90\n\nTask: "),
        "{}",
        turns[1].text
    );
}
