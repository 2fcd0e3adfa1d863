//! Attention of a batch of tokens over a layer's cache.
//!
//! A piece of work is one key/value head and a few tokens, with all query heads of that head, so that
//! each cached block is widened once for all of them. If there are fewer pieces than threads, the query
//! heads are divided further.

use super::cache::{BLOCK, LayerCache};
use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch};
use super::pool::{Pool, SharedMut};
use super::tile::{Left, Out, Product};
use super::vector::exponentials;

/// Maximum number of tokens of a piece of work.
const TOKENS: usize = 8;

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct AttentionScratch {
    queries: Vec<f32>,
    scores: Vec<f32>,
    sums: Vec<f32>,
    block: Vec<f32>,
    out: Vec<f32>,
}

/// Attention of a batch. `queries` and the output have a row for each token, with `heads` query heads.
pub(crate) struct Attention<'a> {
    pub(crate) level: Instructions,
    pub(crate) heads: usize,
    /// Position of the first token.
    pub(crate) position: usize,
    pub(crate) queries: &'a [f32],
    pub(crate) cache: &'a LayerCache,
}

/// Piece of work: some query heads of one key/value head, for some tokens.
struct Piece {
    kv_head: usize,
    /// First query head, and number of query heads.
    head: usize,
    heads: usize,
    /// First token of the batch, and number of tokens.
    token: usize,
    tokens: usize,
}

impl Attention<'_> {
    /// Computes the attention with all threads.
    pub(crate) fn run(&self, pool: &mut Pool, scratch: &mut Vec<AttentionScratch>, out: &mut [f32]) {
        let columns = self.cache.columns;
        let row = self.heads * columns;
        let pieces = self.pieces(self.queries.len() / row, pool.threads());
        scratch.resize_with(pool.threads(), AttentionScratch::default);
        let (scratch, out) = (SharedMut::new(scratch), SharedMut::new(out));
        pool.run(pieces.len(), &|item, thread| {
            let piece = &pieces[item];
            // SAFETY: each thread has its own scratch.
            let scratch = unsafe { &mut scratch.part(thread, 1)[0] };
            self.compute(piece, scratch);
            let width = piece.heads * columns;
            for (token, own) in scratch.out.chunks_exact(width).enumerate() {
                // SAFETY: no other piece has these heads of these tokens.
                let out = unsafe { out.part((piece.token + token) * row + piece.head * columns, width) };
                out.copy_from_slice(own);
            }
        });
    }

    /// Returns all pieces, the longest first. Those are the pieces of the last tokens.
    fn pieces(&self, tokens: usize, threads: usize) -> Vec<Piece> {
        let kv_heads = self.cache.heads;
        let group = self.heads / kv_heads;
        let whole = tokens.div_ceil(TOKENS) * kv_heads;
        let parts = threads.div_ceil(whole.max(1)).min(group).max(1);
        let mut pieces = Vec::with_capacity(whole * parts);
        for token in (0..tokens).step_by(TOKENS).rev() {
            for kv_head in 0..kv_heads {
                for part in 0..parts {
                    let (from, to) = (group * part / parts, group * (part + 1) / parts);
                    pieces.push(Piece {
                        kv_head,
                        head: kv_head * group + from,
                        heads: to - from,
                        token,
                        tokens: TOKENS.min(tokens - token),
                    });
                }
            }
        }
        pieces
    }

    fn compute(&self, piece: &Piece, scratch: &mut AttentionScratch) {
        let columns = self.cache.columns;
        let rows = piece.tokens * piece.heads;
        let positions = self.position + piece.token + piece.tokens;
        let blocks = positions.div_ceil(BLOCK);
        self.gather_queries(piece, &mut scratch.queries);
        refill(&mut scratch.scores, rows * blocks * BLOCK);
        refill(&mut scratch.out, rows * columns);
        scratch.block.resize(self.cache.block_len(), 0.0);
        for block in 0..blocks {
            self.widen(&self.cache.keys, piece.kv_head, block, &mut scratch.block);
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
        self.to_probabilities(piece, blocks * BLOCK, scratch);
        for block in 0..blocks {
            self.widen(&self.cache.values, piece.kv_head, block, &mut scratch.block);
            Product {
                left: Left { values: &scratch.scores, start: block * BLOCK, stride: blocks * BLOCK },
                right: &scratch.block,
                out: Out { values: &mut scratch.out, stride: columns },
                rows,
                // Values behind the last position belong to no token, and may be infinite.
                depth: BLOCK.min(positions - block * BLOCK),
                width: columns,
            }
            .add(self.level);
        }
        for (row, sum) in scratch.out.chunks_exact_mut(columns).zip(&scratch.sums) {
            let factor = 1.0 / sum;
            row.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// Collects the scaled queries of a piece, one row per token and head.
    fn gather_queries(&self, piece: &Piece, to: &mut Vec<f32>) {
        let columns = self.cache.columns;
        let scale = 1.0 / (columns as f32).sqrt();
        to.clear();
        for token in piece.token..piece.token + piece.tokens {
            let first = (token * self.heads + piece.head) * columns;
            to.extend(self.queries[first..][..piece.heads * columns].iter().map(|value| value * scale));
        }
    }

    /// Replaces the scores that a token may see by their exponentials, and the others by zero.
    fn to_probabilities(&self, piece: &Piece, stride: usize, scratch: &mut AttentionScratch) {
        scratch.sums.clear();
        for (row, scores) in scratch.scores.chunks_exact_mut(stride).enumerate() {
            let seen = self.position + piece.token + row / piece.heads + 1;
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
    fn run<L: Lanes>(self, simd: L::Token) {
        let (from, to) = (self.from.as_chunks::<WIDTH>().0, self.to.as_chunks_mut::<WIDTH>().0);
        for (from, to) in from.iter().zip(to) {
            L::from_halves(simd, from).store(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attend(threads: usize, heads: usize, position: usize, cache: &LayerCache) -> Vec<f32> {
        let queries: Vec<f32> = (0..heads * 16).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut out = vec![0.0; queries.len()];
        let attention = Attention { level: Instructions::best(), heads, position, queries: &queries, cache };
        attention.run(&mut Pool::new(Some(threads)), &mut Vec::new(), &mut out);
        out
    }

    /// Returns a cache with two heads.
    fn cache(positions: usize) -> LayerCache {
        let mut cache = LayerCache::new(2, 16, 128);
        let rows: Vec<f32> = (0..positions * 32).map(|i| (i as f32 * 0.3).cos()).collect();
        cache.store(Instructions::best(), &mut Pool::new(Some(1)), 0, &rows, &rows);
        cache
    }

    #[test]
    fn infinite_values_behind_the_end_are_ignored() {
        let mut cache = cache(70);
        let wanted = attend(1, 6, 65, &cache);
        let endless = [f32::INFINITY; 32];
        cache.store(Instructions::best(), &mut Pool::new(Some(1)), 66, &endless, &endless);
        let got = attend(1, 6, 65, &cache);
        assert!(got.iter().all(|value| value.is_finite()) && got == wanted);
    }

    #[test]
    fn more_threads_than_heads_give_the_same_bits() {
        let cache = cache(70);
        let wanted = attend(1, 10, 69, &cache);
        for threads in [2, 3, 5, 9, 30] {
            assert_eq!(attend(threads, 10, 69, &cache), wanted, "{threads} threads");
        }
    }
}
