//! A protected process, and the programs that it starts.

use std::{fs, os::unix::fs::MetadataExt as _, process::Command};

use anyhow::ensure;
use goose_process::protect_process;
use rustix::process::{DumpableBehavior, dumpable_behavior};

#[test]
fn a_protected_process_cannot_be_looked_into_and_its_children_are_as_ever() -> anyhow::Result<()> {
    let limits = || fs::read_to_string("/proc/self/limits");
    let before = limits()?;
    protect_process();
    ensure!(dumpable_behavior()? == DumpableBehavior::NotDumpable);
    // The files of a process that is not dumpable belong to root.
    ensure!(fs::metadata("/proc/self/environ")?.uid() == 0);
    ensure!(limits()? == before, "children inherit limits");
    // What goose reads of itself and of its children is still there for it.
    ensure!(fs::read_link("/proc/self/exe")?.is_absolute() && fs::read_dir("/proc/self/fd")?.count() > 0);
    let mut child = Command::new("sleep").arg("60").spawn()?;
    let owner = fs::metadata(format!("/proc/{}/environ", child.id()))?.uid();
    let environment = fs::read(format!("/proc/{}/environ", child.id()));
    child.kill()?;
    child.wait()?;
    ensure!(owner == rustix::process::getuid().as_raw() && environment.is_ok());
    Ok(())
}
