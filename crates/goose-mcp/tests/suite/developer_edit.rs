//! `edit`: exact, all or nothing, and helpful where it does not fit.

use std::{fs, os::unix::fs::MetadataExt as _};

use goose_extension::RichRenderable;
use proptest::prelude::*;
use serde_json::json;

use crate::developer_support::Desk;

const CODE: &str = "fn one() {\n\tlet a = 1;\n}\n\nfn two() {\n\tlet a = 2;\n}\n";

#[tokio::test]
async fn one_place_is_replaced_and_shown() {
    let desk = Desk::new();
    desk.put("code.rs", CODE);
    let text = desk
        .ok("edit", json!({ "path": "code.rs", "before": "a = 2;", "after": "b = 2;\n\tlet c = 3;" }))
        .await;
    assert_eq!(desk.text("code.rs"), CODE.replace("a = 2;", "b = 2;\n\tlet c = 3;"));
    let brief = "@@ -5,3 +5,4 @@\n fn two() {\n-\tlet a = 2;\n+\tlet b = 2;\n+\tlet c = 3;\n }";
    assert_eq!(text, format!("Edited code.rs (+2 −1)\n{brief}"));
    let logged = desk.watcher.take_logged();
    let [RichRenderable::Diff { path, unified }] = logged.as_slice() else { panic!("{logged:?}") };
    assert_eq!(path, "code.rs");
    assert!(unified.starts_with("--- code.rs\n+++ code.rs\n@@ -3,5 +3,6 @@\n"), "{unified}");
}

#[tokio::test]
async fn a_renamed_word_is_named_where_it_still_is() {
    let desk = Desk::new();
    desk.put("prices.py", "def calc(x):\n    return x\n\nprint(calc(1), recalc)\n");
    desk.put("main.py", "from prices import calc\n");
    desk.put("unseen.py", "from prices import calc\n");
    let edit = |path: &str, line: &str| json!({ "path": path, "before": line, "after": line.replace("calc", "total"), "replace_all": true });
    desk.ok("read", json!({ "path": "main.py" })).await;
    let text = desk.ok("edit", edit("prices.py", "def calc(x):")).await;
    assert!(text.ends_with("\n`calc` is still in main.py:1, prices.py:4"), "{text}");
    desk.ok("edit", edit("main.py", "import calc")).await;
    let text = desk.ok("edit", edit("prices.py", "print(calc")).await;
    assert!(!text.contains("still"), "{text}");
}

#[tokio::test]
async fn several_edits_are_all_made_or_none() {
    let desk = Desk::new();
    desk.put("code.rs", CODE);
    let edits = json!([{ "before": "fn one", "after": "fn first" }, { "before": "fn first", "after": "fn 1st" },
                       { "before": "a = 2", "after": "a = 3" }]);
    desk.ok("edit", json!({ "path": "code.rs", "edits": edits })).await;
    let expected = CODE.replace("fn one", "fn 1st").replace("a = 2", "a = 3");
    assert_eq!(desk.text("code.rs"), expected);

    let edits = json!([{ "before": "fn two", "after": "fn second" }, { "before": "nowhere", "after": "x" }]);
    let message = desk.err("edit", json!({ "path": "code.rs", "edits": edits })).await;
    assert!(
        message.starts_with("code.rs was not changed (edit 2 of 2): `before` is not in the file."),
        "{message}"
    );
    assert_eq!(desk.text("code.rs"), expected);
    for arguments in [json!({ "path": "code.rs" }), json!({ "path": "code.rs", "before": "x" })] {
        desk.err("edit", arguments).await;
    }
    let strange = json!([{ "before": "a", "after": "b", "all": true }]);
    assert!(desk.refused("edit", json!({ "path": "code.rs", "edits": strange })).await.contains("all"));
}

#[tokio::test]
async fn several_places_are_listed_or_all_replaced() {
    let desk = Desk::new();
    desk.put("code.rs", CODE);
    let arguments = json!({ "path": "code.rs", "before": "let a", "after": "let x" });
    let message = desk.err("edit", arguments).await;
    assert!(
        message.contains("2 times") && message.contains("\n2\t\tlet a = 1;\n6\t\tlet a = 2;"),
        "{message}"
    );
    let arguments = json!({ "path": "code.rs", "before": "let a", "after": "let x", "replace_all": true });
    desk.ok("edit", arguments).await;
    assert_eq!(desk.text("code.rs"), CODE.replace("let a", "let x"));
}

/// Each place is replaced in the time that it takes itself: with the whole file read for each, this would take minutes.
#[tokio::test]
async fn very_many_places_are_replaced() {
    let desk = Desk::new();
    let text = "some word of text\r\n".repeat(30_000);
    desk.put("long.txt", &text);
    let arguments = json!({ "path": "long.txt", "before": "word", "after": "piece", "replace_all": true });
    desk.ok("edit", arguments).await;
    assert_eq!(desk.text("long.txt"), text.replace("word", "piece"));
}

#[tokio::test]
async fn no_edit_makes_a_file_larger_than_files_may_be() {
    let desk = Desk::new();
    desk.put("a.txt", "a\n");
    let doublings = vec![json!({ "before": "a", "after": "aa" }); 100];
    let arguments = json!({ "path": "a.txt", "edits": doublings, "replace_all": true });
    let message = desk.err("edit", arguments).await;
    assert!(message.contains("it would become larger than 16777216 bytes"), "{message}");
    assert_eq!(desk.text("a.txt"), "a\n");
}

#[tokio::test]
async fn what_does_not_fit_is_explained() {
    let desk = Desk::new();
    desk.put("code.rs", CODE);
    desk.put("prose.md", "He said \u{201c}no\u{201d}.\ntrailing  \nend\n");
    let table = [
        ("code.rs", "fn two() {\n    let a = 2;", "The file indents with tabs, `before` with spaces."),
        ("code.rs", "fn two() {\n    let a = 2;", "\n6\t\tlet a = 2;\n"),
        ("code.rs", "fn two() {\n\tlet a = 7;\n}", "Line 6 is `let a = 2;`, `before` has `let a = 7;`."),
        ("code.rs", "5\tfn two() {\n6\t\tlet a = 2;", "Leave them out."),
        ("code.rs", "something else entirely", "Nothing in it is like it"),
        ("code.rs", "something else entirely", "write the whole file with `write`"),
        ("code.rs", "", "`before` is empty."),
        ("prose.md", "He said \"no\".", "typographic"),
        ("prose.md", "trailing\nend\n", "spaces at the end of a line"),
    ];
    for (path, before, expected) in table {
        let message =
            desk.err("edit", json!({ "path": path, "before": before, "after": "never there" })).await;
        assert!(message.contains(expected), "{before:?}: {message}");
    }
    let message =
        desk.err("edit", json!({ "path": "code.rs", "before": "zzz", "after": "let a = 1;" })).await;
    assert!(message.contains("already there, in line 2"), "{message}");
    assert!(
        desk.err("edit", json!({ "path": "cod.rs", "before": "a", "after": "b" })).await.contains("code.rs")
    );
    assert_eq!(desk.text("code.rs"), CODE);
}

#[tokio::test]
async fn only_a_telling_text_counts_as_a_change_that_was_made() {
    let desk = Desk::new();
    desk.put("code.rs", CODE);
    for (after, is_made) in [("a", false), ("let", false), ("\tlet a = 2;", true)] {
        let edit = json!({ "path": "code.rs", "before": "\tlet z = 9;", "after": after });
        let text = desk.err("edit", edit).await;
        assert_eq!(text.contains("the change seems to be made"), is_made, "{after}: {text}");
    }
}

#[tokio::test]
async fn encoding_and_line_ends_stay() {
    let desk = Desk::new();
    desk.put("dos.txt", "one\r\ntwo\r\nthree\r\n");
    desk.ok("edit", json!({ "path": "dos.txt", "before": "one\ntwo\n", "after": "1\n2\n2b\n" })).await;
    assert_eq!(desk.text("dos.txt"), "1\r\n2\r\n2b\r\nthree\r\n");
    desk.put("old.txt", b"caf\xE9 noir\n");
    desk.ok("edit", json!({ "path": "old.txt", "before": "café noir", "after": "thé glacé" })).await;
    assert_eq!(desk.bytes("old.txt"), b"th\xE9 glac\xE9\n");
    let message = desk.err("edit", json!({ "path": "old.txt", "before": "thé", "after": "茶" })).await;
    assert!(message.contains("which has no `茶`"), "{message}");
    desk.put("wide.txt", b"\xFE\xFF\0a\0\n");
    desk.ok("edit", json!({ "path": "wide.txt", "before": "a", "after": "é" })).await;
    assert_eq!(desk.bytes("wide.txt"), b"\xFE\xFF\0\xE9\0\n");
    desk.put("binary", b"a\0b");
    assert!(
        desk.err("edit", json!({ "path": "binary", "before": "a", "after": "b" }))
            .await
            .contains("not a text file")
    );
}

/// Calls of one turn run side by side; none loses what another one wrote.
#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_side_by_side_are_all_made() {
    let desk = Desk::new();
    let lines: String = (0..40).map(|number| format!("[{number}]\n")).collect();
    desk.put("list", &lines);
    let edit = |number: usize| json!({ "path": "list", "before": format!("[{number}]\n"), "after": format!("({number})\n") });
    let calls = (0..40).map(|number| desk.ok("edit", edit(number)));
    futures::future::join_all(calls).await;
    assert_eq!(desk.text("list"), lines.replace('[', "(").replace(']', ")"));
    assert_eq!(desk.names(), ["list"]);
}

#[tokio::test]
async fn a_failed_edit_touches_nothing() {
    let desk = Desk::new();
    let path = desk.put("a", "text\n");
    let before = fs::metadata(&path).unwrap();
    desk.err("edit", json!({ "path": "a", "before": "none", "after": "b" })).await;
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.modified().unwrap()), (after.ino(), after.modified().unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is in a file and whatever is asked for: no panic, and the file is as before or as asked.
    #[test]
    fn any_file_and_any_edit(
        content in prop_oneof![
            "[ab \t\r\n\u{e9}\u{201c}]{0,40}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..60),
        ],
        before in "[ab \t\r\n\u{e9}\"]{0,6}",
        after in "[ab\n\u{20ac}]{0,6}",
        replace_all in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let desk = Desk::new();
        desk.put("file", &content);
        let arguments = json!({ "path": "file", "before": before, "after": after, "replace_all": replace_all });
        let output = runtime.block_on(desk.call("edit", arguments)).unwrap();
        prop_assert!(!output.as_text().contains("because of a bug"), "{}", output.as_text());
        if output.is_error {
            prop_assert_eq!(desk.bytes("file"), content);
        } else if let (Ok(old), false) = (String::from_utf8(content), replace_all) {
            // All of `\r\r\n`, so that what a removal brings together compares equal.
            let plain = |text: &str| {
                let mut text = text.to_owned();
                while text.contains("\r\n") {
                    text = text.replace("\r\n", "\n");
                }
                text
            };
            let expected = plain(&old).replacen(&plain(&before), &plain(&after), 1);
            prop_assert_eq!(plain(&desk.text("file")), plain(&expected));
        }
        prop_assert_eq!(desk.names(), ["file"]);
        runtime.block_on(desk.call("read", json!({ "path": "file" }))).unwrap();
    }
}
