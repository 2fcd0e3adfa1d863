//! Untouched parts stay: bytes that are not text, other names of a file, its attributes, and files in folders that
//! cannot be written.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::json;

use crate::{developer_server::Server, developer_support::Desk};

/// Two lines of UTF-8, and one with a byte that is none.
const DAMAGED: &[u8] = b"gr\xC3\xBC\xC3\x9Fe\n\xE2\x82\xAC 5\nx\xFFy\nlast\n";

#[tokio::test]
async fn damaged_bytes_survive_an_edit() {
    let desk = Desk::new();
    desk.put("a", DAMAGED);
    let shown = desk.ok("read", json!({ "path": "a" })).await;
    assert_eq!(
        shown,
        "1\tgrüße\n2\t€ 5\n3\tx\u{FFFD}y\n4\tlast\n[UTF-8 with damaged bytes, shown as \u{FFFD}]"
    );
    let text = desk.ok("edit", json!({ "path": "a", "before": "last", "after": "é\nlast" })).await;
    assert_eq!(desk.bytes("a"), b"gr\xC3\xBC\xC3\x9Fe\n\xE2\x82\xAC 5\nx\xFFy\n\xC3\xA9\nlast\n");
    assert!(text.contains("+é\n") && text.contains(" x\u{FFFD}y\n"), "{text}");
    desk.ok("edit", json!({ "path": "a", "before": "y\né", "after": "z" })).await;
    assert_eq!(desk.bytes("a"), b"gr\xC3\xBC\xC3\x9Fe\n\xE2\x82\xAC 5\nx\xFFz\nlast\n");
}

#[tokio::test]
async fn a_damaged_byte_cannot_be_named() {
    let desk = Desk::new();
    desk.put("a", DAMAGED);
    let message = desk.err("edit", json!({ "path": "a", "before": "x\u{FFFD}y", "after": "xy" })).await;
    assert!(message.contains("stands for a byte that is no UTF-8"), "{message}");
    let message = desk.err("edit", json!({ "path": "a", "before": "last", "after": "\u{10F7FF}" })).await;
    assert!(message.contains("was not changed"), "{message}");
    let message = desk.err("edit", json!({ "path": "a", "before": "x y", "after": "xy" })).await;
    assert!(message.contains("x\u{FFFD}y") && !message.contains('\u{10F7FF}'), "{message}");
    assert_eq!(desk.bytes("a"), DAMAGED);
    desk.look("a").await;
    let message = desk.ok("write", json!({ "path": "a", "content": "grün\n" })).await;
    assert!(message.ends_with("; bytes in it that were no UTF-8 are gone"), "{message}");
    assert_eq!(desk.text("a"), "grün\n");
    desk.put("marked", b"\xEF\xBB\xBFa\xFF\n");
    desk.look("marked").await;
    desk.ok("write", json!({ "path": "marked", "content": "b\n" })).await;
    assert_eq!(desk.bytes("marked"), b"\xEF\xBB\xBFb\n");
}

#[tokio::test]
async fn other_names_of_a_file_lead_to_what_was_written() {
    let desk = Desk::new();
    let path = desk.put("one", "old\n");
    fs::hard_link(&path, desk.path("two")).unwrap();
    let before = fs::metadata(&path).unwrap();
    desk.ok("edit", json!({ "path": "one", "before": "old", "after": "new and longer" })).await;
    assert_eq!(desk.text("two"), "new and longer\n");
    desk.look("two").await;
    desk.ok("write", json!({ "path": "two", "content": "short\n" })).await;
    assert_eq!(desk.text("one"), "short\n");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
    assert_eq!(desk.names(), ["one", "two"]);
}

#[tokio::test]
async fn attributes_stay() {
    let desk = Desk::new();
    let path = desk.put("a", "old\n");
    // Not every file system has them.
    if setxattr(&path, "user.colour", b"grey", XattrFlags::empty()).is_err() {
        return;
    }
    desk.ok("edit", json!({ "path": "a", "before": "old", "after": "new" })).await;
    let mut value = [0; 8];
    let length = getxattr(&path, "user.colour", &mut value).unwrap();
    assert_eq!((&value[..length], desk.text("a")), (b"grey".as_slice(), "new\n".to_owned()));
}

#[tokio::test]
async fn a_file_that_is_too_large_to_read_can_be_written() {
    let desk = Desk::new();
    let path = desk.put("large", "");
    fs::File::create(&path).unwrap().set_len(17 << 20).unwrap();
    let unseen = desk.err("write", json!({ "path": "large", "content": "one\ntwo\n" })).await;
    assert!(unseen.contains("has not seen what is in it"), "{unseen}");
    desk.look("large").await;
    let message = desk.ok("write", json!({ "path": "large", "content": "one\ntwo\n" })).await;
    assert_eq!(message, "Wrote large (2 lines) in place of 17825792 bytes");
    assert_eq!(desk.text("large"), "one\ntwo\n");
}

/// To root nothing is closed, unless it gives that up.
const WITHOUT_PRIVILEGES: &str =
    "[ \"$(id -u)\" = 0 ] && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"; exec \"$@\"";

#[test]
fn a_file_is_written_in_place_where_nothing_can_be_put_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let sealed = folder.path().join("sealed");
    fs::create_dir(&sealed).unwrap();
    fs::write(sealed.join("file"), "old\n").unwrap();
    fs::write(sealed.join("closed"), "secret\n").unwrap();
    fs::set_permissions(sealed.join("closed"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&sealed, Permissions::from_mode(0o555)).unwrap();
    let mut server = Server::start(folder.path(), WITHOUT_PRIVILEGES);
    let edited = server.call("edit", &json!({ "path": "sealed/file", "before": "old", "after": "newer" }));
    let written = server.call("write", &json!({ "path": "sealed/file", "content": "x\n" }));
    let new = server.call("write", &json!({ "path": "sealed/new", "content": "x\n" }));
    let closed = server.call("read", &json!({ "path": "sealed/closed" }));
    let found = server.call("search", &json!({ "pattern": "secret|x" }));
    let named = server.call("search", &json!({ "pattern": "secret", "path": "sealed/closed" }));
    server.end();
    assert!(!edited.1 && edited.0.contains("+newer"), "{}", edited.0);
    assert_eq!(written, ("Wrote sealed/file (+1 −1)".to_owned(), false));
    assert!(
        new.1 && new.0.contains("permission denied") && new.0.contains("Nothing was changed"),
        "{}",
        new.0
    );
    assert!(closed.1 && closed.0.contains("permission denied"), "{}", closed.0);
    assert!(!found.1 && found.0.starts_with("sealed/file\n1:x\n"), "{}", found.0);
    assert!(
        found.0.contains("[Could not be read, for lack of permission or another reason: 1]"),
        "{}",
        found.0
    );
    assert!(named.1 && named.0.contains("permission denied"), "{}", named.0);
    fs::set_permissions(&sealed, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read_to_string(sealed.join("file")).unwrap(), "x\n");
    assert_eq!(fs::read_dir(&sealed).unwrap().count(), 2);
}
