//! [`Process`]: a started program and everything it starts in turn.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open};
use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, WaitIdStatus},
};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    signal::unix::{SignalKind, signal},
    time::{sleep, timeout},
};

use crate::{
    marker,
    spec::ProcessSpec,
    tree::{self, Tree},
    watcher,
};

/// Time limit for the end of a killed process.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Pause between checks of a group that has lost its leader. Process ids are not reused that fast.
const LINGER_PAUSE: Duration = Duration::from_millis(500);

/// The pause between two looks at a program in the foreground.
const FOREGROUND_PAUSE: Duration = Duration::from_millis(50);

/// Starts a program as the leader of its own process group, marked in its environment, and known to the watcher. A
/// Ctrl-C in our terminal does not reach it.
///
/// # Errors
///
/// Fails if the program cannot be started.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn spawn(spec: &ProcessSpec) -> io::Result<Process> {
    let mark = marker::next();
    let mut command = Command::from(spec.group_command()?);
    command.env(marker::VARIABLE, &mark).kill_on_drop(true);
    watcher::arm();
    let child = command.spawn()?;
    let gone = || io::Error::other("The program ended before it was started. Try again.");
    let id = child.id().ok_or_else(gone)?;
    let leader = id.try_into().ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    watcher::register(id);
    Ok(Process { child: Some(child), leader, id, tree: Tree::new(id, mark), status: None })
}

/// Runs a program of the user's in the foreground of our terminal, such as an editor, and blocks until it has ended. It
/// is killed, and `None` returned, once `keep_waiting` says no.
///
/// It is not marked: an editor may start a server that the user keeps.
///
/// # Errors
///
/// Fails if the program cannot be started or waited for.
pub fn run_in_foreground(
    spec: &ProcessSpec,
    keep_waiting: impl Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let mut child = spec.command()?.spawn()?;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if keep_waiting() => thread::sleep(FOREGROUND_PAUSE),
            None => {
                child.kill()?;
                return child.wait().map(|_| None);
            }
        }
    }
}

/// Starts a program of the user's that outlives us, such as a browser, and waits for at most `limit`. Returns its
/// status where it ended within that time.
///
/// # Errors
///
/// Fails if the program cannot be started.
pub async fn start_detached(spec: &ProcessSpec, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = Command::from(spec.group_command()?).spawn()?;
    timeout(limit, child.wait()).await.ok().transpose()
}

/// A started program. When this is dropped, the program and everything that it started are killed.
///
/// The program is reaped last, when everything it started is gone: its number stays its own for as long as this lives.
pub struct Process {
    /// `None` when all has ended.
    child: Option<Child>,
    leader: Pid,
    id: u32,
    tree: Tree,
    status: Option<ExitStatus>,
}

impl Process {
    /// The process id, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The program's standard input, where it was piped; once. Dropping it closes it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.as_mut()?.stdin.take()
    }

    /// The program's standard output, where it was piped; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.as_mut()?.stdout.take()
    }

    /// The program's standard error, where it was piped; once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.as_mut()?.stderr.take()
    }

    /// Waits until the program itself has ended; what it started may go on. Cancel-safe. Does not close its input.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.try_wait()? {
            Some(status) => Ok(status),
            None => Ok(*self.status.insert(wait_without_reaping(self.leader).await?)),
        }
    }

    /// Returns the program's own exit status, if it has ended.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot tell.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = exit_status(self.leader)?;
        }
        Ok(self.status)
    }

    /// Waits until the program itself has ended, and releases the processes that it left running: they continue until
    /// goose exits, when the watcher ends them. Does not read the process table.
    ///
    /// If the future is dropped early, all processes are killed.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot tell how the program ended.
    pub async fn release(mut self) -> io::Result<ExitStatus> {
        let status = self.wait().await?;
        if let Some(child) = self.child.as_mut() {
            let reaped = child.wait().await;
            // Only now: until here, a drop kills all.
            self.child = None;
            if is_anybody_in(self.leader) {
                tokio::spawn(linger(self.leader, self.id));
            } else {
                watcher::forget(self.id);
            }
            reaped?;
        }
        Ok(status)
    }

    /// Kills the program and everything it started, now. Reads the process table, which takes a few milliseconds.
    pub fn kill_tree(&mut self) {
        self.tree.kill();
    }

    /// Ends the program and everything it started. It gets `grace` to end by itself (its input should be closed by
    /// now); then all are asked to end, and a second later they are killed. When this returns, nothing of them is left.
    ///
    /// If the future is dropped early, all processes are killed.
    ///
    /// # Errors
    ///
    /// Fails if even the kernel cannot end the program, or cannot tell how it ended.
    pub async fn stop(mut self, grace: Duration) -> io::Result<ExitStatus> {
        if self.try_wait()?.is_none() {
            self.take_stdin();
            // Late or not, the rest is the same.
            let _ = timeout(grace, self.wait()).await;
        }
        tree::terminate(self.tree.clone()).await;
        let status = timeout(LAST_WAIT, self.wait()).await.map_err(|_| unending(self.id))??;
        if let Some(mut child) = self.child.take() {
            watcher::forget(self.id);
            child.wait().await?;
        }
        Ok(status)
    }
}

/// Waits until a group without its leader is empty: only then can its number be reused, and the watcher
/// must not know it any longer. Those who left the group are found by their mark.
async fn linger(group: Pid, id: u32) {
    while is_anybody_in(group) {
        sleep(LINGER_PAUSE).await;
    }
    watcher::forget(id);
}

fn is_anybody_in(group: Pid) -> bool {
    rustix::process::test_kill_process_group(group) != Err(Errno::SRCH)
}

fn unending(id: u32) -> io::Error {
    let text = format!(
        "The process {id} was killed but does not end; it may wait for a device. Look at it with `ps`."
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            Abandoned { child, tree: self.tree.clone(), id: self.id }.kill_in_background();
        }
    }
}

/// A program whose handle was dropped while it, or what it started, may still run.
struct Abandoned {
    child: Child,
    tree: Tree,
    id: u32,
}

impl Abandoned {
    /// Hands the work to a thread: a search of the process table takes milliseconds, and a handle is often dropped on a
    /// thread of the runtime. If goose ends before the thread is done, the watcher does the rest, because the group is
    /// still registered.
    fn kill_in_background(self) {
        static QUEUE: OnceLock<Option<mpsc::Sender<Abandoned>>> = OnceLock::new();
        let start = || {
            let (sender, receiver) = mpsc::channel::<Self>();
            let work = move || receiver.into_iter().for_each(Self::kill);
            thread::Builder::new().name("goose-kill".to_owned()).spawn(work).ok().map(|_| sender)
        };
        match QUEUE.get_or_init(start) {
            Some(queue) => drop(queue.send(self).map_err(|unsent| unsent.0.kill())),
            None => self.kill(),
        }
    }

    fn kill(mut self) {
        self.tree.kill();
        watcher::forget(self.id);
        // The runtime reaps a child that has not ended yet.
        drop(self.child);
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("status", &self.status).finish_non_exhaustive()
    }
}

/// Waits until a child of ours has ended. Cancel-safe.
async fn wait_without_reaping(child: Pid) -> io::Result<ExitStatus> {
    #[cfg(target_os = "linux")]
    if let Ok(handle) = pidfd_open(child, PidfdFlags::NONBLOCK) {
        readable(handle).await?;
        if let Some(status) = exit_status(child)? {
            return Ok(status);
        }
    }
    // Listening comes first: an end between the look and the listening would be missed.
    let mut ends = signal(SignalKind::child())?;
    loop {
        if let Some(status) = exit_status(child)? {
            return Ok(status);
        }
        ends.recv().await;
    }
}

/// Waits until there is something to read: of a process, that it has ended. This wakes only one task; a signal
/// interrupts some thread, and wakes the tasks of all children.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "tokio wants the promise that the descriptor stays open")]
async fn readable(handle: OwnedFd) -> io::Result<()> {
    // SAFETY: the handle owns its descriptor, and nothing else can close it.
    let handle = unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?;
    handle.readable().await.map(drop)
}

/// Returns the exit status of a child process, if it has ended.
fn exit_status(child: Pid) -> io::Result<Option<ExitStatus>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::process::waitid(WaitId::Pid(child), options)?.as_ref().map(decode_status))
}

/// The status as `wait` encodes it: the code in the second byte, or the signal in the first.
fn decode_status(ended: &WaitIdStatus) -> ExitStatus {
    const CORE_DUMPED: i32 = 0x80;
    let raw = match (ended.exit_status(), ended.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) if ended.dumped() => signal | CORE_DUMPED,
        (None, signal) => signal.unwrap_or_default(),
    };
    ExitStatus::from_raw(raw)
}
