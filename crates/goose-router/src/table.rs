//! Weights of hashed features, looked up where they lie in the weights file.

use std::cmp::Ordering;

/// The step between two values of a weight.
pub(crate) const STEP: f32 = 1.0 / 16.0;

/// The bytes of a feature's hash.
const KEY: usize = 4;

/// Records in the order of their hashes: the hash, then `WIDTH` bytes of weights.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Table<'a, const WIDTH: usize> {
    records: &'a [u8],
}

impl<'a, const WIDTH: usize> Table<'a, WIDTH> {
    const RECORD: usize = KEY + WIDTH;

    /// A table from a file: the number of its records, then the records.
    pub(crate) fn new(file: &'a [u8]) -> Self {
        let (count, rest) = file.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let length = u32::from_le_bytes(*count) as usize * Self::RECORD;
        Self { records: rest.get(..length).unwrap_or_default() }
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
