//! [`Engines`]: the engines of a process, and those that cannot be stopped.
//!
//! An engine looks for its limits between the steps of a program and inside regular expressions, but not inside other built-in
//! functions. Most of these end soon, because memory is limited: `"x".repeat(2e6).split("")` or `sort` on a million numbers end
//! or run out of memory in half a second. Some do not (measured: more than 12 s): `indexOf` of a million letters in two million,
//! `sort` on a hundred thousand equal texts of a million letters.
//!
//! A thread cannot be ended from outside. So such an engine is left alone: it gets only the time that nothing else on the machine
//! wants, and while there are [`MAX_ABANDONED`] of them no further program is run.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

use crate::limits::{MAX_ABANDONED, MAX_ENGINES};

/// The engines of this process.
pub(crate) static ENGINES: Engines = Engines { running: AtomicUsize::new(0), abandoned: AtomicUsize::new(0) };

/// The lowest priority of a thread.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const ENDED: u8 = 2;

/// The number of engines.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    /// All of them.
    running: AtomicUsize,
    /// Those that are not waited for any more.
    abandoned: AtomicUsize,
}

/// The reason why no engine can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoEngine {
    /// There are too many.
    Full,
    /// Too many of them cannot be stopped.
    Stuck,
}

/// The state of one engine.
#[derive(Debug, Default)]
struct EngineState {
    state: AtomicU8,
    /// The system's number of its thread.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "priorities of threads are Linux's"))]
    thread: OnceLock<i32>,
}

/// The place of an engine, kept by its thread until it ends.
pub(crate) struct EnginePlace {
    engines: &'static Engines,
    engine: Arc<EngineState>,
}

/// The other side of a place. An engine that runs when this is dropped is abandoned.
pub(crate) struct EngineWatch {
    engines: &'static Engines,
    engine: Arc<EngineState>,
}

impl Engines {
    /// Takes a place for an engine.
    pub(crate) fn take(&'static self) -> Result<(EnginePlace, EngineWatch), NoEngine> {
        if self.abandoned.load(Ordering::SeqCst) >= MAX_ABANDONED {
            return Err(NoEngine::Stuck);
        }
        let engine = Arc::<EngineState>::default();
        let place = EnginePlace { engines: self, engine: Arc::clone(&engine) };
        // The place is given back where there are too many.
        match self.running.fetch_add(1, Ordering::SeqCst) < MAX_ENGINES {
            true => Ok((place, EngineWatch { engines: self, engine })),
            false => Err(NoEngine::Full),
        }
    }
}

impl EnginePlace {
    /// Notes that the engine runs on this thread.
    pub(crate) fn begin(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = this_thread() {
            let _ = self.engine.thread.set(thread);
        }
    }
}

impl Drop for EnginePlace {
    fn drop(&mut self) {
        if self.engine.state.swap(ENDED, Ordering::SeqCst) == ABANDONED {
            self.engines.abandoned.fetch_sub(1, Ordering::SeqCst);
        }
        self.engines.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for EngineWatch {
    fn drop(&mut self) {
        // Counted first: the thread may end at any time, and counts back.
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
    /// Leaves the processor to everything else. It is no limit, so it does not matter if it fails.
    fn lower_priority(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = self.thread.get().copied().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::setpriority_process(Some(thread), LOWEST_PRIORITY);
        }
    }
}

/// The system's number of this thread, from the link `PROCESS/task/THREAD`.
#[cfg(target_os = "linux")]
fn this_thread() -> Option<i32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_cannot_be_stopped_are_counted_until_they_end() {
        let engines: &'static Engines = Box::leak(Box::default());
        let stuck: Vec<EnginePlace> = (0..MAX_ABANDONED).map(|_| engines.take().ok().unwrap().0).collect();
        assert_eq!(engines.take().err(), Some(NoEngine::Stuck));
        drop(stuck);
        let (place, watch) = engines.take().ok().unwrap();
        drop(place);
        drop(watch);
        let many: Vec<_> = (0..MAX_ENGINES).map(|_| engines.take().ok().unwrap()).collect();
        assert_eq!(engines.take().err(), Some(NoEngine::Full));
        for (place, watch) in many {
            drop(place);
            drop(watch);
        }
        let left = (engines.running.load(Ordering::SeqCst), engines.abandoned.load(Ordering::SeqCst));
        assert_eq!(left, (0, 0));
    }
}
