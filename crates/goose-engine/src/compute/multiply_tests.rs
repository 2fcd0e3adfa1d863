//! Every kernel against the definition of its format, and against every other kernel, bit by bit.

use super::activations::Activations;
use super::block::{BlockType, bf16_to_f32, f32_to_f16};
use super::instructions::Instructions;
use super::multiply::{MatrixView, STRIP, Scratch};
use super::pool::Pool;
use super::unpack::{IQ4_VALUES, dequantize, half_at, iq4xs_scales, q3k_scales, scales_and_mins};

const ALL: [BlockType; 15] = [
    BlockType::F32,
    BlockType::F16,
    BlockType::Bf16,
    BlockType::Q4_0,
    BlockType::Q4_1,
    BlockType::Q5_0,
    BlockType::Q5_1,
    BlockType::Q8_0,
    BlockType::Iq4Nl,
    BlockType::Q2K,
    BlockType::Q3K,
    BlockType::Q4K,
    BlockType::Q5K,
    BlockType::Q6K,
    BlockType::Iq4Xs,
];

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// Returns a number from -1 to 1.
    fn float(&mut self) -> f32 {
        self.next() as f32 / (1_u32 << 30) as f32 - 1.0
    }

    fn half(&mut self) -> [u8; 2] {
        f32_to_f16(self.float() * 0.01).to_le_bytes()
    }
}

/// Returns the offsets of the half floats that scale a block.
fn scales_at(kind: BlockType) -> &'static [usize] {
    match kind {
        BlockType::F32 | BlockType::Bf16 => &[],
        BlockType::Q2K => &[80, 82],
        BlockType::Q3K => &[108],
        BlockType::Q6K => &[208],
        BlockType::Q4K | BlockType::Q5K | BlockType::Q4_1 | BlockType::Q5_1 => &[0, 2],
        _ => &[0],
    }
}

/// Returns blocks of arbitrary bits with reasonable scales.
fn random_blocks(kind: BlockType, blocks: usize, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..blocks * kind.block_bytes()).map(|_| numbers.next() as u8).collect();
    for block in bytes.chunks_exact_mut(kind.block_bytes()) {
        match kind {
            BlockType::F32 => block.copy_from_slice(&numbers.float().to_le_bytes()),
            BlockType::Bf16 => block.copy_from_slice(&numbers.float().to_le_bytes()[2..]),
            _ => {
                for at in scales_at(kind) {
                    block[*at..][..2].copy_from_slice(&numbers.half());
                }
            }
        }
    }
    bytes
}

struct Case {
    kind: BlockType,
    rows: usize,
    columns: usize,
    data: Vec<u8>,
}

impl Case {
    fn new(kind: BlockType, rows: usize, columns: usize, numbers: &mut Numbers) -> Self {
        let data = random_blocks(kind, rows * columns / kind.block_len(), numbers);
        Self { kind, rows, columns, data }
    }

    fn multiply(&self, level: Instructions, activations: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let matrix = MatrixView { kind: self.kind, rows: self.rows, columns: self.columns, data: &self.data };
        let mut batch = Activations::default();
        batch.resize(activations.len(), self.columns);
        batch.values_mut().copy_from_slice(&activations.concat());
        batch.quantize(level, &mut Pool::new(Some(1)), &[self.kind.family()]);
        let mut scratch = Scratch::default();
        let mut out = vec![Vec::new(); activations.len()];
        for strip in 0..matrix.strips() {
            let count = STRIP.min(self.rows - strip * STRIP);
            let sums = matrix.multiply(level, strip, &batch, &mut scratch);
            for (out, sums) in out.iter_mut().zip(sums.chunks_exact(STRIP)) {
                out.extend_from_slice(&sums[..count]);
            }
        }
        out
    }

    /// Returns the exact product with the numbers that the blocks stand for.
    fn reference(&self, activations: &[f32]) -> Vec<f64> {
        let mut numbers = vec![0.0; self.rows * self.columns];
        defined_numbers(self.kind, &self.data, &mut numbers);
        let rows = numbers.chunks_exact(self.columns);
        rows.map(|row| row.iter().zip(activations).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
            .collect()
    }
}

fn random_activations(tokens: usize, columns: usize, numbers: &mut Numbers) -> Vec<Vec<f32>> {
    (0..tokens).map(|_| (0..columns).map(|_| numbers.float() * 3.0).collect()).collect()
}

#[test]
fn every_format_is_close_to_its_definition_on_every_instruction_set() {
    let mut numbers = Numbers(1);
    for kind in ALL {
        let columns = 512.max(kind.block_len()) + if kind.block_len() == 256 { 256 } else { 64 };
        let case = Case::new(kind, 45, columns, &mut numbers);
        let activations = random_activations(3, columns, &mut numbers);
        for level in Instructions::all() {
            for (got, activations) in case.multiply(level, &activations).iter().zip(&activations) {
                let wanted = case.reference(activations);
                let size = wanted.iter().map(|value| value * value).sum::<f64>().sqrt();
                let error: f64 =
                    got.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum::<f64>().sqrt();
                assert!(error < size * 0.01, "{kind:?} with {level:?}: error {error}, size {size}");
            }
        }
    }
}

#[test]
fn blocks_dequantize_as_defined() {
    for kind in ALL {
        let case = Case::new(kind, 3, 512, &mut Numbers(4));
        let (mut got, mut wanted) = (vec![0.0; 3 * 512], vec![0.0; 3 * 512]);
        dequantize(kind, &case.data, &mut got);
        defined_numbers(kind, &case.data, &mut wanted);
        assert_eq!(got, wanted, "{kind:?}");
    }
}

#[test]
fn every_instruction_set_and_batch_gives_the_same_bits() {
    let mut numbers = Numbers(2);
    for kind in ALL {
        let columns = if kind.block_len() == 256 { 768 } else { 352 };
        let case = Case::new(kind, 70, columns, &mut numbers);
        let activations = random_activations(14, columns, &mut numbers);
        let wanted = case.multiply(Instructions::PORTABLE, &activations);
        for level in Instructions::all() {
            for batch in [1, 2, 3, 4, 5, 7, 14] {
                let mut got = Vec::new();
                for activations in activations.chunks(batch) {
                    got.extend(case.multiply(level, activations));
                }
                assert_eq!(got, wanted, "{kind:?} with {level:?}, {batch} at a time");
            }
        }
    }
}

#[test]
fn extreme_blocks_do_not_overflow() {
    for kind in ALL.into_iter().filter(|kind| kind.block_len() > 1) {
        for fill in [0xff_u8, 0x80, 0x7f, 0] {
            let mut case = Case::new(kind, 32, 512, &mut Numbers(3));
            for block in case.data.chunks_exact_mut(kind.block_bytes()) {
                block.fill(fill);
                for at in scales_at(kind) {
                    block[*at..][..2].copy_from_slice(&f32_to_f16(0.01).to_le_bytes());
                }
            }
            let activations = vec![vec![-1.0; 512], vec![1.0; 512]];
            let wanted = case.multiply(Instructions::PORTABLE, &activations);
            for level in Instructions::all() {
                assert_eq!(case.multiply(level, &activations), wanted, "{kind:?} {level:?}");
                assert_eq!(case.multiply(level, &activations[..1])[0], wanted[0], "{kind:?} {level:?} alone");
            }
            let exact = case.reference(&activations[1]);
            let near = |got: f32, wanted: f64| (f64::from(got) - wanted).abs() <= wanted.abs() * 1e-3 + 1e-6;
            assert!(near(wanted[1][0], exact[0]), "{kind:?} {fill}: {} {}", wanted[1][0], exact[0]);
        }
    }
}

/// Converts blocks by the definition of each format, independent of the code that unpacks them.
fn defined_numbers(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
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

/// Returns a value of four bits: the first sixteen are the low halves of the bytes, the others the high
/// halves.
fn nibble(bytes: &[u8], i: usize) -> u8 {
    if i < 16 { bytes[i] & 0x0f } else { bytes[i - 16] >> 4 }
}

/// Returns the fifth bit of value `i`, in its place.
fn fifth(bits: &[u8], i: usize) -> u8 {
    ((bits[i / 8] >> (i % 8)) & 1) << 4
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

fn q3k(block: &[u8], out: &mut [f32]) {
    let (tops, quants, scale) = (&block[..32], &block[32..96], half_at(block, 108));
    let scales = q3k_scales(&block[96..108]);
    for (at, out) in out.iter_mut().enumerate() {
        let low = (quants[at / 128 * 32 + at % 32] >> (at % 128 / 32 * 2)) & 3;
        let top = (tops[at % 32] >> (at / 32)) & 1;
        *out = scale * f32::from(scales[at / 16]) * (f32::from(low | (top << 2)) - 4.0);
    }
}

fn iq4xs(block: &[u8], out: &mut [f32]) {
    let (scale, scales) = (half_at(block, 0), iq4xs_scales(block));
    for (at, out) in out.iter_mut().enumerate() {
        let quant = nibble(&block[8 + at / 32 * 16..], at % 32);
        *out = scale * f32::from(scales[at / 32]) * f32::from(IQ4_VALUES[quant as usize]);
    }
}
