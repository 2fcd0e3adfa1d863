use goose_extension::ToolOutput;
use serde_json::json;

use super::{
    super::conversation_tests::{CallRecord, conversation, edit, read, search, shell, tools},
    *,
};

const FILES: [&str; 5] = ["README.md", "conf/web.ini", "src/ring.c", "src/ring.h", "src/"];

fn unread(task: &str, calls: &[CallRecord]) -> String {
    let messages = conversation(&FILES, task, calls);
    RequestState::new(&messages, &tools()).unread(true).join(" ")
}

#[test]
fn named_files_are_read_once() {
    assert_eq!(unread("What does `src/ring.c` do?", &[]), "src/ring.c");
    assert_eq!(unread("Was steht in web.ini?", &[]), "conf/web.ini");
    assert_eq!(unread("Translate the README.", &[]), "README.md");
    assert_eq!(unread("How are you?", &[]), "");
    assert_eq!(unread("ring, what can you do with web?", &[]), "conf/web.ini", "it begins like a greeting");
    let both = "Compare src/ring.c and src/ring.h";
    assert_eq!(unread(both, &[]), "src/ring.c src/ring.h");
    assert_eq!(unread(both, &[read("./src/ring.c", "int x;")]), "src/ring.h");
    assert_eq!(unread(both, &[read("src/ring.c", "int x;"), read("src/ring.h", "int x;")]), "");
    let failed = ("developer__read", json!({ "path": "README.md" }), ToolOutput::error("It is not text"));
    assert_eq!(unread("Read README.md", &[failed]), "");
}

#[test]
fn a_folder_stands_for_its_files() {
    assert_eq!(unread("What is in src/?", &[]), "src/ring.c src/ring.h");
    let messages = conversation(&FILES, "What is in src?", &[]);
    assert!(RequestState::new(&messages, &tools()).unread(false).is_empty(), "only for questions");
    let many: Vec<String> = (0..7).map(|number| format!("logs/{number}.txt")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let messages = conversation(&many, "What is in logs? And in logs/3.txt?", &[]);
    assert_eq!(RequestState::new(&messages, &tools()).unread(true), ["logs/3.txt"], "there are many");
}

#[test]
fn known_texts_have_no_line_numbers_and_follow_edits() {
    let calls = [
        read("a.txt", "one\ntwo\tand"),
        edit("a.txt", "one", "1"),
        ("developer__write", json!({ "path": "b.txt", "content": "new\n" }), ToolOutput::text("Created")),
    ];
    let messages = conversation(&[], "Go.", &calls);
    let state = RequestState::new(&messages, &tools());
    let page = |path: &str| state.page(path).map(|page| (page.text.as_str(), page.is_whole));
    assert_eq!(page("a.txt"), Some(("1\ntwo\tand", true)));
    assert_eq!(page("b.txt"), Some(("new\n", true)));
    assert_eq!(state.pages.len(), 2);
    let (tool, arguments, mut output) = read("a.txt", "one");
    output.structured = Some(json!({ "first_line": 1, "last_line": 1, "total_lines": 9 }));
    let messages = conversation(&[], "Go.", &[(tool, arguments, output)]);
    assert!(!RequestState::new(&messages, &tools()).pages[0].is_whole);
}

#[test]
fn repeated_calls_with_the_same_result_count_as_stuck() {
    let is_stuck =
        |calls: &[CallRecord]| RequestState::new(&conversation(&[], "Go.", calls), &tools()).is_stuck();
    let ls = |text: &str| shell("ls", ToolOutput::text(text));
    assert!(!is_stuck(&[ls("a")]));
    assert!(!is_stuck(&[ls("a"), ls("b")]));
    assert!(!is_stuck(&[ls("a"), ls("b"), ls("a")]));
    assert!(is_stuck(&[ls("a"), ls("b"), ls("a"), ls("b")]));
    let exhausted = |calls: &[CallRecord]| {
        let messages = conversation(&[], "Go.", calls);
        RequestState::new(&messages, &tools()).exhausted().map(str::to_owned)
    };
    assert_eq!(exhausted(&[ls("a"), ls("b")]), None);
    assert_eq!(exhausted(&[ls("a"), ls("b"), ls("a")]).as_deref(), Some("developer__shell"));
    assert_eq!(exhausted(&[search("x", 0)]).as_deref(), Some("developer__search"));
    let many: Vec<CallRecord> = (0..MAX_CALLS).map(|number| ls(&number.to_string())).collect();
    assert!(is_stuck(&many));
}

#[test]
fn an_answer_is_allowed_after_a_step_towards_the_goal() {
    let may = |goal: Goal, calls: &[CallRecord]| {
        let messages = conversation(&[], "Go.", calls);
        RequestState::new(&messages, &tools()).may_answer(goal)
    };
    let (a, failed) = (|| read("a.txt", "one"), || shell("make", ToolOutput::error("no rule")));
    assert!(may(Goal::Answer, &[]) && may(Goal::Answer, &[a()]) && may(Goal::Answer, &[search("x", 2)]));
    assert!(!may(Goal::Answer, &[search("x", 0)]) && may(Goal::Answer, &[a(), search("x", 0)]));
    assert!(!may(Goal::Change, &[a()]) && may(Goal::Change, &[a(), edit("a.txt", "one", "two")]));
    assert!(!may(Goal::Create, &[failed()]));
    assert!(!may(Goal::Run, &[a()]) && may(Goal::Run, &[failed()]));
    let mut absent = shell("tool.sh", ToolOutput::error("not found"));
    absent.2.structured = Some(json!({ "exit_code": 127 }));
    assert!(!may(Goal::Run, &[absent]), "nothing was run");
    assert!(!may(Goal::Run, &[a(), edit("a.txt", "one", "two")]), "it was not run yet");
    assert!(!may(Goal::Change, &[a(), a(), a(), a()]), "the first reads are not attempts");
    assert!(may(Goal::Change, &[a(), a(), a(), a(), a(), a(), a(), a(), a(), a()]));
    assert!(may(Goal::Change, &[failed(), failed(), failed(), failed()]), "it was tried often enough");
}

#[test]
fn unwritten_files_of_a_plan_are_found() {
    let unwritten = |reply: &str, calls: &[CallRecord]| {
        let messages = conversation(&["a.txt", "docs/", "docs/b.txt", "c.txt"], "Make d.txt.", calls);
        RequestState::new(&messages, &tools()).unwritten(&Plan::new(reply)).map(str::to_owned)
    };
    let both = || vec![read("a.txt", "one"), read("docs/b.txt", "two")];
    let and = |call: CallRecord| [both(), vec![call]].concat();
    assert_eq!(unwritten("change a.txt b.txt", &both()).as_deref(), Some("a.txt"));
    let first = || edit("a.txt", "one", "1");
    assert_eq!(unwritten("change a.txt b.txt", &and(first())).as_deref(), Some("docs/b.txt"));
    assert_eq!(unwritten("change a.txt, b.txt\nMake d.txt.", &and(first())).as_deref(), Some("docs/b.txt"));
    let sed = shell("sed -i s/o/a/ *.txt", ToolOutput::text(""));
    assert_eq!(unwritten("change a.txt b.txt", &and(sed)), None, "what was read may be old");
    assert_eq!(unwritten("change c.txt", &[]), None, "it was not read");
    assert_eq!(unwritten("create d.txt a.txt", &[read("a.txt", "one")]).as_deref(), Some("d.txt"));
    assert_eq!(unwritten("create a.txt", &[read("a.txt", "one")]), None, "its text comes from there");
    assert_eq!(unwritten("create d.txt", &[shell("ls > d.txt", ToolOutput::text(""))]), None);
    for other in ["create e.txt", "create Make", "change docs", "change docs/"] {
        assert_eq!(unwritten(other, &[]), None, "{other}");
    }
}

#[test]
fn folders_are_not_listed_as_files() {
    let messages = conversation(&FILES, "Go.", &[]);
    assert_eq!(RequestState::new(&messages, &tools()).names().count(), 4);
}
