//! Matrix times activations, one strip of rows at a time.
//!
//! A strip is the work of one thread: 32 rows, against every token of the batch. For one token, quantized
//! rows are read directly from the file's blocks. For more, 256 columns at a time are unpacked into
//! panels, which stay in the L1 cache for all tokens. Both ways, and every instruction set, give
//! bit-identical results, so the result of a token does not depend on its batch.

use super::activations::Activations;
#[cfg(target_arch = "x86_64")]
use super::activations::QuantizedRow;
use super::block::{BlockType, Family, SMALL, SUPER};
use super::instructions::{Instructions, Level};
use super::lanes::dispatch;
use super::panel::{Panel, ROWS};
use super::rows::Rows;
use super::unpack::COLUMNS;
use super::{portable, tile};

/// Number of rows of a strip.
pub(crate) const STRIP: usize = 2 * ROWS;
/// Stand-in for missing rows, as large as the blocks of 256 columns in the largest format (`F32`).
static NO_ROW: [u8; COLUMNS * 4] = [0; COLUMNS * 4];

/// Matrix in the file.
#[derive(Clone, Copy)]
pub(crate) struct MatrixView<'a> {
    pub(crate) kind: BlockType,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Bytes of exactly `rows` rows.
    pub(crate) data: &'a [u8],
}

/// Buffers of one thread.
pub(crate) struct Scratch {
    panels: Box<[Panel]>,
    sums: Vec<f32>,
}

/// 256 columns of a k-quant, for all tokens.
pub(crate) struct SuperChunk<'a> {
    pub(crate) activations: &'a Activations,
    pub(crate) tokens: usize,
    pub(crate) kind: BlockType,
    /// Index of the block of 256.
    pub(crate) block: usize,
}

/// Up to 256 columns of an older format, for all tokens.
pub(crate) struct SmallChunk<'a> {
    pub(crate) activations: &'a Activations,
    pub(crate) tokens: usize,
    pub(crate) first_block: usize,
    pub(crate) blocks: usize,
    pub(crate) kind: BlockType,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { panels: Panel::boxed(), sums: Vec::new() }
    }
}

impl MatrixView<'_> {
    /// Returns the number of strips.
    pub(crate) fn strips(&self) -> usize {
        self.rows.div_ceil(STRIP)
    }

    fn row_bytes(&self) -> usize {
        self.kind.row_bytes(self.columns)
    }

    /// Multiplies a strip with all tokens. The result has `STRIP` floats for each token. In the last
    /// strip, those beyond the last row are meaningless.
    pub(crate) fn multiply<'s>(
        &self,
        level: Instructions,
        strip: usize,
        activations: &Activations,
        scratch: &'s mut Scratch,
    ) -> &'s [f32] {
        // The kernels below check no bounds, so their requirements are checked here.
        assert_eq!(activations.columns(), self.columns, "a token and a matrix of different widths");
        assert!(strip < self.strips() && self.data.len() == self.rows * self.row_bytes());
        let first = strip * STRIP;
        let count = STRIP.min(self.rows - first);
        let tokens = activations.tokens();
        scratch.sums.clear();
        scratch.sums.resize(tokens * STRIP, 0.0);
        if tokens == 1 && self.kind.family() != Family::Float {
            self.multiply_rows(level, first, activations, &mut scratch.sums[..count]);
        } else {
            for chunk in 0..self.columns.div_ceil(COLUMNS) {
                self.pack(level, first, count, chunk, &mut scratch.panels);
                self.multiply_chunk(level, chunk, activations, scratch);
            }
        }
        &scratch.sums
    }

    /// Multiplies one token, directly from the blocks.
    fn multiply_rows(&self, level: Instructions, first: usize, activations: &Activations, out: &mut [f32]) {
        let row_bytes = self.row_bytes();
        let rows = &self.data[first * row_bytes..][..out.len() * row_bytes];
        if out.len() == STRIP && self.multiply_whole(level, rows, activations, out) {
            return;
        }
        let token = match self.kind.family() {
            Family::Super => activations.super_row(0),
            _ => activations.small_row(0),
        };
        dispatch(level, Rows { kind: self.kind, rows, row_bytes, token, out });
    }

    /// Multiplies a whole strip. Returns false if its format has no special kernel.
    #[cfg(target_arch = "x86_64")]
    fn multiply_whole(
        &self,
        level: Instructions,
        rows: &[u8],
        activations: &Activations,
        out: &mut [f32],
    ) -> bool {
        use super::avx2_rows::{IQ4_NL, IQ4XS, Q4_0, Q4K, Q5K, Q6K, Q8_0, small_rows, super_rows};
        use super::avx512_rows;
        let rows = WholeRows { rows, stride: self.row_bytes() };
        let (supers, smalls) = (|| activations.super_row(0), || activations.small_row(0));
        // SAFETY: a level has the token of its instructions, and AVX-512 includes AVX2.
        unsafe {
            match (level.0, self.kind) {
                (Level::Portable, _) => return false,
                (Level::Avx512(_), BlockType::Q4K) => rows.multiply(supers(), out, avx512_rows::q4k),
                (Level::Avx512(_), BlockType::Q6K) => rows.multiply(supers(), out, avx512_rows::q6k),
                (_, BlockType::Q4K) => rows.multiply(supers(), out, super_rows::<Q4K>),
                (_, BlockType::Q5K) => rows.multiply(supers(), out, super_rows::<Q5K>),
                (_, BlockType::Q6K) => rows.multiply(supers(), out, super_rows::<Q6K>),
                (_, BlockType::Iq4Xs) => rows.multiply(supers(), out, super_rows::<IQ4XS>),
                (_, BlockType::Iq4Nl) => rows.multiply(smalls(), out, small_rows::<IQ4_NL>),
                (_, BlockType::Q8_0) => rows.multiply(smalls(), out, small_rows::<Q8_0>),
                (_, BlockType::Q4_0) => rows.multiply(smalls(), out, small_rows::<Q4_0>),
                _ => return false,
            }
        }
        true
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn multiply_whole(&self, _: Instructions, _: &[u8], _: &Activations, _: &mut [f32]) -> bool {
        false
    }

    /// Unpacks the columns of a chunk into two panels. Missing rows become zero.
    fn pack(&self, level: Instructions, first: usize, count: usize, chunk: usize, panels: &mut [Panel]) {
        let row_bytes = self.row_bytes();
        let chunk_bytes = self.kind.row_bytes(COLUMNS);
        let from = chunk * chunk_bytes;
        let len = chunk_bytes.min(row_bytes - from);
        for (p, panel) in panels.iter_mut().enumerate() {
            let (first, count) = (first + p * ROWS, count.saturating_sub(p * ROWS).min(ROWS));
            if count == ROWS && self.pack_whole(level, first, from, panel) {
                continue;
            }
            for lane in 0..ROWS {
                let blocks = if lane < count {
                    &self.data[(first + lane) * row_bytes + from..][..len]
                } else {
                    &NO_ROW[..len]
                };
                panel.pack(level, self.kind, blocks, lane);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn pack_whole(&self, level: Instructions, first: usize, from: usize, panel: &mut Panel) -> bool {
        use super::avx512;
        let stride = self.row_bytes();
        let blocks = &self.data[first * stride..][..ROWS * stride][from..];
        // SAFETY: the level has the token of its instructions. The slice has sixteen rows with a whole
        // block at `from`.
        unsafe {
            match (level.0, self.kind) {
                (Level::Avx512(_), BlockType::Q4K) => avx512::pack_q4k(blocks.as_ptr(), stride, panel),
                (Level::Avx512(_), BlockType::Q6K) => avx512::pack_q6k(blocks.as_ptr(), stride, panel),
                _ => return false,
            }
        }
        true
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn pack_whole(&self, _: Instructions, _: usize, _: usize, _: &mut Panel) -> bool {
        false
    }

    fn multiply_chunk(
        &self,
        level: Instructions,
        chunk: usize,
        activations: &Activations,
        scratch: &mut Scratch,
    ) {
        let tokens = activations.tokens();
        let (panels, sums) = (&scratch.panels, &mut scratch.sums);
        match self.kind.family() {
            Family::Super => {
                let chunk = SuperChunk { activations, tokens, kind: self.kind, block: chunk };
                super_chunk(level, &chunk, panels, sums);
            }
            Family::Small => {
                let first_block = chunk * (SUPER / SMALL);
                let blocks = (self.columns / SMALL - first_block).min(SUPER / SMALL);
                let chunk = SmallChunk { activations, tokens, first_block, blocks, kind: self.kind };
                small_chunk(level, &chunk, panels, sums);
            }
            Family::Float => {
                let from = chunk * COLUMNS;
                let columns = COLUMNS.min(self.columns - from);
                for (p, panel) in panels.iter().enumerate() {
                    let product = tile::Product {
                        left: tile::Left {
                            values: activations.row_values(),
                            start: from,
                            stride: self.columns,
                        },
                        right: panel.floats[..columns].as_flattened(),
                        out: tile::Out { values: &mut sums[p * ROWS..], stride: STRIP },
                        rows: tokens,
                        depth: columns,
                        width: ROWS,
                    };
                    product.add(level);
                }
            }
        }
    }
}

/// Rows of one format, `stride` bytes each.
#[cfg(target_arch = "x86_64")]
struct WholeRows<'a> {
    rows: &'a [u8],
    stride: usize,
}

/// Kernel that multiplies `N` rows with one token. The second argument is the length of a row in bytes.
#[cfg(target_arch = "x86_64")]
type RowKernel<const N: usize> = unsafe fn(*const u8, usize, QuantizedRow<'_>) -> [f32; N];

#[cfg(target_arch = "x86_64")]
impl WholeRows<'_> {
    /// Calls a kernel of `N` rows for all rows.
    ///
    /// # Safety
    /// The processor has the kernel's instructions.
    unsafe fn multiply<const N: usize>(self, token: QuantizedRow<'_>, out: &mut [f32], kernel: RowKernel<N>) {
        for (rows, out) in self.rows.chunks_exact(N * self.stride).zip(out.as_chunks_mut::<N>().0) {
            // SAFETY: the caller's promise; the slice has `N` whole rows.
            *out = unsafe { kernel(rows.as_ptr(), self.stride, token) };
        }
    }
}

fn super_chunk(level: Instructions, chunk: &SuperChunk<'_>, panels: &[Panel], sums: &mut [f32]) {
    match level.0 {
        Level::Portable => portable::super_chunk(chunk, panels, sums),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level has the token of its instructions; `sums` was sized for the tokens.
        Level::Avx2(_) => unsafe { super::avx2::super_chunk(chunk, panels, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512(_) => unsafe { super::avx512::super_chunk(chunk, panels, sums) },
    }
}

fn small_chunk(level: Instructions, chunk: &SmallChunk<'_>, panels: &[Panel], sums: &mut [f32]) {
    match level.0 {
        Level::Portable => portable::small_chunk(chunk, panels, sums),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level has the token of its instructions; `sums` was sized for the tokens.
        Level::Avx2(_) => unsafe { super::avx2::small_chunk(chunk, panels, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512(_) => unsafe { super::avx512::small_chunk(chunk, panels, sums) },
    }
}
