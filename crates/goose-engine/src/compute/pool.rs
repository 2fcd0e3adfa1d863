//! [`Pool`]: a few threads that share short pieces of work, hundreds of times per token.
//!
//! A round hands out item numbers from one counter until none is left; the calling thread works, too.
//! Between rounds, the helpers spin for about a millisecond, since the next round usually follows soon,
//! and then sleep. The caller waits only for helpers that entered the round, and not for one that the
//! system has not scheduled yet.

use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};

/// Number of spins of a helper before it sleeps: about a millisecond.
const SPINS_BEFORE_SLEEP: u32 = 20_000;
/// Number of spins of the caller before it yields to other programs.
const SPINS_BEFORE_YIELD: u32 = 2_000;
/// Maximum number of threads. More do not help a model that waits for memory.
const MAX_THREADS: usize = 64;

/// Work of one round: called with an item and the number of the thread.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;
/// Work with its lifetime erased. Helpers use it only while its round has not ended.
type AnyWork = &'static Work<'static>;

/// Bits of [`Shared::round`] that count the helpers in the current round.
const INSIDE: u64 = 0xffff;
/// Bit that lets helpers enter the round.
const OPEN: u64 = INSIDE + 1;
/// Increment for the next round.
const ROUND: u64 = OPEN << 1;

struct Shared {
    /// Number of the round, open bit, and number of helpers in it. A new number is the signal to begin.
    round: AtomicU64,
    next: AtomicUsize,
    items: AtomicUsize,
    /// Work of the current round. It lives while the round is open or has helpers.
    work: AtomicPtr<AnyWork>,
    panicked: AtomicBool,
    closing: AtomicBool,
    asleep: Vec<AtomicBool>,
}

/// Threads that share the work of a round.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    helpers: Vec<(Thread, Option<JoinHandle<()>>)>,
}

impl Pool {
    /// Starts a pool of `threads` threads, including the caller's. By default, one for each available
    /// core.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let free = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = threads.unwrap_or_else(free).clamp(1, MAX_THREADS);
        let shared = Arc::new(Shared {
            round: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            items: AtomicUsize::new(0),
            work: AtomicPtr::new(std::ptr::null_mut()),
            panicked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            asleep: (1..threads).map(|_| AtomicBool::new(false)).collect(),
        });
        // Threads are numbered without gaps: if the system refuses one, the pool is smaller.
        let helpers = (1..threads).map_while(|number| helper(&shared, number)).collect();
        Self { shared, helpers }
    }

    /// Returns the number of threads, including the caller's.
    pub(crate) fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls `work(item, thread)` for all items below `items`, and returns when all are done.
    pub(crate) fn run(&mut self, items: usize, work: &Work<'_>) {
        if items <= 1 || self.helpers.is_empty() {
            (0..items).for_each(|item| work(item, 0));
            return;
        }
        self.begin(items, &work);
        let guard = RoundGuard { shared: &self.shared };
        self.shared.take_items(work, 0);
        drop(guard);
        assert!(!self.shared.panicked.swap(false, Ordering::AcqRel), "a helper thread of the model stopped");
    }

    /// Opens a round. `run` does not return (nor unwind) before it has ended, so `work` outlives it.
    fn begin(&self, items: usize, work: &&Work<'_>) {
        let shared = &self.shared;
        shared.work.store(std::ptr::from_ref(work).cast::<AnyWork>().cast_mut(), Ordering::Relaxed);
        shared.items.store(items, Ordering::Relaxed);
        shared.next.store(0, Ordering::Relaxed);
        let last = shared.round.load(Ordering::Relaxed);
        shared.round.store(((last & !OPEN) + ROUND) | OPEN, Ordering::SeqCst);
        for ((thread, _), asleep) in self.helpers.iter().zip(&shared.asleep) {
            if asleep.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        for (thread, handle) in &mut self.helpers {
            thread.unpark();
            if let Some(handle) = handle.take() {
                let _ = handle.join();
            }
        }
    }
}

/// Ends the round, and waits for the helpers in it, even if the caller's own work panics.
struct RoundGuard<'a> {
    shared: &'a Shared,
}

impl Drop for RoundGuard<'_> {
    fn drop(&mut self) {
        self.shared.round.fetch_and(!OPEN, Ordering::AcqRel);
        let mut spins = 0;
        while self.shared.round.load(Ordering::Acquire) & INSIDE != 0 {
            spins += 1;
            if spins > SPINS_BEFORE_YIELD {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Shared {
    fn take_items(&self, work: &Work<'_>, thread: usize) {
        let items = self.items.load(Ordering::Relaxed);
        loop {
            let item = self.next.fetch_add(1, Ordering::Relaxed);
            if item >= items {
                return;
            }
            work(item, thread);
        }
    }

    /// Waits for a round after `seen`, and enters it. Returns none when the pool closes.
    fn enter(&self, seen: u64, number: usize) -> Option<u64> {
        let mut spins = 0;
        loop {
            if self.closing.load(Ordering::Relaxed) {
                return None;
            }
            let round = self.round.load(Ordering::Relaxed);
            if round & OPEN != 0 && round / ROUND != seen {
                let entered =
                    self.round.compare_exchange_weak(round, round + 1, Ordering::Acquire, Ordering::Relaxed);
                if entered.is_ok() {
                    return Some(round / ROUND);
                }
                continue;
            }
            spins += 1;
            if spins < SPINS_BEFORE_SLEEP {
                std::hint::spin_loop();
            } else {
                self.sleep(seen, number);
            }
        }
    }

    /// Sleeps until woken, unless a new round is open. A round that has already ended needs no helper.
    fn sleep(&self, seen: u64, number: usize) {
        let asleep = &self.asleep[number - 1];
        asleep.store(true, Ordering::SeqCst);
        let round = self.round.load(Ordering::SeqCst);
        let is_new = round & OPEN != 0 && round / ROUND != seen;
        if !is_new && !self.closing.load(Ordering::SeqCst) {
            std::thread::park();
        }
        asleep.store(false, Ordering::SeqCst);
    }

    fn help(&self, number: usize) {
        let mut seen = 0;
        while let Some(round) = self.enter(seen, number) {
            seen = round;
            // SAFETY: `begin` stored it before it opened the round, and the caller's `RoundGuard` keeps
            // it alive until this helper has left the round.
            let work = unsafe { *self.work.load(Ordering::Relaxed) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                self.take_items(work, number);
            }));
            if outcome.is_err() {
                self.panicked.store(true, Ordering::Release);
            }
            self.round.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn helper(shared: &Arc<Shared>, number: usize) -> Option<(Thread, Option<JoinHandle<()>>)> {
    let theirs = Arc::clone(shared);
    let handle = std::thread::Builder::new()
        .name(format!("model-{number}"))
        .spawn(move || theirs.help(number))
        .ok()?;
    Some((handle.thread().clone(), Some(handle)))
}

/// Slice that several threads write, each its own parts.
pub(crate) struct SharedMut<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: `part` is the only access, and its callers give each thread its own parts.
unsafe impl<T: Send> Send for SharedMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedMut<'_, T> {}

impl<'a, T> SharedMut<'a, T> {
    /// Borrows `slice` for as long as its parts are used.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// Returns `len` items from `start` on.
    ///
    /// # Safety
    /// No two overlapping parts may be held at the same time, by any thread.
    #[expect(clippy::mut_from_ref, reason = "parts of different threads do not overlap")]
    pub(crate) unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.len && len <= self.len - start, "a part outside of its slice");
        // SAFETY: in bounds by the assertion, alive by the borrow, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_runs_once_per_round() {
        let mut pool = Pool::new(Some(4));
        for round in 0..2000 {
            let items = round % 37;
            let counts: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
            pool.run(items, &|item, thread| {
                assert!(thread < 4);
                counts[item].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn the_pool_works_after_a_panic() {
        let mut pool = Pool::new(Some(3));
        for _ in 0..20 {
            let run = std::panic::AssertUnwindSafe(|| pool.run(64, &|_, thread| assert!(thread == 0)));
            // Helpers panic if they get an item at all.
            let _ = std::panic::catch_unwind(run);
            let done = AtomicUsize::new(0);
            pool.run(64, &|_, _| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 64);
        }
    }

    #[test]
    fn an_absent_helper_is_not_waited_for() {
        let mut pool = Pool::new(Some(1));
        pool.helpers.push((std::thread::current(), None));
        let done = AtomicUsize::new(0);
        pool.run(9, &|_, _| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 9);
    }

    #[test]
    fn a_panic_in_a_helper_reaches_the_caller() {
        let outcome = std::panic::catch_unwind(|| {
            Pool::new(Some(2)).run(64, &|item, _| assert!(item != 40, "on purpose"));
        });
        assert!(outcome.is_err());
    }
}
