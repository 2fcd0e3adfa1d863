//! The watcher: one small process per goose process that ends what goose started, however goose ended.
//!
//! It is a POSIX shell script (`watcher.sh`): a library cannot start its host program again, tests and embedders have no `goose`
//! program to start, and the script works from any program on any Unix. It holds the reading end
//! of a pipe of which only we have the writing end: when we are gone, it reads the end. It is started with the first
//! child and again by the next one where it has died. It is no child of ours (its starter ends at once), so it can
//! neither become a zombie nor be taken for a member of the tree when a goose runs inside a goose.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{ChildStdin, Command, Stdio},
};

use parking_lot::Mutex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::marker;

/// Tells the watcher that children will be started.
const START: &str = "start\n";

const SCRIPT: &str = include_str!("watcher.sh");

/// The script's path to `grep`, `sleep` and `ps` if our own path has none.
const MORE_PATH: &str = ":/usr/bin:/bin";

struct Watcher {
    pipe: Option<ChildStdin>,
    /// Set once a child was about to be started.
    is_armed: bool,
    /// The groups that live now.
    groups: BTreeSet<u32>,
    has_warned: bool,
}

static WATCHER: Mutex<Watcher> =
    Mutex::new(Watcher { pipe: None, is_armed: false, groups: BTreeSet::new(), has_warned: false });

/// Has a watcher run, for the first child to find it.
pub(crate) fn prepare() {
    let mut watcher = WATCHER.lock();
    if watcher.pipe.is_none() {
        watcher.restart();
    }
}

/// Has a watcher run that looks for children when we are gone. Comes before the first one is started.
pub(crate) fn arm() {
    prepare();
    let mut watcher = WATCHER.lock();
    if !watcher.is_armed {
        watcher.is_armed = true;
        watcher.tell(START);
    }
}

/// Tells the watcher about a group that lives.
pub(crate) fn register(group: u32) {
    let mut watcher = WATCHER.lock();
    watcher.groups.insert(group);
    if !watcher.tell(&format!("+ {group}\n")) {
        watcher.restart();
    }
}

/// Tells the watcher that a group has ended, before its number can be reused.
pub(crate) fn forget(group: u32) {
    let mut watcher = WATCHER.lock();
    watcher.groups.remove(&group);
    // The next child starts another watcher where this one has died.
    watcher.tell(&format!("- {group}\n"));
}

impl Watcher {
    /// Starts a watcher that knows all groups. Where that fails, we go on without.
    fn restart(&mut self) {
        self.pipe = None;
        let started = start().map(|pipe| self.pipe = Some(pipe));
        let mut lines = if self.is_armed { START.to_owned() } else { String::new() };
        for group in &self.groups {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "+ {group}");
        }
        let works = started.is_ok() && (lines.is_empty() || self.tell(&lines));
        if !works && !self.has_warned {
            self.has_warned = true;
            let error = started.err();
            tracing::warn!(?error, "no watcher: if goose is killed, what it has started may go on");
        }
    }

    /// Returns whether the watcher is alive. One that does not read, because it was stopped, is: it must not see
    /// the end of its pipe while we live.
    fn tell(&mut self, lines: &str) -> bool {
        let Some(pipe) = self.pipe.as_mut() else { return false };
        match pipe.write_all(lines.as_bytes()) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tracing::debug!("the watcher does not read; it goes by the environment alone");
                true
            }
            Err(_) => false,
        }
    }
}

/// Starts the script and reaps its starter. The script gets nothing of our environment but the path.
#[expect(
    clippy::disallowed_methods,
    reason = "the watcher itself must outlive goose, so it cannot be one of its processes"
)]
fn start() -> io::Result<ChildStdin> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(MORE_PATH);
    let mut starter = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "goose-watcher", marker::run_id()])
        .env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let pipe = starter.stdin.take().ok_or_else(|| io::Error::other("the pipe is missing"))?;
    // A pipe that is full must not hold us up.
    fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
    starter.wait()?;
    Ok(pipe)
}
