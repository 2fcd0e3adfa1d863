//! The watcher itself: another one comes when it dies, and its script works in every shell.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

use crate::{
    owner::Owner,
    owners::LIMIT,
    support::{Notes, PATIENCE, is_alive, run_id, signal, watchers, within},
};

/// The first one is only found by its group, so it has to be told.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_child_brings_a_new_watcher_that_knows_all_groups() -> anyhow::Result<()> {
    let nameless = "sh -c 'echo $$ >>$NOTES; exec env -i sleep 600' & wait";
    let Owner { mut child, mut orders } = Owner::start(&[nameless]).await?;
    let first = *watchers(&orders.run_id).first().context("there is a watcher")?;
    signal(first, "KILL")?;
    within(PATIENCE, "the watcher is gone", || watchers(&orders.run_id).is_empty()).await?;
    orders.start("note; exec sleep 600").await?;
    let second = watchers(&orders.run_id);
    ensure!(second.len() == 1 && !second.contains(&first), "{second:?} instead of one other than {first}");
    child.kill().await?;
    within(LIMIT, "all are gone", || orders.is_over()).await
}

/// More lines wait for the watcher than are kept, so those that still hold are told again. The second process has
/// neither a mark nor a parent that has one: it is only found by its group.
#[tokio::test(flavor = "multi_thread")]
async fn the_watcher_knows_a_group_after_hundreds_of_others() -> anyhow::Result<()> {
    let nameless = "sh -c 'echo $$ >>$NOTES; exec env -i sleep 600' &";
    let Owner { mut child, mut orders } =
        Owner::start_in_mode("release", &["note; exec sleep 600", nameless]).await?;
    for _ in 0..400 {
        orders.run("exit").await?;
    }
    child.kill().await?;
    within(LIMIT, "all are gone", || orders.is_over()).await
}

const SCRIPT: &str = include_str!("../../src/watcher.sh");

/// The shells that may be behind `sh`; those that are not here are not tried.
const SHELLS: &[&[&str]] =
    &[&["dash"], &["bash"], &["bash", "--posix"], &["busybox", "sh"], &["mksh"], &["zsh", "--emulate", "sh"]];

fn is_here(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\" >/dev/null", program]).status();
    found.is_ok_and(|status| status.success())
}

/// A process as a goose of another run has it: marked, and in a session of its own.
fn marked(run_id: &str) -> anyhow::Result<(tokio::process::Child, u32)> {
    let mut command = tokio::process::Command::new("setsid");
    command.args(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]).kill_on_drop(true);
    command.env("GOOSE_OWNED_BY", format!("{run_id}:1")).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    let pid = child.id().context("it runs")?;
    Ok((child, pid))
}

/// Runs a watcher whose owner says this and is gone.
fn watch(shell: &[&str], path: &Path, run_id: &str, said: &str) -> anyhow::Result<()> {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", SCRIPT, "goose-watcher", run_id]).process_group(0);
    let mut starter = command.env("PATH", path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    starter.stdin.take().context("it has a pipe")?.write_all(said.as_bytes())?;
    ensure!(starter.wait()?.success());
    Ok(())
}

/// A folder of programs without `grep`, as the only path.
fn without_grep(folder: &Path) -> anyhow::Result<()> {
    for program in ["cat", "sleep", "dash", "bash", "busybox", "mksh", "zsh"] {
        if let Some(original) =
            ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(program)).iter().find(|it| it.exists())
        {
            std::os::unix::fs::symlink(original, folder.join(program))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_works_in_every_shell_with_and_without_grep() -> anyhow::Result<()> {
    let folder = Notes::new()?;
    without_grep(folder.path())?;
    let mut tried = 0;
    for shell in SHELLS.iter().filter(|shell| is_here(shell[0])) {
        for path in [Path::new("/usr/bin:/bin"), folder.path()] {
            let id = format!("{:032x}", tried + 1);
            let ((_ours, ours), (_other, other)) = (marked(&id)?, marked("a run of another goose")?);
            let is_marked = |pid: &u32| run_id(*pid).is_ok();
            within(PATIENCE, "both are marked", || [ours, other].iter().all(is_marked)).await?;
            watch(shell, path, &id, "start\n")?;
            within(LIMIT, "it is gone", || !is_alive(ours) && watchers(&id).is_empty())
                .await
                .with_context(|| format!("{shell:?} with {path:?}"))?;
            ensure!(is_alive(other), "{shell:?} with {path:?} ended another process");
            tried += 1;
        }
    }
    ensure!(tried > 0, "there is no shell at all");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_of_a_goose_that_started_nothing_looks_for_nothing() -> anyhow::Result<()> {
    let id = "f".repeat(32);
    let (_ours, ours) = marked(&id)?;
    within(PATIENCE, "it is marked", || run_id(ours).is_ok()).await?;
    watch(&["sh"], Path::new("/usr/bin:/bin"), &id, "")?;
    within(PATIENCE, "the watcher is gone", || watchers(&id).is_empty()).await?;
    ensure!(is_alive(ours), "it was searched for and ended");
    Ok(())
}
