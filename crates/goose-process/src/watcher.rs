//! The watcher: one small process per goose process that ends what goose started, however goose ended.
//!
//! It is a POSIX shell script (`watcher.sh`): a library cannot start its host program again, tests and embedders have
//! no `goose` program to start, and the script works from any program on any Unix. It waits for the end of a pipe of
//! which only we have the writing end. What it has to know waits in a second pipe, which it reads when we are gone: a
//! child that is started or has ended does not wake it. It is started with the first
//! child and again by the next one where it has died. It is no child of ours (its starter ends at once), so it can
//! neither become a zombie nor be taken for a member of the tree when a goose runs inside a goose.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::{fd::AsFd, unix::process::CommandExt as _},
    process::{Command, Stdio},
};

use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
};

use crate::marker;

/// Tells the watcher that children will be started.
const START: &str = "start\n";

const SCRIPT: &str = include_str!("watcher.sh");

/// The script's path to `grep`, `sleep` and `ps` if our own path has none.
const MORE_PATH: &str = ":/usr/bin:/bin";

/// Bytes of lines that wait in the pipe, from which on only what still holds is left in it. A shell reads byte by byte.
const MAX_WAITING: usize = 4_096;

struct Watcher {
    pipes: Option<Pipes>,
    /// Set once a child was about to be started.
    is_armed: bool,
    /// The groups that live now.
    groups: BTreeSet<u32>,
    has_warned: bool,
}

/// Our ends of the pipes.
struct Pipes {
    /// Nothing is ever written here.
    life: PipeWriter,
    lines: PipeWriter,
    /// The lines that wait, to take them back.
    waiting: PipeReader,
    waiting_bytes: usize,
}

static WATCHER: Mutex<Watcher> =
    Mutex::new(Watcher { pipes: None, is_armed: false, groups: BTreeSet::new(), has_warned: false });

/// Starts the watcher before the first program, which is then started faster. Blocks for about a millisecond.
pub fn prepare() {
    let mut watcher = WATCHER.lock();
    if watcher.pipes.is_none() {
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
        self.pipes = None;
        let started = start().map(|pipes| self.pipes = Some(pipes));
        let works = started.is_ok() && self.tell(&all_lines(self.is_armed, &self.groups));
        if !works && !self.has_warned {
            self.has_warned = true;
            let error = started.err();
            tracing::warn!(?error, "no watcher: if goose is killed, what it has started may go on");
        }
    }

    /// Returns whether the watcher is alive.
    fn tell(&mut self, lines: &str) -> bool {
        let Some(pipes) = self.pipes.as_mut().filter(|pipes| pipes.are_held()) else { return false };
        let written = if pipes.waiting_bytes + lines.len() > MAX_WAITING {
            pipes.take_back();
            pipes.write(&all_lines(self.is_armed, &self.groups))
        } else {
            pipes.write(lines)
        };
        if let Err(error) = written {
            tracing::debug!(%error, "the watcher goes by the environment alone");
        }
        true
    }
}

/// The lines for a watcher that knows nothing.
fn all_lines(is_armed: bool, groups: &BTreeSet<u32>) -> String {
    let mut lines = if is_armed { START.to_owned() } else { String::new() };
    for group in groups {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "+ {group}");
    }
    lines
}

impl Pipes {
    /// Returns whether the watcher holds its end.
    fn are_held(&self) -> bool {
        let mut life = [PollFd::new(&self.life, PollFlags::empty())];
        let looked = poll(&mut life, Some(&Timespec::default()));
        looked.is_ok() && !life[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        self.waiting_bytes += lines.len();
        self.lines.write_all(lines.as_bytes())
    }

    fn take_back(&mut self) {
        let mut taken = [0; MAX_WAITING];
        while self.waiting.read(&mut taken).is_ok_and(|bytes| bytes > 0) {}
        self.waiting_bytes = 0;
    }
}

/// Starts the script and reaps its starter. The script gets nothing of our environment but the path.
#[expect(
    clippy::disallowed_methods,
    reason = "the watcher itself must outlive goose, so it cannot be one of its processes"
)]
fn start() -> io::Result<Pipes> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(MORE_PATH);
    let (end_of_life, life) = io::pipe()?;
    let (waiting, lines) = io::pipe()?;
    // Neither a pipe that is full nor one that is empty must hold us up.
    never_wait(&lines)?;
    never_wait(&waiting)?;
    let mut starter = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "goose-watcher", marker::run_id()])
        .env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(waiting.try_clone()?)
        .stdout(end_of_life)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    starter.wait()?;
    Ok(Pipes { life, lines, waiting, waiting_bytes: 0 })
}

fn never_wait(pipe: impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?)
}
