//! A program that owns processes, for tests that end it.

use std::{cell::OnceCell, collections::BTreeSet, path::PathBuf, process::Stdio};

use anyhow::Context as _;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::support::{Notes, PATIENCE, is_alive, run_id, watchers, within};

/// The example's program.
pub(crate) async fn program() -> anyhow::Result<PathBuf> {
    tokio::task::spawn_blocking(|| goose_test_support::example("goose-process", "owner")).await?
}

/// Makes a running owner start processes.
pub(crate) struct Orders {
    notes: Notes,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Everybody that was started so far.
    pub(crate) pids: BTreeSet<u32>,
    pub(crate) run_id: String,
}

impl Orders {
    pub(crate) fn new(input: Option<ChildStdin>, output: Option<ChildStdout>) -> anyhow::Result<Self> {
        let input = input.context("its input is piped")?;
        let output = BufReader::new(output.context("its output is piped")?).lines();
        Ok(Self { notes: Notes::new()?, input, output, pids: BTreeSet::new(), run_id: String::new() })
    }

    /// Has a script started, by which one process more notes its id.
    pub(crate) async fn start(&mut self, script: &str) -> anyhow::Result<()> {
        let leader = self.run(&self.notes.script(script)).await?;
        self.pids = self.notes.wait_for(self.pids.len() + 1).await?;
        if self.run_id.is_empty() {
            // While a process becomes another program, its environment cannot be read.
            let found = OnceCell::new();
            within(PATIENCE, "the mark shows", || run_id(leader).is_ok_and(|id| found.set(id).is_ok()))
                .await?;
            self.run_id = found.into_inner().context("the mark was seen")?;
        }
        Ok(())
    }

    /// Has a script started that notes nothing. Returns the id of its process.
    pub(crate) async fn run(&mut self, script: &str) -> anyhow::Result<u32> {
        self.input.write_all(format!("{script}\n").as_bytes()).await?;
        Ok(self.output.next_line().await?.context("it starts a process")?.parse()?)
    }

    /// Returns whether no process is left, and no watcher.
    pub(crate) fn is_over(&self) -> bool {
        self.pids.iter().all(|&pid| !is_alive(pid)) && watchers(&self.run_id).is_empty()
    }

    /// Ends the input.
    pub(crate) fn close(self) -> (BTreeSet<u32>, String) {
        (self.pids, self.run_id)
    }
}

/// A running owner.
pub(crate) struct Owner {
    pub(crate) child: Child,
    pub(crate) orders: Orders,
}

impl Owner {
    pub(crate) async fn start(scripts: &[&str]) -> anyhow::Result<Self> {
        Self::start_in_mode("own", scripts).await
    }

    /// An owner with an argument that says how it treats its processes.
    pub(crate) async fn start_in_mode(mode: &str, scripts: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program().await?);
        command.arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut orders = Orders::new(child.stdin.take(), child.stdout.take())?;
        for script in scripts {
            orders.start(script).await?;
        }
        Ok(Self { child, orders })
    }
}
