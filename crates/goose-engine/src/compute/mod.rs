//! Block formats and kernels.
//!
//! - `block`: the formats, and 16-bit floats;
//! - `instructions`: the instruction sets of this machine; `lanes`: operations on each of them;
//! - `activations`: a batch of tokens and its 8-bit forms;
//! - `unpack`: a part of a row as bytes and scales; `panel`: sixteen of them side by side;
//! - `multiply`: matrix times batch, with `portable`, `avx2`, `avx512` (panels) and `rows`, `*_rows` (one
//!   token);
//! - `tile`: float products; `vector`: norms and gates;
//! - `cache`: keys and values of a layer; `attention`: a batch against them;
//! - `pool`: the threads.
//!
//! Invariant: for the same token and the same tokens before it, the result is bit-identical, whatever the
//! batch, the number of threads and the instruction set.

mod activations;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_rows;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_rows;
mod block;
mod cache;
mod instructions;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_x86;
mod multiply;
mod panel;
mod pool;
mod portable;
mod rows;
mod tile;
mod unpack;
mod vector;

#[cfg(test)]
mod multiply_tests;

pub(crate) use self::activations::Activations;
pub(crate) use self::attention::{Attention, AttentionScratch};
pub(crate) use self::block::{BlockType, Family};
pub(crate) use self::cache::{BLOCK, LayerCache};
pub use self::instructions::Instructions;
pub(crate) use self::multiply::{MatrixView, STRIP, Scratch};
pub(crate) use self::pool::{Pool, SharedMut};
pub(crate) use self::unpack::dequantize;
pub(crate) use self::vector::{add, rms_norm, silu_times};
