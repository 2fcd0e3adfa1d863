//! The memory of a program with its children, as the kernel shares it out (PSS).

use std::{collections::BTreeSet, fs, thread, time::Duration};

use crate::program::Running;

/// Interval of the samples.
const INTERVAL: Duration = Duration::from_millis(3);

/// Waits for the program and tells the largest sum seen.
pub(crate) fn peak_megabytes(mut running: Running) -> anyhow::Result<f64> {
    let root = running.child.id();
    let mut peak = 0.0_f64;
    while running.child.try_wait()?.is_none() {
        peak = peak.max(sum(root));
        thread::sleep(INTERVAL);
    }
    Ok(peak)
}

/// The sum over a process and its descendants. A child that has not become its own program yet shares everything with
/// its parent, and does not count.
fn sum(root: u32) -> f64 {
    let program = fs::read_link(format!("/proc/{root}/exe")).ok();
    let mut sum = 0.0;
    for process in family(root) {
        let own = fs::read_link(format!("/proc/{process}/exe")).ok();
        if process == root || own != program {
            sum += pss(process).unwrap_or_default();
        }
    }
    sum
}

fn pss(process: u32) -> Option<f64> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1_024.0 / 1_000_000.0)
}

fn family(root: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([root]);
    let mut next = vec![root];
    while let Some(process) = next.pop() {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse().ok());
            next.extend(children.filter(|child| family.insert(*child)));
        }
    }
    family
}
