//! Block formats of weights: names and sizes. A block is a fixed number of values of a row that share
//! scales. Also the two 16-bit float formats, converted exactly as hardware does.

/// Number of values in a block of the k-quants.
pub(crate) const SUPER: usize = 256;
/// Number of values in a block of the older formats.
pub(crate) const SMALL: usize = 32;

/// Storage format of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockType {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Iq4Nl,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Xs,
}

/// Properties of a format.
struct Format {
    kind: BlockType,
    /// Number in GGUF files.
    id: u32,
    name: &'static str,
    /// Number of values and bytes of a block.
    len: usize,
    bytes: usize,
}

const fn format(kind: BlockType, id: u32, name: &'static str, len: usize, bytes: usize) -> Format {
    Format { kind, id, name, len, bytes }
}

/// Formats, in the order of [`BlockType`].
static FORMATS: [Format; 15] = [
    format(BlockType::F32, 0, "F32", 1, 4),
    format(BlockType::F16, 1, "F16", 1, 2),
    format(BlockType::Bf16, 30, "BF16", 1, 2),
    format(BlockType::Q4_0, 2, "Q4_0", SMALL, 18),
    format(BlockType::Q4_1, 3, "Q4_1", SMALL, 20),
    format(BlockType::Q5_0, 6, "Q5_0", SMALL, 22),
    format(BlockType::Q5_1, 7, "Q5_1", SMALL, 24),
    format(BlockType::Q8_0, 8, "Q8_0", SMALL, 34),
    format(BlockType::Iq4Nl, 20, "IQ4_NL", SMALL, 18),
    format(BlockType::Q2K, 10, "Q2_K", SUPER, 84),
    format(BlockType::Q3K, 11, "Q3_K", SUPER, 110),
    format(BlockType::Q4K, 12, "Q4_K", SUPER, 144),
    format(BlockType::Q5K, 13, "Q5_K", SUPER, 176),
    format(BlockType::Q6K, 14, "Q6_K", SUPER, 210),
    format(BlockType::Iq4Xs, 23, "IQ4_XS", SUPER, 136),
];

/// Form of activations that a matrix needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// 8-bit integers with a scale per 256 values.
    Super,
    /// 8-bit integers with a scale per 32 values.
    Small,
    /// Unchanged floats.
    Float,
}

impl BlockType {
    /// Returns the type with this number in GGUF files.
    pub(crate) fn from_id(id: u32) -> Option<Self> {
        FORMATS.iter().find(|format| format.id == id).map(|format| format.kind)
    }

    fn format(self) -> &'static Format {
        &FORMATS[self as usize]
    }

    /// Returns the common name.
    pub(crate) fn name(self) -> &'static str {
        self.format().name
    }

    /// Returns the number of values of a block.
    pub(crate) fn block_len(self) -> usize {
        self.format().len
    }

    /// Returns the number of bytes of a block.
    pub(crate) fn block_bytes(self) -> usize {
        self.format().bytes
    }

    /// Returns the number of bytes of a row.
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

    /// Returns the number of groups with a separate scale in a block of 256.
    pub(crate) fn groups(self) -> usize {
        match self {
            Self::Q4K | Self::Q5K => 8,
            _ => 16,
        }
    }

    /// Returns true if blocks have a minimum with its own scale. The older formats add it, the k-quants
    /// subtract it.
    pub(crate) fn has_mins(self) -> bool {
        matches!(self, Self::Q4_1 | Self::Q5_1 | Self::Q2K | Self::Q4K | Self::Q5K)
    }

    /// Returns the offset that is subtracted from each unpacked byte before it is scaled.
    pub(crate) fn offset(self) -> i32 {
        match self {
            Self::Q3K => 4,
            Self::Q4_0 => 8,
            Self::Q5_0 => 16,
            Self::Q6K => 32,
            Self::Q8_0 | Self::Iq4Nl | Self::Iq4Xs => 128,
            _ => 0,
        }
    }
}

/// Converts half to single precision, exactly.
pub(crate) fn f16_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10) & 0x1f;
    let fraction = u32::from(half & 0x3ff);
    match exponent {
        0 => {
            let magnitude = fraction as f32 * f32::from_bits(0x3380_0000);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

/// Converts single to half precision, rounding to nearest even. Values that are too large become
/// infinite.
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below the smallest normal half float, adding 0.5 aligns the fraction, and the addition rounds
        // correctly.
        let aligned = f32::from_bits(magnitude) + 0.5;
        return sign | (aligned.to_bits() - 0x3f00_0000) as u16;
    }
    let odd = (magnitude >> 13) & 1;
    sign | ((magnitude - 0x3800_0000 + 0xfff + odd) >> 13) as u16
}

/// Converts a brain float to single precision, exactly.
pub(crate) fn bf16_to_f32(value: u16) -> f32 {
    f32::from_bits(u32::from(value) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_types() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert_eq!(format.kind as usize, at, "{}", format.name);
        }
    }

    #[test]
    fn every_half_float_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = f16_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(f32_to_f16(value), bits, "{bits:#x} = {value}");
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (f16_to_f32(bits), f16_to_f32(bits + 1));
            let middle = f32::midpoint(low, high);
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(f32_to_f16(middle), even);
            assert_eq!(f32_to_f16(middle.next_down()), bits);
            assert_eq!(f32_to_f16(middle.next_up()), bits + 1);
        }
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(65519.0), 0x7bff);
    }
}
