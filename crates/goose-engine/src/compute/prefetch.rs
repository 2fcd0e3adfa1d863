//! Asking memory for what comes soon.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Asks for so many lines of memory, `ahead` bytes after `at`.
#[inline(always)]
pub(super) fn prefetch(at: *const u8, ahead: usize, lines: usize) {
    for line in 0..lines {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(ahead + line * 64).cast()) };
    }
}
