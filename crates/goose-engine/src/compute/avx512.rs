//! Integer kernels for AVX-512 and VNNI: panels times a tile of tokens. Panels of `Q4_K` and `Q6_K` are
//! packed from sixteen whole rows at once.
//!
//! A tile is 32 rows by up to six tokens. Lanes are rows, so weights are plain loads, four activations at
//! a time are broadcast, and nothing is summed across lanes.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use std::arch::x86_64::*;

use super::activations::{Activations, SUPER_SUMS};
use super::block::BlockType;
use super::multiply::{STRIP, SmallChunk, SuperChunk};
use super::panel::{Panel, ROWS};
use super::unpack::Scales;

/// Maximum number of tokens of a tile. 2 × 6 running sums, 2 × 6 group sums, two weights and one
/// activation take 27 of the 32 registers.
const TILE: usize = 6;

/// Multiplies the panels with all tokens of the chunk, and adds the result to `out`.
///
/// # Safety
/// The processor has AVX-512 F, BW, DQ, VL and VNNI; there are two `panels`, and `out` has 32 floats for
/// each token.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn super_chunk(chunk: &SuperChunk<'_>, panels: &[Panel], out: &mut [f32]) {
    // SAFETY: the caller's promises.
    unsafe {
        match (chunk.kind.groups(), chunk.kind.has_mins()) {
            (8, _) => super_tiles::<8, true>(chunk, panels, out),
            (_, true) => super_tiles::<16, true>(chunk, panels, out),
            (_, false) => super_tiles::<16, false>(chunk, panels, out),
        }
    }
}

/// Computes all tiles, for a format with `GROUPS` groups per block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn super_tiles<const GROUPS: usize, const MINS: bool>(
    chunk: &SuperChunk<'_>,
    panels: &[Panel],
    out: &mut [f32],
) {
    let mut first = 0;
    while first < chunk.tokens {
        let count = (chunk.tokens - first).min(TILE);
        // SAFETY: the caller's promises; the chunk has `count` tokens from `first` on.
        unsafe {
            match count {
                6 => super_tile::<6, GROUPS, MINS>(chunk, panels, first, out),
                5 => super_tile::<5, GROUPS, MINS>(chunk, panels, first, out),
                4 => super_tile::<4, GROUPS, MINS>(chunk, panels, first, out),
                3 => super_tile::<3, GROUPS, MINS>(chunk, panels, first, out),
                2 => super_tile::<2, GROUPS, MINS>(chunk, panels, first, out),
                _ => super_tile::<1, GROUPS, MINS>(chunk, panels, first, out),
            }
        }
        first += count;
    }
}

/// Quantized activations of a tile's tokens.
struct Tile<const T: usize> {
    quants: [*const i8; T],
    sums: [*const i16; T],
    scales: [*const f32; T],
}

impl<const T: usize> Tile<T> {
    #[inline]
    fn supers(activations: &Activations, first: usize, block: usize) -> Self {
        let rows: [_; T] = std::array::from_fn(|t| activations.super_row(first + t));
        Self {
            quants: rows.map(|row| row.quants[block * 256..][..256].as_ptr()),
            sums: rows.map(|row| row.sums[block * SUPER_SUMS..][..SUPER_SUMS].as_ptr()),
            scales: rows.map(|row| row.scales[block..][..1].as_ptr()),
        }
    }

    #[inline]
    fn smalls(activations: &Activations, first: usize, block: usize, blocks: usize) -> Self {
        let rows: [_; T] = std::array::from_fn(|t| activations.small_row(first + t));
        Self {
            quants: rows.map(|row| row.quants[block * 32..][..blocks * 32].as_ptr()),
            sums: rows.map(|row| row.sums[block..][..blocks].as_ptr()),
            scales: rows.map(|row| row.scales[block..][..blocks].as_ptr()),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load<T>(lanes: &[T; ROWS]) -> __m512i {
    // SAFETY: sixteen 32-bit values.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_floats(lanes: &[f32; ROWS]) -> __m512 {
    // SAFETY: sixteen floats.
    unsafe { _mm512_loadu_ps(lanes.as_ptr()) }
}

/// Loads four bytes into every lane.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn broadcast<T>(at: *const T) -> __m512i {
    // SAFETY: the caller's pointer has four bytes left.
    unsafe { _mm512_set1_epi32(at.cast::<i32>().read_unaligned()) }
}

/// Returns the unscaled sums of the four-column steps `from..from + STEPS` for a tile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn dots<const T: usize, const STEPS: usize>(
    panels: &[Panel],
    quants: &[*const i8; T],
    from: usize,
) -> [[__m512i; T]; 2] {
    // SAFETY: panels have 64 steps, and tokens 256 activations from `quants` on; callers stay within.
    unsafe {
        let mut dots = [[_mm512_setzero_si512(); T]; 2];
        for step in from..from + STEPS {
            let weights = [load(&panels[0].quants[step]), load(&panels[1].quants[step])];
            for t in 0..T {
                let activation = broadcast(quants[t].add(step * 4));
                dots[0][t] = _mm512_dpbusd_epi32(dots[0][t], weights[0], activation);
                dots[1][t] = _mm512_dpbusd_epi32(dots[1][t], weights[1], activation);
            }
        }
        dots
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn super_tile<const T: usize, const GROUPS: usize, const MINS: bool>(
    chunk: &SuperChunk<'_>,
    panels: &[Panel],
    first: usize,
    out: &mut [f32],
) {
    let panels = &panels[..2];
    let tile = Tile::<T>::supers(chunk.activations, first, chunk.block);
    let out = &mut out[first * STRIP..][..T * STRIP];
    // SAFETY: the pointers come from slices that contain everything that is read here.
    unsafe {
        let mut products = [[_mm512_setzero_si512(); T]; 2];
        for group in 0..GROUPS {
            let dots = if GROUPS == 8 {
                dots::<T, 8>(panels, &tile.quants, group * 8)
            } else {
                dots::<T, 4>(panels, &tile.quants, group * 4)
            };
            for p in 0..2 {
                let scale = load(&panels[p].scales[group]);
                for t in 0..T {
                    products[p][t] = _mm512_add_epi32(products[p][t], _mm512_mullo_epi32(dots[p][t], scale));
                }
            }
        }
        for p in 0..2 {
            for t in 0..T {
                let out = out[t * STRIP + p * ROWS..].as_mut_ptr();
                let scale = _mm512_set1_ps(*tile.scales[t]);
                let before = _mm512_loadu_ps(out);
                let after = if MINS {
                    let zero = _mm512_setzero_si512();
                    let mins = if GROUPS == 8 {
                        min_sums::<4>(&panels[p], zero, tile.sums[t].add(16))
                    } else {
                        min_sums::<8>(&panels[p], zero, tile.sums[t])
                    };
                    with_scale_and_min(&panels[p], scale, products[p][t], mins, before)
                } else {
                    let whole = min_sums::<8>(&panels[p], products[p][t], tile.sums[t]);
                    let scale = _mm512_mul_ps(load_floats(&panels[p].scale[0]), scale);
                    _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(whole), before)
                };
                _mm512_storeu_ps(out, after);
            }
        }
    }
}

/// Multiplies the minimums with the sums of their activations, two groups at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn min_sums<const PAIRS: usize>(panel: &Panel, start: __m512i, sums: *const i16) -> __m512i {
    let mut total = start;
    for pair in 0..PAIRS {
        // SAFETY: the caller's pointer has two sums for each pair.
        total = unsafe { _mm512_dpwssd_epi32(total, load(&panel.mins[pair]), broadcast(sums.add(pair * 2))) };
    }
    total
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn with_scale_and_min(
    panel: &Panel,
    scale: __m512,
    products: __m512i,
    mins: __m512i,
    before: __m512,
) -> __m512 {
    // SAFETY: only loads from the panel.
    unsafe {
        let scaled = _mm512_mul_ps(load_floats(&panel.scale[0]), scale);
        let with_products = _mm512_fmadd_ps(scaled, _mm512_cvtepi32_ps(products), before);
        let min = _mm512_mul_ps(load_floats(&panel.min[0]), scale);
        _mm512_fnmadd_ps(min, _mm512_cvtepi32_ps(mins), with_products)
    }
}

/// Multiplies panels of the older formats, as [`super_chunk`] does.
///
/// # Safety
/// As for [`super_chunk`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn small_chunk(chunk: &SmallChunk<'_>, panels: &[Panel], out: &mut [f32]) {
    let mut first = 0;
    while first < chunk.tokens {
        let count = (chunk.tokens - first).min(TILE);
        // SAFETY: the caller's promises; the chunk has `count` tokens from `first` on.
        unsafe {
            match count {
                6 => small_tile::<6>(chunk, panels, first, out),
                5 => small_tile::<5>(chunk, panels, first, out),
                4 => small_tile::<4>(chunk, panels, first, out),
                3 => small_tile::<3>(chunk, panels, first, out),
                2 => small_tile::<2>(chunk, panels, first, out),
                _ => small_tile::<1>(chunk, panels, first, out),
            }
        }
        first += count;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn small_tile<const T: usize>(
    chunk: &SmallChunk<'_>,
    panels: &[Panel],
    first: usize,
    out: &mut [f32],
) {
    let panels = &panels[..2];
    let tile = Tile::<T>::smalls(chunk.activations, first, chunk.first_block, chunk.blocks);
    let out = out[first * STRIP..][..T * STRIP].as_mut_ptr();
    let offset = chunk.kind.offset();
    // SAFETY: the pointers come from slices that contain everything that is read and written here.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); T]; 2];
        for p in 0..2 {
            for t in 0..T {
                sums[p][t] = _mm512_loadu_ps(out.add(t * STRIP + p * ROWS));
            }
        }
        for block in 0..chunk.blocks {
            let dots = dots::<T, 8>(panels, &tile.quants, block * 8);
            for p in 0..2 {
                let (scales, mins) =
                    (load_floats(&panels[p].scale[block]), load_floats(&panels[p].min[block]));
                for t in 0..T {
                    let sum = i32::from(*tile.sums[t].add(block));
                    let scale = _mm512_set1_ps(*tile.scales[t].add(block));
                    let dot = _mm512_sub_epi32(dots[p][t], _mm512_set1_epi32(offset * sum));
                    let total =
                        _mm512_fmadd_ps(_mm512_mul_ps(scales, scale), _mm512_cvtepi32_ps(dot), sums[p][t]);
                    let base = _mm512_mul_ps(mins, scale);
                    sums[p][t] = _mm512_fmadd_ps(base, _mm512_set1_ps(sum as f32), total);
                }
            }
        }
        for p in 0..2 {
            for t in 0..T {
                _mm512_storeu_ps(out.add(t * STRIP + p * ROWS), sums[p][t]);
            }
        }
    }
}

/// Fills a panel from sixteen blocks of `Q4_K`, `stride` bytes apart.
///
/// # Safety
/// The processor has AVX-512 F and BW; the pointer has sixteen blocks of 144 bytes.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn pack_q4k(blocks: *const u8, stride: usize, panel: &mut Panel) {
    // SAFETY: the caller's promises.
    unsafe {
        scales(BlockType::Q4K, blocks, stride, panel);
        let nibbles = _mm512_set1_epi8(0x0f);
        for half in 0..2 {
            let words = transposed(blocks.add(16 + half * 64), stride);
            for (i, word) in words.into_iter().enumerate() {
                let at = (half * 2 + i / 8) * 16 + i % 8;
                store(&mut panel.quants[at], _mm512_and_si512(word, nibbles));
                store(&mut panel.quants[at + 8], _mm512_and_si512(_mm512_srli_epi16::<4>(word), nibbles));
            }
        }
    }
}

/// Fills a panel from sixteen blocks of `Q6_K`, `stride` bytes apart.
///
/// # Safety
/// As for [`pack_q4k`], with blocks of 210 bytes.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn pack_q6k(blocks: *const u8, stride: usize, panel: &mut Panel) {
    // SAFETY: the caller's promises.
    unsafe {
        scales(BlockType::Q6K, blocks, stride, panel);
        let (nibble, top) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0x30));
        let high = transposed(blocks.add(128), stride);
        for half in 0..2 {
            let low = transposed(blocks.add(half * 64), stride);
            for i in 0..16 {
                let high = high[half * 8 + i % 8];
                let (first, second) = if i < 8 {
                    (_mm512_slli_epi16::<4>(high), high)
                } else {
                    (_mm512_slli_epi16::<2>(high), _mm512_srli_epi16::<2>(high))
                };
                let (first, second) = (_mm512_and_si512(first, top), _mm512_and_si512(second, top));
                let upper = _mm512_srli_epi16::<4>(low[i]);
                // (low & nibble) | top
                store(
                    &mut panel.quants[half * 32 + i],
                    _mm512_ternarylogic_epi32::<0xea>(low[i], nibble, first),
                );
                store(
                    &mut panel.quants[half * 32 + 16 + i],
                    _mm512_ternarylogic_epi32::<0xea>(upper, nibble, second),
                );
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(to: &mut [u32; ROWS], value: __m512i) {
    // SAFETY: sixteen words.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
}

/// Returns word `i` of sixteen rows in register `i`. The rows are `stride` bytes apart.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn transposed(rows: *const u8, stride: usize) -> [__m512i; 16] {
    // SAFETY: the pointer has 64 bytes of sixteen rows.
    unsafe {
        let row: [__m512i; 16] = std::array::from_fn(|i| _mm512_loadu_si512(rows.add(i * stride).cast()));
        let mut quads = [_mm512_setzero_si512(); 16];
        for i in 0..4 {
            let [a, b, c, d] = [row[i * 4], row[i * 4 + 1], row[i * 4 + 2], row[i * 4 + 3]];
            let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            // quads[word % 4 * 4 + i]: in 128-bit lane `word / 4`, that word of rows 4i to 4i + 3.
            quads[i] = _mm512_unpacklo_epi64(ab_low, cd_low);
            quads[4 + i] = _mm512_unpackhi_epi64(ab_low, cd_low);
            quads[8 + i] = _mm512_unpacklo_epi64(ab_high, cd_high);
            quads[12 + i] = _mm512_unpackhi_epi64(ab_high, cd_high);
        }
        let mut words = [_mm512_setzero_si512(); 16];
        for word in 0..4 {
            let [a, b, c, d] =
                [quads[word * 4], quads[word * 4 + 1], quads[word * 4 + 2], quads[word * 4 + 3]];
            let ab_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b);
            let ab_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b);
            let cd_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(c, d);
            let cd_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(c, d);
            words[word] = _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_even, cd_even);
            words[4 + word] = _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_odd, cd_odd);
            words[8 + word] = _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_even, cd_even);
            words[12 + word] = _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_odd, cd_odd);
        }
        words
    }
}

/// # Safety
/// The pointer has sixteen blocks of the format, `stride` bytes apart.
#[inline]
unsafe fn scales(kind: BlockType, blocks: *const u8, stride: usize, panel: &mut Panel) {
    let mut scales = Scales::EMPTY;
    for row in 0..ROWS {
        // SAFETY: the caller's promises.
        let block = unsafe { std::slice::from_raw_parts(blocks.add(row * stride), kind.block_bytes()) };
        scales.take(kind, block);
        panel.pack_scales(&scales, row);
    }
}
