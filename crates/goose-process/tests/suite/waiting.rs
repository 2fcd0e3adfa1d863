//! `wait`: how a program ended, as often as one asks.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::AsyncWriteExt as _;

use crate::support::{Notes, PATIENCE, is_alive, signal, start, within};

#[tokio::test]
async fn the_status_is_the_programs_own() -> anyhow::Result<()> {
    let mut process = start("exit 3")?;
    for _ in 0..2 {
        ensure!(process.wait().await?.code() == Some(3));
    }
    ensure!(process.stop(Duration::ZERO).await?.code() == Some(3));
    let mut process = start("kill -s KILL $$")?;
    let status = process.wait().await?;
    ensure!(std::os::unix::process::ExitStatusExt::signal(&status) == Some(9), "{status}");
    Ok(())
}

#[tokio::test]
async fn waiting_can_be_given_up_and_begun_again() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let go = notes.path().join("go");
    let mut process = start(&format!("while ! [ -e '{}' ]; do sleep 0.01; done; exit 4", go.display()))?;
    for _ in 0..20 {
        ensure!(tokio::time::timeout(Duration::from_millis(1), process.wait()).await.is_err());
        ensure!(process.try_wait()?.is_none());
    }
    std::fs::write(go, "")?;
    ensure!(tokio::time::timeout(PATIENCE, process.wait()).await??.code() == Some(4));
    ensure!(process.try_wait()?.and_then(|status| status.code()) == Some(4));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_can_be_waited_for_at_once() -> anyhow::Result<()> {
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            tokio::spawn(async move {
                let mut process = start(&format!("exit {number}"))?;
                let status = tokio::time::timeout(PATIENCE, process.wait()).await??;
                ensure!(status.code() == Some(number), "{status} instead of {number}");
                Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_started_says_so() -> anyhow::Result<()> {
    let error = goose_process::spawn(&goose_process::ProcessSpec::new("/nowhere/at/all"));
    ensure!(error.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
    Ok(())
}

#[test]
fn without_a_runtime_a_drop_still_kills() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (process, pids) = runtime.block_on(async {
        let process =
            start(&notes.script("note; setsid sh -c 'echo $$ >>$NOTES; exec sleep 600' & exec sleep 600"))?;
        let pids = notes.wait_for(2).await?;
        anyhow::Ok((process, pids))
    })?;
    drop(runtime);
    drop(process);
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(within(PATIENCE, "all are gone", || pids.iter().all(|&pid| !is_alive(pid))))
}

#[tokio::test]
async fn a_released_program_leaves_running_what_it_started() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let script = notes.script("sh -c 'echo $$ >>$NOTES; exec sleep 600' & exit 5");
    let process = start(&script)?;
    let left = notes.wait_for(1).await?;
    ensure!(process.release().await?.code() == Some(5));
    for &pid in &left {
        ensure!(is_alive(pid), "{pid} was ended");
        signal(pid, "KILL")?;
    }
    ensure!(start("exit 6")?.release().await?.code() == Some(6));
    Ok(())
}

/// A program under a terminal, and one that has left it.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_can_be_kept_from_our_terminal() -> anyhow::Result<()> {
    let owner =
        tokio::task::spawn_blocking(|| goose_test_support::example("goose-process", "owner")).await??;
    for (mode, expected) in [("own", "yes"), ("no-terminal", "no")] {
        let folder = tempfile::tempdir()?;
        let found = folder.path().join("found");
        // `script` runs a program in a new terminal, and gives it our input there.
        let mut terminal = tokio::process::Command::new("script")
            .args(["-qec", &format!("'{}' {mode}", owner.display()), "/dev/null"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut input = terminal.stdin.take().context("its input is piped")?;
        let look = "(: </dev/tty) 2>/dev/null && answer=yes || answer=no";
        let line = format!("{look}; echo $answer >'{0}.new'; mv '{0}.new' '{0}'\n", found.display());
        input.write_all(line.as_bytes()).await?;
        within(PATIENCE, "the program has looked", || found.exists()).await?;
        ensure!(std::fs::read_to_string(&found)?.trim() == expected, "{mode}");
        drop(input);
        tokio::time::timeout(PATIENCE, terminal.wait()).await??;
    }
    Ok(())
}
