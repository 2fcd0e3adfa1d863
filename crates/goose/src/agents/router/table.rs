//! Weights of hashed features, looked up where they lie in the weights file.

use std::cmp::Ordering;

/// The step between two values of a weight of one byte.
pub(crate) const STEP: f32 = 1.0 / 16.0;

/// The step between two values of a weight of two bytes.
pub(crate) const FINE_STEP: f32 = 1.0 / 1024.0;

/// The bytes of a feature's hash.
const KEY: usize = 4;

/// Records in the order of their hashes: the hash, then `WIDTH` bytes of weights.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Table<'a, const WIDTH: usize> {
    records: &'a [u8],
}

impl<'a, const WIDTH: usize> Table<'a, WIDTH> {
    const RECORD: usize = KEY + WIDTH;

    /// Takes a table from the front of a file: the number of its records, then the records. Returns the rest of the file.
    pub(crate) fn take(file: &'a [u8]) -> (Self, &'a [u8]) {
        let (count, rest) = file.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let length = u32::from_le_bytes(*count) as usize * Self::RECORD;
        let (records, rest) = rest.split_at_checked(length).unwrap_or_default();
        (Self { records }, rest)
    }

    /// The weights of a feature.
    pub(crate) fn get(&self, hash: u32) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.records.len() / Self::RECORD);
        while low < high {
            let middle = low.midpoint(high);
            let record = self.records.get(middle * Self::RECORD..(middle + 1) * Self::RECORD)?;
            let (key, weights) = record.split_first_chunk::<KEY>()?;
            match u32::from_le_bytes(*key).cmp(&hash) {
                Ordering::Equal => return Some(weights),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// A table with one weight for each feature, in steps of [`FINE_STEP`].
pub(crate) type Column<'a> = Table<'a, 2>;

impl Column<'_> {
    /// The weight of a feature, if it has one.
    pub(crate) fn find(&self, hash: u32) -> Option<f32> {
        let (weight, _) = self.get(hash)?.split_first_chunk::<2>()?;
        Some(f32::from(i16::from_le_bytes(*weight)) * FINE_STEP)
    }

    /// The weight of a feature, 0 for an unknown one.
    pub(crate) fn weight(&self, hash: u32) -> f32 {
        self.find(hash).unwrap_or_default()
    }

    /// The sum of the weights of features, each times its value.
    pub(crate) fn sum(&self, features: &[(u32, f32)]) -> f32 {
        features.iter().map(|(hash, value)| self.weight(*hash) * value).sum()
    }
}

/// FNV-1a, which stays the same between programs and versions, unlike the standard library's.
pub(crate) fn hash(parts: &[&str]) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash
}
