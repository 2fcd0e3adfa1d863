//! [`UnpackedRow`]: 256 columns of one row, with a byte for each weight, and the scales in the form for
//! the kernels.
//!
//! Every quantized weight becomes an unsigned byte. For the k-quants, the offset of the format is a part
//! of the factors for the sums of the activations, so that it need not be subtracted from each weight.
//! Only embeddings and small vectors become floats ([`dequantize`]).

use super::block::{BlockType, Family, SMALL, SUPER, bf16_to_f32, f16_to_f32};

/// Number of columns that are unpacked together.
pub(crate) const COLUMNS: usize = SUPER;
/// Number of blocks of 32 in those columns.
pub(crate) const SMALLS: usize = COLUMNS / SMALL;

/// Weights and scales of 256 columns.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct UnpackedRow {
    pub(crate) weights: [u8; COLUMNS],
    pub(crate) scales: Scales,
}

/// Factors of the weights.
#[derive(Clone)]
pub(crate) struct Scales {
    /// Integer factors of the groups of a k-quant.
    pub(crate) groups: [i16; 16],
    /// Factors for the sums of the groups' activations.
    pub(crate) mins: [i16; 16],
    /// Scale of each block of 32. The k-quants use only the first.
    pub(crate) scale: [f32; SMALLS],
    /// Scale of the minimum of each block. The k-quants use only the first.
    pub(crate) min: [f32; SMALLS],
}

impl UnpackedRow {
    pub(crate) const EMPTY: Self = Self { weights: [0; COLUMNS], scales: Scales::EMPTY };

    /// Unpacks the stored blocks of at most 256 columns: whole blocks of a quantized format.
    #[inline(always)]
    pub(crate) fn take(&mut self, kind: BlockType, blocks: &[u8]) {
        self.scales.take(kind, blocks);
        let weights = &mut self.weights;
        match kind {
            BlockType::Q2K => quarters(part(blocks, 16), weights, |_, _| 0),
            BlockType::Q3K => {
                let tops: &[u8; 32] = part(blocks, 0);
                quarters(part(blocks, 32), weights, |group, i| ((tops[i] >> group) & 1) << 2);
            }
            BlockType::Q4K => halves(part(blocks, 16), weights, |_, _| 0),
            BlockType::Q5K => {
                let tops: &[u8; 32] = part(blocks, 16);
                halves(part(blocks, 48), weights, |group, i| ((tops[i] >> group) & 1) << 4);
            }
            BlockType::Q6K => q6k(part(blocks, 0), weights),
            BlockType::Iq4Xs => {
                let groups = part::<128>(blocks, 8).as_chunks::<16>().0.iter();
                for (bytes, weights) in groups.zip(weights.as_chunks_mut::<SMALL>().0) {
                    nibbles(bytes, weights, |quant, _| IQ4_BYTES[quant as usize]);
                }
            }
            _ => {
                let blocks = blocks.chunks_exact(kind.block_bytes());
                for (block, weights) in blocks.zip(weights.as_chunks_mut::<SMALL>().0) {
                    small(kind, block, weights);
                }
            }
        }
    }

    /// Writes the weights as floats.
    fn write_numbers(&self, kind: BlockType, out: &mut [f32]) {
        let own = &self.scales;
        for (at, (out, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            let weight = (i32::from(*weight) - kind.offset()) as f32;
            *out = if kind.family() == Family::Super {
                let group = at * kind.groups() / SUPER;
                let min = if kind.has_mins() { own.min[0] * f32::from(own.mins[group]) } else { 0.0 };
                own.scale[0] * f32::from(own.groups[group]) * weight - min
            } else {
                own.scale[at / SMALL] * weight + own.min[at / SMALL]
            };
        }
    }
}

/// Converts stored blocks to floats.
pub(crate) fn dequantize(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
    let values = bytes.chunks_exact(kind.block_bytes()).zip(out.iter_mut());
    match kind {
        BlockType::F32 => values.for_each(|(b, out)| *out = f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        BlockType::F16 => values.for_each(|(b, out)| *out = half_at(b, 0)),
        BlockType::Bf16 => values.for_each(|(b, out)| *out = bf16_to_f32(u16::from_le_bytes([b[0], b[1]]))),
        _ => {
            let mut unpacked = UnpackedRow::EMPTY;
            for (blocks, out) in bytes.chunks(kind.row_bytes(COLUMNS)).zip(out.chunks_mut(COLUMNS)) {
                unpacked.take(kind, blocks);
                unpacked.write_numbers(kind, out);
            }
        }
    }
}

/// Returns `N` bytes of a block, from `at` on.
#[inline(always)]
fn part<const N: usize>(block: &[u8], at: usize) -> &[u8; N] {
    block[at..].first_chunk().unwrap_or(&[0; N])
}

impl Scales {
    pub(crate) const EMPTY: Self =
        Self { groups: [0; 16], mins: [0; 16], scale: [0.0; SMALLS], min: [0.0; SMALLS] };

    /// Reads only the scales, as [`UnpackedRow::take`] does.
    #[inline(always)]
    pub(crate) fn take(&mut self, kind: BlockType, blocks: &[u8]) {
        match kind {
            BlockType::Q2K => {
                self.groups = std::array::from_fn(|group| (blocks[group] & 0x0f).into());
                self.mins = std::array::from_fn(|group| (blocks[group] >> 4).into());
                (self.scale[0], self.min[0]) = (half_at(blocks, 80), half_at(blocks, 82));
            }
            BlockType::Q4K | BlockType::Q5K => {
                let (scales, mins) = scales_and_mins(&blocks[4..16]);
                self.groups[..8].copy_from_slice(&scales.map(i16::from));
                self.mins[..8].copy_from_slice(&mins.map(i16::from));
                (self.scale[0], self.min[0]) = (half_at(blocks, 0), half_at(blocks, 2));
            }
            BlockType::Q3K => self.take_signed(kind, q3k_scales(&blocks[96..108]), half_at(blocks, 108)),
            BlockType::Q6K => {
                let scales = std::array::from_fn(|group| blocks[192 + group] as i8);
                self.take_signed(kind, scales, half_at(blocks, 208));
            }
            BlockType::Iq4Xs => {
                let scales = iq4xs_scales(blocks);
                let twice = std::array::from_fn(|group| scales[group / 2]);
                self.take_signed(kind, twice, half_at(blocks, 0));
            }
            _ => {
                for (at, block) in blocks.chunks_exact(kind.block_bytes()).enumerate() {
                    self.scale[at] = half_at(block, 0);
                    self.min[at] = if kind.has_mins() { half_at(block, 2) } else { 0.0 };
                }
            }
        }
    }

    /// Takes the scales of a format without minimums. The middle of its range takes their place.
    #[inline(always)]
    fn take_signed(&mut self, kind: BlockType, scales: [i8; 16], scale: f32) {
        let offset = kind.offset() as i16;
        for (group, scale) in scales.into_iter().enumerate() {
            self.groups[group] = scale.into();
            self.mins[group] = -offset * self.groups[group];
        }
        self.scale[0] = scale;
    }
}

/// Values of the `IQ4` formats as bytes, with 128 for zero.
const IQ4_BYTES: [u8; 16] = {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        bytes[i] = IQ4_VALUES[i] as u8 ^ 0x80;
        i += 1;
    }
    bytes
};

/// Unpacks four runs of 32 bytes, each with two groups of 32 weights. `top` returns the bits above the
/// lower four.
#[inline(always)]
fn halves(bytes: &[u8; 128], weights: &mut [u8; COLUMNS], top: impl Fn(usize, usize) -> u8) {
    let pairs = bytes.as_chunks::<32>().0.iter().zip(weights.as_chunks_mut::<64>().0);
    for (chunk, (bytes, weights)) in pairs.enumerate() {
        for i in 0..32 {
            weights[i] = (bytes[i] & 0x0f) | top(chunk * 2, i);
            weights[i + 32] = (bytes[i] >> 4) | top(chunk * 2 + 1, i);
        }
    }
}

/// Unpacks two runs of 32 bytes, each with four groups of 32 weights. `top` returns the bits above the
/// lower two.
#[inline(always)]
fn quarters(bytes: &[u8; 64], weights: &mut [u8; COLUMNS], top: impl Fn(usize, usize) -> u8) {
    let pairs = bytes.as_chunks::<32>().0.iter().zip(weights.as_chunks_mut::<128>().0);
    for (half, (bytes, weights)) in pairs.enumerate() {
        for (quarter, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            for i in 0..32 {
                weights[i] = ((bytes[i] >> (quarter * 2)) & 3) | top(half * 4 + quarter, i);
            }
        }
    }
}

#[inline(always)]
fn q6k(block: &[u8; 210], weights: &mut [u8; COLUMNS]) {
    for (half, weights) in weights.as_chunks_mut::<128>().0.iter_mut().enumerate() {
        let low: &[u8; 64] = part(block, half * 64);
        let high: &[u8; 32] = part(block, 128 + half * 32);
        for i in 0..32 {
            weights[i] = (low[i] & 0x0f) | ((high[i] & 3) << 4);
            weights[i + 32] = (low[i + 32] & 0x0f) | (((high[i] >> 2) & 3) << 4);
            weights[i + 64] = (low[i] >> 4) | (((high[i] >> 4) & 3) << 4);
            weights[i + 96] = (low[i + 32] >> 4) | ((high[i] >> 6) << 4);
        }
    }
}

#[inline(always)]
fn small(kind: BlockType, block: &[u8], weights: &mut [u8; SMALL]) {
    let fifths = |at: usize| u32::from_le_bytes(*part(block, at));
    match kind {
        BlockType::Q4_0 => nibbles(part(block, 2), weights, |quant, _| quant),
        BlockType::Q4_1 => nibbles(part(block, 4), weights, |quant, _| quant),
        BlockType::Iq4Nl => nibbles(part(block, 2), weights, |quant, _| IQ4_BYTES[quant as usize]),
        BlockType::Q5_0 => {
            let fifths = fifths(2);
            nibbles(part(block, 6), weights, |quant, i| quant | ((fifths >> i) as u8 & 1) << 4);
        }
        BlockType::Q5_1 => {
            let fifths = fifths(4);
            nibbles(part(block, 8), weights, |quant, i| quant | ((fifths >> i) as u8 & 1) << 4);
        }
        _ => *weights = part::<SMALL>(block, 2).map(|byte| byte ^ 0x80),
    }
}

/// Unpacks 32 weights: the first sixteen are the low halves of the bytes, the others the high halves.
#[inline(always)]
fn nibbles(bytes: &[u8; 16], weights: &mut [u8; SMALL], weight: impl Fn(u8, usize) -> u8) {
    for i in 0..16 {
        weights[i] = weight(bytes[i] & 0x0f, i);
        weights[i + 16] = weight(bytes[i] >> 4, i + 16);
    }
}

/// The sixteen values of the `IQ4` formats.
pub(super) const IQ4_VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

pub(super) fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// Returns the eight 6-bit scales and eight 6-bit minimums that are packed in twelve bytes.
pub(super) fn scales_and_mins(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
    let mut scales = [0; 8];
    let mut mins = [0; 8];
    for j in 0..4 {
        scales[j] = packed[j] & 63;
        mins[j] = packed[j + 4] & 63;
        scales[j + 4] = (packed[j + 8] & 0x0f) | ((packed[j] >> 6) << 4);
        mins[j + 4] = (packed[j + 8] >> 4) | ((packed[j + 4] >> 6) << 4);
    }
    (scales, mins)
}

/// Returns the sixteen 6-bit scales that are packed in twelve bytes, with 32 for zero.
pub(super) fn q3k_scales(packed: &[u8]) -> [i8; 16] {
    std::array::from_fn(|group| {
        let low = if group < 8 { packed[group] & 0x0f } else { packed[group - 8] >> 4 };
        let high = (packed[8 + group % 4] >> (group / 4 * 2)) & 3;
        (low | (high << 4)) as i8 - 32
    })
}

/// Returns the eight 6-bit scales, with 32 for zero. Their low and high bits are stored separately.
pub(super) fn iq4xs_scales(block: &[u8]) -> [i8; 8] {
    let highs = u16::from_le_bytes([block[2], block[3]]);
    std::array::from_fn(|group| {
        let low = (block[4 + group / 2] >> (group % 2 * 4)) & 0x0f;
        let high = (highs >> (group * 2)) as u8 & 3;
        (low | (high << 4)) as i8 - 32
    })
}
