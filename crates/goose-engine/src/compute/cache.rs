//! Keys and values of a layer, as half floats in blocks of 64 positions. The positions of a key column
//! are contiguous, so that scores need no sums across lanes. The columns of a value are contiguous.

use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch};
use super::pool::{Pool, SharedMut};

/// Number of positions in a block.
pub(crate) const BLOCK: usize = 64;
/// Keys and values of one layer.
pub(crate) struct LayerCache {
    /// `[head][block][column][position in block]`
    pub(super) keys: Vec<u16>,
    /// `[head][position][column]`
    pub(super) values: Vec<u16>,
    pub(super) heads: usize,
    pub(super) columns: usize,
    blocks: usize,
}

impl LayerCache {
    /// Creates a cache for `capacity` positions. The system provides the memory only when it is first
    /// used.
    pub(crate) fn new(heads: usize, columns: usize, capacity: usize) -> Self {
        let blocks = capacity.div_ceil(BLOCK);
        let len = heads * blocks * BLOCK * columns;
        Self { keys: vec![0; len], values: vec![0; len], heads, columns, blocks }
    }

    pub(super) fn block_len(&self) -> usize {
        BLOCK * self.columns
    }

    pub(super) fn head_len(&self) -> usize {
        self.blocks * self.block_len()
    }

    /// Stores keys and values of the tokens from `position` on. Each row has all heads, one after the
    /// other.
    pub(crate) fn store(
        &mut self,
        level: Instructions,
        pool: &mut Pool,
        position: usize,
        keys: &[f32],
        values: &[f32],
    ) {
        let (head_len, columns, row) = (self.head_len(), self.columns, self.heads * self.columns);
        let (all_keys, all_values) = (SharedMut::new(&mut self.keys), SharedMut::new(&mut self.values));
        pool.run(self.heads, &|head, _| {
            // SAFETY: each head has its own part.
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

    /// Returns the stored half floats of the first `positions`, in whole blocks, head by head: keys, then
    /// values.
    pub(crate) fn parts(&self, positions: usize) -> impl Iterator<Item = &[u16]> {
        let (len, head_len) = (positions.div_ceil(BLOCK) * self.block_len(), self.head_len());
        let keys = self.keys.chunks_exact(head_len.max(1));
        keys.chain(self.values.chunks_exact(head_len.max(1))).map(move |head| &head[..len])
    }

    /// Returns the same parts as [`parts`](Self::parts), to be filled.
    pub(crate) fn parts_mut(&mut self, positions: usize) -> impl Iterator<Item = &mut [u16]> {
        let (len, head_len) = (positions.div_ceil(BLOCK) * self.block_len(), self.head_len());
        let keys = self.keys.chunks_exact_mut(head_len.max(1));
        keys.chain(self.values.chunks_exact_mut(head_len.max(1))).map(move |head| &mut head[..len])
    }
}

struct Narrow<'a> {
    from: &'a [f32],
    to: &'a mut [u16],
}

impl Kernel for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let (from, to) = (self.from.as_chunks::<WIDTH>().0, self.to.as_chunks_mut::<WIDTH>().0);
        for (from, to) in from.iter().zip(to) {
            L::load(simd, from).to_halves(to);
        }
    }
}
