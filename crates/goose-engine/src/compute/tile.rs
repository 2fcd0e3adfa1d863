//! Products of small float matrices, in register tiles. Attention consists of them.
//!
//! Every element is one chain of fused multiply-adds in the order of the depth, in whichever tile it is.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch};

/// Left matrix: row `i` begins at `start + i * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) start: usize,
    pub(crate) stride: usize,
}

/// Matrix that the product is added to: row `i` begins at `i * stride`.
pub(crate) struct Out<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
}

/// `out += left × right`, with `rows × depth` and `depth × width` numbers.
pub(crate) struct Product<'a> {
    pub(crate) left: Left<'a>,
    /// `depth` rows of `width` values, one after the other.
    pub(crate) right: &'a [f32],
    pub(crate) out: Out<'a>,
    pub(crate) rows: usize,
    pub(crate) depth: usize,
    /// Number of columns, a multiple of 16.
    pub(crate) width: usize,
}

impl Product<'_> {
    /// Computes the product, and adds it to `out`.
    pub(crate) fn add(self, level: Instructions) {
        if self.rows == 0 || self.depth == 0 || self.width == 0 {
            return;
        }
        // The tiles below check no bounds, so all are checked here.
        assert!(self.width.is_multiple_of(WIDTH) && self.right.len() >= self.depth * self.width);
        assert!(self.left.values.len() >= self.left.start + (self.rows - 1) * self.left.stride + self.depth);
        assert!(self.out.values.len() >= (self.rows - 1) * self.out.stride + self.width);
        dispatch(level, self);
    }
}

impl Kernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, simd: L::Token) {
        let mut column = 0;
        while column < self.width {
            if L::TILE == 4 && self.width - column >= 4 * WIDTH {
                self.column::<L, 4>(simd, column);
                column += 4 * WIDTH;
            } else {
                self.column::<L, 1>(simd, column);
                column += WIDTH;
            }
        }
    }
}

impl Product<'_> {
    /// Computes all rows of `V` registers of columns.
    #[inline(always)]
    fn column<L: Lanes, const V: usize>(&mut self, simd: L::Token, column: usize) {
        let mut row = 0;
        while row < self.rows {
            match self.rows - row {
                6.. => {
                    self.tile::<L, 6, V>(simd, row, column);
                    row += 6;
                }
                3.. => {
                    self.tile::<L, 3, V>(simd, row, column);
                    row += 3;
                }
                _ => {
                    self.tile::<L, 1, V>(simd, row, column);
                    row += 1;
                }
            }
        }
    }

    #[inline(always)]
    fn tile<L: Lanes, const R: usize, const V: usize>(&mut self, simd: L::Token, row: usize, column: usize) {
        let mut sums = [[L::splat(simd, 0.0); V]; R];
        // SAFETY: all rows and columns are inside the slices, as `add` has checked.
        unsafe {
            let left: [*const f32; R] = std::array::from_fn(|r| {
                self.left.values.as_ptr().add(self.left.start + (row + r) * self.left.stride)
            });
            let out: [*mut f32; R] = std::array::from_fn(|r| {
                self.out.values.as_mut_ptr().add((row + r) * self.out.stride + column)
            });
            for r in 0..R {
                for v in 0..V {
                    sums[r][v] = L::load(simd, &*out[r].add(v * WIDTH).cast());
                }
            }
            let mut right = self.right.as_ptr().add(column);
            for k in 0..self.depth {
                let factors: [L; V] = std::array::from_fn(|v| L::load(simd, &*right.add(v * WIDTH).cast()));
                for r in 0..R {
                    let value = L::splat(simd, *left[r].add(k));
                    for v in 0..V {
                        sums[r][v] = value.mul_add(factors[v], sums[r][v]);
                    }
                }
                right = right.wrapping_add(self.width);
            }
            for r in 0..R {
                for v in 0..V {
                    sums[r][v].store(&mut *out[r].add(v * WIDTH).cast());
                }
            }
        }
    }
}
