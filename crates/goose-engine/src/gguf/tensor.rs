//! Table of tensors: name, shape, type and position of each.

use std::collections::HashMap;

use super::value::{Cursor, Span};
use crate::EngineError;
use crate::compute::BlockType;

/// Maximum number of dimensions in the format.
const MAX_DIMENSIONS: u32 = 4;

/// Tensor whose bytes are known to be inside the file.
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    /// Number of values in a row, the dimension that is contiguous in memory.
    pub(crate) columns: usize,
    /// Number of rows: the product of all other dimensions.
    pub(crate) rows: usize,
    pub(crate) kind: BlockType,
    pub(crate) bytes: Span,
}

/// Entry of the table, before its position is checked.
pub(super) struct TensorEntry {
    name: String,
    columns: usize,
    rows: usize,
    kind: BlockType,
    offset: u64,
}

impl TensorEntry {
    pub(super) fn read(cursor: &mut Cursor<'_>, file: &[u8]) -> Result<Self, EngineError> {
        let name = cursor.string("tensor name")?;
        let name = String::from_utf8_lossy(name.slice(file)).into_owned();
        let dimensions = cursor.u32("tensor dimensions")?;
        if dimensions == 0 || dimensions > MAX_DIMENSIONS {
            return Err(EngineError::Malformed(format!("tensor `{name}` has {dimensions} dimensions")));
        }
        let columns = cursor.u64("tensor shape")?;
        let mut rows = 1_u64;
        for _ in 1..dimensions {
            let dimension = cursor.u64("tensor shape")?;
            rows = rows.checked_mul(dimension).ok_or_else(|| too_large(&name))?;
        }
        let kind = cursor.u32("tensor type")?;
        let kind = BlockType::from_id(kind)
            .ok_or_else(|| EngineError::UnsupportedType { tensor: name.clone(), kind: unknown_name(kind) })?;
        let offset = cursor.u64("tensor offset")?;
        let (Ok(columns), Ok(rows)) = (usize::try_from(columns), usize::try_from(rows)) else {
            return Err(too_large(&name));
        };
        Ok(Self { name, columns, rows, kind, offset })
    }

    fn byte_len(&self) -> Result<usize, EngineError> {
        if self.columns == 0 || self.rows == 0 || !self.columns.is_multiple_of(self.kind.block_len()) {
            return Err(EngineError::Malformed(format!(
                "tensor `{}` of {} × {} cannot consist of {} blocks",
                self.name,
                self.columns,
                self.rows,
                self.kind.name()
            )));
        }
        (self.columns / self.kind.block_len())
            .checked_mul(self.kind.block_bytes())
            .and_then(|row| row.checked_mul(self.rows))
            .ok_or_else(|| too_large(&self.name))
    }

    fn place(
        self,
        data_start: usize,
        alignment: usize,
        file_len: usize,
    ) -> Result<(String, Tensor), EngineError> {
        let len = self.byte_len()?;
        let start = usize::try_from(self.offset)
            .ok()
            .filter(|offset| offset.is_multiple_of(alignment))
            .and_then(|offset| offset.checked_add(data_start))
            .filter(|start| start.checked_add(len).is_some_and(|end| end <= file_len))
            .ok_or_else(|| {
                EngineError::Malformed(format!(
                    "tensor `{}` ({len} bytes at {}) is outside the file of {file_len} bytes",
                    self.name, self.offset
                ))
            })?;
        let bytes = Span { start, len };
        Ok((self.name, Tensor { columns: self.columns, rows: self.rows, kind: self.kind, bytes }))
    }
}

/// Checks the positions of all tensors: no name occurs twice, and no two tensors overlap.
pub(super) fn place_all(
    entries: Vec<TensorEntry>,
    data_start: usize,
    alignment: usize,
    file_len: usize,
) -> Result<HashMap<String, Tensor>, EngineError> {
    let mut tensors = HashMap::with_capacity(entries.len());
    let mut spans = Vec::with_capacity(entries.len());
    for entry in entries {
        let (name, tensor) = entry.place(data_start, alignment, file_len)?;
        spans.push(tensor.bytes);
        if tensors.insert(name.clone(), tensor).is_some() {
            return Err(EngineError::Malformed(format!("tensor `{name}` occurs twice")));
        }
    }
    spans.sort_by_key(|span| span.start);
    if spans.windows(2).any(|pair| pair[0].start + pair[0].len > pair[1].start) {
        return Err(EngineError::Malformed("two tensors overlap".to_owned()));
    }
    Ok(tensors)
}

/// Returns the common name of an unsupported type.
fn unknown_name(id: u32) -> String {
    let name = match id {
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        39 => "MXFP4",
        _ => return format!("type {id}"),
    };
    name.to_owned()
}

fn too_large(name: &str) -> EngineError {
    EngineError::Malformed(format!("tensor `{name}` has an impossible shape"))
}
