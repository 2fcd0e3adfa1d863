//! The tree of a process: who belongs to it, and how all of them are ended.
//!
//! The members are those of the leader's group, those that carry its mark, and the descendants of both. The leader is
//! not reaped before the tree has ended, so the number of its group cannot become somebody else's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal},
};

use crate::table::{self, Entry};

/// How often the tree is searched for newcomers while it is killed.
const MAX_ROUNDS: usize = 32;
/// How many searches in a row find nobody new before all are believed to be struck. One search is not enough: whoever
/// starts the next one and ends can be gone, and the next one not yet there, at the moment each of them is looked at.
const QUIET_ROUNDS: usize = 2;
/// How long the newest processes of the machine are watched between two searches.
const CHASE_TIME: Duration = Duration::from_millis(4);

/// The tree of one process.
#[derive(Clone)]
pub(crate) struct Tree {
    leader: u32,
    started: u64,
    mark: Arc<str>,
    /// Who was seen, and when they started: one whose parent has ended is still known.
    known: BTreeMap<u32, u64>,
}

impl Tree {
    pub(crate) fn new(leader: u32, mark: String) -> Self {
        let started = table::started(leader).unwrap_or(0);
        Self { leader, started, mark: mark.into(), known: BTreeMap::new() }
    }

    /// Looks for the living members. Costs one reading of the process table.
    pub(crate) fn search(&mut self) -> BTreeSet<u32> {
        let entries = table::read(&self.mark, self.started);
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

    /// Whether anybody of those who were seen is still alive. Cheaper than a search.
    pub(crate) fn is_seen_alive(&self) -> bool {
        self.known.iter().any(|(&pid, &started)| table::started(pid) == Some(started))
    }

    /// Asks members to end.
    pub(crate) fn terminate(&self, members: &BTreeSet<u32>) {
        members.iter().for_each(|&pid| send(pid, Signal::TERM));
    }

    /// Kills everybody, and looks again until nobody new is found. Returns when all have been struck; a moment later
    /// they are gone.
    pub(crate) fn kill(&mut self) {
        let mut struck = BTreeSet::new();
        let mut quiet = 0;
        for _ in 0..MAX_ROUNDS {
            let fresh: Vec<u32> = self.search().difference(&struck).copied().collect();
            if fresh.is_empty() && struck.is_empty() {
                return;
            }
            self.kill_group();
            fresh.iter().for_each(|&pid| send(pid, Signal::KILL));
            let has_chased = self.chase();
            quiet = if fresh.is_empty() && !has_chased { quiet + 1 } else { 0 };
            if quiet == QUIET_ROUNDS {
                return;
            }
            struck.extend(fresh);
        }
        tracing::warn!(leader = self.leader, "a process starts others faster than they can be ended");
    }

    /// Kills those who carry the mark among the newest processes, which are quicker to look at than all of them: who
    /// lives only to start the next one is caught here. Says whether there was anybody.
    fn chase(&self) -> bool {
        let began = Instant::now();
        let mut has_struck = false;
        while began.elapsed() < CHASE_TIME {
            for pid in table::newest(&self.mark).into_iter().filter(|&pid| may_be_signalled(pid)) {
                send(pid, Signal::KILL);
                has_struck = true;
            }
        }
        has_struck
    }

    /// The whole group at once: nobody in it can start another one meanwhile.
    fn kill_group(&self) {
        let group = pid(self.leader).filter(|&group| group != rustix::process::getpgrp());
        if let Some(group) = group
            && let Err(error) = rustix::process::kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(leader = self.leader, %error, "a group was not killed");
        }
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
