//! Integer kernels for AVX2: panels times a tile of tokens.
//!
//! A tile is 16 rows (two registers) by up to three tokens. Products of bytes are summed as 16-bit
//! integers for as many steps as cannot overflow, then scaled and widened by one multiply-add.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use std::arch::x86_64::*;

use super::activations::SUPER_SUMS;
use super::block::BlockType;
use super::multiply::{STRIP, SmallChunk, SuperChunk};
use super::panel::{Panel, ROWS};

/// Maximum number of tokens of a tile. 2 × 3 running sums, 2 × 3 group sums, two weights and one activation
/// take 15 of the 16 registers.
const TILE: usize = 3;
/// Number of registers for the rows of a panel.
const HALVES: usize = 2;

/// Multiplies the panels with all tokens of the chunk, and adds the result to `out`.
///
/// # Safety
/// The processor has AVX2 and FMA; `out` has 32 floats for each token.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn super_chunk(chunk: &SuperChunk<'_>, panels: &[Panel], out: &mut [f32]) {
    // SAFETY: the caller's promises. The last parameter is the number of steps whose products fit 16
    // bits: for `Q4_K`, 8 steps × 2 products × 15 × 127 = 30 480. It is 0 if not even one step fits.
    unsafe {
        match chunk.kind {
            BlockType::Q4K => super_tiles::<8, true, 8>(chunk, panels, out),
            BlockType::Q5K => super_tiles::<8, true, 4>(chunk, panels, out),
            BlockType::Q2K => super_tiles::<16, true, 4>(chunk, panels, out),
            BlockType::Q3K => super_tiles::<16, false, 4>(chunk, panels, out),
            BlockType::Iq4Xs => super_tiles::<16, false, 0>(chunk, panels, out),
            _ => super_tiles::<16, false, 2>(chunk, panels, out),
        }
    }
}

/// Computes all tiles, for a format with `GROUPS` groups per block.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn super_tiles<const GROUPS: usize, const MINS: bool, const RUN: usize>(
    chunk: &SuperChunk<'_>,
    panels: &[Panel],
    out: &mut [f32],
) {
    for (p, panel) in panels.iter().enumerate() {
        let mut first = 0;
        while first < chunk.tokens {
            let count = (chunk.tokens - first).min(TILE);
            let out = &mut out[first * STRIP + p * ROWS..];
            // SAFETY: the caller's promises; the chunk has `count` tokens from `first` on.
            unsafe {
                match count {
                    3 => super_tile::<3, GROUPS, MINS, RUN>(chunk, panel, first, out),
                    2 => super_tile::<2, GROUPS, MINS, RUN>(chunk, panel, first, out),
                    _ => super_tile::<1, GROUPS, MINS, RUN>(chunk, panel, first, out),
                }
            }
            first += count;
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(lanes: &[T; ROWS], half: usize) -> __m256i {
    // SAFETY: sixteen 32-bit values, `half` is 0 or 1.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast::<i32>().add(half * 8).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_floats(lanes: &[f32; ROWS], half: usize) -> __m256 {
    // SAFETY: sixteen floats, `half` is 0 or 1.
    unsafe { _mm256_loadu_ps(lanes.as_ptr().add(half * 8)) }
}

/// Loads four bytes into every lane.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn broadcast<T>(at: *const T) -> __m256i {
    // SAFETY: the caller's pointer has four bytes left.
    unsafe { _mm256_set1_epi32(at.cast::<i32>().read_unaligned()) }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn super_tile<const T: usize, const GROUPS: usize, const MINS: bool, const RUN: usize>(
    chunk: &SuperChunk<'_>,
    panel: &Panel,
    first: usize,
    out: &mut [f32],
) {
    let rows: [_; T] = std::array::from_fn(|t| chunk.activations.super_row(first + t));
    let quants: [*const i8; T] = std::array::from_fn(|t| rows[t].quants[chunk.block * 256..][..256].as_ptr());
    // SAFETY: panels have 64 steps and tokens 256 activations.
    unsafe {
        let mut products = [[_mm256_setzero_si256(); T]; HALVES];
        for group in 0..GROUPS {
            if RUN == 0 {
                full_group::<T, GROUPS>(panel, &quants, group, &mut products);
            } else {
                group_in_runs::<T, GROUPS, RUN>(panel, &quants, group, &mut products);
            }
        }
        for t in 0..T {
            let scale = _mm256_set1_ps(rows[t].scales[chunk.block]);
            let sums = rows[t].sums[chunk.block * SUPER_SUMS..][..SUPER_SUMS].as_ptr();
            for h in 0..HALVES {
                let out = out[t * STRIP + h * 8..][..8].as_mut_ptr();
                let scales = _mm256_mul_ps(load_floats(&panel.scale[0], h), scale);
                let before = _mm256_loadu_ps(out);
                let after = if MINS {
                    let zero = _mm256_setzero_si256();
                    let mins = if GROUPS == 8 {
                        min_sums::<4>(panel, h, zero, sums.add(16))
                    } else {
                        min_sums::<8>(panel, h, zero, sums)
                    };
                    let with_products = _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(products[h][t]), before);
                    let min = _mm256_mul_ps(load_floats(&panel.min[0], h), scale);
                    _mm256_fnmadd_ps(min, _mm256_cvtepi32_ps(mins), with_products)
                } else {
                    // Full weights were multiplied as signed bytes: no offset is left to subtract.
                    let whole =
                        if RUN == 0 { products[h][t] } else { min_sums::<8>(panel, h, products[h][t], sums) };
                    _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(whole), before)
                };
                _mm256_storeu_ps(out, after);
            }
        }
    }
}

/// Adds the scaled products of a group with small weights. `RUN` steps are summed as 16-bit integers.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn group_in_runs<const T: usize, const GROUPS: usize, const RUN: usize>(
    panel: &Panel,
    quants: &[*const i8; T],
    group: usize,
    products: &mut [[__m256i; T]; HALVES],
) {
    let steps = 64 / GROUPS;
    // SAFETY: panels have 64 steps and tokens 256 activations.
    unsafe {
        let scales = [pair(load(&panel.scales[group], 0)), pair(load(&panel.scales[group], 1))];
        for run in 0..steps / RUN.max(1) {
            let mut sums = [[_mm256_setzero_si256(); T]; HALVES];
            for step in 0..RUN {
                let step = group * steps + run * RUN + step;
                let weights = [load(&panel.quants[step], 0), load(&panel.quants[step], 1)];
                for t in 0..T {
                    let activation = broadcast(quants[t].add(step * 4));
                    for h in 0..HALVES {
                        let product = _mm256_maddubs_epi16(weights[h], activation);
                        sums[h][t] = _mm256_add_epi16(sums[h][t], product);
                    }
                }
            }
            for h in 0..HALVES {
                for t in 0..T {
                    let scaled = _mm256_madd_epi16(sums[h][t], scales[h]);
                    products[h][t] = _mm256_add_epi32(products[h][t], scaled);
                }
            }
        }
    }
}

/// Adds the scaled products of a group whose weights use all eight bits.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn full_group<const T: usize, const GROUPS: usize>(
    panel: &Panel,
    quants: &[*const i8; T],
    group: usize,
    products: &mut [[__m256i; T]; HALVES],
) {
    let steps = 64 / GROUPS;
    // SAFETY: panels have 64 steps and tokens 256 activations.
    unsafe {
        for h in 0..HALVES {
            let scale = load(&panel.scales[group], h);
            for t in 0..T {
                let mut dots = _mm256_setzero_si256();
                for step in group * steps..(group + 1) * steps {
                    let activation = broadcast(quants[t].add(step * 4));
                    let dot = dot4::<true>(load(&panel.quants[step], h), activation);
                    dots = _mm256_add_epi32(dots, dot);
                }
                products[h][t] = _mm256_add_epi32(products[h][t], _mm256_mullo_epi32(dots, scale));
            }
        }
    }
}

/// Returns the scale in both 16-bit halves of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn pair(scale: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_and_si256(scale, _mm256_set1_epi32(0xffff)), _mm256_slli_epi32::<16>(scale))
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn min_sums<const PAIRS: usize>(
    panel: &Panel,
    half: usize,
    start: __m256i,
    sums: *const i16,
) -> __m256i {
    let mut total = start;
    for pair in 0..PAIRS {
        // SAFETY: the caller's pointer has two sums for each pair.
        let products =
            unsafe { _mm256_madd_epi16(load(&panel.mins[pair], half), broadcast(sums.add(pair * 2))) };
        total = _mm256_add_epi32(total, products);
    }
    total
}

/// Multiplies panels of the older formats, as [`super_chunk`] does.
///
/// # Safety
/// As for [`super_chunk`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn small_chunk(chunk: &SmallChunk<'_>, panels: &[Panel], out: &mut [f32]) {
    for (p, panel) in panels.iter().enumerate() {
        for token in 0..chunk.tokens {
            let out = &mut out[token * STRIP + p * ROWS..][..ROWS];
            // SAFETY: the caller's promises.
            unsafe {
                if chunk.kind.offset() == 128 {
                    small_token::<true>(chunk, panel, token, out);
                } else {
                    small_token::<false>(chunk, panel, token, out);
                }
            }
        }
    }
}

/// Multiplies one token. `FULL` is for weights that use all eight bits: their unsigned products would not
/// fit 16 bits.
#[target_feature(enable = "avx2,fma")]
unsafe fn small_token<const FULL: bool>(
    chunk: &SmallChunk<'_>,
    panel: &Panel,
    token: usize,
    out: &mut [f32],
) {
    let row = chunk.activations.small_row(token);
    let quants = row.quants[chunk.first_block * 32..][..chunk.blocks * 32].as_ptr();
    // SAFETY: the blocks are in the panel and in the token's row.
    unsafe {
        let mut totals = [_mm256_loadu_ps(out.as_ptr()), _mm256_loadu_ps(out.as_ptr().add(8))];
        for block in 0..chunk.blocks {
            let scale = _mm256_set1_ps(row.scales[chunk.first_block + block]);
            let sum = i32::from(row.sums[chunk.first_block + block]);
            for (h, total) in totals.iter_mut().enumerate() {
                let mut dots = _mm256_setzero_si256();
                for step in block * 8..block * 8 + 8 {
                    let (weights, activation) =
                        (load(&panel.quants[step], h), broadcast(quants.add(step * 4)));
                    dots = _mm256_add_epi32(dots, dot4::<FULL>(weights, activation));
                }
                if !FULL {
                    dots = _mm256_sub_epi32(dots, _mm256_set1_epi32(chunk.kind.offset() * sum));
                }
                let scales = _mm256_mul_ps(load_floats(&panel.scale[block], h), scale);
                let with_dots = _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(dots), *total);
                let mins = _mm256_mul_ps(load_floats(&panel.min[block], h), scale);
                *total = _mm256_fmadd_ps(mins, _mm256_set1_ps(sum as f32), with_dots);
            }
        }
        _mm256_storeu_ps(out.as_mut_ptr(), totals[0]);
        _mm256_storeu_ps(out.as_mut_ptr().add(8), totals[1]);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn dot4<const FULL: bool>(weights: __m256i, activation: __m256i) -> __m256i {
    let ones = _mm256_set1_epi16(1);
    if FULL {
        let weights = _mm256_xor_si256(weights, _mm256_set1_epi8(-128));
        let signed = _mm256_sign_epi8(activation, weights);
        _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(weights), signed), ones)
    } else {
        _mm256_madd_epi16(_mm256_maddubs_epi16(weights, activation), ones)
    }
}
