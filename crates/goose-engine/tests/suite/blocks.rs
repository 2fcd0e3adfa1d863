//! Blocks of random weights, as bytes and as numbers.

pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    pub(crate) fn float(&mut self) -> f32 {
        self.next() as f32 / (1_u32 << 30) as f32 - 1.0
    }

    /// Returns `count` numbers below a limit.
    fn below(&mut self, limit: u32, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() % limit) as u8).collect()
    }
}

/// Block format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    Q4_0,
    Q8_0,
    Iq4Nl,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Xs,
}

/// The sixteen values of the `IQ4` formats.
const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Returns a power of two as a half float, which is exact.
fn half(power: i32) -> [u8; 2] {
    (((power + 15) as u16) << 10).to_le_bytes()
}

fn exp2(power: i32) -> f32 {
    2.0_f32.powi(power)
}

impl Kind {
    pub(crate) fn id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q8_0 => 8,
            Self::Q2K => 10,
            Self::Q3K => 11,
            Self::Q4K => 12,
            Self::Q5K => 13,
            Self::Q6K => 14,
            Self::Iq4Nl => 20,
            Self::Iq4Xs => 23,
        }
    }

    pub(crate) fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 => 1,
            Self::Q4_0 | Self::Q8_0 | Self::Iq4Nl => 32,
            _ => 256,
        }
    }

    /// Appends a block of random weights (about ±0.06) in both forms.
    pub(crate) fn random_block(self, numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
        match self {
            Self::F32 => {
                let value = numbers.float() * 0.1;
                bytes.extend(value.to_le_bytes());
                values.push(value);
            }
            Self::F16 => {
                // A sign, the exponent of 1/16, ten bits of fraction.
                let bits = (numbers.next() as u16 & 0x83ff) | (11 << 10);
                let fraction = 1.0 + f32::from(bits & 0x3ff) / 1024.0;
                bytes.extend(bits.to_le_bytes());
                values.push(if bits >> 15 == 1 { -fraction } else { fraction } / 16.0);
            }
            Self::Q4_0 => {
                let quants = numbers.below(16, 32);
                bytes.extend(half(-6));
                nibbles(&quants, bytes);
                values.extend(quants.iter().map(|quant| (f32::from(*quant) - 8.0) * exp2(-6)));
            }
            Self::Q8_0 => {
                let quants = numbers.below(256, 32);
                bytes.extend(half(-10));
                bytes.extend(&quants);
                values.extend(quants.iter().map(|quant| f32::from(*quant as i8) * exp2(-10)));
            }
            Self::Iq4Nl => {
                let quants = numbers.below(16, 32);
                bytes.extend(half(-10));
                nibbles(&quants, bytes);
                values.extend(quants.iter().map(|quant| f32::from(IQ4[*quant as usize]) * exp2(-10)));
            }
            Self::Q2K => q2k(numbers, bytes, values),
            Self::Q3K => q3k(numbers, bytes, values),
            Self::Q4K | Self::Q5K => q4k_or_q5k(self, numbers, bytes, values),
            Self::Q6K => q6k(numbers, bytes, values),
            Self::Iq4Xs => iq4xs(numbers, bytes, values),
        }
    }
}

/// Appends 32 values of four bits: the first sixteen in the low halves, the others in the high halves.
fn nibbles(quants: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend((0..16).map(|i| quants[i] | quants[i + 16] << 4));
}

/// Appends two bits of each of 256 values: 32 bytes for each half, with the quarters in order of their
/// bits.
fn quarters(quants: &[u8], bytes: &mut Vec<u8>) {
    for part in quants.chunks_exact(128) {
        bytes.extend(
            (0..32).map(|i| (0..4).map(|quarter| (part[quarter * 32 + i] & 3) << (2 * quarter)).sum::<u8>()),
        );
    }
}

/// Appends one bit of each of 256 values: 32 bytes, with the eighths in order of their bits.
fn bits(quants: &[u8], bit: u8, bytes: &mut Vec<u8>) {
    bytes.extend(
        (0..32).map(|i| (0..8).map(|group| ((quants[group * 32 + i] >> bit) & 1) << group).sum::<u8>()),
    );
}

fn q2k(numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
    let (scales, mins, quants) = (numbers.below(16, 16), numbers.below(16, 16), numbers.below(4, 256));
    bytes.extend(scales.iter().zip(&mins).map(|(scale, min)| scale | min << 4));
    quarters(&quants, bytes);
    bytes.extend(half(-8));
    bytes.extend(half(-8));
    values.extend(quants.iter().enumerate().map(|(i, quant)| {
        (f32::from(*quant) * f32::from(scales[i / 16]) - f32::from(mins[i / 16])) * exp2(-8)
    }));
}

fn q3k(numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
    let (scales, quants) = (numbers.below(64, 16), numbers.below(8, 256));
    bits(&quants, 2, bytes);
    quarters(&quants, bytes);
    bytes.extend((0..8).map(|i| (scales[i] & 15) | (scales[i + 8] & 15) << 4));
    bytes.extend((0..4).map(|i| (0..4).map(|part| (scales[part * 4 + i] >> 4) << (2 * part)).sum::<u8>()));
    bytes.extend(half(-10));
    values.extend(
        quants
            .iter()
            .enumerate()
            .map(|(i, quant)| (f32::from(*quant) - 4.0) * (f32::from(scales[i / 16]) - 32.0) * exp2(-10)),
    );
}

fn q4k_or_q5k(kind: Kind, numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
    let (scales, mins) = (numbers.below(64, 8), numbers.below(64, 8));
    let (limit, power) = if kind == Kind::Q4K { (16, -12) } else { (32, -13) };
    let quants = numbers.below(limit, 256);
    bytes.extend(half(power));
    bytes.extend(half(-9));
    bytes.extend((0..4).map(|j| scales[j] | (scales[j + 4] >> 4) << 6));
    bytes.extend((0..4).map(|j| mins[j] | (mins[j + 4] >> 4) << 6));
    bytes.extend((0..4).map(|j| (scales[j + 4] & 15) | (mins[j + 4] & 15) << 4));
    if kind == Kind::Q5K {
        bits(&quants, 4, bytes);
    }
    for pair in quants.chunks_exact(64) {
        bytes.extend((0..32).map(|i| (pair[i] & 15) | (pair[i + 32] & 15) << 4));
    }
    values.extend(quants.iter().enumerate().map(|(i, quant)| {
        f32::from(*quant) * f32::from(scales[i / 32]) * exp2(power) - f32::from(mins[i / 32]) * exp2(-9)
    }));
}

fn q6k(numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
    let (quants, scales) = (numbers.below(64, 256), numbers.below(256, 16));
    for part in quants.chunks_exact(128) {
        bytes.extend((0..64).map(|i| (part[i] & 15) | (part[i + 64] & 15) << 4));
    }
    quarters(&quants.iter().map(|quant| quant >> 4).collect::<Vec<_>>(), bytes);
    bytes.extend(&scales);
    bytes.extend(half(-14));
    values.extend(
        quants
            .iter()
            .enumerate()
            .map(|(i, quant)| (f32::from(*quant) - 32.0) * f32::from(scales[i / 16] as i8) * exp2(-14)),
    );
}

fn iq4xs(numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
    let (scales, quants) = (numbers.below(64, 8), numbers.below(16, 256));
    let highs: u16 = (0..8).map(|group| u16::from(scales[group] >> 4) << (2 * group)).sum();
    bytes.extend(half(-15 + 1));
    bytes.extend(highs.to_le_bytes());
    bytes.extend((0..4).map(|pair| (scales[pair * 2] & 15) | (scales[pair * 2 + 1] & 15) << 4));
    quants.chunks_exact(32).for_each(|group| nibbles(group, bytes));
    values.extend(
        quants.iter().enumerate().map(|(i, quant)| {
            f32::from(IQ4[*quant as usize]) * (f32::from(scales[i / 32]) - 32.0) * exp2(-14)
        }),
    );
}
