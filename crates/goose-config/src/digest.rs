//! SHA-256 in hexadecimal: of bytes, and of JSON values whatever the order of their keys.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the hash of some bytes, as 64 lower-case hex digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash of a JSON value. The order of keys does not count.
pub fn json_digest(mut value: Value) -> String {
    value.sort_all_objects();
    sha256(value.to_string())
}
