//! The tree of a process: who belongs to it, and how all of them are ended.
//!
//! The members are those of the leader's group, those that carry its mark, and the descendants of both. The leader is
//! not reaped before the tree has ended, so the number of its group cannot be reused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal},
};

use tokio::time::{Instant, sleep};

use crate::table::{self, Entry};

/// Maximum number of searches for new processes while the tree is killed.
const MAX_ROUNDS: usize = 32;
/// Searches in a row that must find no new process before all count as signalled. One search is not enough: a process
/// that starts the next one and ends can be gone, and the next one not yet there, at the moment each of them is looked
/// at.
const QUIET_ROUNDS: usize = 2;
/// Time that the newest processes of the machine are watched between two searches.
const KILL_NEWEST_TIME: Duration = Duration::from_millis(4);

/// Time limit after a request to end.
const TERM_TIME: Duration = Duration::from_secs(1);

/// Time limit after a kill; the kernel may have much to clean up.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Pause between two checks.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The tree of one process.
#[derive(Clone)]
pub(crate) struct Tree {
    leader: u32,
    mark: Arc<str>,
    /// Processes that were seen, with their start times: one whose parent has ended is still known.
    known: BTreeMap<u32, u64>,
}

impl Tree {
    pub(crate) fn new(leader: u32, mark: String) -> Self {
        Self { leader, mark: mark.into(), known: BTreeMap::new() }
    }

    /// Looks for the living members. Costs one reading of the process table.
    pub(crate) fn search(&mut self) -> BTreeSet<u32> {
        let entries = table::read(&self.mark, self.leader);
        let members = self.members(&entries);
        self.known.retain(|pid, _| members.contains(pid));
        let seen = entries.iter().filter(|entry| members.contains(&entry.pid));
        self.known.extend(seen.map(|entry| (entry.pid, entry.started)));
        members
    }

    fn members(&self, entries: &[Entry]) -> BTreeSet<u32> {
        let is_root = |entry: &&Entry| {
            entry.group == self.leader
                || entry.is_marked
                || self.known.get(&entry.pid) == Some(&entry.started)
        };
        let candidates: Vec<&Entry> = entries.iter().filter(|entry| may_be_signalled(entry.pid)).collect();
        let mut members: BTreeSet<u32> =
            candidates.iter().copied().filter(is_root).map(|entry| entry.pid).collect();
        loop {
            let before = members.len();
            for entry in &candidates {
                if members.contains(&entry.parent) {
                    members.insert(entry.pid);
                }
            }
            if members.len() == before {
                return members;
            }
        }
    }

    /// Returns whether a known process is still alive. Cheaper than a search.
    pub(crate) fn is_seen_alive(&self) -> bool {
        self.known.iter().any(|(&pid, &started)| table::started(pid) == Some(started))
    }

    /// Kills all processes, and searches again until no new one is found. Returns when all have been signalled; a
    /// moment later they are gone.
    pub(crate) fn kill(&mut self) {
        let mut signalled = BTreeSet::new();
        let mut quiet = 0;
        for _ in 0..MAX_ROUNDS {
            let fresh: Vec<u32> = self.search().difference(&signalled).copied().collect();
            if fresh.is_empty() && signalled.is_empty() {
                return;
            }
            self.kill_group();
            fresh.iter().for_each(|&pid| send(pid, Signal::KILL));
            let has_killed_newest = self.kill_newest();
            quiet = if fresh.is_empty() && !has_killed_newest { quiet + 1 } else { 0 };
            if quiet == QUIET_ROUNDS {
                return;
            }
            signalled.extend(fresh);
        }
        tracing::warn!(leader = self.leader, "a process starts others faster than they can be ended");
    }

    /// Kills those who carry the mark among the newest processes, which are quicker to look at than all of them: who
    /// lives only to start the next one is caught here. Returns whether there was any.
    fn kill_newest(&self) -> bool {
        let began = Instant::now();
        let mut has_killed = false;
        while began.elapsed() < KILL_NEWEST_TIME {
            for pid in table::newest(&self.mark).into_iter().filter(|&pid| may_be_signalled(pid)) {
                send(pid, Signal::KILL);
                has_killed = true;
            }
        }
        has_killed
    }

    /// The whole group at once: no process in it can start another one meanwhile.
    fn kill_group(&self) {
        let group = pid(self.leader).filter(|&group| group != rustix::process::getpgrp());
        if let Some(group) = group
            && let Err(error) = rustix::process::kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(leader = self.leader, %error, "a group was not killed");
        }
    }
}

/// Asks all members to end, then kills them, without blocking the runtime. When this returns, none is left, except
/// those that even the kernel cannot end.
pub(crate) async fn terminate(tree: Tree) {
    let tree = in_background(tree, |mut tree| {
        let members = tree.search();
        members.iter().for_each(|&pid| send(pid, Signal::TERM));
        (tree, members.is_empty())
    });
    let (tree, is_empty) = tree.await;
    if is_empty {
        return;
    }
    gone(&tree, TERM_TIME).await;
    let tree = in_background(tree, |mut tree| {
        tree.kill();
        tree
    });
    if !gone(&tree.await, KILL_TIME).await {
        tracing::warn!("a process could not be ended");
    }
}

/// Waits until everybody who was seen is gone; `false` if that takes too long.
async fn gone(tree: &Tree, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_LOOK;
    while tree.is_seen_alive() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    true
}

/// Does work that reads many files on a thread where it may block; here, where the runtime is going away.
async fn in_background<T: Send + 'static>(tree: Tree, work: fn(Tree) -> T) -> T {
    let copy = tree.clone();
    match tokio::task::spawn_blocking(move || work(copy)).await {
        Ok(done) => done,
        Err(_) => work(tree),
    }
}

fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(raw.try_into().ok()?).filter(|&pid| pid != Pid::INIT)
}

fn may_be_signalled(raw: u32) -> bool {
    raw != std::process::id() && pid(raw).is_some()
}

fn send(raw: u32, signal: Signal) {
    let Some(target) = pid(raw) else { return };
    match rustix::process::kill_process(target, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => tracing::debug!(pid = raw, %error, "a process could not be signalled"),
    }
}
