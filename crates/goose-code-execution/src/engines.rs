//! [`Engines`]: limits the engines of a process, and counts those that cannot be stopped.
//!
//! All engines share one budget of memory, so only [`MAX_ENGINES`] run at the same time. Further ones wait in the order
//! in which they came.
//!
//! An engine checks its limits between the steps of a program and inside regular expressions, but not inside
//! other built-in functions. Most of these end soon, because memory is limited: `"x".repeat(2e6).split("")`
//! or `sort` on a million numbers end or run out of memory within half a second. Some do not (measured: more
//! than 12 s): `indexOf` of a million letters in two million, `sort` on a hundred thousand equal texts of a
//! million letters.
//!
//! A thread cannot be killed. So such an engine is abandoned: its thread gets the lowest priority, and while
//! there are [`MAX_ABANDONED`] of them no further program runs.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::limits::{MAX_ABANDONED, MAX_ENGINES, MAX_WAIT};

/// Engines of this process.
pub(crate) static ENGINES: Engines = Engines::new();

/// Lowest priority of a thread.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const ENDED: u8 = 2;

/// Limit and numbers of engines.
#[derive(Debug)]
pub(crate) struct Engines {
    /// A permit for each engine that can be started.
    free: Semaphore,
    /// Number of engines that no call waits for any more.
    abandoned: AtomicUsize,
}

/// Reason why no engine can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoEngine {
    /// No other engine has ended in time.
    Full,
    /// Too many engines cannot be stopped.
    Stuck,
}

/// State of one engine.
#[derive(Debug, Default)]
struct EngineState {
    state: AtomicU8,
    /// Id of its thread in the system.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has priorities of threads"))]
    thread: OnceLock<i32>,
}

/// Slot of an engine, held by its thread until that ends.
pub(crate) struct EngineSlot {
    engines: &'static Engines,
    engine: Arc<EngineState>,
    _permit: SemaphorePermit<'static>,
}

/// Watch over a slot, held by the call. If it is dropped while the engine runs, the engine is abandoned.
pub(crate) struct EngineWatch {
    engines: &'static Engines,
    engine: Arc<EngineState>,
}

impl Engines {
    const fn new() -> Self {
        Self { free: Semaphore::const_new(MAX_ENGINES), abandoned: AtomicUsize::new(0) }
    }

    /// Waits for a slot for an engine. Dropping the future ends the wait.
    pub(crate) async fn take(&'static self) -> Result<(EngineSlot, EngineWatch), NoEngine> {
        let is_stuck = || self.abandoned.load(Ordering::SeqCst) >= MAX_ABANDONED;
        if is_stuck() {
            return Err(NoEngine::Stuck);
        }
        match timeout(MAX_WAIT, self.free.acquire()).await {
            Ok(Ok(permit)) => {
                let engine = Arc::<EngineState>::default();
                let slot = EngineSlot { engines: self, engine: Arc::clone(&engine), _permit: permit };
                Ok((slot, EngineWatch { engines: self, engine }))
            }
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(if is_stuck() { NoEngine::Stuck } else { NoEngine::Full }),
        }
    }
}

impl EngineSlot {
    /// Records that the engine runs on this thread.
    pub(crate) fn begin(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = this_thread() {
            let _ = self.engine.thread.set(thread);
        }
    }
}

impl Drop for EngineSlot {
    fn drop(&mut self) {
        if self.engine.state.swap(ENDED, Ordering::SeqCst) == ABANDONED {
            self.engines.abandoned.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for EngineWatch {
    fn drop(&mut self) {
        // Incremented first: the thread may end at any time, and decrements the counter.
        self.engines.abandoned.fetch_add(1, Ordering::SeqCst);
        let state = &self.engine.state;
        match state.compare_exchange(RUNNING, ABANDONED, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => self.engine.lower_priority(),
            Err(_) => {
                self.engines.abandoned.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

impl EngineState {
    /// Lowers the priority of the thread. A failure does not matter, because this is not a limit.
    fn lower_priority(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = self.thread.get().copied().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::setpriority_process(Some(thread), LOWEST_PRIORITY);
        }
    }
}

/// Returns the id of this thread in the system, from the link `PROCESS/task/THREAD`.
#[cfg(target_os = "linux")]
fn this_thread() -> Option<i32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn abandoned_engines_are_counted_until_they_end() {
        let engines: &'static Engines = Box::leak(Box::new(Engines::new()));
        let mut stuck = Vec::new();
        for _ in 0..MAX_ABANDONED {
            stuck.push(engines.take().await.ok().unwrap().0);
        }
        assert_eq!(engines.take().await.err(), Some(NoEngine::Stuck));
        drop(stuck);
        let mut many = Vec::new();
        for _ in 0..MAX_ENGINES {
            many.push(engines.take().await.ok().unwrap());
        }
        assert_eq!(engines.take().await.err(), Some(NoEngine::Full));
        for (slot, watch) in many {
            drop(slot);
            drop(watch);
        }
        let left = (engines.free.available_permits(), engines.abandoned.load(Ordering::SeqCst));
        assert_eq!(left, (MAX_ENGINES, 0));
    }
}
