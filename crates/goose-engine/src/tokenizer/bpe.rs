//! Byte-level pair merging: a word starts as single bytes, and the pair with the lowest rank is merged
//! first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::split::Splitter;
use super::vocabulary::{Role, Vocabulary};
use crate::EngineError;
use crate::gguf::Gguf;

/// Mergeable pairs, by their two tokens.
type Merges = HashMap<u64, Merge, BuildHasherDefault<PairHasher>>;

#[derive(Clone, Copy)]
struct Merge {
    rank: u32,
    token: u32,
}

/// Byte-level tokenizer without its vocabulary.
pub(super) struct Bpe {
    merges: Merges,
    bytes: [Option<u32>; 256],
    splitter: Splitter,
    /// True if models with this vocabulary expect a begin token unless their file says otherwise.
    pub(super) begins_by_default: bool,
}

/// Hasher for pairs of token ids. One multiplication is enough, because the ids are well spread.
#[derive(Default)]
pub(super) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Returns the byte that a character of the alphabet stands for. Printable characters stand for
/// themselves; the other bytes are mapped, in order, to the characters from 256 on.
fn byte_of(c: char) -> Option<u8> {
    let own = |code: u32| matches!(code, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let code = c as u32;
    if own(code) {
        return u8::try_from(code).ok();
    }
    let nth = code.checked_sub(256)? as usize;
    (0..=255_u8).filter(|byte| !own((*byte).into())).nth(nth)
}

/// Appends the bytes of a token. The text of special tokens is taken literally.
pub(super) fn decode(alphabet: &[Option<u8>], text: &[u8], role: Role, out: &mut Vec<u8>) {
    let plain = !matches!(role, Role::Normal | Role::Byte);
    let Some(text) = std::str::from_utf8(text).ok().filter(|_| !plain) else {
        out.extend_from_slice(text);
        return;
    };
    let start = out.len();
    for c in text.chars() {
        match alphabet.get(c as usize).copied().flatten() {
            Some(byte) => out.push(byte),
            None => {
                out.truncate(start);
                out.extend_from_slice(text.as_bytes());
                return;
            }
        }
    }
}

/// Returns the alphabet as a table from character to byte.
pub(super) fn alphabet() -> Vec<Option<u8>> {
    (0..0x180_u32).map(|code| char::from_u32(code).and_then(byte_of)).collect()
}

impl Bpe {
    /// Reads the merges of a file.
    pub(super) fn read(file: &Gguf, vocabulary: &Vocabulary) -> Result<Self, EngineError> {
        let name = match file.text("tokenizer.ggml.pre") {
            Some(name) => name,
            None if file.text("general.architecture") == Some("llama") => "gpt-2",
            None => "qwen2",
        };
        let splitter = Splitter::named(name);
        let lines = file
            .texts("tokenizer.ggml.merges")
            .ok_or_else(|| EngineError::Malformed("its tokenizer has no merges".to_owned()))?;
        let alphabet = alphabet();
        let mut merges = Merges::with_capacity_and_hasher(lines.len(), BuildHasherDefault::default());
        let mut joined = Vec::new();
        for (rank, line) in lines.enumerate() {
            let Some(blank) = line.iter().skip(1).position(|byte| *byte == b' ') else { continue };
            let (left, right) = (&line[..=blank], &line[blank + 2..]);
            joined.clear();
            decode(&alphabet, left, Role::Normal, &mut joined);
            let middle = joined.len();
            decode(&alphabet, right, Role::Normal, &mut joined);
            let parts = (
                vocabulary.find(&joined[..middle]),
                vocabulary.find(&joined[middle..]),
                vocabulary.find(&joined),
            );
            if let (Some(left), Some(right), Some(token)) = parts {
                merges.entry(pair(left, right)).or_insert(Merge { rank: rank as u32, token });
            }
        }
        let bytes = std::array::from_fn(|byte| vocabulary.find(&[byte as u8]));
        let begins_by_default =
            matches!(name, "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "pixtral" | "tekken");
        Ok(Self { merges, bytes, splitter, begins_by_default })
    }

    /// Appends the tokens of a text.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: &str, out: &mut Vec<u32>) {
        let mut word = Word::default();
        self.splitter.split(text, &mut |piece| {
            if self.splitter.takes_whole_words()
                && let Some(token) = vocabulary.find(piece.as_bytes())
            {
                out.push(token);
                return;
            }
            word.encode(self, piece, out);
        });
    }
}

/// Word during merging: a linked list of parts.
#[derive(Default)]
struct Word {
    tokens: Vec<u32>,
    /// Index of the next part.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Mergeable pairs: rank, index of the left part, and the pair at the time of insertion.
    queue: BinaryHeap<Reverse<(u32, usize, u64)>>,
}

/// Index of no part.
const NONE: usize = usize::MAX;
/// Token of a part that was merged into the one before it.
const MERGED: u32 = u32::MAX;

impl Word {
    fn encode(&mut self, bpe: &Bpe, piece: &str, out: &mut Vec<u32>) {
        self.tokens.clear();
        self.tokens.extend(piece.bytes().filter_map(|byte| bpe.bytes[byte as usize]));
        let len = self.tokens.len();
        self.next.clear();
        self.next.extend((1..=len).map(|next| if next == len { NONE } else { next }));
        self.previous.clear();
        self.previous.extend((0..len).map(|part| part.checked_sub(1).unwrap_or(NONE)));
        self.queue.clear();
        for left in 0..len {
            self.offer(bpe, left);
        }
        while let Some(Reverse((_, left, pair))) = self.queue.pop() {
            self.join(bpe, left, pair);
        }
        out.extend(self.tokens.iter().filter(|token| **token != MERGED));
    }

    fn pair_at(&self, left: usize) -> Option<u64> {
        let right = *self.next.get(left).filter(|right| **right != NONE)?;
        (self.tokens[left] != MERGED).then(|| pair(self.tokens[left], self.tokens[right]))
    }

    fn offer(&mut self, bpe: &Bpe, left: usize) {
        if let Some(pair) = self.pair_at(left)
            && let Some(merge) = bpe.merges.get(&pair)
        {
            self.queue.push(Reverse((merge.rank, left, pair)));
        }
    }

    fn join(&mut self, bpe: &Bpe, left: usize, pair: u64) {
        // One half of the pair may have been merged since it was queued.
        if self.pair_at(left) != Some(pair) {
            return;
        }
        let Some(merge) = bpe.merges.get(&pair) else { return };
        let right = self.next[left];
        self.tokens[left] = merge.token;
        self.tokens[right] = MERGED;
        self.next[left] = self.next[right];
        if self.next[left] != NONE {
            let after = self.next[left];
            self.previous[after] = left;
        }
        self.offer(bpe, left);
        if self.previous[left] != NONE {
            self.offer(bpe, self.previous[left]);
        }
    }
}
