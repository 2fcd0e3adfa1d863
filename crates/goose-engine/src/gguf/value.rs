//! Reader of untrusted bytes: [`Cursor`], which checks lengths against the rest of the file, and metadata
//! [`Value`]s. Strings and arrays stay in the file; only their positions are kept.

use crate::EngineError;

/// Metadata value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Flag(bool),
    Text(Span),
    Texts(Vec<Span>),
    Numbers { kind: Scalar, items: Span },
}

/// Type of fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Flag,
    U64,
    I64,
    F64,
}

const TEXT: u32 = 8;
const ARRAY: u32 = 9;

impl Scalar {
    fn from_id(kind: u32) -> Option<Self> {
        Some(match kind {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Flag,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Flag => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    fn read(self, cursor: &mut Cursor<'_>, what: &str) -> Result<Value, EngineError> {
        Ok(match self {
            Self::U8 => Value::Unsigned(u8::from_le_bytes(cursor.array(what)?).into()),
            Self::I8 => Value::Signed(i8::from_le_bytes(cursor.array(what)?).into()),
            Self::U16 => Value::Unsigned(u16::from_le_bytes(cursor.array(what)?).into()),
            Self::I16 => Value::Signed(i16::from_le_bytes(cursor.array(what)?).into()),
            Self::U32 => Value::Unsigned(cursor.u32(what)?.into()),
            Self::I32 => Value::Signed(i32::from_le_bytes(cursor.array(what)?).into()),
            Self::F32 => Value::Float(f32::from_le_bytes(cursor.array(what)?).into()),
            Self::Flag => Value::Flag(cursor.array(what)? != [0]),
            Self::U64 => Value::Unsigned(cursor.u64(what)?),
            Self::I64 => Value::Signed(i64::from_le_bytes(cursor.array(what)?)),
            Self::F64 => Value::Float(f64::from_le_bytes(cursor.array(what)?)),
        })
    }
}

impl Value {
    pub(super) fn read(cursor: &mut Cursor<'_>, key: &str) -> Result<Self, EngineError> {
        match cursor.u32(key)? {
            TEXT => Ok(Self::Text(cursor.string(key)?)),
            ARRAY => Self::read_array(cursor, key),
            kind => scalar(kind, key)?.read(cursor, key),
        }
    }

    fn read_array(cursor: &mut Cursor<'_>, key: &str) -> Result<Self, EngineError> {
        match cursor.u32(key)? {
            TEXT => {
                let count = cursor.count(8, "strings")?;
                (0..count).map(|_| cursor.string(key)).collect::<Result<_, _>>().map(Self::Texts)
            }
            kind => {
                let kind = scalar(kind, key)?;
                let count = cursor.count(kind.size(), "numbers")?;
                Ok(Self::Numbers { kind, items: cursor.span((count * kind.size()) as u64, key)? })
            }
        }
    }
}

fn scalar(kind: u32, key: &str) -> Result<Scalar, EngineError> {
    Scalar::from_id(kind)
        .ok_or_else(|| EngineError::Malformed(format!("`{key}` has the unknown value type {kind}")))
}

/// Position in the bytes of a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Range of bytes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Span {
    /// Returns the bytes of the range. It was checked when the span was created.
    pub(crate) fn slice<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
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

    /// Returns the next `len` bytes as a span, or an error if the file is shorter.
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
        bytes.copy_from_slice(span.slice(self.bytes));
        Ok(bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, EngineError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, EngineError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Reads a length-prefixed string as bytes. Vocabularies contain pieces that are not UTF-8.
    pub(super) fn string(&mut self, what: &str) -> Result<Span, EngineError> {
        let len = self.u64(what)?;
        self.span(len, what)
    }

    /// Reads a count of items that take at least `smallest` bytes each. So no count can request more
    /// memory than the file is long.
    pub(super) fn count(&mut self, smallest: usize, what: &str) -> Result<usize, EngineError> {
        let count = self.u64(what)?;
        let cap = (self.left() / smallest.max(1)) as u64;
        if count > cap {
            return Err(EngineError::Malformed(format!("{count} {what} cannot fit in the rest of the file")));
        }
        Ok(count as usize)
    }
}
