//! Programs for tests to start: real processes, found beside the running test and built when they are missing; and
//! [`is_alive`].

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::SystemTime,
};

use anyhow::{Context as _, ensure};
use parking_lot::Mutex;

/// The path of one of this crate's programs, in the profile of the running test. It is built where it is missing or
/// older than its sources; `cargo test --workspace` has built it already.
///
/// # Errors
///
/// The program does not build; the message has the compiler's output.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    static CHECKED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let profile_dir =
        profile_dir(&std::env::current_exe()?).context("the test runs outside of a target folder")?;
    let path = profile_dir.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut checked = CHECKED.lock();
    if !checked.contains(name) {
        if !is_fresh(&path)? {
            build(env!("CARGO_PKG_NAME"), "--bin", name, &profile_dir)?;
        }
        checked.insert(name.to_owned());
    }
    Ok(path)
}

/// The path of an example of a package of this workspace, brought up to date, in the profile of the running test.
///
/// # Errors
///
/// The example does not build; the message has the compiler's output.
pub fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let profile_dir =
        profile_dir(&std::env::current_exe()?).context("the test runs outside of a target folder")?;
    build(package, "--example", name, &profile_dir)?;
    Ok(profile_dir.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

/// Returns whether a program is newer than everything it is made from.
fn is_fresh(program: &Path) -> anyhow::Result<bool> {
    let Ok(built) = program.metadata().and_then(|program| program.modified()) else { return Ok(false) };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate lies in a folder")?;
    for name in ["goose-macros", "goose-process", "goose-extension", "goose-test-support"] {
        if newest(&crates.join(name).join("src"))? > built {
            return Ok(false);
        }
    }
    Ok(true)
}

fn newest(dir: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let time = if entry.file_type()?.is_dir() {
            self::newest(&entry.path())?
        } else {
            entry.metadata()?.modified()?
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

/// `target/debug` of `target/debug/deps/suite-0123`.
fn profile_dir(test: &Path) -> Option<PathBuf> {
    let deps = test.parent()?;
    let dir = if deps.ends_with("deps") || deps.ends_with("examples") { deps.parent()? } else { deps };
    Some(dir.to_owned())
}

fn build(package: &str, kind: &str, name: &str, profile_dir: &Path) -> anyhow::Result<()> {
    let target_dir = profile_dir.parent().context("a profile folder has a parent")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", package, kind, name]);
    cargo.arg("--target-dir").arg(target_dir).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile_dir.ends_with("release") {
        cargo.arg("--release");
    }
    // What cargo told the test about its own package would make build scripts run again, here and afterwards.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let output = cargo.output().context("cargo could not be started")?;
    ensure!(output.status.success(), "`{name}` did not build:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Returns whether a process is there, and not merely waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let is_dead = |stat: &str| [") Z ", ") X "].iter().any(|state| stat.contains(state));
        return fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !is_dead(&stat));
    }
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output();
    let state = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
}
