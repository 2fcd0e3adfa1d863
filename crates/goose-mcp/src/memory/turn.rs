//! [`Turn`]: the tasks of this process change a folder one after the other, in the order in which they came.
//!
//! The lock of the folder alone would do for safety, but whoever waits for it looks only now and then, and a task
//! could be passed by others again and again until its patience ends.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long to stand in line. Longer than one task may wait for another process, and not for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who waits for which folder.
#[derive(Default)]
struct Lines {
    next_ticket: u64,
    /// The tickets for each folder; whose turn it is stands first.
    waiting: HashMap<PathBuf, VecDeque<u64>>,
}

static LINES: LazyLock<Mutex<Lines>> = LazyLock::new(Mutex::default);

/// Somebody has left a line.
static LEFT: Condvar = Condvar::new();

/// It is our turn, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    folder: PathBuf,
    ticket: u64,
}

impl Turn {
    /// Waits until those are done who came before. `None` where that takes too long.
    pub(super) fn wait(folder: &Path) -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let mut lines = lines();
        let turn = lines.enter(folder);
        while !lines.is_first(&turn) {
            let left = deadline.checked_duration_since(Instant::now());
            let Some(left) = left else {
                drop(lines); // leaving the line takes it again
                return None;
            };
            lines = LEFT.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lines().leave(self);
        LEFT.notify_all();
    }
}

impl Lines {
    fn enter(&mut self, folder: PathBuf) -> Turn {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.entry(folder.clone()).or_default().push_back(ticket);
        Turn { folder, ticket }
    }

    fn is_first(&self, turn: &Turn) -> bool {
        self.waiting.get(&turn.folder).is_some_and(|line| line.front() == Some(&turn.ticket))
    }

    fn leave(&mut self, turn: &Turn) {
        let Some(line) = self.waiting.get_mut(&turn.folder) else { return };
        line.retain(|ticket| *ticket != turn.ticket);
        if line.is_empty() {
            self.waiting.remove(&turn.folder);
        }
    }
}

/// How many have a turn in a folder or wait for one.
#[cfg(test)]
pub(super) fn in_line(folder: &Path) -> usize {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    lines().waiting.get(&folder).map_or(0, VecDeque::len)
}

/// No step between taking and giving back can leave it half changed, so a panic elsewhere does not matter.
fn lines() -> MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
