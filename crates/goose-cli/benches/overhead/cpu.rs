//! The CPU time of a process, to the nanosecond.

use std::{fs, time::Duration};

/// The time that all threads of a process have used so far. Threads that ended do not count: neither goose nor the
/// floor ends any between two turns.
pub(crate) fn used(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
