//! A few threads that share short pieces of work, hundreds of times for each token.
//!
//! A round hands out item numbers from one counter until none is left; the calling thread works too. Between
//! rounds the helpers look for the next one for some microseconds, since it usually follows at once, and then
//! sleep.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};

/// How often a helper looks for a new round before it sleeps: about a millisecond.
const SPINS_BEFORE_SLEEP: u32 = 20_000;
/// How often the caller looks for the helpers' end before it lets other programs run.
const SPINS_BEFORE_YIELD: u32 = 2_000;
/// More threads than this do not help a model that waits for memory.
const MAX_THREADS: usize = 64;

/// One round's work: called with an item and the number of the thread.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

struct Shared {
    /// Counts rounds; a change is the signal to begin.
    round: AtomicUsize,
    next: AtomicUsize,
    items: AtomicUsize,
    /// Helpers that have not finished the current round.
    busy: AtomicUsize,
    /// The current round's work, as the two words of a `&Work`; valid while `busy` is not zero.
    work: [AtomicUsize; 2],
    panicked: AtomicBool,
    closing: AtomicBool,
    asleep: Vec<AtomicBool>,
}

/// The threads.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    helpers: Vec<(Thread, Option<JoinHandle<()>>)>,
}

impl Pool {
    /// A pool of `threads` threads with the caller's, or as many as there are free cores.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let free = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = threads.unwrap_or_else(free).clamp(1, MAX_THREADS);
        let shared = Arc::new(Shared {
            round: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            items: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            work: [AtomicUsize::new(0), AtomicUsize::new(0)],
            panicked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            asleep: (1..threads).map(|_| AtomicBool::new(false)).collect(),
        });
        let helpers = (1..threads).filter_map(|number| helper(&shared, number)).collect();
        Self { shared, helpers }
    }

    /// How many threads work, the caller's included.
    pub(crate) fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls `work(item, thread)` for all items below `items`, and returns when all are done.
    pub(crate) fn run(&mut self, items: usize, work: &Work<'_>) {
        if items <= 1 || self.helpers.is_empty() {
            (0..items).for_each(|item| work(item, 0));
            return;
        }
        self.begin(items, work);
        let finish = Finish { shared: &self.shared };
        self.shared.take_items(work, 0);
        drop(finish);
        assert!(!self.shared.panicked.load(Ordering::Acquire), "a helper thread of the model stopped");
    }

    fn begin(&self, items: usize, work: &Work<'_>) {
        // SAFETY: a reference to a trait object is two words. The helpers use it only in this round, and
        // `run` does not return (nor unwind) before every helper has finished the round.
        let words: [usize; 2] = unsafe { std::mem::transmute(work) };
        let shared = &self.shared;
        shared.work[0].store(words[0], Ordering::Relaxed);
        shared.work[1].store(words[1], Ordering::Relaxed);
        shared.items.store(items, Ordering::Relaxed);
        shared.next.store(0, Ordering::Relaxed);
        shared.busy.store(self.helpers.len(), Ordering::Relaxed);
        shared.round.fetch_add(1, Ordering::SeqCst);
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

/// Waits for the helpers, also when the caller's own share panics.
struct Finish<'a> {
    shared: &'a Shared,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let mut spins = 0;
        while self.shared.busy.load(Ordering::Acquire) != 0 {
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

    /// Waits for a round after `seen`; `None` when the pool closes.
    fn wait(&self, seen: usize, number: usize) -> Option<usize> {
        let mut spins = 0;
        loop {
            if self.closing.load(Ordering::Relaxed) {
                return None;
            }
            let round = self.round.load(Ordering::Acquire);
            if round != seen {
                return Some(round);
            }
            spins += 1;
            if spins < SPINS_BEFORE_SLEEP {
                std::hint::spin_loop();
            } else {
                self.sleep(seen, number);
            }
        }
    }

    fn sleep(&self, seen: usize, number: usize) {
        let asleep = &self.asleep[number - 1];
        asleep.store(true, Ordering::SeqCst);
        if self.round.load(Ordering::SeqCst) == seen && !self.closing.load(Ordering::SeqCst) {
            std::thread::park();
        }
        asleep.store(false, Ordering::SeqCst);
    }

    fn help(&self, number: usize) {
        let mut seen = 0;
        while let Some(round) = self.wait(seen, number) {
            seen = round;
            let words = [self.work[0].load(Ordering::Relaxed), self.work[1].load(Ordering::Relaxed)];
            // SAFETY: written by `begin` before the round's number changed; alive until `busy` is zero.
            let work: &Work<'_> = unsafe { std::mem::transmute(words) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                self.take_items(work, number);
            }));
            if outcome.is_err() {
                self.panicked.store(true, Ordering::Release);
            }
            self.busy.fetch_sub(1, Ordering::AcqRel);
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

/// A slice that several threads write, each its own parts.
#[derive(Clone, Copy)]
pub(crate) struct SharedMut<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: `part` is the only access, and its callers give each thread parts of its own.
unsafe impl<T: Send> Send for SharedMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedMut<T> {}

impl<T> SharedMut<T> {
    /// Shares `slice`; it must outlive the round it is used in.
    pub(crate) fn new(slice: &mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len() }
    }

    /// `len` items from `start` on.
    ///
    /// # Safety
    /// No two threads may hold parts that overlap at the same time, and the slice must still live.
    #[expect(clippy::mut_from_ref, reason = "parts of different threads do not overlap")]
    pub(crate) unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.len && len <= self.len - start, "a part outside of its slice");
        // SAFETY: in bounds by the assertion, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_in_every_round() {
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
    fn a_panic_in_a_helper_reaches_the_caller() {
        let outcome = std::panic::catch_unwind(|| {
            Pool::new(Some(2)).run(64, &|item, _| assert!(item != 40, "on purpose"));
        });
        assert!(outcome.is_err());
    }
}
