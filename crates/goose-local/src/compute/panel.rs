//! Sixteen rows of weights, unpacked so that each lane of a register belongs to one row.
//!
//! Weights stay in their file's format; a panel holds 256 columns of 16 rows for as long as a batch of tokens is
//! multiplied with them, which costs little when shared by many tokens. Every quantized weight becomes an
//! unsigned byte; what is to be subtracted from it is kept as a factor for the activations' sums.

use super::block::{BlockType, SMALL, SUPER, dequantize, half_at, scales_and_mins};

/// Rows of a panel.
pub(crate) const ROWS: usize = 16;
/// Columns of a panel.
pub(crate) const COLUMNS: usize = SUPER;
/// Blocks of 32 in a panel.
pub(crate) const SMALLS: usize = COLUMNS / SMALL;

/// See the module's text.
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
    /// Minimum of each block, likewise.
    pub(crate) min: [[f32; ROWS]; SMALLS],
    /// Weights of the float formats: `[column][row]`.
    pub(crate) floats: [[f32; ROWS]; COLUMNS],
}

impl Panel {
    /// An empty panel, on the heap since it is large.
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
}

/// What is subtracted from the unsigned byte of an older format before it is scaled.
pub(crate) fn small_offset(kind: BlockType) -> i32 {
    match kind {
        BlockType::Q4_0 => 8,
        BlockType::Q5_0 => 16,
        BlockType::Q8_0 => 128,
        _ => 0,
    }
}

/// Whether blocks of an older format have a minimum of their own.
pub(crate) fn small_has_min(kind: BlockType) -> bool {
    matches!(kind, BlockType::Q4_1 | BlockType::Q5_1)
}

/// Fills row `row` of the panel from its stored blocks (at most 256 columns, whole blocks).
pub(crate) fn pack_row(kind: BlockType, blocks: &[u8], row: usize, panel: &mut Panel) {
    match kind {
        BlockType::Q4K => pack_q4k(blocks, row, panel),
        BlockType::Q5K => pack_q5k(blocks, row, panel),
        BlockType::Q6K => pack_q6k(blocks, row, panel),
        BlockType::F32 | BlockType::F16 | BlockType::Bf16 => pack_floats(kind, blocks, row, panel),
        _ => {
            for (i, block) in blocks.chunks_exact(kind.block_bytes()).enumerate() {
                pack_small(kind, block, i, row, panel);
            }
        }
    }
}

fn word(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([bytes[i * 4], bytes[i * 4 + 1], bytes[i * 4 + 2], bytes[i * 4 + 3]])
}

const LOW: u32 = 0x0f0f_0f0f;

fn pack_q4k(block: &[u8], row: usize, panel: &mut Panel) {
    let Some(block) = block.first_chunk::<144>() else { return };
    pack_header(block, row, panel);
    for chunk in 0..4 {
        for i in 0..8 {
            let word = word(&block[16..], chunk * 8 + i);
            panel.quants[chunk * 16 + i][row] = word & LOW;
            panel.quants[chunk * 16 + 8 + i][row] = (word >> 4) & LOW;
        }
    }
}

fn pack_q5k(block: &[u8], row: usize, panel: &mut Panel) {
    let Some(block) = block.first_chunk::<176>() else { return };
    pack_header(block, row, panel);
    for chunk in 0..4 {
        for i in 0..8 {
            let (word, fifth) = (word(&block[48..], chunk * 8 + i), word(&block[16..48], i));
            let fifth = |group: usize| ((fifth >> group) & 0x0101_0101) << 4;
            panel.quants[chunk * 16 + i][row] = (word & LOW) | fifth(chunk * 2);
            panel.quants[chunk * 16 + 8 + i][row] = ((word >> 4) & LOW) | fifth(chunk * 2 + 1);
        }
    }
}

/// Scales and minimums of `Q4_K` and `Q5_K`, which begin alike.
pub(super) fn pack_header(block: &[u8], row: usize, panel: &mut Panel) {
    let (scales, mins) = scales_and_mins(&block[4..16]);
    for (group, scale) in scales.into_iter().enumerate() {
        panel.scales[group][row] = scale.into();
    }
    for (pair, mins) in mins.as_chunks::<2>().0.iter().enumerate() {
        panel.mins[pair][row] = i32::from(mins[0]) | (i32::from(mins[1]) << 16);
    }
    panel.scale[0][row] = half_at(block, 0);
    panel.min[0][row] = half_at(block, 2);
}

fn pack_q6k(block: &[u8], row: usize, panel: &mut Panel) {
    let Some(block) = block.first_chunk::<210>() else { return };
    pack_q6k_scales(block, row, panel);
    for half in 0..2 {
        for i in 0..16 {
            let low = word(&block[half * 64..], i);
            let high = word(&block[128 + half * 32..], i % 8);
            let top = |shift: usize| ((high >> shift) & 0x0303_0303) << 4;
            panel.quants[half * 32 + i][row] = (low & LOW) | top(i / 8 * 2);
            panel.quants[half * 32 + 16 + i][row] = ((low >> 4) & LOW) | top(4 + i / 8 * 2);
        }
    }
}

/// `Q6_K` has no minimums; what takes their place is the middle of its range, 32.
pub(super) fn pack_q6k_scales(block: &[u8], row: usize, panel: &mut Panel) {
    let scale = |group: usize| i32::from(block[192 + group] as i8);
    for group in 0..16 {
        panel.scales[group][row] = scale(group);
    }
    for pair in 0..8 {
        let (even, odd) = (-32 * scale(pair * 2), -32 * scale(pair * 2 + 1));
        panel.mins[pair][row] = (even & 0xffff) | (odd << 16);
    }
    panel.scale[0][row] = half_at(block, 208);
}

fn pack_small(kind: BlockType, block: &[u8], at: usize, row: usize, panel: &mut Panel) {
    panel.scale[at][row] = half_at(block, 0);
    panel.min[at][row] = if small_has_min(kind) { half_at(block, 2) } else { 0.0 };
    let quants = &mut panel.quants[at * 8..][..8];
    match kind {
        BlockType::Q4_0 => pack_nibbles(&block[2..18], 0, row, quants),
        BlockType::Q4_1 => pack_nibbles(&block[4..20], 0, row, quants),
        BlockType::Q5_0 => pack_nibbles(&block[6..22], word(&block[2..6], 0), row, quants),
        BlockType::Q5_1 => pack_nibbles(&block[8..24], word(&block[4..8], 0), row, quants),
        _ => {
            for (i, quant) in quants.iter_mut().enumerate() {
                quant[row] = word(&block[2..34], i) ^ 0x8080_8080;
            }
        }
    }
}

fn pack_nibbles(bytes: &[u8], fifths: u32, row: usize, quants: &mut [[u32; ROWS]]) {
    for i in 0..4 {
        let word = word(bytes, i);
        quants[i][row] = (word & LOW) | spread(fifths >> (i * 4));
        quants[i + 4][row] = ((word >> 4) & LOW) | spread(fifths >> (16 + i * 4));
    }
}

/// The lowest four bits, each as the fifth bit of a byte.
fn spread(bits: u32) -> u32 {
    (((bits & 0x0f) * 0x0020_4081) & 0x0101_0101) << 4
}

fn pack_floats(kind: BlockType, values: &[u8], row: usize, panel: &mut Panel) {
    let mut numbers = [0.0; COLUMNS];
    let count = values.len() / kind.block_bytes();
    dequantize(kind, values, &mut numbers[..count]);
    for (column, number) in panel.floats.iter_mut().zip(&numbers[..count]) {
        column[row] = *number;
    }
}
