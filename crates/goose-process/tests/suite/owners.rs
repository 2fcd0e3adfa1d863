//! The owner dies: none of its processes go on.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose_process::{ProcessSpec, Stream};

use crate::{
    owner::{self, Orders, Owner},
    support::{PATIENCE, is_alive, run_id, signal, watchers, within},
};

/// Time that descendants may outlive their owner.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Trees in which one process notes its id each; the first one is the leader.
const TREES: &[&str] = &[
    "note; exec sleep 600",
    "trap '' TERM; note; while :; do sleep 1; done",
    "setsid sh -c 'echo $$ >>$NOTES; exec sleep 600' & exit 0",
    "(setsid sh -c 'trap \"\" TERM; echo $$ >>$NOTES; while :; do sleep 1; done' <&- >&- 2>&- &) ; exec sleep 600",
    "sh -c 'echo $$ >>$NOTES; exec env -i sleep 600' & exit 0",
    "setsid sh -c 'trap \"\" TERM; echo $$ >>$NOTES; exec env -i sleep 600' & while :; do sleep 1; done",
];

#[tokio::test(flavor = "multi_thread")]
async fn nobody_outlives_an_owner_that_ends() -> anyhow::Result<()> {
    let Owner { mut child, orders } = Owner::start(TREES).await?;
    ensure!(watchers(&orders.run_id).len() == 1, "there is not one watcher");
    let (pids, run_id) = orders.close();
    ensure!(child.wait().await?.success());
    let over = || pids.iter().all(|&pid| !is_alive(pid)) && watchers(&run_id).is_empty();
    within(LIMIT, "all are gone, and the watcher too", over).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_outlives_an_owner_that_is_killed() -> anyhow::Result<()> {
    let Owner { mut child, orders } = Owner::start(TREES).await?;
    ensure!(watchers(&orders.run_id).len() == 1, "there is not one watcher");
    child.kill().await?;
    within(LIMIT, "all are gone, and the watcher too", || orders.is_over()).await
}

/// Processes left behind by programs that have ended belong to goose, and end with it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_released_does_not_outlive_its_owner() -> anyhow::Result<()> {
    let Owner { mut child, orders } = Owner::start_in_mode("release", TREES).await?;
    ensure!(orders.pids.iter().all(|&pid| is_alive(pid)), "one was ended too early");
    child.kill().await?;
    within(LIMIT, "all are gone, and the watcher too", || orders.is_over()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_owners_leave_each_other_alone() -> anyhow::Result<()> {
    let (mut first, mut second) = (Owner::start(TREES).await?, Owner::start(TREES).await?);
    ensure!(first.orders.run_id != second.orders.run_id);
    first.child.kill().await?;
    within(LIMIT, "all of the first are gone", || first.orders.is_over()).await?;
    ensure!(second.orders.pids.iter().all(|&pid| is_alive(pid)), "one of the second was ended");
    ensure!(watchers(&second.orders.run_id).len() == 1, "the watcher of the second was ended");
    second.child.kill().await?;
    within(LIMIT, "all of the second are gone", || second.orders.is_over()).await
}

/// Signals from a terminal do not end the watcher.
#[tokio::test(flavor = "multi_thread")]
async fn the_watcher_ignores_signals_and_is_no_child_of_its_owner() -> anyhow::Result<()> {
    let Owner { mut child, orders } = Owner::start(&TREES[..2]).await?;
    let watcher = *watchers(&orders.run_id).first().context("there is a watcher")?;
    for name in ["INT", "TERM", "HUP", "QUIT", "PIPE"] {
        signal(watcher, name)?;
    }
    let stat = std::fs::read_to_string(format!("/proc/{watcher}/stat"))?;
    let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    ensure!(parent.is_some() && parent != child.id(), "the watcher is a child of its owner");
    ensure!(run_id(watcher).is_err(), "the watcher carries a mark");
    child.kill().await?;
    within(PATIENCE, "it did its work all the same", || orders.is_over()).await
}

/// A goose inside a goose: when the outer one ends it by force, the inner one's watcher still does its work.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_inside_an_owner_is_cared_for() -> anyhow::Result<()> {
    let mut spec = ProcessSpec::new(owner::program().await?);
    let mut inner = goose_process::spawn(spec.stdin(Stream::Piped).stdout(Stream::Piped))?;
    let mut orders = Orders::new(inner.take_stdin(), inner.take_stdout())?;
    for script in TREES {
        orders.start(script).await?;
    }
    ensure!(orders.run_id != run_id(inner.id())?);
    inner.kill_tree();
    within(LIMIT, "all of the inner owner are gone", || orders.is_over()).await
}
