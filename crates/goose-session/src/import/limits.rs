//! Limits of an import. Anyone may have written the file, so its size says little about the memory that it takes: a
//! JSON value of two bytes takes seventy in memory.

use std::io::{self, Read};

/// Maximum size of one imported session.
pub const MAX_SESSION_BYTES: u64 = 128 * 1024 * 1024;

/// Maximum number of steps or messages of one imported session.
pub(super) const MAX_STEPS: usize = 100_000;

/// Maximum size of one string in JSON.
pub(super) const MAX_STRING_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of JSON values in one session.
const MAX_VALUES: usize = 2_000_000;

/// Reason why a session is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum LimitError {
    #[error("it is larger than {MAX_SESSION_BYTES} bytes")]
    Size,
    #[error("it has more than {MAX_STEPS} steps or sessions")]
    Steps,
    #[error("a text in it is larger than {MAX_STRING_BYTES} bytes")]
    String,
    #[error("it has more than {MAX_VALUES} JSON values")]
    Values,
}

/// Checks the JSON of one session before it is parsed.
#[derive(Debug, Default)]
pub(super) struct JsonLimits {
    bytes: u64,
    values: usize,
    string: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonLimits {
    /// Checks the next part of the text, which may begin and end anywhere. A newline ends a JSON text.
    pub(super) fn check(&mut self, text: &[u8]) -> Result<(), LimitError> {
        self.bytes += text.len() as u64;
        if self.bytes > MAX_SESSION_BYTES {
            return Err(LimitError::Size);
        }
        for byte in text {
            self.next(*byte);
            if self.string > MAX_STRING_BYTES {
                return Err(LimitError::String);
            }
        }
        if self.values > MAX_VALUES { Err(LimitError::Values) } else { Ok(()) }
    }

    fn next(&mut self, byte: u8) {
        if byte == b'\n' {
            // No string continues on another line, and an incomplete line must not turn the others inside out.
            (self.in_string, self.is_escaped, self.string) = (false, false, 0);
            return;
        }
        if !self.in_string {
            self.in_string = byte == b'"';
            // Each value but the first, or its name, follows one of these.
            self.values += usize::from(matches!(byte, b',' | b'[' | b'{'));
            return;
        }
        self.string += 1;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => (self.in_string, self.string) = (false, 0),
            _ => {}
        }
    }
}

/// Reads JSON within the limits.
pub(super) struct LimitedReader<R> {
    inner: R,
    limits: JsonLimits,
}

impl<R: Read> LimitedReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, limits: JsonLimits::default() }
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.inner.read(buffer)?;
        self.limits.check(buffer.get(..size).unwrap_or_default()).map_err(io::Error::other)?;
        Ok(size)
    }
}
