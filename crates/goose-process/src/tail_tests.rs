//! The part of a stream that is kept, whatever it writes and however it arrives.

use super::*;

fn lines(chunks: &[&[u8]]) -> Lines {
    let mut lines = Lines::default();
    chunks.iter().for_each(|chunk| lines.push(chunk));
    lines
}

fn all(lines: &Lines) -> String {
    lines.last(usize::MAX)
}

#[test]
fn chunks_may_end_anywhere() {
    let text = "größer\n€uro 🦀\n\nend";
    for cut in 0..=text.len() {
        let (first, second) = text.as_bytes().split_at(cut);
        assert_eq!(all(&lines(&[first, second])), text, "cut at {cut}");
    }
}

#[test]
fn what_has_come_so_far_ends_with_a_whole_character() {
    let text = "aé€🦀";
    for cut in 0..=text.len() {
        let whole = (0..=cut).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        assert_eq!(all(&lines(&[&text.as_bytes()[..cut]])), text[..whole], "cut at {cut}");
    }
}

#[test]
fn a_long_line_keeps_its_beginning_and_no_half_character() {
    for letter in ["a", "é", "€", "🦀"] {
        for shift in 0..letter.len() {
            let line = "x".repeat(shift) + &letter.repeat(MAX_LINE_BYTES + 1);
            for size in [1, 7, line.len()] {
                let mut kept = Lines::default();
                line.as_bytes().chunks(size).for_each(|chunk| kept.push(chunk));
                kept.push(b"\nnext");
                let shown = all(&kept);
                let (start, more) = shown.split_once("… (").unwrap();
                assert!(line.starts_with(start), "{letter} {shift} {size}");
                assert!(start.len() > MAX_LINE_BYTES - 4 && start.len() <= MAX_LINE_BYTES);
                assert_eq!(more, format!("{} bytes more)\nnext", line.len() - start.len()));
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_control_characters_kept() {
    assert_eq!(all(&lines(&[b"a\xFFb\x1b[31m\tc\r\n\xC3"])), "a\u{FFFD}b\x1b[31m\tc\r");
    assert_eq!(all(&lines(&[b"\xC3\nx"])), "\u{FFFD}\nx");
    assert_eq!(all(&lines(&[b"\xC3("])), "\u{FFFD}(");
}

#[test]
fn an_endless_stream_keeps_its_last_lines() {
    let mut kept = Lines::default();
    for number in 0..100_000 {
        kept.push(format!("line {number}\n").as_bytes());
    }
    let shown = all(&kept);
    assert!(shown.lines().count() < MAX_LINES && shown.lines().count() > MAX_LINES - 3);
    assert!(shown.ends_with("line 99998\nline 99999"));
    assert_eq!(kept.last(2), "line 99998\nline 99999");
    assert_eq!(kept.last(0), "");
}

#[test]
fn the_cap_in_bytes_holds_at_every_moment() {
    let mut kept = Lines::default();
    let line = "x".repeat(MAX_LINE_BYTES * 2);
    for _ in 0..100 {
        kept.push(line.as_bytes());
        assert!(all(&kept).len() <= MAX_BYTES);
        kept.push(b"\n");
        assert!(all(&kept).len() <= MAX_BYTES);
    }
    assert!(all(&kept).len() > MAX_BYTES / 2);
}
