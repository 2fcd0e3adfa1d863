//! The plain definition of each block format as numbers. Every kernel is tested against it; at run time only embeddings
//! and small vectors go through it.

use super::block::BlockType;
use super::block::{bf16_to_f32, f16_to_f32};

/// The sixteen values of the `IQ4` formats.
pub(super) const IQ4_VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

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
        BlockType::Iq4Nl => blocks.for_each(|(b, out)| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f32::from(IQ4_VALUES[nibble(&b[2..18], i) as usize]) * half_at(b, 0);
            }
        }),
        BlockType::Q2K => blocks.for_each(|(b, out)| q2k(b, out)),
        BlockType::Q3K => blocks.for_each(|(b, out)| q3k(b, out)),
        BlockType::Iq4Xs => blocks.for_each(|(b, out)| iq4xs(b, out)),
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

fn q2k(block: &[u8], out: &mut [f32]) {
    let (scales, quants) = (&block[..16], &block[16..80]);
    let (scale, min) = (half_at(block, 80), half_at(block, 82));
    for (at, out) in out.iter_mut().enumerate() {
        let quant = (quants[at / 128 * 32 + at % 32] >> (at % 128 / 32 * 2)) & 3;
        let own = scales[at / 16];
        *out = scale * f32::from(own & 0x0f) * f32::from(quant) - min * f32::from(own >> 4);
    }
}

/// The sixteen 6-bit scales packed in twelve bytes, which have 32 for zero.
pub(super) fn q3k_scales(packed: &[u8]) -> [i8; 16] {
    std::array::from_fn(|group| {
        let low = if group < 8 { packed[group] & 0x0f } else { packed[group - 8] >> 4 };
        let high = (packed[8 + group % 4] >> (group / 4 * 2)) & 3;
        (low | (high << 4)) as i8 - 32
    })
}

fn q3k(block: &[u8], out: &mut [f32]) {
    let (tops, quants, scale) = (&block[..32], &block[32..96], half_at(block, 108));
    let scales = q3k_scales(&block[96..108]);
    for (at, out) in out.iter_mut().enumerate() {
        let low = (quants[at / 128 * 32 + at % 32] >> (at % 128 / 32 * 2)) & 3;
        let top = (tops[at % 32] >> (at / 32)) & 1;
        *out = scale * f32::from(scales[at / 16]) * (f32::from(low | (top << 2)) - 4.0);
    }
}

/// The eight 6-bit scales, whose low and high bits lie apart, and which have 32 for zero.
pub(super) fn iq4xs_scales(block: &[u8]) -> [i8; 8] {
    let highs = u16::from_le_bytes([block[2], block[3]]);
    std::array::from_fn(|group| {
        let low = (block[4 + group / 2] >> (group % 2 * 4)) & 0x0f;
        let high = (highs >> (group * 2)) as u8 & 3;
        (low | (high << 4)) as i8 - 32
    })
}

fn iq4xs(block: &[u8], out: &mut [f32]) {
    let (scale, scales) = (half_at(block, 0), iq4xs_scales(block));
    for (at, out) in out.iter_mut().enumerate() {
        let quant = nibble(&block[8 + at / 32 * 16..], at % 32);
        *out = scale * f32::from(scales[at / 32]) * f32::from(IQ4_VALUES[quant as usize]);
    }
}
