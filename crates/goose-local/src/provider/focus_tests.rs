use goose_extension::ToolOutput;

use super::{
    super::conversations::{conversation, edit as edited, read, shell, tools},
    *,
};

fn page(text: &str) -> Page {
    Page { path: "a.py".to_owned(), text: text.to_owned(), is_whole: true }
}

fn change(old: &str, new: &str) -> Option<(String, String)> {
    let (_, arguments) =
        call("a.py", Some(&page(old)), &format!("Here it is:\n```python\n{new}\n```\nDone."))?;
    Some((arguments["before"].as_str()?.to_owned(), arguments["after"].as_str()?.to_owned()))
}

#[test]
fn what_is_different_becomes_the_edit() {
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
    assert_eq!(call("a.py", Some(&page("a")), "no block"), None);
    let new = json!({ "path": "b.py", "content": "x = 1\n" });
    assert_eq!(call("b.py", None, "```\nx = 1\n```"), Some((Does::Write, new.clone())));
    assert_eq!(call("b.py", None, "x = 1"), Some((Does::Write, new)), "a short text comes without a block");
    assert_eq!(call("b.py", None, "```\nx = 1"), None, "it was cut off");
}

#[test]
fn only_small_files_that_were_seen_whole_are_written_again() {
    let messages = conversation(&[], "Go.", &[read("a.py", "a = 1"), read("VERSION", "1.2")]);
    let situation = Situation::new(&messages, &tools());
    let rewriting = |page: &Page| rewriting(page, &situation);
    let turns = rewriting(&page("a = 1")).unwrap();
    let before = "Task: Go.\n\nFile VERSION (1 lines):\n1.2\n\nFile a.py:\n```\na = 1\n```\n\nTask: Go.\n";
    assert!(turns[1].text.starts_with(before), "{}", turns[1].text);
    assert!(rewriting(&page("")).is_none());
    assert!(rewriting(&page("```\n")).is_none());
    assert!(rewriting(&page(&"x".repeat(MAX_FILE_CHARS + 1))).is_none());
    assert!(rewriting(&Page { is_whole: false, ..page("a = 1") }).is_none());
}

#[test]
fn an_answer_is_asked_for_after_what_was_found() {
    let calls = [
        read("a.ini", "port = 80"),
        shell("make", ToolOutput::error("no rule")),
        edited("a.ini", "80", "81"),
    ];
    let messages = conversation(&[], "Which port?", &calls);
    let turns = answering(&Situation::new(&messages, &tools()));
    let text = &turns[1].text;
    assert!(
        text.starts_with(
            "File a.ini (1 lines):\nport = 80\n\nThe command `make` was run and printed:\nno rule\n\n"
        ),
        "{text}"
    );
    assert!(text.contains("Question: Which port?"), "{text}");
    let turns = creating("b.ini", &Situation::new(&messages, &tools()));
    assert!(turns[1].text.contains("whole content of b.ini"), "{}", turns[1].text);
    let written = json!({ "path": "b.ini", "content": "port = 90" });
    let written = [("developer__write", written, ToolOutput::text("Created b.ini"))];
    let messages = conversation(&[], "Write two files.", &written);
    let turns = creating("c.ini", &Situation::new(&messages, &tools()));
    assert!(
        turns[1].text.starts_with("Task: Write two files.\n\nFile b.ini:\nport = 90\n\nTask: "),
        "{}",
        turns[1].text
    );
}
