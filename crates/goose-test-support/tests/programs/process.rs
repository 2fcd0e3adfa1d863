//! Faults of the process: deaths, bad starts, noise and what it leaves behind.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::raw::{PATIENCE, Program, file};

#[test]
fn it_dies_when_and_how_it_is_told() -> Result<()> {
    let mut program = Program::start(&["--die-on-call", "boom", "--die-how", "exit:7"])?;
    ensure!(program.text("echo", json!({ "text": "alive" }))? == "alive");
    program.call(1, "boom", json!({}))?;
    ensure!(program.ended()?.code() == Some(7));

    let mut program = Program::start(&["--die-after-calls", "2"])?;
    for _ in 0..2 {
        ensure!(program.text("echo", json!({ "text": "alive" }))? == "alive");
    }
    ensure!(program.ended()?.code() == Some(1));
    Ok(())
}

#[cfg(unix)]
#[test]
fn it_dies_by_signals() -> Result<()> {
    use std::os::unix::process::ExitStatusExt as _;
    for (how, signal) in [("abort", 6), ("kill9", 9)] {
        let mut program = Program::start(&["--die-on-call", "echo", "--die-how", how])?;
        program.call(1, "echo", json!({}))?;
        ensure!(program.ended()?.signal() == Some(signal), "{how}");
    }
    Ok(())
}

#[test]
fn starts_fail_and_are_counted() -> Result<()> {
    let (state, starts) = (file("state"), file("starts"));
    let (state, log) = (state.to_str().context("UTF-8")?, starts.to_str().context("UTF-8")?);
    let arguments = ["--die-first", "2", "--state", state, "--starts", log, "--stderr", "here I am"];
    for _ in 0..2 {
        let mut program = Program::start(&arguments)?;
        ensure!(program.complaint()? == "here I am");
        ensure!(program.complaint()?.contains("on purpose"));
        ensure!(!program.ended()?.success());
    }
    let mut program = Program::start(&arguments)?;
    ensure!(program.text("echo", json!({ "text": "at last" }))? == "at last");
    ensure!(std::fs::read_to_string(&starts)?.lines().count() == 3);
    let program = Program::start(&["--die-on-start"])?;
    ensure!(program.complaint()?.contains("on purpose"));
    Ok(())
}

#[test]
fn it_is_silent_or_slow() -> Result<()> {
    let mut program = Program::start(&["--never-initialize"])?;
    program.request(1, "initialize", json!({}))?;
    ensure!(program.is_silent(Duration::from_millis(300)));
    for slow in [["--slow-start", "0.5"], ["--slow-answer", "0.5"], ["--slow-list", "0.5"]] {
        let begun = Instant::now();
        let mut program = Program::start(&slow)?;
        ensure!(program.ask("tools/list", json!({}))?["result"]["tools"].is_array());
        ensure!(begun.elapsed() >= Duration::from_millis(500), "{slow:?}");
    }
    Ok(())
}

#[test]
fn noise_stands_between_messages() -> Result<()> {
    let mut program = Program::start(&["--noise", "--noise-flood", "3"])?;
    program.request(1, "ping", json!({}))?;
    for _ in 0..6 {
        ensure!(program.next().is_err(), "noise is no message");
    }
    ensure!(program.next()?["result"] == json!({}));
    Ok(())
}

#[test]
fn stderr_is_flooded() -> Result<()> {
    let mut program = Program::start(&["--stderr-flood"])?;
    for _ in 0..1000 {
        program.complaint()?;
    }
    ensure!(program.text("echo", json!({ "text": "still here" }))? == "still here");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn it_outlives_its_input_and_sigterm() -> Result<()> {
    let mut program = Program::start(&["--ignore-eof", "--ignore-term"])?;
    ensure!(program.text("pid", json!({}))? == program.pid().to_string());
    program.close_input();
    signal("-TERM", program.pid())?;
    // It takes a signal at once: what goes on after this has ignored it.
    std::thread::sleep(Duration::from_millis(300));
    ensure!(program.is_running()?);
    let mut program = Program::start(&[])?;
    program.text("pid", json!({}))?;
    signal("-TERM", program.pid())?;
    ensure!(!program.ended()?.success());
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn it_leaves_grandchildren() -> Result<()> {
    let mut program = Program::start(&["--grandchildren"])?;
    let said = program.complaint()?;
    let pids: Vec<u32> = serde_json::from_str(&program.text("grandchildren", json!({}))?)?;
    ensure!(pids.len() == 2 && said.contains(&format!("{pids:?}")), "{said}");
    program.close_input();
    program.ended()?;
    let sessions: Vec<Option<String>> = pids.iter().map(|pid| session(*pid)).collect();
    for pid in &pids {
        signal("-KILL", *pid)?;
    }
    ensure!(sessions.iter().all(Option::is_some), "they live on: {sessions:?}");
    ensure!(sessions[1] == Some(pids[1].to_string()), "the second one has its own session: {sessions:?}");
    ensure!(sessions[0] != Some(pids[0].to_string()), "the first one has not: {sessions:?}");
    Ok(())
}

#[cfg(target_os = "linux")]
fn signal(signal: &str, pid: u32) -> Result<()> {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status()?;
    ensure!(status.success(), "kill {signal} {pid}");
    Ok(())
}

/// The session that a process is in, as soon as it runs its program.
#[cfg(target_os = "linux")]
fn session(pid: u32) -> Option<String> {
    let begun = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        if stat.contains("(sleep)") || begun.elapsed() > PATIENCE {
            return stat.rsplit(')').next()?.split_whitespace().nth(3).map(str::to_owned);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
