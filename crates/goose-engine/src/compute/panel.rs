//! [`Panel`]: sixteen rows of weights, unpacked so that each lane of a register belongs to one row.
//!
//! Weights stay in the format of the file. A panel holds 256 columns of 16 rows while a batch of tokens
//! is multiplied with them; many tokens share the cost of unpacking.

use super::block::{BlockType, Family};
use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch};
use super::unpack::{COLUMNS, SMALLS, Scales, UnpackedRow, dequantize};

/// Number of rows of a panel.
pub(crate) const ROWS: usize = 16;

/// 256 columns of sixteen rows.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct Panel {
    /// Four columns of a row in each word: `[column / 4][row]`.
    pub(crate) quants: [[u32; ROWS]; COLUMNS / 4],
    /// Scale of each group of columns: `[group][row]`.
    pub(crate) scales: [[i32; ROWS]; 16],
    /// Factors for the sums of two neighbouring groups, as two 16-bit halves: `[pair][row]`.
    pub(crate) mins: [[i32; ROWS]; 8],
    /// Scale of each block: `[block][row]`; the k-quants use the first only.
    pub(crate) scale: [[f32; ROWS]; SMALLS],
    /// Minimum of each block, in the same layout.
    pub(crate) min: [[f32; ROWS]; SMALLS],
    /// Weights of the float formats: `[column][row]`.
    pub(crate) floats: [[f32; ROWS]; COLUMNS],
}

impl Panel {
    /// Returns two empty panels, on the heap because they are large.
    pub(crate) fn boxed() -> Box<[Self]> {
        vec![
            Self {
                quants: [[0; ROWS]; COLUMNS / 4],
                scales: [[0; ROWS]; 16],
                mins: [[0; ROWS]; 8],
                scale: [[0.0; ROWS]; SMALLS],
                min: [[0.0; ROWS]; SMALLS],
                floats: [[0.0; ROWS]; COLUMNS],
            };
            2
        ]
        .into_boxed_slice()
    }

    /// Fills a row from its stored blocks: at most 256 columns, in whole blocks.
    pub(crate) fn pack(&mut self, level: Instructions, kind: BlockType, blocks: &[u8], row: usize) {
        if kind.family() == Family::Float {
            self.pack_floats(level, kind, blocks, row);
        } else {
            dispatch(level, Pack { kind, blocks, row, panel: self });
        }
    }

    /// Fills the scales of a row.
    #[inline(always)]
    pub(super) fn pack_scales(&mut self, scales: &Scales, row: usize) {
        for (to, scale) in self.scales.iter_mut().zip(scales.groups) {
            to[row] = scale.into();
        }
        for (to, mins) in self.mins.iter_mut().zip(scales.mins.as_chunks::<2>().0) {
            to[row] = (i32::from(mins[0]) & 0xffff) | (i32::from(mins[1]) << 16);
        }
        for block in 0..SMALLS {
            self.scale[block][row] = scales.scale[block];
            self.min[block][row] = scales.min[block];
        }
    }

    fn pack_floats(&mut self, level: Instructions, kind: BlockType, values: &[u8], row: usize) {
        let mut numbers = [0.0; COLUMNS];
        let count = values.len() / kind.block_bytes();
        let numbers = &mut numbers[..count];
        if kind == BlockType::F16 && count.is_multiple_of(WIDTH) {
            dispatch(level, WidenHalves { from: values, to: numbers });
        } else {
            dequantize(kind, values, numbers);
        }
        for (column, number) in self.floats.iter_mut().zip(numbers) {
            column[row] = *number;
        }
    }
}

struct Pack<'a> {
    kind: BlockType,
    blocks: &'a [u8],
    row: usize,
    panel: &'a mut Panel,
}

impl Kernel for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L::Token) {
        let mut unpacked = UnpackedRow::EMPTY;
        unpacked.take(self.kind, self.blocks);
        self.panel.pack_scales(&unpacked.scales, self.row);
        for (to, word) in self.panel.quants.iter_mut().zip(unpacked.weights.as_chunks::<4>().0) {
            to[self.row] = u32::from_le_bytes(*word);
        }
    }
}

struct WidenHalves<'a> {
    from: &'a [u8],
    to: &'a mut [f32],
}

impl Kernel for WidenHalves<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let halves = self.from.as_chunks::<2>().0.as_chunks::<WIDTH>().0;
        for (from, to) in halves.iter().zip(self.to.as_chunks_mut::<WIDTH>().0) {
            L::from_halves(simd, &from.map(u16::from_le_bytes)).store(to);
        }
    }
}
