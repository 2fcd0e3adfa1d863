//! [`Process`]: a started program and everything it starts in turn.

use std::{io, process::ExitStatus, time::Duration};

use rustix::{io::Errno, process::Pid};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use crate::{ending, exit, marker, terminal, tree::Tree, watcher};

/// How long a process that was killed may take to be gone.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// How often we look whether a group that has lost its leader is empty. Numbers are not given anew that fast.
const LINGER_PAUSE: Duration = Duration::from_millis(500);

/// Starts a program as the leader of its own process group, marked in its environment, and known to the watcher. Its
/// standard streams are as the command says; a Ctrl-C in our terminal does not reach it.
///
/// # Errors
///
/// Where the program cannot be started.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn spawn(command: &mut Command) -> io::Result<Process> {
    start(command.process_group(0))
}

/// The same, and the program has no terminal, not even where we have one: it can neither write on it nor ask there.
///
/// # Errors
///
/// Where the program cannot be started.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn spawn_without_terminal(command: &mut Command) -> io::Result<Process> {
    if terminal::is_there() {
        terminal::leave(command);
    } else {
        // A session of its own costs a fork, which is slow for a large program; nothing is gained by it here.
        command.process_group(0);
    }
    start(command)
}

/// Starts a program that is the person's own, such as their browser: it outlives goose, and a Ctrl-C in our terminal does
/// not reach it.
///
/// # Errors
///
/// The program cannot be started.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Has the watcher run before the first program is started, which is then faster. Blocks for a millisecond or so.
pub fn prepare() {
    watcher::prepare();
}

/// Starts a command that becomes the leader of a group.
fn start(command: &mut Command) -> io::Result<Process> {
    let mark = marker::next();
    command.env(marker::VARIABLE, &mark).kill_on_drop(true);
    watcher::prepare();
    let child = command.spawn()?;
    let gone = || io::Error::other("The program ended before it was started. Try again.");
    let id = child.id().ok_or_else(gone)?;
    let leader = id.try_into().ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    watcher::register(id);
    Ok(Process { child: Some(child), leader, id, tree: Tree::new(id, mark), status: None })
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
    /// Where the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.status {
            Some(status) => Ok(status),
            None => Ok(*self.status.insert(exit::wait(self.leader).await?)),
        }
    }

    /// How the program itself has ended, if it has.
    ///
    /// # Errors
    ///
    /// Where the system cannot tell.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = exit::look(self.leader)?;
        }
        Ok(self.status)
    }

    /// Waits until the program itself has ended, and lets go of what it has left running: that goes on until goose
    /// ends, when the watcher ends it. Costs no look at the process table.
    ///
    /// When this is dropped before its end, all are killed.
    ///
    /// # Errors
    ///
    /// Where the system cannot tell how the program ended.
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
    /// When this is dropped before its end, all are killed.
    ///
    /// # Errors
    ///
    /// Where even the kernel cannot end the program, or cannot tell how it ended.
    pub async fn stop(mut self, grace: Duration) -> io::Result<ExitStatus> {
        if self.try_wait()?.is_none() {
            self.take_stdin();
            // Late or not, the rest is the same.
            let _ = timeout(grace, self.wait()).await;
        }
        ending::end(self.tree.clone()).await;
        let status = timeout(LAST_WAIT, self.wait()).await.map_err(|_| unending(self.id))??;
        if let Some(mut child) = self.child.take() {
            watcher::forget(self.id);
            child.wait().await?;
        }
        Ok(status)
    }
}

/// Waits until a group without its leader is empty: only then can its number become somebody else's, and the watcher
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
            self.tree.kill();
            watcher::forget(self.id);
            // The runtime reaps a child that has not ended yet.
            drop(child);
        }
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("status", &self.status).finish_non_exhaustive()
    }
}
