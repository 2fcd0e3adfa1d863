//! Saved sequence: the cache of a conversation as a file, so that the next run need not compute it again.
//!
//! ```text
//! magic and version, model identity, number of tokens, number of halves   8 bytes each
//! tokens                                                                  4 bytes each
//! for each layer: keys of each head, values of each head, whole blocks    2 bytes each
//! checksum of everything before                                           8 bytes
//! ```
//!
//! The file is only a cache: one with any defect is refused, and its content computed again.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use crate::compute::LayerCache;
use crate::gguf::Gguf;
use crate::{EngineError, private_file};

/// Magic and version. It changes with the layout, and with the numbers that the engine computes.
const MAGIC: u64 = u64::from_le_bytes(*b"gooseKV1");
/// Number of bytes of each tensor that enter the identity.
const SAMPLE: usize = 64;
/// Number of values that go through the buffer at a time.
const CHUNK: usize = 1 << 15;

/// Returns the identity of a model: a checksum of its size, its header, and the beginning of each tensor.
pub(super) fn identity(file: &Gguf) -> u64 {
    let mut spans: Vec<_> = file.tensors().map(|tensor| tensor.bytes).collect();
    spans.sort_by_key(|span| span.start);
    let bytes = file.bytes();
    let header = spans.first().map_or(bytes.len(), |span| span.start);
    let mut sum = Checksum::default();
    sum.add(&(bytes.len() as u64).to_le_bytes());
    sum.add(&bytes[..header]);
    for span in spans {
        let sample = span.slice(bytes);
        sum.add(&sample[..SAMPLE.min(sample.len())]);
    }
    sum.value()
}

/// Checksum that detects damage, not forgery.
#[derive(Default)]
struct Checksum {
    state: u64,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn mix(&mut self, word: u64) {
        self.state = (self.state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn value(&self) -> u64 {
        let mixed = (self.state ^ (self.state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// Returns the size of the file.
pub(super) fn size(tokens: usize, cache: &[LayerCache]) -> u64 {
    let halves: usize = cache.iter().flat_map(|layer| layer.parts(tokens)).map(<[u16]>::len).sum();
    (5 * size_of::<u64>() + tokens * size_of::<u32>() + halves * size_of::<u16>()) as u64
}

/// Writes the file, complete or not at all.
pub(super) fn write(
    path: &Path,
    identity: u64,
    tokens: &[u32],
    cache: &[LayerCache],
) -> Result<(), EngineError> {
    private_file::write(path, |file| write_to(file, identity, tokens, cache))
        .map_err(|source| EngineError::Write { path: path.to_owned(), source })
}

fn write_to(file: File, identity: u64, tokens: &[u32], cache: &[LayerCache]) -> std::io::Result<()> {
    let mut out = ChecksumStream { inner: BufWriter::new(file), sum: Checksum::default() };
    let halves: usize = cache.iter().flat_map(|layer| layer.parts(tokens.len())).map(<[u16]>::len).sum();
    for word in [MAGIC, identity, tokens.len() as u64, halves as u64] {
        out.write(&word.to_le_bytes())?;
    }
    for tokens in tokens.chunks(CHUNK) {
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        out.write(&bytes)?;
    }
    for part in cache.iter().flat_map(|layer| layer.parts(tokens.len())) {
        for halves in part.chunks(CHUNK) {
            let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
            out.write(&bytes)?;
        }
    }
    let sum = out.sum.value();
    out.inner.write_all(&sum.to_le_bytes())?;
    out.inner.flush()
}

struct ChecksumStream<T> {
    inner: T,
    sum: Checksum,
}

impl<T: Write> ChecksumStream<T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.sum.add(bytes);
        self.inner.write_all(bytes)
    }
}

impl<T: Read> ChecksumStream<T> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.sum.add(bytes);
        Ok(())
    }

    fn word(&mut self) -> std::io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// Fills the cache, and returns the tokens, if the file is intact and of this model.
pub(super) fn read(
    path: &Path,
    identity: u64,
    capacity: usize,
    cache: &mut [LayerCache],
) -> Result<Vec<u32>, EngineError> {
    let io = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::UnexpectedEof => stale("it ends too early"),
        _ => EngineError::Read { path: path.to_owned(), source },
    };
    let file = File::open(path).map_err(io)?;
    let mut from = ChecksumStream { inner: BufReader::new(file), sum: Checksum::default() };
    if from.word().map_err(io)? != MAGIC {
        return Err(stale("it has another version"));
    }
    if from.word().map_err(io)? != identity {
        return Err(stale("it belongs to another model"));
    }
    let count = from.word().map_err(io)?;
    if count > capacity as u64 {
        return Err(stale("it holds more tokens than fit"));
    }
    let count = count as usize;
    let expected: usize = cache.iter().flat_map(|layer| layer.parts(count)).map(<[u16]>::len).sum();
    if from.word().map_err(io)? != expected as u64 {
        return Err(stale("its size is wrong"));
    }
    let tokens = read_tokens(&mut from, count).map_err(io)?;
    for part in cache.iter_mut().flat_map(|layer| layer.parts_mut(count)) {
        read_halves(&mut from, part).map_err(io)?;
    }
    let sum = from.sum.value();
    if from.word().map_err(io)? != sum {
        return Err(stale("it is damaged"));
    }
    Ok(tokens)
}

fn read_tokens(from: &mut ChecksumStream<BufReader<File>>, count: usize) -> std::io::Result<Vec<u32>> {
    let mut tokens = Vec::with_capacity(count);
    let mut bytes = vec![0; CHUNK * 4];
    while tokens.len() < count {
        let bytes = &mut bytes[..(count - tokens.len()).min(CHUNK) * 4];
        from.read(bytes)?;
        tokens.extend(bytes.as_chunks::<4>().0.iter().map(|token| u32::from_le_bytes(*token)));
    }
    Ok(tokens)
}

fn read_halves(from: &mut ChecksumStream<BufReader<File>>, part: &mut [u16]) -> std::io::Result<()> {
    let mut bytes = vec![0; CHUNK * 2];
    for halves in part.chunks_mut(CHUNK) {
        let bytes = &mut bytes[..halves.len() * 2];
        from.read(bytes)?;
        for (half, bytes) in halves.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *half = u16::from_le_bytes(*bytes);
        }
    }
    Ok(())
}

fn stale(why: &str) -> EngineError {
    EngineError::StaleState(why.to_owned())
}
