//! Shared by the tests: scripts that note their process ids, and reads of the process table.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_process::{Process, ProcessSpec};
pub(crate) use goose_test_support::is_alive;
use tempfile::TempDir;

/// Time limit for something that has to happen, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something holds; an error where it does not within the limit.
pub(crate) async fn within(limit: Duration, what: &str, holds: impl Fn() -> bool) -> anyhow::Result<()> {
    let begin = Instant::now();
    while !holds() {
        ensure!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// A folder in which processes note their ids.
pub(crate) struct Notes(TempDir);

impl Notes {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(TempDir::new()?))
    }

    /// A script for `sh -c` that can use `note`; so can those it starts, as `$NOTES`.
    pub(crate) fn script(&self, text: &str) -> String {
        let file = self.file().display().to_string();
        format!("export NOTES='{file}'; note() {{ echo $$ >>\"$NOTES\"; }}; {text}")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("pids")
    }

    fn pids(&self) -> BTreeSet<u32> {
        let text = std::fs::read_to_string(self.file()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// The ids of `count` processes, once they have all noted them. All are alive then.
    pub(crate) async fn wait_for(&self, count: usize) -> anyhow::Result<BTreeSet<u32>> {
        within(PATIENCE, "everybody has noted its id", || self.pids().len() >= count).await?;
        let pids = self.pids();
        ensure!(pids.len() == count, "{pids:?} are more than {count}");
        for &pid in &pids {
            ensure!(is_alive(pid), "{pid} has ended already");
        }
        Ok(pids)
    }
}

/// Starts a script.
pub(crate) fn start(script: &str) -> anyhow::Result<Process> {
    Ok(goose_process::spawn(ProcessSpec::new("sh").args(["-c", script]))?)
}

pub(crate) fn ensure_gone(pids: &BTreeSet<u32>) -> anyhow::Result<()> {
    let left: Vec<u32> = pids.iter().copied().filter(|&pid| is_alive(pid)).collect();
    ensure!(left.is_empty(), "{left:?} of {pids:?} are still there");
    Ok(())
}

/// The run id in the mark that a process carries.
pub(crate) fn run_id(pid: u32) -> anyhow::Result<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
    let environment = String::from_utf8_lossy(&environment);
    let mark = environment.split('\0').find_map(|entry| entry.strip_prefix("GOOSE_OWNED_BY="));
    let (run_id, number) = mark.and_then(|mark| mark.split_once(':')).context("the process has no mark")?;
    ensure!(run_id.len() >= 16 && number.parse::<u64>().is_ok(), "the mark is odd: {mark:?}");
    Ok(run_id.to_owned())
}

/// The watchers of a run.
pub(crate) fn watchers(run_id: &str) -> BTreeSet<u32> {
    living(|pid| is_watcher(pid, run_id))
}

/// Those who have a text in their environment.
pub(crate) fn carriers(text: &str) -> BTreeSet<u32> {
    let has_text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(text);
    living(|pid| std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(has_text))
}

fn living(is_wanted: impl Fn(u32) -> bool) -> BTreeSet<u32> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| is_alive(pid) && is_wanted(pid)).collect()
}

fn is_watcher(pid: u32, run_id: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
    words.contains(&"goose-watcher".as_bytes()) && words.contains(&run_id.as_bytes())
}

/// Signals a process by its id.
pub(crate) fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    let status = std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status()?;
    ensure!(status.success(), "{pid} could not be signalled");
    Ok(())
}
