//! Parts of texts that are too long: the beginning, or the beginning and the end.

use std::borrow::Cow;

/// The beginning and the end of a text whose middle is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadTail<'a> {
    /// The beginning.
    pub head: &'a str,
    /// The end.
    pub tail: &'a str,
    /// The bytes between them.
    pub omitted_bytes: usize,
}

impl<'a> HeadTail<'a> {
    fn split(text: &'a str, head: usize, tail: usize) -> Option<Self> {
        (head < tail).then(|| Self { head: &text[..head], tail: &text[tail..], omitted_bytes: tail - head })
    }
}

/// Returns at most `head` bytes from the beginning and `tail` bytes from the end; `None` if that is all of it.
pub fn head_tail_bytes(text: &str, head: usize, tail: usize) -> Option<HeadTail<'_>> {
    let end = text.floor_char_boundary(head);
    HeadTail::split(text, end, text.ceil_char_boundary(text.len().saturating_sub(tail)))
}

/// Returns `head` characters from the beginning and `tail` characters from the end; `None` if that is all of it.
pub fn head_tail_chars(text: &str, head: usize, tail: usize) -> Option<HeadTail<'_>> {
    let start = match tail.checked_sub(1) {
        Some(last) => text.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
        None => text.len(),
    };
    HeadTail::split(text, head_chars(text, head).len(), start)
}

/// Returns the first `max` characters.
pub fn head_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// Returns the text, or its first `max` characters and `…`.
pub fn truncate_chars(text: &str, max: usize) -> Cow<'_, str> {
    let head = head_chars(text, max);
    if head.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(format!("{head}…")) }
}

/// Returns the text, or about `max` characters of it: two thirds from its beginning and one third from its end, in
/// whole lines where lines are short, with a note in between.
pub fn truncate_middle(text: &str, max: usize) -> String {
    let Some(HeadTail { head, tail, .. }) = head_tail_chars(text, max - max / 3, max / 3) else {
        return text.to_owned();
    };
    let head = head.rfind('\n').filter(|at| *at > head.len() / 2).map_or(head, |at| &head[..at]);
    let tail = tail.find('\n').filter(|at| *at < tail.len() / 2).map_or(tail, |at| &tail[at + 1..]);
    let left_out = text.chars().count() - head.chars().count() - tail.chars().count();
    format!("{head}\n[… {left_out} characters left out …]\n{tail}")
}

/// Returns the text, or as many of its whole lines as fit into `max_bytes`, followed by a remark about the rest. A
/// single longer line is cut between characters.
pub fn truncate_lines(mut text: String, max_bytes: usize, remark: impl FnOnce(&str) -> String) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let end = text.floor_char_boundary(max_bytes);
    let end = text[..end].rfind('\n').map_or(end, |at| at + 1);
    let remark = remark(&text[end..]);
    text.truncate(end);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &remark
}
