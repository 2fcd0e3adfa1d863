//! An allocator that counts the bytes on the heap while it is told to.
//!
//! Sizes are as they were asked for; what the system's allocator adds to each block is not in them. While it does not
//! count it costs one look at a flag that never changes.
#![expect(unsafe_code, reason = "an allocator")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicIsize, Ordering},
};

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

pub(crate) struct Counting;

/// Begins or ends counting.
pub(crate) fn count(on: bool) {
    COUNTS.store(on, Ordering::SeqCst);
}

/// The bytes that came to the heap while it was counted, less those that left it.
pub(crate) fn live() -> isize {
    LIVE.load(Ordering::SeqCst)
}

fn add(bytes: isize) {
    if COUNTS.load(Ordering::Relaxed) {
        LIVE.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every request goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(block, layout) }
    }
}
