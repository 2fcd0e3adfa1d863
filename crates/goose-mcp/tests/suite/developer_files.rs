//! `read` and `write`: what is shown of a file, and what stays of it when it is written.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink},
    process::Command,
    time::{Duration, Instant},
};

use goose_extension::{ContentBlock, RichRenderable};
use serde_json::json;

use crate::developer_support::Desk;

#[tokio::test]
async fn lines_come_with_their_numbers() {
    let desk = Desk::new();
    desk.put("a.txt", "one\n\n\tthree\n");
    assert_eq!(desk.ok("read", json!({ "path": "a.txt" })).await, "1\tone\n2\t\n3\t\tthree");
    let part = desk.ok("read", json!({ "path": "a.txt", "offset": 2, "limit": 1 })).await;
    assert_eq!(part, "2\t\n[lines 2-2 of 3; go on with offset 3]");
    assert_eq!(desk.ok("read", json!({ "path": "a.txt", "offset": 3 })).await, "3\t\tthree");
    assert!(desk.err("read", json!({ "path": "a.txt", "offset": 9 })).await.contains("only 3 lines"));
    assert!(desk.refused("read", json!({ "path": "a.txt", "offset": 0 })).await.contains("offset"));
    let output = desk.call("read", json!({ "path": "a.txt", "offset": 2, "limit": 1 })).await.unwrap();
    assert_eq!(output.structured, Some(json!({ "first_line": 2, "last_line": 2, "total_lines": 3 })));
    desk.put("empty", "");
    assert_eq!(desk.ok("read", json!({ "path": "empty" })).await, "empty is empty");
}

#[tokio::test]
async fn a_long_file_is_shown_in_parts_that_join() {
    let desk = Desk::new();
    let lines: Vec<String> =
        (0..5_000).map(|number| format!("line {number} {}", "é".repeat(number % 90))).collect();
    desk.put("long", lines.join("\n"));
    let (mut offset, mut seen) = (1, Vec::new());
    loop {
        let text = desk.ok("read", json!({ "path": "long", "offset": offset })).await;
        assert!(text.len() < 50 * 1024);
        let next =
            text.rsplit_once("go on with offset ").map(|(_, it)| it.trim_end_matches(']').parse().unwrap());
        let shown = text.lines().filter(|line| !line.starts_with('['));
        seen.extend(shown.map(|line| line.split_once('\t').unwrap().1.to_owned()));
        let Some(next) = next else { break };
        offset = next;
    }
    assert_eq!(seen, lines);
    desk.put("wide", "€".repeat(100_000));
    let text = desk.ok("read", json!({ "path": "wide" })).await;
    assert!(text.len() < 10_000 && text.contains("€… (294000 more bytes)"), "{}", text.len());
}

#[tokio::test]
async fn what_is_there_instead_is_said() {
    let desk = Desk::new();
    desk.put("src/main.rs", "fn main() {}\n");
    desk.put("src/lib.rs", "");
    let message = desk.err("read", json!({ "path": "src/mian.rs" })).await;
    assert_eq!(message, "There is no file src/mian.rs. Similar names there: main.rs.");
    let message = desk.err("read", json!({ "path": "source/deep/main.rs" })).await;
    assert!(message.contains("has no `source`"), "{message}");
    assert!(desk.err("read", json!({ "path": "src" })).await.contains("Use `tree`"));
    let message = desk.err("read", json!({ "path": "src/lib.rs/x" })).await;
    assert!(message.contains("not a folder"), "{message}");
    assert!(desk.err("read", json!({ "path": "" })).await.contains("not a path"));
}

#[tokio::test]
async fn pipes_and_devices_are_refused_at_once() {
    let desk = Desk::new();
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
    let begin = Instant::now();
    for path in ["pipe", "/dev/zero", "/dev/tty"] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            ("edit", json!({ "path": path, "before": "x", "after": "y" })),
        ] {
            let message = desk.err(tool, arguments).await;
            assert!(message.contains("not a file"), "{tool}: {message}");
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert!(fs::metadata(desk.path("pipe")).unwrap().file_type().is_fifo());
}

#[tokio::test]
async fn text_is_read_in_its_encoding_and_the_rest_is_refused() {
    let desk = Desk::new();
    desk.put("bom", b"\xEF\xBB\xBFgr\xC3\xBC\xC3\x9Fe\r\n");
    assert_eq!(desk.ok("read", json!({ "path": "bom" })).await, "1\tgrüße\n[UTF-8 with a byte order mark]");
    desk.put("wide", b"\xFF\xFEa\0\xAC\x20\n\0");
    assert_eq!(desk.ok("read", json!({ "path": "wide" })).await, "1\ta€\n[UTF-16]");
    desk.put("old", b"caf\xE9\n");
    assert_eq!(desk.ok("read", json!({ "path": "old" })).await, "1\tcafé\n[Windows-1252]");
    desk.put("program", b"\x7FELF\x02\x01\x01\0\0\0");
    assert!(desk.err("read", json!({ "path": "program" })).await.contains("not text"));
    let large = desk.path("large");
    fs::File::create(&large).unwrap().set_len(20 << 20).unwrap();
    assert!(desk.err("read", json!({ "path": "large" })).await.contains("too large"));
}

#[tokio::test]
async fn pictures_come_as_pictures() {
    let desk = Desk::new();
    let png = b"\x89PNG\r\n\x1a\nrest";
    desk.put("a.dat", png);
    let output = desk.call("read", json!({ "path": "a.dat" })).await.unwrap();
    let [ContentBlock::Image(image)] = output.content.as_slice() else { panic!("{output:?}") };
    assert_eq!((image.mime_type.as_str(), image.data.as_str()), ("image/png", "iVBORw0KGgpyZXN0"));
    desk.put("b", [png.as_slice(), &[0; 4_000_000]].concat());
    assert!(desk.err("read", json!({ "path": "b" })).await.contains("smaller copy"));
    desk.put("c", b"RIFF\0\0\0\0WAVE");
    assert!(desk.err("read", json!({ "path": "c" })).await.contains("not text"));
}

#[tokio::test]
async fn one_line_is_counted_in_the_singular() {
    let message = Desk::new().ok("write", json!({ "path": "d.txt", "content": "one\n" })).await;
    assert_eq!(message, "Created d.txt (1 line)");
}

#[tokio::test]
async fn a_new_file_gets_its_folders_and_a_diff() {
    let desk = Desk::new();
    let message = desk.ok("write", json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" })).await;
    assert_eq!(message, "Created a/b/c.txt (2 lines)");
    assert_eq!(desk.text("a/b/c.txt"), "one\ntwo\n");
    let unified = "--- /dev/null\n+++ a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n".to_owned();
    assert_eq!(desk.watcher.take_logged(), [RichRenderable::Diff { path: "a/b/c.txt".to_owned(), unified }]);
    let message = desk.ok("write", json!({ "path": "a/b/c.txt", "content": "one\n2\n3\n" })).await;
    assert_eq!(message, "Wrote a/b/c.txt (+2 −1)");
    assert_eq!(desk.watcher.take_logged().len(), 1);
    let message = desk.ok("write", json!({ "path": "a/b/c.txt", "content": "one\n2\n3\n" })).await;
    assert_eq!(message, "a/b/c.txt had this content already");
    assert_eq!(desk.watcher.take_logged(), []);
    assert_eq!(fs::read_dir(desk.path("a/b")).unwrap().count(), 1, "nothing is left beside it");
    let home = desk.root().join("home/notes.md");
    desk.ok("write", json!({ "path": "~/notes.md", "content": "x" })).await;
    assert_eq!(fs::read_to_string(home).unwrap(), "x");
}

#[tokio::test]
async fn what_a_file_is_like_stays() {
    let desk = Desk::new();
    let path = desk.put("script.sh", b"\xEF\xBB\xBFecho 1\r\necho 2\r\n");
    fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    desk.look("script.sh").await;
    desk.ok("write", json!({ "path": "script.sh", "content": "echo 1\necho 3\n" })).await;
    assert_eq!(desk.bytes("script.sh"), b"\xEF\xBB\xBFecho 1\r\necho 3\r\n");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);

    desk.put("old", b"caf\xE9\n");
    desk.look("old").await;
    desk.ok("write", json!({ "path": "old", "content": "thé\n" })).await;
    assert_eq!(desk.bytes("old"), b"th\xE9\n");
    let message = desk.ok("write", json!({ "path": "old", "content": "茶\n" })).await;
    assert!(message.contains("UTF-8 now"), "{message}");
    assert_eq!(desk.text("old"), "茶\n");
}

#[tokio::test]
async fn links_lead_to_what_is_written() {
    let desk = Desk::new();
    desk.put("real/file.txt", "old\n");
    symlink("real/file.txt", desk.path("link")).unwrap();
    symlink("real/new.txt", desk.path("dangling")).unwrap();
    symlink("loop", desk.path("loop")).unwrap();
    // Read under its own name, written by another one.
    desk.look("real/file.txt").await;
    desk.ok("write", json!({ "path": "link", "content": "new\n" })).await;
    desk.ok("edit", json!({ "path": "link", "before": "new", "after": "newer" })).await;
    desk.ok("write", json!({ "path": "dangling", "content": "made\n" })).await;
    assert_eq!((desk.text("real/file.txt"), desk.text("real/new.txt")), ("newer\n".into(), "made\n".into()));
    for link in ["link", "dangling"] {
        assert!(fs::symlink_metadata(desk.path(link)).unwrap().is_symlink());
    }
    desk.err("write", json!({ "path": "loop", "content": "x" })).await;
}

#[tokio::test]
async fn what_was_not_read_is_not_replaced() {
    let desk = Desk::new();
    desk.put("notes.md", "# Notes\n");
    desk.put("empty.md", "");
    let refused = desk.err("write", json!({ "path": "notes.md", "content": "# Remarques\n" })).await;
    assert!(refused.contains("Look at it with `read` first"), "{refused}");
    assert_eq!(desk.text("notes.md"), "# Notes\n");
    // The output of a command is not known to be this file's.
    desk.ok("shell", json!({ "command": "cat notes.md" })).await;
    desk.err("write", json!({ "path": "notes.md", "content": "# Remarques\n" })).await;
    desk.look("notes.md").await;
    desk.ok("write", json!({ "path": "notes.md", "content": "# Remarques\n" })).await;
    // What loses nothing, and what was written or edited here, needs no look.
    desk.ok("write", json!({ "path": "empty.md", "content": "a\n" })).await;
    desk.ok("write", json!({ "path": "empty.md", "content": "b\n" })).await;
    desk.put("edited.md", "one\n");
    desk.ok("edit", json!({ "path": "edited.md", "before": "one", "after": "two" })).await;
    desk.ok("write", json!({ "path": "edited.md", "content": "three\n" })).await;
}

#[tokio::test]
async fn a_command_that_failed_has_its_exit_code_as_a_field() {
    let desk = Desk::new();
    for (command, code) in [("exit 3", 3), ("kill -9 $$", 137), ("no-such-command-here", 127)] {
        let output = desk.call("shell", json!({ "command": command })).await.unwrap();
        assert!(output.is_error && output.structured == Some(json!({ "exit_code": code })), "{output:?}");
    }
    let output = desk.call("shell", json!({ "command": "echo fine" })).await.unwrap();
    assert_eq!((output.as_text().as_str(), output.structured), ("fine", None));
}

/// Refused although renaming could get around it, and unchanged.
#[tokio::test]
async fn a_protected_file_stays() {
    let desk = Desk::new();
    let path = desk.put("kept", "old\n");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    desk.look("kept").await;
    for (tool, arguments) in [
        ("write", json!({ "path": "kept", "content": "new" })),
        ("edit", json!({ "path": "kept", "before": "old", "after": "new" })),
    ] {
        assert!(desk.err(tool, arguments).await.contains("write-protected"));
    }
    assert_eq!(desk.text("kept"), "old\n");
    assert_eq!(desk.names(), ["kept"]);
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_is_said() {
    let desk = Desk::new();
    desk.put("folder/x", "");
    assert!(desk.err("write", json!({ "path": "folder", "content": "x" })).await.contains("is a folder"));
    assert!(
        desk.err("write", json!({ "path": "folder/x/y", "content": "x" })).await.contains("not a folder")
    );
}
