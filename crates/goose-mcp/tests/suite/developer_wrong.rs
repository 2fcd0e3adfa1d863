//! Arguments as models get them wrong: each answer says how to do better, nothing hangs, and nothing is changed.

use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::developer_support::Desk;

/// A folder with everything in it that is no plain file.
fn furnished() -> Desk {
    let desk = Desk::new();
    desk.put("src/main.rs", "fn main() {}\n");
    desk.put("program", b"\x7FELF\0\0");
    desk.put("wide.txt", b"\xFF\xFEh\0o\0n\0k\0\n\0");
    desk.put("unmarked.txt", b"h\0o\0n\0k\0\n\0");
    fs::File::create(desk.path("large")).unwrap().set_len(100 << 20).unwrap();
    symlink("loop", desk.path("loop")).unwrap();
    symlink("nowhere", desk.path("dangling")).unwrap();
    symlink("src/main.rs", desk.path("link.rs")).unwrap();
    assert!(Command::new("mkfifo").arg(desk.path("pipe.py")).status().unwrap().success());
    desk
}

/// Other arguments of a tool.
const FILE_TOOLS: [(&str, &str); 6] = [
    ("read", "{}"),
    ("write", r#"{"content": "x"}"#),
    ("edit", r#"{"before": "a", "after": "b"}"#),
    ("tree", "{}"),
    ("search", r#"{"pattern": "honk"}"#),
    ("analyze", "{}"),
];

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let desk = Desk::new();
    let table = [
        ("plan", json!({}), "`plan` is required"),
        ("plan", json!({ "plan": ["a", "b"] }), "expected string, got an array"),
        ("shell", json!({ "cmd": "ls" }), "`command` is required"),
        ("shell", json!({ "command": ["ls", "-l"] }), "expected string, got an array"),
        ("shell", json!({ "command": "ls", "timeout": 5 }), "it takes: command, timeout_secs"),
        ("shell", json!({ "command": "ls", "timeout_secs": "5" }), "expected integer"),
        ("shell", json!({ "command": "ls", "timeout_secs": 0 }), "less than the minimum of 1"),
        ("read", json!({ "file_path": "a" }), "`path` is required"),
        ("read", json!({ "path": null }), "expected string, got null"),
        ("read", json!({ "path": "a", "offset": -1 }), "offset"),
        ("write", json!({ "path": "a" }), "`content` is required"),
        ("write", json!({ "path": "a", "content": { "a": 1 } }), "expected string"),
        ("edit", json!({ "path": "a", "old_string": "a", "new_string": "b" }), "before"),
        ("edit", json!({ "path": "a", "edits": [{ "before": "a" }] }), "after"),
        ("edit", json!({ "path": "a", "edits": { "before": "a", "after": "b" } }), "expected array"),
        ("tree", json!({ "path": "a", "depth": "all" }), "expected integer"),
        ("search", json!({ "query": "a" }), "`pattern` is required"),
        ("search", json!({ "pattern": "a", "limit": 1.5 }), "limit"),
        ("analyze", json!({ "path": 5 }), "expected string, got 5"),
    ];
    for (tool, arguments, expected) in table {
        let message = desk.refused(tool, arguments.clone()).await;
        assert!(message.contains(expected), "{tool} {arguments}: {message}");
    }
    assert_eq!(desk.names(), Vec::<String>::new());
}

#[tokio::test]
async fn places_that_do_not_fit_are_explained() {
    let desk = furnished();
    let before = desk.names();
    let table = [
        ("loop", ["read", "write", "edit", "tree", "search", "analyze"].as_slice(), "lead round in a circle"),
        ("loop/x", &["read", "write", "edit"], "lead round in a circle"),
        ("dangling", &["read", "edit"], "/nowhere, which is not there"),
        ("dangling", &["tree", "search", "analyze"], "There is no `dangling`"),
        ("pipe.py", &["read", "write", "edit", "search", "analyze"], "is a pipe, not a file"),
        ("/dev/zero", &["read", "write", "edit", "search", "analyze"], "is a device, not a file"),
        ("src", &["read", "write", "edit"], "is a folder. Name a file in it"),
        ("src/", &["write"], "names a folder"),
        ("new/", &["write"], "names a folder"),
        ("src/main.rs", &["tree"], "Use `read`"),
        ("src/main.rs:3", &["read", "edit", "search", "analyze"], "Similar names there: main.rs"),
        ("source/main.rs", &["read", "edit", "tree", "search", "analyze"], "has no `source`"),
        ("program", &["read"], "is not text"),
        ("program", &["edit"], "not a text file"),
        ("program", &["analyze"], "cannot be analyzed"),
        ("large", &["read", "edit"], "is too large"),
        ("src\nmain.rs", &["read", "write", "edit", "tree", "search", "analyze"], "Give one path"),
        ("~/none", &["read", "edit", "tree", "search", "analyze"], "There is no"),
        ("", &["read", "write", "edit", "tree", "search", "analyze"], "not a path"),
    ];
    let begin = Instant::now();
    for (path, tools, expected) in table {
        for tool in tools {
            let (_, more) = FILE_TOOLS.iter().find(|(name, _)| name == tool).unwrap();
            let mut arguments: Value = serde_json::from_str(more).unwrap();
            arguments["path"] = json!(path);
            let message = desk.err(tool, arguments).await;
            assert!(message.contains(expected), "{tool} {path:?}: {message}");
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(desk.names(), before);
}

#[tokio::test]
async fn a_named_file_is_searched_whatever_it_is() {
    let desk = furnished();
    let search = |path: &str| json!({ "pattern": "honk", "path": path });
    assert_eq!(desk.ok("search", search("wide.txt")).await, "wide.txt\n1:honk");
    assert!(desk.ok("search", search("unmarked.txt")).await.contains("It is not text"));
    assert_eq!(desk.ok("search", search("link.rs")).await, "No match in it.");
    let found = desk.ok("search", json!({ "pattern": "main", "path": "link.rs" })).await;
    assert_eq!(found, "link.rs\n1:fn main() {}");
    assert!(desk.err("search", json!({ "pattern": "" })).await.contains("The pattern is empty"));
    assert!(desk.err("search", json!({ "pattern": "a\nb" })).await.contains("within one line"));
    assert!(
        desk.err("search", json!({ "pattern": "a", "glob": "{a" })).await.contains("The glob cannot be read")
    );
}

#[tokio::test]
async fn edits_that_come_to_nothing_are_said() {
    let desk = Desk::new();
    desk.put("a", "one two\n");
    let back = json!([{ "before": "one", "after": "two one" }, { "before": "two one", "after": "one" }]);
    let overlapping = json!([{ "before": "one two", "after": "1 2" }, { "before": "two", "after": "2" }]);
    let table = [
        (json!({ "path": "a", "edits": [] }), "nothing to change"),
        (json!({ "path": "a", "edits": back }), "the edits undo each other"),
        (json!({ "path": "a", "edits": overlapping }), "(edit 2 of 2)"),
        (json!({ "path": "a", "before": "one", "after": "one" }), "are the same"),
    ];
    for (arguments, expected) in table {
        let message = desk.err("edit", arguments.clone()).await;
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    assert_eq!(desk.text("a"), "one two\n");
}
