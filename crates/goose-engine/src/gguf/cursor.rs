//! Reads little-endian values from untrusted bytes; every length is checked against what is left.

use crate::EngineError;

/// A place in a file's bytes.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A stretch of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Span {
    /// The bytes it covers; it was checked when it was made.
    pub(crate) fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `len` bytes as a span, if there are so many.
    pub(super) fn span(&mut self, len: u64, what: &str) -> Result<Span, EngineError> {
        let fits = usize::try_from(len).ok().filter(|len| *len <= self.left());
        let Some(len) = fits else {
            return Err(EngineError::Malformed(format!(
                "{what} of {len} bytes at offset {} runs past the end of the file",
                self.at
            )));
        };
        let span = Span { start: self.at, len };
        self.at += len;
        Ok(span)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], EngineError> {
        let span = self.span(N as u64, what)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(span.of(self.bytes));
        Ok(bytes)
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u8, EngineError> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16, EngineError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, EngineError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, EngineError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-prefixed string, as bytes: vocabularies hold pieces that are not UTF-8.
    pub(super) fn string(&mut self, what: &str) -> Result<Span, EngineError> {
        let len = self.u64(what)?;
        self.span(len, what)
    }

    /// A count of things that take at least `smallest` bytes each, so no count can ask for more memory
    /// than the file is long.
    pub(super) fn count(&mut self, smallest: usize, what: &str) -> Result<usize, EngineError> {
        let count = self.u64(what)?;
        let cap = (self.left() / smallest.max(1)) as u64;
        if count > cap {
            return Err(EngineError::Malformed(format!("{count} {what} cannot fit in the rest of the file")));
        }
        Ok(count as usize)
    }
}
