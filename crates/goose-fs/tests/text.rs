//! Truncation never cuts through a character, and says how much is missing.

use goose_fs::{
    head_chars, head_tail_bytes, head_tail_chars, truncate_chars, truncate_lines, truncate_middle,
};

#[test]
fn a_long_line_ends_in_an_ellipsis() {
    assert_eq!(truncate_chars("äöü", 3), "äöü");
    assert_eq!(truncate_chars("äöü", 2), "äö…");
    assert_eq!(head_chars("äöü", 1), "ä");
    assert_eq!(head_chars("äöü", 9), "äöü");
}

#[test]
fn whole_lines_stay() {
    let cut = |text: &str, max| truncate_lines(text.to_owned(), max, |rest| format!("[cut: {rest:?}]"));
    assert_eq!(cut("a\nb\n", 4), "a\nb\n");
    assert_eq!(cut("a\nbcd\n", 4), "a\n[cut: \"bcd\\n\"]");
    assert_eq!(cut("ääää", 3), "ä\n[cut: \"äää\"]");
}

#[test]
fn both_ends_stay_and_the_middle_is_counted() {
    let text = "aé€😀bé€😀c";
    for head in 0..=text.len() {
        for tail in 0..=text.len() {
            if let Some(parts) = head_tail_bytes(text, head, tail) {
                assert!(parts.head.len() <= head && parts.tail.len() <= tail);
                assert!(text.starts_with(parts.head) && text.ends_with(parts.tail));
                assert_eq!(parts.head.len() + parts.omitted_bytes + parts.tail.len(), text.len());
            } else {
                assert!(head + tail >= text.len() - 6, "{head} {tail}");
            }
        }
    }
    let chars = text.chars().count();
    assert_eq!(head_tail_chars(text, 4, chars - 4), None);
    let parts = head_tail_chars(text, 2, 2).unwrap();
    assert_eq!((parts.head, parts.tail), ("aé", "😀c"));
    assert_eq!(head_tail_chars(text, 1, 0).unwrap().tail, "");
}

#[test]
fn short_texts_are_kept_and_long_ones_keep_both_ends() {
    assert_eq!(truncate_middle("héllo", 5), "héllo");
    let lines: String = (1..=100).map(|line| format!("line {line} ä\n")).collect();
    let short = truncate_middle(&lines, 200);
    assert!(short.starts_with("line 1 ä\n") && short.ends_with("line 100 ä\n"), "{short}");
    assert!(short.contains("characters left out") && short.chars().count() < 260, "{short}");
}
