//! The block formats weights come in: their sizes, and the plain definition of each as numbers.
//!
//! A block is a fixed run of a row's values that share scales. `dequantize` is the definition every kernel is
//! tested against; at run time only embeddings go through it.

use super::half::{bf16_to_f32, f16_to_f32};

/// Values in a block of the k-quants.
pub(crate) const SUPER: usize = 256;
/// Values in a block of the older formats.
pub(crate) const SMALL: usize = 32;

/// How a tensor's values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlockType {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// What the activations must be turned into before they meet a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// 8-bit integers with a scale for each 256.
    Super,
    /// 8-bit integers with a scale for each 32.
    Small,
    /// Left as they are.
    Float,
}

impl BlockType {
    /// The type that a GGUF file calls `id`.
    pub(crate) fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// The name people know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
        }
    }

    /// Values in one block.
    pub(crate) fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => SMALL,
            Self::Q4K | Self::Q5K | Self::Q6K => SUPER,
        }
    }

    /// Bytes of one block.
    pub(crate) fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// Bytes of a row of `columns` values.
    pub(crate) fn row_bytes(self, columns: usize) -> usize {
        columns / self.block_len() * self.block_bytes()
    }

    pub(crate) fn family(self) -> Family {
        match self.block_len() {
            SUPER => Family::Super,
            SMALL => Family::Small,
            _ => Family::Float,
        }
    }
}

/// Turns stored blocks into numbers.
pub(crate) fn dequantize(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
    let blocks = bytes.chunks_exact(kind.block_bytes()).zip(out.chunks_exact_mut(kind.block_len()));
    match kind {
        BlockType::F32 => blocks.for_each(|(b, out)| out[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        BlockType::F16 => blocks.for_each(|(b, out)| out[0] = half_at(b, 0)),
        BlockType::Bf16 => blocks.for_each(|(b, out)| out[0] = bf16_to_f32(u16::from_le_bytes([b[0], b[1]]))),
        BlockType::Q4_0 => blocks.for_each(|(b, out)| {
            small(out, half_at(b, 0), -8.0 * half_at(b, 0), |i| nibble(&b[2..18], i));
        }),
        BlockType::Q4_1 => blocks.for_each(|(b, out)| {
            small(out, half_at(b, 0), half_at(b, 2), |i| nibble(&b[4..20], i));
        }),
        BlockType::Q5_0 => blocks.for_each(|(b, out)| {
            small(out, half_at(b, 0), -16.0 * half_at(b, 0), |i| nibble(&b[6..22], i) | fifth(&b[2..6], i));
        }),
        BlockType::Q5_1 => blocks.for_each(|(b, out)| {
            small(out, half_at(b, 0), half_at(b, 2), |i| nibble(&b[8..24], i) | fifth(&b[4..8], i));
        }),
        BlockType::Q8_0 => blocks.for_each(|(b, out)| {
            for (out, q) in out.iter_mut().zip(&b[2..34]) {
                *out = f32::from(*q as i8) * half_at(b, 0);
            }
        }),
        BlockType::Q4K => blocks.for_each(|(b, out)| q4k(b, out)),
        BlockType::Q5K => blocks.for_each(|(b, out)| q5k(b, out)),
        BlockType::Q6K => blocks.for_each(|(b, out)| q6k(b, out)),
    }
}

fn small(out: &mut [f32], scale: f32, base: f32, quant: impl Fn(usize) -> u8) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = f32::from(quant(i)) * scale + base;
    }
}

/// The first sixteen values are the low halves of the bytes, the others the high halves.
fn nibble(bytes: &[u8], i: usize) -> u8 {
    if i < 16 { bytes[i] & 0x0f } else { bytes[i - 16] >> 4 }
}

/// The fifth bit of value `i`, in its place.
fn fifth(bits: &[u8], i: usize) -> u8 {
    ((bits[i / 8] >> (i % 8)) & 1) << 4
}

pub(super) fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// The eight 6-bit scales and eight 6-bit minimums packed in twelve bytes.
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

fn q4k(block: &[u8], out: &mut [f32]) {
    super_with_mins(block, out, |group, i| {
        let byte = block[16 + (group / 2) * 32 + i];
        if group % 2 == 0 { byte & 0x0f } else { byte >> 4 }
    });
}

fn q5k(block: &[u8], out: &mut [f32]) {
    super_with_mins(block, out, |group, i| {
        let byte = block[48 + (group / 2) * 32 + i];
        let low = if group % 2 == 0 { byte & 0x0f } else { byte >> 4 };
        low | (((block[16 + i] >> group) & 1) << 4)
    });
}

fn super_with_mins(block: &[u8], out: &mut [f32], quant: impl Fn(usize, usize) -> u8) {
    let (scale, min) = (half_at(block, 0), half_at(block, 2));
    let (scales, mins) = scales_and_mins(&block[4..16]);
    for (group, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = (scale * f32::from(scales[group]), min * f32::from(mins[group]));
        for (i, out) in out.iter_mut().enumerate() {
            *out = scale * f32::from(quant(group, i)) - min;
        }
    }
}

fn q6k(block: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = half_at(block, 208);
    for (at, out) in out.iter_mut().enumerate() {
        let (half, quarter, i) = (at / 128, at % 128 / 32, at % 32);
        let byte = low[half * 64 + (quarter % 2) * 32 + i];
        let nibble = if quarter < 2 { byte & 0x0f } else { byte >> 4 };
        let top = (high[half * 32 + i] >> (quarter * 2)) & 3;
        let quant = i32::from(nibble | (top << 4)) - 32;
        *out = scale * f32::from(scales[at / 16] as i8) * quant as f32;
    }
}
