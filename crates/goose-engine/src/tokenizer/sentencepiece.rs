//! SentencePiece: merges characters into the pieces with the best scores. Characters outside of the
//! vocabulary become bytes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::TextPosition;
use super::vocabulary::{Role, Vocabulary};
use crate::EngineError;
use crate::gguf::Gguf;

/// Character for a blank in vocabularies.
const BLANK: &str = "\u{2581}";

/// SentencePiece tokenizer without its vocabulary.
pub(super) struct SentencePiece {
    scores: Vec<f32>,
    bytes: [Option<u32>; 256],
    unknown: Option<u32>,
    /// True if a blank is added before a text.
    blank_first: bool,
}

/// Appends the bytes of a token.
pub(super) fn decode(text: &[u8], role: Role, out: &mut Vec<u8>) {
    match (role, std::str::from_utf8(text)) {
        (Role::Byte, Ok(name)) => out.extend(byte_named(name)),
        (Role::Normal, Ok(text)) => out.extend_from_slice(text.replace(BLANK, " ").as_bytes()),
        _ => out.extend_from_slice(text),
    }
}

/// Parses the name of a byte: `<0x0A>` is 10.
fn byte_named(name: &str) -> Option<u8> {
    u8::from_str_radix(name.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}

/// Neighbouring parts that form a piece. The best score comes first, then the leftmost.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Length of both parts when the pair was queued.
    len: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

/// Part of the text. It is empty after it was merged into the one before it.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    len: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

impl SentencePiece {
    /// Reads the scores of a file.
    pub(super) fn read(file: &Gguf, vocabulary: &Vocabulary) -> Result<Self, EngineError> {
        let scores: Vec<f32> =
            file.floats("tokenizer.ggml.scores").map(Iterator::collect).unwrap_or_default();
        if scores.len() != vocabulary.len() {
            return Err(EngineError::Malformed("its tokens and their scores differ in number".to_owned()));
        }
        let mut bytes = [None; 256];
        for token in vocabulary.with_role(Role::Byte) {
            if let [byte] = vocabulary.bytes(token) {
                bytes[*byte as usize] = Some(token);
            }
        }
        Ok(Self {
            scores,
            bytes,
            unknown: vocabulary.with_role(Role::Unknown).next(),
            blank_first: file.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true),
        })
    }

    /// Appends the tokens of a text. The vocabulary stores pieces with plain blanks, so the text needs no
    /// replacement.
    pub(super) fn encode(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        position: TextPosition,
        out: &mut Vec<u32>,
    ) {
        let prefixed;
        let text = if self.blank_first && position == TextPosition::Start && !text.is_empty() {
            prefixed = format!(" {text}");
            prefixed.as_str()
        } else {
            text
        };
        let mut parts = characters(text);
        let mut queue = BinaryHeap::new();
        for left in 0..parts.len() {
            self.offer(vocabulary, text, &parts, Some(left), &mut queue);
        }
        while let Some(pair) = queue.pop() {
            let (left, right) = (parts[pair.left], parts[pair.right]);
            if left.len == 0 || right.len == 0 || left.len + right.len != pair.len {
                continue;
            }
            parts[pair.left].len = pair.len;
            parts[pair.left].next = right.next;
            parts[pair.right].len = 0;
            if let Some(next) = right.next {
                parts[next].previous = Some(pair.left);
            }
            self.offer(vocabulary, text, &parts, left.previous, &mut queue);
            self.offer(vocabulary, text, &parts, Some(pair.left), &mut queue);
        }
        for part in parts.iter().filter(|part| part.len > 0) {
            self.emit(vocabulary, &text.as_bytes()[part.start..][..part.len], out);
        }
    }

    fn offer(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        parts: &[Part],
        left: Option<usize>,
        queue: &mut BinaryHeap<Pair>,
    ) {
        let Some(left) = left else { return };
        let Some(right) = parts[left].next else { return };
        let len = parts[left].len + parts[right].len;
        if let Some(token) = vocabulary.find(&text.as_bytes()[parts[left].start..][..len]) {
            queue.push(Pair { score: self.scores[token as usize], left, right, len });
        }
    }

    fn emit(&self, vocabulary: &Vocabulary, piece: &[u8], out: &mut Vec<u32>) {
        match vocabulary.find(piece) {
            Some(token) => out.push(token),
            None if piece.iter().all(|byte| self.bytes[*byte as usize].is_some()) => {
                out.extend(piece.iter().filter_map(|byte| self.bytes[*byte as usize]));
            }
            None => out.extend(self.unknown),
        }
    }
}

fn characters(text: &str) -> Vec<Part> {
    let count = text.chars().count();
    text.char_indices()
        .enumerate()
        .map(|(i, (start, c))| Part {
            start,
            len: c.len_utf8(),
            previous: i.checked_sub(1),
            next: (i + 1 < count).then_some(i + 1),
        })
        .collect()
}
