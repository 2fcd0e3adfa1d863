//! SHA-256 in hexadecimal, of bytes and of JSON values. A public module, so that callers write
//! `digest::sha256`.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of bytes as 64 lower-case hex digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of a JSON value. The order of keys does not matter.
pub fn json_digest(mut value: Value) -> String {
    value.sort_all_objects();
    sha256(value.to_string())
}
