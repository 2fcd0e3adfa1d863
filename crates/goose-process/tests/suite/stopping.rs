//! `stop`, `kill_tree` and drop end the whole tree, whatever it does to escape.

use std::time::Duration;

use anyhow::ensure;
use goose_process::{ProcessSpec, Stream};

use crate::support::{Notes, PATIENCE, carriers, ensure_gone, is_alive, start, within};

const SHORT: Duration = Duration::from_millis(50);

/// Each script starts a tree in its own way; the number says how many note their ids.
const TREES: &[(&str, usize, &str)] = &[
    ("alone", 1, "note; exec sleep 600"),
    ("ignores TERM", 1, "trap '' TERM; note; while :; do sleep 1; done"),
    (
        "a grandchild in a session of its own, both ignoring TERM",
        2,
        "trap '' TERM; note; setsid sh -c 'echo $$ >>$NOTES; while :; do sleep 1; done' & while :; do sleep 1; done",
    ),
    (
        "double-forked, in a session of its own, without streams",
        2,
        "note; (setsid sh -c 'echo $$ >>$NOTES; exec sleep 600' <&- >&- 2>&- &) ; exec sleep 600",
    ),
    (
        "the leader has ended, its group goes on",
        1,
        "sh -c 'trap \"\" HUP TERM; echo $$ >>$NOTES; while :; do sleep 1; done' & exit 0",
    ),
    (
        "the leader has ended, its group goes on without an environment",
        1,
        "sh -c 'echo $$ >>$NOTES; exec env -i sleep 600' & exit 0",
    ),
    (
        "the leader has ended, a session of its own goes on",
        1,
        "setsid sh -c 'echo $$ >>$NOTES; exec sleep 600' & exit 0",
    ),
    (
        "an emptied environment in a session of its own",
        2,
        "note; setsid sh -c 'echo $$ >>$NOTES; exec env -i sleep 600' & while :; do sleep 1; done",
    ),
    (
        "an emptied environment in a session of its own that ignores TERM, unlike its parent",
        2,
        "note; setsid sh -c 'trap \"\" TERM; echo $$ >>$NOTES; exec env -i sleep 600' & while :; do sleep 1; done",
    ),
    ("one that is stopped", 2, "note; sh -c 'echo $$ >>$NOTES; kill -s STOP $$' & exec sleep 600"),
];

#[tokio::test(flavor = "multi_thread")]
async fn stop_leaves_nobody() -> anyhow::Result<()> {
    for (what, count, script) in TREES {
        let notes = Notes::new()?;
        let process = start(&notes.script(script))?;
        let id = process.id();
        let pids = notes.wait_for(*count).await?;
        tokio::time::timeout(PATIENCE, process.stop(SHORT)).await??;
        ensure_gone(&pids).map_err(|error| error.context(*what))?;
        ensure!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{what}: not reaped");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_tree_and_drop_leave_nobody() -> anyhow::Result<()> {
    for (what, count, script) in TREES {
        for by_drop in [false, true] {
            let notes = Notes::new()?;
            let mut process = start(&notes.script(script))?;
            let id = process.id();
            let pids = notes.wait_for(*count).await?;
            if !by_drop {
                process.kill_tree();
                tokio::time::timeout(PATIENCE, process.wait()).await??;
                within(PATIENCE, what, || pids.iter().all(|&pid| !is_alive(pid))).await?;
            }
            drop(process);
            within(PATIENCE, what, || pids.iter().all(|&pid| !is_alive(pid))).await?;
            let folder = format!("/proc/{id}");
            within(PATIENCE, "it is reaped", || !std::path::Path::new(&folder).exists()).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_is_given_up_kills() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let process = start(&notes.script("trap '' TERM; note; while :; do sleep 1; done"))?;
    let pids = notes.wait_for(1).await?;
    ensure!(tokio::time::timeout(SHORT, process.stop(PATIENCE)).await.is_err(), "it stopped by itself");
    within(PATIENCE, "all are gone", || pids.iter().all(|&pid| !is_alive(pid))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_ends_in_time_is_not_asked_twice() -> anyhow::Result<()> {
    let script = "trap 'exit 9' TERM; while read -r line; do :; done; exit 7";
    let mut spec = ProcessSpec::new("sh");
    let mut process = goose_process::spawn(spec.args(["-c", script]).stdin(Stream::Piped))?;
    drop(process.take_stdin());
    ensure!(process.take_stdin().is_none(), "the input can be taken twice");
    let status = process.stop(PATIENCE).await?;
    ensure!(status.code() == Some(7), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_needs_a_moment_after_term_gets_it() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let process = start(&notes.script("trap 'sleep 0.2; exit 9' TERM; note; while :; do sleep 0.05; done"))?;
    notes.wait_for(1).await?;
    let status = process.stop(SHORT).await?;
    ensure!(status.code() == Some(9), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_left_alone() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let other =
        start(&notes.script("note; setsid sh -c 'echo $$ >>$NOTES; exec sleep 600' & exec sleep 600"))?;
    let pids = notes.wait_for(2).await?;
    let process = start("exec sleep 600")?;
    process.stop(Duration::ZERO).await?;
    ensure!(pids.iter().all(|&pid| is_alive(pid)), "a neighbour was ended");
    other.stop(Duration::ZERO).await?;
    ensure_gone(&pids)
}

/// Each of them starts the next one and ends, so that the tree is never the same twice. They give up once the folder
/// of their notes is gone, so that no process hops on when this test fails.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_flees_by_forking_is_caught() -> anyhow::Result<()> {
    let notes = Notes::new()?;
    let hop = "[ -e \"$NOTES\" ] || exit; echo $$ >\"$NOTES.last\"; echo >>\"$NOTES.hops\"; setsid sh -c \"$HOP\" &";
    let script = format!("export HOP='{hop}'; note; sh -c \"$HOP\"; exec sleep 600");
    let mut process = start(&notes.script(&script))?;
    let hops = || std::fs::read_to_string(notes.path().join("pids.hops")).unwrap_or_default().len();
    within(PATIENCE, "it hops", || hops() > 20).await?;
    process.kill_tree();
    process.stop(Duration::ZERO).await?;
    let left = carriers(&notes.path().display().to_string());
    ensure!(left.is_empty(), "{left:?} still hop");
    let landed = hops();
    let has_hopped_on = within(Duration::from_millis(300), "it hops on", || hops() > landed).await.is_ok();
    ensure!(!has_hopped_on, "a process that no list showed still hops");
    Ok(())
}
