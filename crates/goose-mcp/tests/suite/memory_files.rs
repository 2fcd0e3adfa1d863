//! Files that people already have: read as they are, changed without touching anything else.

use std::fs;

use serde_json::json;

use crate::support::{Home, data};

/// A file as goose has written it for years.
const WRITTEN_BY_GOOSE: &str =
    "# style rust\nUse snake_case for functions.\n\nThe team meets on Mondays.\nAt ten.\n\n";

#[tokio::test]
async fn a_new_file_looks_like_it_always_did() {
    let home = Home::new();
    home.remember("team", "Use snake_case for functions.", &["style", "rust"], true).await;
    home.remember("team", "The team meets on Mondays.\nAt ten.", &[], true).await;
    assert_eq!(fs::read_to_string(home.folder(true).join("team.txt")).unwrap(), WRITTEN_BY_GOOSE);
    assert_eq!(home.files(true), ["team.txt"]);
}

#[tokio::test]
async fn an_old_file_is_read_and_extended() {
    let home = Home::new();
    let path = home.put(true, "team.txt", WRITTEN_BY_GOOSE.as_bytes());
    let page = home.retrieve("team", true).await;
    assert_eq!(data(&page), ["Use snake_case for functions.", "The team meets on Mondays.\nAt ten."]);
    assert_eq!(page["memories"][0]["tags"], json!(["style", "rust"]));
    home.remember("team", "Paragraph.\n\nParagraph.", &[], true).await;
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        format!("{WRITTEN_BY_GOOSE}Paragraph.\n \nParagraph.\n\n"),
        "only the end has changed"
    );
}

#[tokio::test]
async fn files_of_all_kinds_keep_every_byte() {
    let table: [(&str, &[u8]); 9] = [
        ("crlf", b"# t\r\nfirst\r\n\r\nsecond\r\n\r\n"),
        ("mixed line ends", b"first\r\n\r\nsecond\n\n"),
        ("no final newline", b"first\n\nsecond"),
        ("many blank lines", b"\n\n\nfirst\n\n\n\n\nsecond\n\n\n\n"),
        ("latin-1", b"# caf\xe9\nfirst \xfc\n\nsecond\n\n"),
        ("byte order mark", b"\xef\xbb\xbf# t\nfirst\n\nsecond\n\n"),
        ("nul bytes", b"first\0\n\nsecond\n\n"),
        ("space lines", b"first\n  \nmore\n\n \n\nsecond\n\n"),
        ("tag lines alone", b"# Heading\n\nfirst\n\n# Heading\n\nsecond"),
    ];
    for (name, bytes) in table {
        let home = Home::new();
        let path = home.put(false, "a.txt", bytes);
        home.remember("a", "new", &[], false).await;
        let file = fs::read(&path).unwrap();
        assert!(file.starts_with(bytes), "{name}");
        let texts = home.retrieve("a", false).await;
        assert_eq!(data(&texts)[data(&texts).len() - 1], "new", "{name}");
        home.ok(
            "remove_specific_memory",
            json!({ "category": "a", "memory_content": "second", "is_global": false }),
        )
        .await;
        let file = fs::read(&path).unwrap();
        let start = bytes.windows(6).position(|window| window == b"second").unwrap();
        assert_eq!(&file[..start], &bytes[..start], "{name}");
        assert_eq!(file[start..].trim_ascii(), b"new", "{name}");
    }
}

#[tokio::test]
async fn what_is_not_utf8_can_be_removed_by_what_is_shown() {
    let home = Home::new();
    let path = home.put(true, "a.txt", b"caf\xe9\n\nth\xe9\n\n");
    let shown = home.retrieve("a", true).await;
    let content = data(&shown)[0];
    assert_eq!(content, "caf\u{fffd}");
    home.ok(
        "remove_specific_memory",
        json!({ "category": "a", "memory_content": content, "is_global": true }),
    )
    .await;
    assert_eq!(fs::read(path).unwrap(), b"th\xe9\n\n");
}

#[tokio::test]
async fn files_that_are_not_understood_are_never_changed() {
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("secret".bytes().flat_map(|byte| [byte, 0])).collect();
    let huge = vec![b'x'; 4 * 1024 * 1024 + 1];
    for (bytes, problem) in [(utf16, "UTF-16"), (huge, "larger than 4 MiB")] {
        let home = Home::new();
        let path = home.put(true, "a.txt", &bytes);
        let calls = [
            ("remember_memory", json!({ "category": "a", "data": "x", "is_global": true })),
            ("retrieve_memories", json!({ "category": "a", "is_global": true })),
            (
                "remove_specific_memory",
                json!({ "category": "a", "memory_content": "secret", "is_global": true }),
            ),
            ("remove_memory_category", json!({ "category": "a", "is_global": true })),
            ("remove_memory_category", json!({ "category": "*", "is_global": true })),
        ];
        for (tool, arguments) in calls {
            let message = home.err(tool, arguments).await;
            assert!(message.contains(problem), "{tool}: {message}");
        }
        assert!(fs::read(path).unwrap() == bytes);
    }
}

#[tokio::test]
async fn a_full_category_takes_no_more() {
    let home = Home::new();
    let path = home.put(true, "a.txt", &vec![b'x'; 4 * 1024 * 1024 - 8]);
    let message =
        home.err("remember_memory", json!({ "category": "a", "data": "too much", "is_global": true })).await;
    assert!(message.contains("would grow beyond 4 MiB"), "{message}");
    assert_eq!(fs::metadata(path).unwrap().len(), 4 * 1024 * 1024 - 8);
}

#[tokio::test]
async fn other_files_in_the_folder_are_left_alone() {
    let home = Home::new();
    for name in ["README.md", ".hidden.txt", "notes.txt.bak", "notes.TXT"] {
        home.put(true, name, b"mine\n");
    }
    home.remember("a", "x", &[], true).await;
    assert_eq!(data(&home.retrieve("*", true).await), ["x"]);
    home.ok("remove_memory_category", json!({ "category": "*", "is_global": true })).await;
    assert_eq!(home.files(true), [".hidden.txt", "README.md", "notes.TXT", "notes.txt.bak"]);
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn permissions_are_kept() {
        let home = Home::new();
        for mode in [0o600, 0o640, 0o664] {
            let path = home.put(true, "a.txt", b"before\n\nmore\n\n");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            home.remember("a", "after", &[], true).await;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            let remove = json!({ "category": "a", "memory_content": "before", "is_global": true });
            home.ok("remove_specific_memory", remove).await;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[tokio::test]
    async fn new_files_and_folders_are_private() {
        let home = Home::new();
        for is_global in [true, false] {
            home.remember("a", "x", &[], is_global).await;
            let folder = home.folder(is_global);
            let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(folder.join("a.txt")), mode(folder)), (0o600, 0o700));
        }
    }

    #[tokio::test]
    async fn a_protected_file_is_not_replaced() {
        let home = Home::new();
        let path = home.put(true, "a.txt", b"one\n\ntwo\n\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let calls = [
            ("remember_memory", json!({ "category": "a", "data": "x", "is_global": true })),
            (
                "remove_specific_memory",
                json!({ "category": "a", "memory_content": "one", "is_global": true }),
            ),
            ("remove_memory_category", json!({ "category": "a", "is_global": true })),
        ];
        for (tool, arguments) in calls {
            assert!(home.err(tool, arguments).await.contains("write-protected"));
        }
        assert_eq!(fs::read(path).unwrap(), b"one\n\ntwo\n\n");
        assert_eq!(home.files(true), ["a.txt"], "and nothing is left behind");
    }
}
