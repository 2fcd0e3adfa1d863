//! Metadata values. Strings and arrays stay in the file; only where they are is kept.

use super::cursor::{Cursor, Span};
use crate::EngineError;

/// One metadata value.
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

/// The fixed-size kinds.
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
    fn of(kind: u32) -> Option<Self> {
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
            Self::U8 => Value::Unsigned(cursor.u8(what)?.into()),
            Self::I8 => Value::Signed((cursor.u8(what)? as i8).into()),
            Self::U16 => Value::Unsigned(cursor.u16(what)?.into()),
            Self::I16 => Value::Signed((cursor.u16(what)? as i16).into()),
            Self::U32 => Value::Unsigned(cursor.u32(what)?.into()),
            Self::I32 => Value::Signed((cursor.u32(what)? as i32).into()),
            Self::F32 => Value::Float(f32::from_bits(cursor.u32(what)?).into()),
            Self::Flag => Value::Flag(cursor.u8(what)? != 0),
            Self::U64 => Value::Unsigned(cursor.u64(what)?),
            Self::I64 => Value::Signed(cursor.u64(what)? as i64),
            Self::F64 => Value::Float(f64::from_bits(cursor.u64(what)?)),
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
    Scalar::of(kind)
        .ok_or_else(|| EngineError::Malformed(format!("`{key}` has the unknown value type {kind}")))
}
