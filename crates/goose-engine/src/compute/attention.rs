//! Attention of a batch of tokens over a layer's cache.
//!
//! A piece of work is one key/value
//! head and a few tokens, with the query heads that share it; each cached block is widened once for all of them. Only
//! where there are fewer pieces than threads do they share less.

use super::cache::{BLOCK, LayerCache};
use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch};
use super::pool::{Pool, SharedMut};
use super::tile::{Left, Out, Product};
use super::vector::exponentials;

/// Tokens of a piece of work.
const TOKENS: usize = 8;

/// The buffers of one thread.
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
    pub(crate) level: Instructions,
    pub(crate) heads: usize,
    /// The position of the first token.
    pub(crate) position: usize,
    pub(crate) queries: &'a [f32],
    pub(crate) cache: &'a LayerCache,
}

/// The work of one thread at a time: some query heads, which share a key/value head, of some tokens.
struct Piece {
    kv_head: usize,
    /// The first query head, and how many there are.
    head: usize,
    heads: usize,
    /// The first token of the batch, and how many there are.
    token: usize,
    tokens: usize,
}

impl Attention<'_> {
    /// Computes it with all threads.
    pub(crate) fn run(&self, pool: &mut Pool, scratch: &mut Vec<AttentionScratch>, out: &mut [f32]) {
        let columns = self.cache.columns;
        let row = self.heads * columns;
        let pieces = self.pieces(self.queries.len() / row, pool.threads());
        scratch.resize_with(pool.threads(), AttentionScratch::default);
        let (scratch, out) = (SharedMut::new(scratch), SharedMut::new(out));
        pool.run(pieces.len(), &|item, thread| {
            let piece = &pieces[item];
            // SAFETY: every thread has a scratch of its own.
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

    /// All pieces, the longest (of the last tokens) first.
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
                // What lies behind the last position is of no token: it may be anything.
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

    /// The queries of a piece, scaled, a row for each token and head.
    fn gather_queries(&self, piece: &Piece, to: &mut Vec<f32>) {
        let columns = self.cache.columns;
        let scale = 1.0 / (columns as f32).sqrt();
        to.clear();
        for token in piece.token..piece.token + piece.tokens {
            let first = (token * self.heads + piece.head) * columns;
            to.extend(self.queries[first..][..piece.heads * columns].iter().map(|value| value * scale));
        }
    }

    /// Exponentials of the scores that each token may see; the others become zero.
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

    /// A cache of two heads and so many positions.
    fn cache(positions: usize) -> LayerCache {
        let mut cache = LayerCache::new(2, 16, 128);
        let rows: Vec<f32> = (0..positions * 32).map(|i| (i as f32 * 0.3).cos()).collect();
        cache.store(Instructions::best(), &mut Pool::new(Some(1)), 0, &rows, &rows);
        cache
    }

    #[test]
    fn what_was_forgotten_may_be_infinite() {
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
