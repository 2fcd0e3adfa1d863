//! [`Lanes`] and [`Dots`] for the vector registers of x86-64.
//!
//! The methods have no target feature: they are inlined into kernels that do. They are still safe to
//! call, because lanes are created from a token, and tokens exist only if the processor has the
//! instructions.

use std::arch::x86_64::*;

use super::block::{SMALL, SUPER};
use super::instructions::{Avx2, Avx512};
use super::lanes::{Dots, GROUPS, Kernel, Lanes, WIDTH};

/// One 512-bit register.
#[derive(Clone, Copy)]
pub(crate) struct Wide(__m512);

/// Two 256-bit registers.
#[derive(Clone, Copy)]
pub(crate) struct Pair(__m256, __m256);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Evaluates intrinsics in a method that has a token or lanes.
macro_rules! intrinsics {
    ($code:expr) => {{
        // SAFETY: the method has a token, or lanes that were created from one, so the processor has the
        // instructions. Loads and stores use arrays of sixteen values.
        unsafe { $code }
    }};
}

impl Lanes for Wide {
    const TILE: usize = 4;

    #[inline(always)]
    fn splat(_: Avx512, value: f32) -> Self {
        Self(intrinsics!(_mm512_set1_ps(value)))
    }
    #[inline(always)]
    fn load(_: Avx512, from: &[f32; WIDTH]) -> Self {
        Self(intrinsics!(_mm512_loadu_ps(from.as_ptr())))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; WIDTH]) {
        intrinsics!(_mm512_storeu_ps(to.as_mut_ptr(), self.0))
    }
    #[inline(always)]
    fn from_halves(_: Avx512, from: &[u16; WIDTH]) -> Self {
        Self(intrinsics!(_mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast()))))
    }
    #[inline(always)]
    fn to_halves(self, to: &mut [u16; WIDTH]) {
        intrinsics!(_mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtps_ph::<NEAREST>(self.0)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_add_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_sub_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_mul_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_div_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_max_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_min_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(intrinsics!(_mm512_fmadd_ps(self.0, factor.0, term.0)))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(intrinsics!(_mm512_roundscale_ps::<NEAREST>(self.0)))
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        intrinsics!({
            let whole = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(whole)))
        })
    }
}

/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn exp2_half(power: __m256) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe {
        let whole = _mm256_add_epi32(_mm256_cvtps_epi32(power), _mm256_set1_epi32(127));
        _mm256_castsi256_ps(_mm256_slli_epi32::<23>(whole))
    }
}

impl Lanes for Pair {
    const TILE: usize = 1;

    #[inline(always)]
    fn splat(_: Avx2, value: f32) -> Self {
        let half = intrinsics!(_mm256_set1_ps(value));
        Self(half, half)
    }
    #[inline(always)]
    fn load(_: Avx2, from: &[f32; WIDTH]) -> Self {
        intrinsics!(Self(_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; WIDTH]) {
        intrinsics!({
            _mm256_storeu_ps(to.as_mut_ptr(), self.0);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), self.1);
        })
    }
    #[inline(always)]
    fn from_halves(_: Avx2, from: &[u16; WIDTH]) -> Self {
        intrinsics!({
            Self(
                _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast())),
                _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().add(8).cast())),
            )
        })
    }
    #[inline(always)]
    fn to_halves(self, to: &mut [u16; WIDTH]) {
        intrinsics!({
            _mm_storeu_si128(to.as_mut_ptr().cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
            _mm_storeu_si128(
                to.as_mut_ptr().add(8).cast(),
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.1),
            );
        })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_max_ps(self.0, other.0), _mm256_max_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_min_ps(self.0, other.0), _mm256_min_ps(self.1, other.1)))
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        intrinsics!(Self(
            _mm256_fmadd_ps(self.0, factor.0, term.0),
            _mm256_fmadd_ps(self.1, factor.1, term.1)
        ))
    }
    #[inline(always)]
    fn round(self) -> Self {
        intrinsics!(Self(_mm256_round_ps::<NEAREST>(self.0), _mm256_round_ps::<NEAREST>(self.1)))
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        intrinsics!(Self(exp2_half(self.0), exp2_half(self.1)))
    }
}

impl Dots for Pair {
    type Token = Avx2;

    #[inline(always)]
    fn dot(_: Avx2, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
        // SAFETY: the token proves that the processor has the instructions. The arrays have two halves of
        // sixteen bytes.
        unsafe {
            let low = products(weights.as_ptr(), quants.as_ptr());
            let high = products(weights.as_ptr().add(16), quants.as_ptr().add(16));
            sum(_mm256_add_epi32(low, high))
        }
    }

    #[inline(always)]
    fn scaled_dot(_: Avx2, weights: &[u8; SUPER], quants: &[i8; SUPER], scales: &[i16; GROUPS]) -> i32 {
        // SAFETY: the token proves that the processor has the instructions. The arrays have sixteen
        // groups of sixteen bytes.
        unsafe {
            let mut total = _mm256_setzero_si256();
            for (group, scale) in scales.iter().enumerate() {
                let products = products(weights.as_ptr().add(group * 16), quants.as_ptr().add(group * 16));
                let scaled = _mm256_mullo_epi32(products, _mm256_set1_epi32((*scale).into()));
                total = _mm256_add_epi32(total, scaled);
            }
            sum(total)
        }
    }
}

impl Dots for Wide {
    type Token = Avx512;

    #[inline(always)]
    fn dot(_: Avx512, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
        // SAFETY: the token proves that the processor has the instructions. The arrays have 32 bytes.
        unsafe {
            let weights = _mm256_loadu_si256(weights.as_ptr().cast());
            let quants = _mm256_loadu_si256(quants.as_ptr().cast());
            sum(_mm256_dpbusd_epi32(_mm256_setzero_si256(), weights, quants))
        }
    }

    #[inline(always)]
    fn scaled_dot(_: Avx512, weights: &[u8; SUPER], quants: &[i8; SUPER], scales: &[i16; GROUPS]) -> i32 {
        // SAFETY: the token proves that the processor has the instructions. The arrays have four quarters
        // of 64 bytes, and sixteen scales.
        unsafe {
            let scales = _mm512_cvtepi16_epi32(_mm256_loadu_si256(scales.as_ptr().cast()));
            let mut total = _mm512_setzero_si512();
            for quarter in 0..4 {
                let weights = _mm512_loadu_si512(weights.as_ptr().add(quarter * 64).cast());
                let quants = _mm512_loadu_si512(quants.as_ptr().add(quarter * 64).cast());
                // Each of four groups has four lanes.
                let dots = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, quants);
                let group = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
                let group = _mm512_add_epi32(group, _mm512_set1_epi32(quarter as i32 * 4));
                let own = _mm512_permutexvar_epi32(group, scales);
                total = _mm512_add_epi32(total, _mm512_mullo_epi32(dots, own));
            }
            _mm512_reduce_add_epi32(total)
        }
    }
}

/// Returns eight sums of two neighbouring products of sixteen bytes.
///
/// # Safety
/// The processor has AVX2, and both pointers have sixteen bytes.
#[inline(always)]
unsafe fn products(weights: *const u8, quants: *const i8) -> __m256i {
    // SAFETY: the caller's promises.
    unsafe {
        let weights = _mm256_cvtepu8_epi16(_mm_loadu_si128(weights.cast()));
        let quants = _mm256_cvtepi8_epi16(_mm_loadu_si128(quants.cast()));
        _mm256_madd_epi16(weights, quants)
    }
}

/// Returns the sum of eight lanes.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
pub(super) unsafe fn sum(lanes: __m256i) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { sum4(_mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes))) }
}

/// Returns the sum of four lanes.
///
/// # Safety
/// As for [`sum`].
#[inline(always)]
pub(super) unsafe fn sum4(lanes: __m128i) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let two = _mm_add_epi32(lanes, _mm_shuffle_epi32::<0b01_00_11_10>(lanes));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
    }
}

impl Avx2 {
    /// Runs a kernel that is compiled with AVX2.
    #[inline]
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: the token proves that the processor has the instructions.
        unsafe { with_avx2(self, kernel) }
    }
}

impl Avx512 {
    /// Runs a kernel that is compiled with AVX-512.
    #[inline]
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: the token proves that the processor has the instructions.
        unsafe { with_avx512(self, kernel) }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn with_avx2<K: Kernel>(token: Avx2, kernel: K) -> K::Output {
    kernel.run::<Pair>(token)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn with_avx512<K: Kernel>(token: Avx512, kernel: K) -> K::Output {
    kernel.run::<Wide>(token)
}

/// Prefetches `lines` cache lines, `ahead` bytes after `at`.
#[inline(always)]
pub(super) fn prefetch(at: *const u8, ahead: usize, lines: usize) {
    for line in 0..lines {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(ahead + line * 64).cast()) };
    }
}
