//! Programs for tests to start: real processes, found beside the running test and built when they are missing, or
//! written by the test; and [`is_alive`].

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
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
    let profile_dir = profile_dir()?;
    up_to_date(env!("CARGO_PKG_NAME"), "--bin", name, profile_dir.join(name))
}

/// The path of an example of a package of this workspace, in the profile of the running test. It is built where it is
/// missing or older than its sources; `cargo test` has built it already.
///
/// # Errors
///
/// The example does not build; the message has the compiler's output.
pub fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let profile_dir = profile_dir()?;
    up_to_date(package, "--example", name, profile_dir.join("examples").join(name))
}

/// Writes a program and makes it executable.
///
/// A process of its own writes it: a program that another thread of the test starts meanwhile would inherit the open
/// file for a moment, and Linux does not run a file that is open for writing ("Text file busy").
///
/// # Errors
///
/// The file cannot be written.
pub fn write_program(path: &Path, text: &str) -> anyhow::Result<()> {
    make_program("printf %s \"$1\" >\"$2\"", text.as_ref(), path)
}

/// Copies a program, in the same way as [`write_program`].
///
/// # Errors
///
/// The file cannot be copied.
pub fn copy_program(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_program("cp -- \"$1\" \"$2\"", from.as_ref(), to)
}

fn make_program(script: &str, from: &OsStr, to: &Path) -> anyhow::Result<()> {
    let script = format!("{script} && chmod 755 \"$2\"");
    let status = Command::new("sh").args(["-c", &script, "sh"]).arg(from).arg(to).status()?;
    ensure!(status.success(), "{} cannot be written", to.display());
    Ok(())
}

fn up_to_date(package: &str, kind: &str, name: &str, program: PathBuf) -> anyhow::Result<PathBuf> {
    static CHECKED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    let mut checked = CHECKED.lock();
    if !checked.contains(&program) {
        // Built by itself, a package has other features of its dependencies than in the workspace: all of them would be
        // compiled again.
        if !is_fresh(package, &program) {
            build(package, kind, name)?;
        }
        checked.insert(program.clone());
    }
    Ok(program.with_extension(std::env::consts::EXE_EXTENSION))
}

/// Returns whether a program is newer than all sources of its package and of the packages that it needs.
fn is_fresh(package: &str, program: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|file| file.modified());
    let Ok(built) = modified(&program.with_extension(std::env::consts::EXE_EXTENSION)) else { return false };
    let Some(crates) = Path::new(env!("CARGO_MANIFEST_DIR")).parent() else { return false };
    let mut needed = vec![package.to_owned()];
    let mut next = 0;
    while let Some(name) = needed.get(next).cloned() {
        let Ok(manifest) = fs::read_to_string(crates.join(&name).join("Cargo.toml")) else { return false };
        // Only its own examples need what is for development.
        let end = manifest.find("[dev-dependencies]").filter(|_| next > 0).unwrap_or(manifest.len());
        let lines = manifest[..end].lines().filter(|line| line.contains("workspace = true"));
        for name in
            lines.filter_map(|line| line.split(['.', ' ']).next()).filter(|it| it.starts_with("goose"))
        {
            if !needed.iter().any(|known| known == name) {
                needed.push(name.to_owned());
            }
        }
        next += 1;
    }
    let sources = needed.iter().map(|name| crates.join(name).join("src"));
    let mut folders: Vec<PathBuf> = sources.chain([crates.join(package).join("examples")]).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if modified(&path).is_ok_and(|time| time > built) {
                return false;
            }
        }
    }
    true
}

/// `target/debug` of the running test `target/debug/deps/suite-0123`.
fn profile_dir() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let deps = test.parent().context("a program lies in a folder")?;
    let is_below = deps.ends_with("deps") || deps.ends_with("examples");
    let dir = if is_below { deps.parent() } else { Some(deps) };
    Ok(dir.context("the test runs outside of a target folder")?.to_owned())
}

fn build(package: &str, kind: &str, name: &str) -> anyhow::Result<()> {
    let profile_dir = profile_dir()?;
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
