//! The processes of the machine, as of now.

mod proc;
mod ps;

use crate::marker;

/// One process. A process that ended and only waits to be reaped has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// When it started, in ticks since the machine did; 0 where that is not known.
    pub(crate) started: u64,
    /// Whether it carries the mark that was asked for.
    pub(crate) is_marked: bool,
}

const HAS_PROC: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// All processes that started at `since` or later, and which of them carry a mark. Only our own user's environments
/// can be read, and only our own user's processes can be ended.
pub(crate) fn read(mark: &str, since: u64) -> Vec<Entry> {
    let wanted = format!("{}={mark}", marker::VARIABLE);
    if HAS_PROC { proc::read(&wanted, since) } else { ps::read(&wanted) }
}

/// Those among the newest few processes that carry a mark, where the machine tells which are the newest.
pub(crate) fn newest(mark: &str) -> Vec<u32> {
    let wanted = format!("{}={mark}", marker::VARIABLE);
    if HAS_PROC { proc::newest(&wanted) } else { Vec::new() }
}

/// When a living process started; `None` where it has ended.
pub(crate) fn started(pid: u32) -> Option<u64> {
    if HAS_PROC { Some(proc::entry(pid)?.started) } else { ps::is_alive(pid).then_some(0) }
}
