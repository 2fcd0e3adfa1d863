//! `faulty_server` as a bare process: lines in, lines out, and no wait without an end.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use goose_test_support::binary;
use serde_json::{Value, json};

/// Time limit for everything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running `faulty_server`; it is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    complaints: Receiver<Vec<u8>>,
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary("faulty_server")?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let lines = read_lines(child.stdout.take().context("stdout is ours")?);
        let complaints = read_lines(child.stderr.take().context("stderr is ours")?);
        Ok(Self { child, input, lines, complaints })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("stdin is closed")?;
        Ok(writeln!(input, "{message}")?)
    }

    pub(crate) fn request(&mut self, id: u64, method: &str, params: Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Result<()> {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a request and gives the next message.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.request(1, method, params)?;
        self.next()
    }

    /// Calls a tool and gives the text of its result.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.call(1, tool, arguments)?;
        text_of(&self.next()?)
    }

    pub(crate) fn line(&self) -> Result<Vec<u8>> {
        self.lines.recv_timeout(PATIENCE).context("the program says nothing")
    }

    pub(crate) fn next(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.line()?)?)
    }

    pub(crate) fn complaint(&self) -> Result<String> {
        let line = self.complaints.recv_timeout(PATIENCE).context("the program does not complain")?;
        Ok(String::from_utf8(line)?)
    }

    /// Returns whether it says nothing for a while.
    pub(crate) fn is_silent(&self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    pub(crate) fn ended(&mut self) -> Result<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("the program goes on")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Capacity of the queue of lines.
const WAITING: usize = 64;

fn read_lines(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

pub(crate) fn text_of(message: &Value) -> Result<String> {
    let text = message["result"]["content"][0]["text"].as_str();
    Ok(text.with_context(|| format!("no text: {message}"))?.to_owned())
}

/// A path for a file of one test; an earlier one is gone.
pub(crate) fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}
