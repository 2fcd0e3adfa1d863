//! One command from its start to its end: reads what it writes, watches the clock, and sees to what it leaves behind.
//!
//! ```text
//! start → follow (until it has ended, or the time is up) → drain (what it wrote last) → settle
//! ```
//!
//! A call that is cancelled is dropped wherever it is: then everything that the command started is asked to end, and
//! killed a second later.

use std::{io, process::ExitStatus, time::Duration};

use goose_extension::{CallContext, RunningCommand, StartedCommand, ToolResult};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    clean::clean_text,
    head_tail_buffer::{HeadTailBuffer, MAX_SHOWN_BYTES},
    outcome::{Ending, Outcome},
    spill::{Scratch, Spill},
};

/// Time for the last output after the end of a command. A job in the background may keep the pipe open for
/// ever.
const DRAIN_TIME: Duration = Duration::from_millis(200);

/// Size of one read: first, and of a command that writes more than that.
const FIRST_CHUNK_BYTES: usize = 4 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;

/// Size of one read from a job in the background.
const BACKGROUND_CHUNK_BYTES: usize = 4 * 1024;

/// Everything that a command writes.
type Pipe = Box<dyn AsyncRead + Send + Unpin>;

/// A command that runs.
pub(super) struct Run<'a> {
    command: Owned,
    output: Output<'a>,
}

/// The output of a command on its way to the buffer, the file and the caller.
struct Output<'a> {
    pipe: Pipe,
    chunk: Vec<u8>,
    is_open: bool,
    kept: HeadTailBuffer,
    live: LiveOutput<'a>,
    scratch: Option<&'a Scratch>,
    spill: Option<Spill>,
}

impl<'a> Run<'a> {
    /// Takes over a command that was started.
    pub(super) fn new(
        started: StartedCommand,
        context: &'a CallContext,
        scratch: Option<&'a Scratch>,
    ) -> Self {
        let output = Output {
            pipe: started.output,
            chunk: vec![0; FIRST_CHUNK_BYTES],
            is_open: true,
            kept: HeadTailBuffer::default(),
            live: LiveOutput::new(context),
            scratch,
            spill: None,
        };
        Self { command: Owned(Some(started.command)), output }
    }

    /// Waits for the end, but not longer than the limit. What was read is kept, whatever goes wrong with the process.
    ///
    /// # Errors
    ///
    /// Fails if there is no process.
    pub(super) async fn finish(mut self, limit: Duration) -> ToolResult<Outcome> {
        let ended = self.output.follow(self.command.get()?, Instant::now() + limit).await;
        let ending = match ended {
            Ok(Some(status)) => {
                self.output.drain(Instant::now() + DRAIN_TIME).await;
                release(self.command.take()?).await;
                Ending::Exited(status)
            }
            Ok(None) => {
                let stopped = self.command.take()?.stop(Duration::ZERO).await;
                self.output.drain(Instant::now() + DRAIN_TIME).await;
                Ending::TimedOut(limit, stopped.map(drop))
            }
            Err(error) => {
                self.output.drain(Instant::now() + DRAIN_TIME).await;
                Ending::Unknown(error)
            }
        };
        self.output.live.finish();
        Ok(self.output.settle(ending).await)
    }
}

/// Lets what the command has left in the background live on. Its own end is known by now.
async fn release(command: Box<dyn RunningCommand>) {
    if let Err(error) = command.release().await {
        tracing::warn!(%error, "what a command left behind is not watched");
    }
}

impl Output<'_> {
    /// Reads until the program has ended, or the deadline is there.
    async fn follow(
        &mut self,
        command: &mut dyn RunningCommand,
        deadline: Instant,
    ) -> io::Result<Option<ExitStatus>> {
        let mut ended = command.wait();
        // A stream that is always ready must not hide that the time is up.
        while Instant::now() < deadline {
            let due = self.live.due().unwrap_or(deadline).min(deadline);
            tokio::select! {
                status = &mut ended => return status.map(Some),
                read = self.pipe.read(&mut self.chunk), if self.is_open => self.take(read.unwrap_or(0)).await,
                () = sleep_until(due) => if self.live.due().is_some() { self.live.tell() },
            }
        }
        Ok(None)
    }

    /// Reads what is left, until the pipe is closed or the deadline is there.
    async fn drain(&mut self, deadline: Instant) {
        while self.is_open && Instant::now() < deadline {
            let Ok(read) = timeout_at(deadline, self.pipe.read(&mut self.chunk)).await else { return };
            self.take(read.unwrap_or(0)).await;
        }
    }

    /// Takes the bytes that were read; none means that the pipe was closed.
    async fn take(&mut self, count: usize) {
        self.is_open = count > 0;
        if self.spill.is_none() && self.kept.total() + count as u64 > MAX_SHOWN_BYTES {
            self.begin_spill().await;
        }
        let chunk = &self.chunk[..count];
        if let Some(spill) = &mut self.spill {
            spill.push(chunk).await;
        }
        let lines = self.kept.push(chunk);
        self.live.push(chunk, lines);
        if count == self.chunk.len() {
            self.chunk.resize(CHUNK_BYTES, 0);
        }
    }

    /// Puts everything so far into a file, where there is a place for it.
    async fn begin_spill(&mut self) {
        if let (Some(scratch), Some((head, tail))) = (self.scratch, self.kept.everything()) {
            self.spill = Some(scratch.spill([head, tail]).await);
        }
    }

    /// Returns the result of the command. A pipe that is still open is read on, so that its writers do not block.
    async fn settle(mut self, ending: Ending) -> Outcome {
        if self.is_open && self.spill.is_none() {
            self.begin_spill().await;
        }
        if let Some(spill) = &mut self.spill {
            spill.flush().await;
        }
        let outcome = Outcome::new(ending, &self.kept, self.spill.as_ref(), self.is_open);
        if self.is_open {
            tokio::spawn(read_on(self.pipe, self.spill));
        }
        outcome
    }
}

/// Reads what jobs in the background write, for as long as they do.
async fn read_on(mut pipe: Pipe, mut spill: Option<Spill>) {
    let mut chunk = vec![0; BACKGROUND_CHUNK_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        if let Some(spill) = &mut spill {
            spill.push(&chunk[..count]).await;
            spill.flush().await;
        }
    }
}

/// A command that is ended gently when its call is dropped.
struct Owned(Option<Box<dyn RunningCommand>>);

impl Owned {
    fn get(&mut self) -> io::Result<&mut dyn RunningCommand> {
        Ok(&mut **self.0.as_mut().ok_or_else(gone)?)
    }

    fn take(&mut self) -> io::Result<Box<dyn RunningCommand>> {
        self.0.take().ok_or_else(gone)
    }
}

fn gone() -> io::Error {
    io::Error::other("the command has ended already")
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(command) = self.0.take() else { return };
        // Where there is no runtime the process is killed, as it is when the runtime ends before it does.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = command.stop(Duration::ZERO).await {
                tracing::warn!(%error, "a cancelled command was not ended");
            }
        });
    }
}

/// Pause between two reports. A command that ends sooner reports nothing: its result says it.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum size of one report; of more, the end.
const MAX_BYTES: usize = 4 * 1024;

/// Tells the caller what comes.
pub(super) struct LiveOutput<'a> {
    context: &'a CallContext,
    /// Output that was not reported yet.
    pending: Vec<u8>,
    lines: u64,
    told_lines: u64,
    last: Instant,
}

impl<'a> LiveOutput<'a> {
    pub(super) fn new(context: &'a CallContext) -> Self {
        Self { context, pending: Vec::new(), lines: 0, told_lines: 0, last: Instant::now() }
    }

    /// Takes what has come, in which so many lines end, and tells of it where it is time to.
    pub(super) fn push(&mut self, chunk: &[u8], lines: u64) {
        if self.context.caller().is_none() {
            return;
        }
        self.lines += lines;
        self.pending.extend_from_slice(&chunk[chunk.len().saturating_sub(MAX_BYTES)..]);
        let surplus = self.pending.len().saturating_sub(MAX_BYTES);
        self.pending.drain(..surplus);
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.tell();
        }
    }

    /// Returns the time of the next report, if there are new lines.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.lines > self.told_lines).then(|| self.last + PAUSE)
    }

    /// Tells of the lines that are complete.
    pub(super) fn tell(&mut self) {
        self.last = Instant::now();
        self.told_lines = self.lines;
        let Some(end) = self.pending.iter().rposition(|&byte| byte == b'\n') else { return };
        let lines: Vec<u8> = self.pending.drain(..=end).collect();
        let text = clean_text(&String::from_utf8_lossy(&lines));
        #[expect(clippy::cast_precision_loss, reason = "no command prints 2^53 lines")]
        self.context.progress(self.lines as f64, None, text);
    }

    /// Reports the rest, if the beginning was reported.
    pub(super) fn finish(&mut self) {
        if self.told_lines > 0 && self.due().is_some() {
            self.tell();
        }
    }
}
