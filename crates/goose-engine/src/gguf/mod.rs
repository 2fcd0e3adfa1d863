//! GGUF file: header, metadata, table of tensors, and the memory map of its data.
//!
//! The file is untrusted: every length is checked before it is used, and a malicious file gives an error.
//! The weights are never copied. They are read through the map, so the system can share and evict them.

mod tensor;
mod value;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

pub(crate) use self::tensor::Tensor;
use self::value::Cursor;
pub(crate) use self::value::{Scalar, Value};
use crate::EngineError;

const MAGIC: &[u8; 4] = b"GGUF";
const DEFAULT_ALIGNMENT: u64 = 32;
/// Maximum alignment. It is larger than any page or vector needs.
const MAX_ALIGNMENT: u64 = 1 << 20;
/// Minimum size of a metadata entry or a tensor entry.
const SMALLEST_ENTRY: usize = 13;

/// Opened model file.
pub(crate) struct Gguf {
    map: Mmap,
    metadata: HashMap<String, Value>,
    tensors: HashMap<String, Tensor>,
}

impl Gguf {
    /// Maps and checks the file, and lets the system read ahead.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineError> {
        let file = Self::inspect(path)?;
        // Reading ahead shortens a cold start. Nothing depends on it.
        #[cfg(unix)]
        let _ = file.map.advise(memmap2::Advice::WillNeed);
        Ok(file)
    }

    /// Maps and checks the file. Reads only its beginning.
    pub(crate) fn inspect(path: &Path) -> Result<Self, EngineError> {
        let read_error = |source| EngineError::Read { path: path.to_owned(), source };
        // Opening a pipe would wait for its other end.
        if !std::fs::metadata(path).map_err(read_error)?.is_file() {
            return Err(read_error(std::io::Error::other("it is not a regular file")));
        }
        let file = File::open(path).map_err(read_error)?;
        // SAFETY: the map is read-only. It is not fully sound, which is accepted, as in every program
        // that maps model files. If another program changes the file in place, weights change under the
        // kernels, which check lengths and not contents: the answer is wrong, but memory stays safe. If
        // it truncates the file, the system ends this process. goose replaces model files only by
        // renaming. Reading gigabytes into memory instead would double the peak and slow down every
        // start.
        let map = unsafe { Mmap::map(&file) }.map_err(read_error)?;
        Self::parse(map)
    }

    fn parse(map: Mmap) -> Result<Self, EngineError> {
        let mut cursor = Cursor::new(&map);
        let magic = cursor.span(4, "magic number")?;
        if magic.slice(&map) != MAGIC {
            return Err(EngineError::Malformed("it does not begin with `GGUF`".to_owned()));
        }
        let version = cursor.u32("version")?;
        if !(2..=3).contains(&version) {
            return Err(EngineError::UnsupportedVersion(version));
        }
        let tensor_count = cursor.count(SMALLEST_ENTRY, "tensors")?;
        let key_count = cursor.count(SMALLEST_ENTRY, "metadata keys")?;
        let metadata = read_metadata(&mut cursor, &map, key_count)?;
        let entries = (0..tensor_count)
            .map(|_| tensor::TensorEntry::read(&mut cursor, &map))
            .collect::<Result<Vec<_>, _>>()?;
        let alignment = alignment(&metadata)?;
        let data_start = cursor.position().next_multiple_of(alignment);
        let tensors = tensor::place_all(entries, data_start, alignment, map.len())?;
        Ok(Self { map, metadata, tensors })
    }

    /// Returns all bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns a tensor by its name.
    pub(crate) fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Returns all tensors.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.values()
    }

    /// Returns true if the metadata has the key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// Returns true if the value is a list of numbers.
    pub(crate) fn is_list(&self, key: &str) -> bool {
        matches!(self.metadata.get(key), Some(Value::Numbers { .. }))
    }

    /// Returns the value if it is a string.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.metadata.get(key)? {
            Value::Text(span) => std::str::from_utf8(span.slice(&self.map)).ok(),
            _ => None,
        }
    }

    /// Returns the value if it is a non-negative integer.
    pub(crate) fn unsigned(&self, key: &str) -> Option<u64> {
        match *self.metadata.get(key)? {
            Value::Unsigned(value) => Some(value),
            Value::Signed(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the value if it is a number.
    pub(crate) fn float(&self, key: &str) -> Option<f64> {
        match *self.metadata.get(key)? {
            Value::Float(value) => Some(value),
            Value::Unsigned(value) => Some(value as f64),
            Value::Signed(value) => Some(value as f64),
            _ => None,
        }
    }

    /// Returns the value if it is a boolean.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match *self.metadata.get(key)? {
            Value::Flag(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value if it is a list of strings, as bytes.
    pub(crate) fn texts(&self, key: &str) -> Option<impl ExactSizeIterator<Item = &[u8]>> {
        match self.metadata.get(key)? {
            Value::Texts(spans) => Some(spans.iter().map(|span| span.slice(&self.map))),
            _ => None,
        }
    }

    /// Returns the value if it is a list of 32-bit integers.
    pub(crate) fn integers(&self, key: &str) -> Option<impl ExactSizeIterator<Item = i32>> {
        let words = self.words(key, |kind| matches!(kind, Scalar::I32 | Scalar::U32))?;
        Some(words.map(|word| word as i32))
    }

    /// Returns the value if it is a list of 32-bit floats.
    pub(crate) fn floats(&self, key: &str) -> Option<impl ExactSizeIterator<Item = f32>> {
        Some(self.words(key, |kind| kind == Scalar::F32)?.map(f32::from_bits))
    }

    fn words(
        &self,
        key: &str,
        wanted: impl Fn(Scalar) -> bool,
    ) -> Option<impl ExactSizeIterator<Item = u32>> {
        match self.metadata.get(key)? {
            Value::Numbers { kind, items } if wanted(*kind) => {
                Some(items.slice(&self.map).as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)))
            }
            _ => None,
        }
    }
}

fn read_metadata(
    cursor: &mut Cursor<'_>,
    file: &[u8],
    count: usize,
) -> Result<HashMap<String, Value>, EngineError> {
    let mut metadata = HashMap::new();
    for _ in 0..count {
        let key = cursor.string("metadata key")?;
        let key = String::from_utf8_lossy(key.slice(file)).into_owned();
        let value = Value::read(cursor, &key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(EngineError::Malformed(format!("the key `{key}` occurs twice")));
        }
    }
    Ok(metadata)
}

fn alignment(metadata: &HashMap<String, Value>) -> Result<usize, EngineError> {
    let alignment = match metadata.get("general.alignment") {
        Some(Value::Unsigned(value)) => *value,
        Some(_) => 0,
        None => DEFAULT_ALIGNMENT,
    };
    if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
        return Err(EngineError::Malformed("its alignment is not a power of two".to_owned()));
    }
    Ok(alignment as usize)
}
