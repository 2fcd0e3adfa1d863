//! Blocks and kernels: what turns a file's bytes into numbers, fast.
//!
//! - `block`: the formats and their plain definition; `half`: 16-bit floats;
//! - `level`: which instructions there are; `lanes`: sixteen floats on each of them;
//! - `activations`: a batch of tokens and its 8-bit forms; `panel`: sixteen unpacked rows of weights;
//! - `multiply`: matrix times batch, by `portable`, `avx2`, `avx512` (panels) and `*_rows` (one token);
//! - `tile`: float products; `vector`: norms and gates; `attention`: one batch against the cache;
//! - `pool`: the threads.
//!
//! Invariant: for the same token and the same tokens before it, the result is the same bits whatever the batch, the
//! number of threads and the instruction set.

mod activations;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_rows;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_pack;
#[cfg(target_arch = "x86_64")]
mod avx512_rows;
mod block;
mod half;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_x86;
mod level;
mod multiply;
mod panel;
mod pool;
mod portable;
mod tile;
mod vector;

#[cfg(test)]
mod multiply_tests;

pub(crate) use self::activations::Activations;
pub(crate) use self::attention::{Attention, AttentionScratch, BLOCK, LayerCache};
pub(crate) use self::block::{BlockType, Family, dequantize};
pub use self::level::Instructions;
pub(crate) use self::multiply::{MatrixView, STRIP, Scratch};
pub(crate) use self::pool::{Pool, SharedMut};
pub(crate) use self::vector::{add, rms_norm, silu_times};
