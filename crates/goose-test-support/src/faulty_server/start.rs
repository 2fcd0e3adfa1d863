//! Faults before the first message.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::options::{DieHow, Options, Start};

/// However it misbehaves, it ends after this time, and so does what it has started.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Does what the flags say for the start. Gives the process ids of the grandchildren.
pub(super) fn begin(options: &Options, arguments: &[String]) -> anyhow::Result<Vec<u32>> {
    let start = &options.start;
    if start.ignore_term && !start.term_is_ignored {
        restart_without_term(arguments)?;
    }
    thread::spawn(|| {
        thread::sleep(LIFETIME);
        std::process::exit(0);
    });
    record(start)?;
    for text in &start.stderr {
        complain(text);
    }
    if start.dies || dies_this_time(start)? {
        complain("faulty_server: this start fails on purpose");
        die(options.death.how);
    }
    if start.stderr_flood {
        thread::spawn(|| {
            loop {
                complain("faulty_server: there is always something to say");
            }
        });
    }
    if start.grandchildren { leave_grandchildren() } else { Ok(Vec::new()) }
}

/// Writes a line to standard error, and ignores a failure.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A signal that is ignored stays so across `exec`, which keeps the process id too.
#[cfg(unix)]
fn restart_without_term(arguments: &[String]) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt as _;
    let error = Command::new("sh")
        .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .arg("--term-is-ignored")
        .exec();
    Err(error).context("the program could not be started again without SIGTERM")
}

#[cfg(not(unix))]
fn restart_without_term(_arguments: &[String]) -> anyhow::Result<()> {
    Ok(())
}

fn record(start: &Start) -> anyhow::Result<()> {
    let Some(path) = &start.starts else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(path).context("--starts")?;
    Ok(file.write_all(format!("{}\n", std::process::id()).as_bytes())?)
}

/// Returns whether `echo` describes itself differently this time.
pub(super) fn is_redefined(start: &Start) -> bool {
    let (Some(after), Some(path)) = (start.redefine_after, &start.starts) else { return false };
    std::fs::read_to_string(path).is_ok_and(|starts| starts.lines().count() > after)
}

fn dies_this_time(start: &Start) -> anyhow::Result<bool> {
    let (Some(first), Some(state)) = (start.die_first, &start.state) else { return Ok(false) };
    Ok(count(state)? <= first)
}

/// Returns the number of this start, counted from 1.
fn count(state: &Path) -> anyhow::Result<u64> {
    let earlier = std::fs::read_to_string(state).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let number = earlier.unwrap_or(0) + 1;
    std::fs::write(state, number.to_string()).context("--state")?;
    Ok(number)
}

/// Their parent, a shell, is gone at once. They keep none of our streams.
fn leave_grandchildren() -> anyhow::Result<Vec<u32>> {
    let pids = vec![leave("")?, leave("setsid")?];
    complain(&format!("faulty_server: grandchildren {pids:?}"));
    Ok(pids)
}

fn leave(launcher: &str) -> anyhow::Result<u32> {
    let seconds = LIFETIME.as_secs();
    let script = format!("{launcher} sleep {seconds} </dev/null >/dev/null 2>&1 & echo $!");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = shell.output().context("a grandchild could not be started")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// Ends the program, now.
pub(super) fn die(how: DieHow) -> ! {
    match how {
        DieHow::Exit(code) => std::process::exit(code),
        DieHow::Abort => std::process::abort(),
        DieHow::Kill9 => kill(),
    }
}

/// The signal comes from a shell; it may arrive before the shell has ended.
fn kill() -> ! {
    let script = format!("kill -9 {}", std::process::id());
    let _ = Command::new("sh").args(["-c", &script]).status();
    std::process::abort()
}
