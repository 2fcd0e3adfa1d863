//! Unit tests of what has no door of its own: the format, tidying, names, ranking.

use std::{sync::Mutex, thread};

use proptest::prelude::*;

use super::{
    entry::Category,
    entry::{Entry, append, clean_tag, cut, parse, tidy},
    folder::Scope,
    folder::{Turn, in_line},
    page::{Found, Page},
    search::Query,
};

fn entry(tags: &[&str], data: &str) -> Entry {
    Entry { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), data: data.to_owned() }
}

fn entries(bytes: &[u8]) -> Vec<Entry> {
    parse(bytes).into_iter().map(|located| located.entry).collect()
}

#[test]
fn files_are_read_as_they_are() {
    let table: [(&str, &[u8], Vec<Entry>); 14] = [
        ("empty", b"", vec![]),
        ("only blank lines", b"\n\r\n\n", vec![]),
        ("one untagged line, no final newline", b"a", vec![entry(&[], "a")]),
        ("tags and data", b"# x y\na\nb\n\n", vec![entry(&["x", "y"], "a\nb")]),
        ("no space after the #", b"#x  y\na\n", vec![entry(&["x", "y"], "a")]),
        ("equal tags stay apart", b"# x\na\n\n# x\nb\n\n", vec![entry(&["x"], "a"), entry(&["x"], "b")]),
        ("several blank lines", b"\n\na\n\n\n\nb\n\n\n", vec![entry(&[], "a"), entry(&[], "b")]),
        ("crlf", b"# x\r\na\r\nb\r\n\r\nc\r\n", vec![entry(&["x"], "a\nb"), entry(&[], "c")]),
        ("a byte order mark", b"\xef\xbb\xbf# x\na\n", vec![entry(&["x"], "a")]),
        ("a lone # line is data", b"# Heading\n\na\n", vec![entry(&[], "# Heading"), entry(&[], "a")]),
        ("a list of no tags", b"#\n# Heading\n", vec![entry(&[], "# Heading")]),
        ("blank line in data", b"a\n \n  \nb\n", vec![entry(&[], "a\n\n \nb")]),
        ("bytes that are not UTF-8", b"a\xffb\n", vec![entry(&[], "a\u{fffd}b")]),
        ("nothing but spaces", b"a\n\n  \n\nb\n", vec![entry(&[], "a"), entry(&[], "b")]),
    ];
    for (what, bytes, expected) in table {
        assert_eq!(entries(bytes), expected, "{what}");
    }
}

#[test]
fn appending_keeps_every_byte_and_the_line_ends() {
    let new = entry(&["t"], "n\n\nm");
    let table: [(&[u8], &[u8]); 8] = [
        (b"", b"# t\nn\n \nm\n\n"),
        (b"a", b"a\n\n# t\nn\n \nm\n\n"),
        (b"a\n", b"a\n\n# t\nn\n \nm\n\n"),
        (b"a\n\n", b"a\n\n# t\nn\n \nm\n\n"),
        (b"a\n \n", b"a\n \n\n# t\nn\n \nm\n\n"),
        (b"a\r\n", b"a\r\n\r\n# t\r\nn\r\n \r\nm\r\n\r\n"),
        (b"\xff\n\n\n", b"\xff\n\n\n# t\nn\n \nm\n\n"),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf# t\nn\n \nm\n\n"),
    ];
    for (before, after) in table {
        assert_eq!(append(before, &new).as_slice(), after, "{:?}", String::from_utf8_lossy(before));
    }
}

#[test]
fn cutting_takes_out_the_entry_and_nothing_else() {
    let file = b"\n# x\n\xff a\n\n\n\nb\r\n\r\n# y\nc";
    let parsed = parse(file);
    assert_eq!(cut(file, &parsed[0]), b"\nb\r\n\r\n# y\nc");
    assert_eq!(cut(file, &parsed[1]), b"\n# x\n\xff a\n\n\n\n# y\nc");
    assert_eq!(cut(file, &parsed[2]), b"\n# x\n\xff a\n\n\n\nb\r\n\r\n");
}

#[test]
fn cutting_leaves_what_is_no_entry() {
    let file = b"a\n\n# tags and blanks\n \n\nb\n\n";
    let parsed = parse(file);
    assert_eq!(parsed.len(), 2);
    assert_eq!(cut(file, &parsed[0]), b"# tags and blanks\n \n\nb\n\n");
}

#[test]
fn tags_become_single_words() {
    let table = [
        ("rust", "rust"),
        ("#rust", "rust"),
        ("# rust", "rust"),
        ("code style", "code-style"),
        (" a\tb\0c ", "a-b-c"),
        ("#", ""),
        ("", ""),
        ("c#", "c#"),
        ("größe", "größe"),
    ];
    for (tag, expected) in table {
        assert_eq!(clean_tag(tag), expected);
    }
}

fn found(category: &str, tags: &[&str], data: &str) -> Found {
    Found { scope: Scope::Global, category: Category::parse(category).unwrap(), entry: entry(tags, data) }
}

fn ranked(query: &str, tags: &[&str], all: &[Found]) -> Vec<String> {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let query = Query::new(query, &tags).unwrap();
    query.rank(all.to_vec()).into_iter().map(|found| found.entry.data).collect()
}

#[test]
fn rare_words_count_more_than_common_ones() {
    let all = [
        found("a", &[], "the server of the team is the old one"),
        found("a", &[], "the deploy key is in the vault"),
        found("a", &[], "the lunch is at the usual place"),
    ];
    assert_eq!(ranked("where is the deploy key", &[], &all)[0], "the deploy key is in the vault");
}

#[test]
fn closer_matches_come_first() {
    let all = [
        found("a", &[], "reserver"),
        found("a", &[], "servers"),
        found("a", &[], "server"),
        found("a", &["server"], "heron"),
        found("a", &[], "nothing"),
    ];
    assert_eq!(ranked("Server", &[], &all), ["heron", "server", "servers", "reserver"]);
}

#[test]
fn neighbouring_words_newer_entries_and_categories_count() {
    let all =
        [found("a", &[], "blue and green"), found("a", &[], "green blue"), found("a", &[], "blue green")];
    assert_eq!(ranked("blue green", &[], &all), ["blue green", "green blue", "blue and green"]);
    assert_eq!(ranked("colours", &[], &[found("colours", &[], "blue")]), ["blue"]);
    assert_eq!(ranked("数据", &[], &[found("a", &[], "数据库连接")]), ["数据库连接"]);
}

#[test]
fn tags_filter_and_rank() {
    let all = [
        found("a", &["one"], "first"),
        found("a", &["One", "two"], "both"),
        found("a", &["other"], "neither"),
        found("a", &["code-style"], "tabs"),
    ];
    assert_eq!(ranked("", &["one", "#Two"], &all), ["both", "first"]);
    assert_eq!(ranked("tabs", &["code style"], &all), ["tabs"]);
    assert_eq!(ranked("first", &["two"], &all), [""; 0]);
}

#[test]
fn a_page_is_bounded_and_never_empty_handed() {
    let small = found("a", &[], &"x".repeat(10_000));
    let page = Page::fill(vec![small.clone(); 9], 0, 100);
    assert_eq!((page.len(), page.total, page.more), (3, 9, 6));
    let page = Page::fill(vec![small; 9], 8, 100);
    assert_eq!((page.len(), page.total, page.more), (1, 9, 0));
    let page = Page::fill(vec![found("a", &[], &"ü".repeat(40_000))], 0, 100);
    assert_eq!(serde_json::to_value(&page).unwrap()["memories"][0]["bytes_left_out"], 80_000 - 32 * 1024);
}

#[test]
fn turns_are_given_in_the_order_of_asking() {
    let dir = tempfile::tempdir().unwrap();
    let order = Mutex::new(Vec::new());
    let first = Turn::wait(dir.path()).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let (dir, order) = (dir.path(), &order);
            scope.spawn(move || {
                let _turn = Turn::wait(dir).unwrap();
                order.lock().unwrap().push(number);
            });
            while in_line(dir) < number + 2 {
                thread::yield_now();
            }
        }
        drop(first);
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(in_line(dir.path()), 0);
}

/// Text made of the pieces that the format could trip over.
fn nasty_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("# ".to_owned()),
        Just("#".to_owned()),
        Just(" ".to_owned()),
        Just("\t".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\0".to_owned()),
        Just("\u{2028}".to_owned()),
        "[a-zß数]{1,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn nasty_entry() -> impl Strategy<Value = Entry> {
    let tags = prop::collection::vec("[a-z#ß-]{1,6}", 0..3);
    (nasty_text(), tags).prop_filter_map("nothing to remember", |(data, tags)| Entry::new(&data, &tags).ok())
}

proptest! {
    #[test]
    fn tidying_twice_changes_nothing_more(text in nasty_text()) {
        prop_assert_eq!(tidy(&tidy(&text)), tidy(&text));
    }

    #[test]
    fn whatever_is_remembered_comes_back(before in prop::collection::vec(any::<u8>(), 0..40), new in prop::collection::vec(nasty_entry(), 1..5)) {
        prop_assume!(!before.starts_with(b"\xff\xfe") && !before.starts_with(b"\xfe\xff"));
        let old = entries(&before);
        let file = new.iter().fold(before.clone(), |file, entry| append(&file, entry));
        prop_assert!(file.starts_with(&before));
        let expected: Vec<Entry> = old.into_iter().chain(new).collect();
        prop_assert_eq!(entries(&file), expected);
    }

    #[test]
    fn cutting_removes_one_and_keeps_the_others(all in prop::collection::vec(nasty_entry(), 1..6), which in any::<prop::sample::Index>()) {
        let file = all.iter().fold(Vec::new(), |file, entry| append(&file, entry));
        let which = which.index(all.len());
        let mut expected = all.clone();
        expected.remove(which);
        prop_assert_eq!(entries(&cut(&file, &parse(&file)[which])), expected);
    }
}
