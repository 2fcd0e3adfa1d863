//! For tests: starts and stops processes, and counts what it has before and after.
//!
//! The argument says how often. Prints `files N children [PID …]` after a few rounds to warm up, and at the end.

use std::{io::Write as _, time::Duration};

use goose_process::{Process, ProcessSpec, Stream, Tail};

const WARM_UP: usize = 5;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let rounds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(WARM_UP);
    cycle(WARM_UP).await?;
    report()?;
    cycle(rounds).await?;
    report()
}

/// Every third is killed, every third dropped, every third stopped.
async fn cycle(rounds: usize) -> std::io::Result<()> {
    for round in 0..rounds {
        let mut process = start()?;
        let tail = process.take_stderr().map(Tail::follow);
        match round % 3 {
            0 => drop(process.stop(Duration::ZERO).await?),
            1 => process.kill_tree(),
            _ => drop(process),
        }
        drop(tail);
    }
    settle().await;
    Ok(())
}

fn start() -> std::io::Result<Process> {
    let mut spec = ProcessSpec::new("sh");
    spec.args(["-c", "sleep 600 & setsid sleep 600 & exec sleep 600"]);
    goose_process::spawn(spec.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped))
}

/// Those that were dropped are reaped in the background.
async fn settle() {
    for _ in 0..500 {
        if children().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn report() -> std::io::Result<()> {
    let files = std::fs::read_dir("/proc/self/fd")?.count();
    writeln!(std::io::stdout(), "files {files} children {:?}", children())
}

/// Our children, also those that only wait to be reaped.
fn children() -> Vec<u32> {
    let own = std::process::id();
    let parent = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent(pid) == Some(own)).collect()
}
