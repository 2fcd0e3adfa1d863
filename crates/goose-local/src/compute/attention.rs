//! Attention of a batch of tokens over a layer's cache.
//!
//! The cache holds keys and values as half floats in blocks of 64 positions: keys with positions lying together (so
//! that scores need no sums across lanes), values with the head's columns together. A piece of work is one key/value
//! head and a few tokens, with all query heads that share it; each cached block is widened once for all of them.

use super::lanes::{Kernel, Lanes, WIDTH, dispatch};
use super::level::Instructions as Level;
use super::pool::{Pool, SharedMut};
use super::tile::{Left, Out, Product};
use super::vector::exponentials;

/// Positions in a block of the cache.
pub(crate) const BLOCK: usize = 64;
/// Tokens of a piece of work.
const TOKENS: usize = 8;

/// One layer's keys and values.
pub(crate) struct LayerCache {
    /// `[head][block][column][position in block]`
    keys: Vec<u16>,
    /// `[head][position][column]`
    values: Vec<u16>,
    heads: usize,
    columns: usize,
    blocks: usize,
}

impl LayerCache {
    /// Room for `capacity` positions. Memory that is not used yet is not taken from the system yet.
    pub(crate) fn new(heads: usize, columns: usize, capacity: usize) -> Self {
        let blocks = capacity.div_ceil(BLOCK);
        let len = heads * blocks * BLOCK * columns;
        Self { keys: vec![0; len], values: vec![0; len], heads, columns, blocks }
    }

    fn block_len(&self) -> usize {
        BLOCK * self.columns
    }

    fn head_len(&self) -> usize {
        self.blocks * self.block_len()
    }

    /// Stores keys and values of the tokens from `position` on; rows have all heads one after the other.
    pub(crate) fn store(
        &mut self,
        level: Level,
        pool: &mut Pool,
        position: usize,
        keys: &[f32],
        values: &[f32],
    ) {
        let (head_len, columns, row) = (self.head_len(), self.columns, self.heads * self.columns);
        let (all_keys, all_values) = (SharedMut::new(&mut self.keys), SharedMut::new(&mut self.values));
        pool.run(self.heads, &|head, _| {
            // SAFETY: every head has a part of its own.
            let (own_keys, own_values) = unsafe {
                (all_keys.part(head * head_len, head_len), all_values.part(head * head_len, head_len))
            };
            let rows = keys.chunks_exact(row).zip(values.chunks_exact(row));
            let mut narrow = vec![0; columns];
            for (i, (keys, values)) in rows.enumerate() {
                let position = position + i;
                let value = &mut own_values[position * columns..][..columns];
                dispatch(level, Narrow { from: &values[head * columns..][..columns], to: value });
                dispatch(level, Narrow { from: &keys[head * columns..][..columns], to: &mut narrow });
                let block = &mut own_keys[position / BLOCK * BLOCK * columns..][..BLOCK * columns];
                for (column, key) in block.chunks_exact_mut(BLOCK).zip(&narrow) {
                    column[position % BLOCK] = *key;
                }
            }
        });
    }

    /// The stored halves of the first `positions`, in whole blocks, head after head: keys, then values.
    pub(crate) fn parts(&self, positions: usize) -> impl Iterator<Item = &[u16]> {
        let (len, head_len) = (positions.div_ceil(BLOCK) * self.block_len(), self.head_len());
        let heads = move |all: &'_ [u16]| -> Vec<std::ops::Range<usize>> {
            (0..all.len() / head_len.max(1)).map(|head| head * head_len..head * head_len + len).collect()
        };
        let keys = heads(&self.keys).into_iter().map(|range| &self.keys[range]);
        keys.chain(heads(&self.values).into_iter().map(|range| &self.values[range]))
    }

    /// The same, to be filled.
    pub(crate) fn parts_mut(&mut self, positions: usize) -> impl Iterator<Item = &mut [u16]> {
        let (len, head_len) = (positions.div_ceil(BLOCK) * self.block_len(), self.head_len());
        let keys = self.keys.chunks_exact_mut(head_len.max(1));
        keys.chain(self.values.chunks_exact_mut(head_len.max(1))).map(move |head| &mut head[..len])
    }
}

/// What one thread works with.
#[derive(Default)]
pub(crate) struct AttentionScratch {
    queries: Vec<f32>,
    scores: Vec<f32>,
    sums: Vec<f32>,
    block: Vec<f32>,
    out: Vec<f32>,
}

/// A batch's attention: `heads` query heads of `columns` values, `queries` and `out` with a row for each token.
pub(crate) struct Attention<'a> {
    pub(crate) level: Level,
    pub(crate) heads: usize,
    /// The position of the first token.
    pub(crate) position: usize,
    pub(crate) queries: &'a [f32],
    pub(crate) cache: &'a LayerCache,
}

impl Attention<'_> {
    /// Computes it with all threads.
    pub(crate) fn run(&self, pool: &mut Pool, scratch: &mut Vec<AttentionScratch>, out: &mut [f32]) {
        let row = self.heads * self.cache.columns;
        let tokens = self.queries.len() / row;
        let pieces = tokens.div_ceil(TOKENS);
        scratch.resize_with(pool.threads(), AttentionScratch::default);
        let (scratch, out) = (SharedMut::new(scratch), SharedMut::new(out));
        pool.run(pieces * self.cache.heads, &|item, thread| {
            let (piece, head) = (pieces - 1 - item / self.cache.heads, item % self.cache.heads);
            let first = piece * TOKENS;
            let count = TOKENS.min(tokens - first);
            // SAFETY: every thread has a scratch of its own.
            let scratch = unsafe { &mut scratch.part(thread, 1)[0] };
            self.piece(head, first, count, scratch);
            let shared = self.heads / self.cache.heads * self.cache.columns;
            for (token, own) in scratch.out.chunks_exact(shared).enumerate() {
                // SAFETY: no other item has these heads of these tokens.
                let out = unsafe { out.part((first + token) * row + head * shared, shared) };
                out.copy_from_slice(own);
            }
        });
    }

    fn piece(&self, head: usize, first: usize, count: usize, scratch: &mut AttentionScratch) {
        let columns = self.cache.columns;
        let group = self.heads / self.cache.heads;
        let rows = count * group;
        let positions = self.position + first + count;
        let blocks = positions.div_ceil(BLOCK);
        self.gather_queries(head, first, count, &mut scratch.queries);
        refill(&mut scratch.scores, rows * blocks * BLOCK);
        refill(&mut scratch.out, rows * columns);
        scratch.block.resize(self.cache.block_len(), 0.0);
        for block in 0..blocks {
            self.widen(&self.cache.keys, head, block, &mut scratch.block);
            Product {
                left: Left { values: &scratch.queries, start: 0, stride: columns },
                right: &scratch.block,
                out: Out { values: &mut scratch.scores[block * BLOCK..], stride: blocks * BLOCK },
                rows,
                depth: columns,
                width: BLOCK,
            }
            .add(self.level);
        }
        self.to_probabilities(first, group, blocks * BLOCK, scratch);
        for block in 0..blocks {
            self.widen(&self.cache.values, head, block, &mut scratch.block);
            Product {
                left: Left { values: &scratch.scores, start: block * BLOCK, stride: blocks * BLOCK },
                right: &scratch.block,
                out: Out { values: &mut scratch.out, stride: columns },
                rows,
                depth: BLOCK,
                width: columns,
            }
            .add(self.level);
        }
        for (row, sum) in scratch.out.chunks_exact_mut(columns).zip(&scratch.sums) {
            let factor = 1.0 / sum;
            row.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// The queries of a piece, scaled, a row for each token and head.
    fn gather_queries(&self, head: usize, first: usize, count: usize, to: &mut Vec<f32>) {
        let columns = self.cache.columns;
        let group = self.heads / self.cache.heads;
        let scale = 1.0 / (columns as f32).sqrt();
        to.clear();
        for token in first..first + count {
            let own = &self.queries[(token * self.heads + head * group) * columns..][..group * columns];
            to.extend(own.iter().map(|value| value * scale));
        }
    }

    /// Exponentials of the scores that each token may see; the others become zero.
    fn to_probabilities(&self, first: usize, group: usize, stride: usize, scratch: &mut AttentionScratch) {
        scratch.sums.clear();
        for (row, scores) in scratch.scores.chunks_exact_mut(stride).enumerate() {
            let seen = self.position + first + row / group + 1;
            scratch.sums.push(exponentials(self.level, &mut scores[..seen]));
            scores[seen..].fill(0.0);
        }
    }

    fn widen(&self, halves: &[u16], head: usize, block: usize, to: &mut [f32]) {
        let len = self.cache.block_len();
        let from = &halves[head * self.cache.head_len() + block * len..][..len];
        dispatch(self.level, Widen { from, to });
    }
}

fn refill(values: &mut Vec<f32>, len: usize) {
    values.clear();
    values.resize(len, 0.0);
}

struct Widen<'a> {
    from: &'a [u16],
    to: &'a mut [f32],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (from, to) = (self.from.as_chunks::<WIDTH>().0, self.to.as_chunks_mut::<WIDTH>().0);
        for (from, to) in from.iter().zip(to) {
            L::from_halves(from).store(to);
        }
    }
}

struct Narrow<'a> {
    from: &'a [f32],
    to: &'a mut [u16],
}

impl Kernel for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (from, to) = (self.from.as_chunks::<WIDTH>().0, self.to.as_chunks_mut::<WIDTH>().0);
        for (from, to) in from.iter().zip(to) {
            L::load(from).to_halves(to);
        }
    }
}
