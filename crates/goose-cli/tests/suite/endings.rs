//! However `goose` ends, nothing that it started is left.

use std::{
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_test_support::is_alive;

use crate::support::{Home, program, wait_for_end, wait_until};

/// Time limit for something that should happen at once.
const LIMIT: Duration = Duration::from_secs(5);

/// Time limit for a start on a busy machine.
const START: Duration = Duration::from_secs(20);

const FOR_LONG: &str = r#"{"seconds": 600}"#;

/// A call that does not end by itself, of a server that a shell starts.
fn sleeping(home: &Home, script: &str) -> anyhow::Result<Child> {
    let line = format!("sh -c \"{script}\"");
    let arguments = ["extension", "call", "--with-extension", &line, "sh", "sleep", "--args", FOR_LONG];
    Ok(home.goose(&arguments).spawn()?)
}

fn send(signal: &str, process: u32) -> anyhow::Result<()> {
    ensure!(Command::new("kill").args([signal, &process.to_string()]).status()?.success());
    Ok(())
}

/// The process of a server that was told to record its starts.
fn server(home: &Home) -> anyhow::Result<u32> {
    let file = home.path().join("starts");
    let read = || std::fs::read_to_string(&file).ok().and_then(|starts| starts.trim().parse().ok());
    wait_until(START, "the server starts", || Ok(read().is_some()))?;
    read().context("it has started")
}

fn wait_for_ends(processes: &[u32]) -> anyhow::Result<()> {
    processes.iter().try_for_each(|process| wait_for_end(*process, LIMIT))
}

fn wait_for_line(file: &Path, part: &str) -> anyhow::Result<()> {
    let limit = START;
    wait_until(limit, part, || Ok(std::fs::read_to_string(file).is_ok_and(|text| text.contains(part))))
}

#[test]
fn killed_in_a_call_it_leaves_no_child() -> anyhow::Result<()> {
    let home = Home::new()?;
    let faulty_server = program("faulty_server", "--grandchildren --ignore-eof --starts starts")?;
    let mut goose = sleeping(&home, &format!("exec {faulty_server} 2> said"))?;
    let mut processes = vec![server(&home)?];
    let said = home.path().join("said");
    wait_for_line(&said, "]")?;
    let said = std::fs::read_to_string(said)?;
    let ids = said.split_once('[').and_then(|(_, ids)| ids.split_once(']')).context("it names them")?.0;
    processes.extend(serde_json::from_str::<Vec<u32>>(&format!("[{ids}]"))?);
    assert_eq!(processes.len(), 3);
    for process in &processes {
        ensure!(is_alive(*process), "{process} has ended already");
    }
    goose.kill()?;
    goose.wait()?;
    wait_for_ends(&processes)
}

#[test]
fn interrupted_in_a_call_it_tells_the_server_and_leaves_no_child() -> anyhow::Result<()> {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let home = Home::new()?;
        let faulty_server = program("faulty_server", "--starts starts")?;
        let goose = sleeping(&home, &format!("tee -i wire | {faulty_server}"))?;
        let server = server(&home)?;
        let wire = home.path().join("wire");
        wait_for_line(&wire, "tools/call")?;
        send(signal, goose.id())?;
        let output = goose.wait_with_output()?;
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), b"".as_slice()));
        wait_for_line(&wire, "notifications/cancelled")?;
        wait_for_ends(&[server])?;
    }
    Ok(())
}

#[test]
fn interrupted_in_a_start_it_leaves_no_child() -> anyhow::Result<()> {
    let home = Home::new()?;
    let line = program("faulty_server", "--never-initialize --starts starts")?;
    let goose = home.goose(&["extension", "status", "--with-extension", &line]).spawn()?;
    let server = server(&home)?;
    send("-INT", goose.id())?;
    assert_eq!(goose.wait_with_output()?.status.code(), Some(130));
    wait_for_ends(&[server])
}

#[test]
fn after_an_ordinary_end_nothing_is_left() -> anyhow::Result<()> {
    let home = Home::new()?;
    let line = program("faulty_server", "--grandchildren --starts starts")?;
    let run =
        home.run(&["extension", "call", "--with-extension", &line, "faulty_server", "grandchildren"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut processes: Vec<u32> = serde_json::from_str(&run.stdout)?;
    ensure!(processes.len() == 2, "{processes:?}");
    processes.push(server(&home)?);
    for process in processes {
        ensure!(!is_alive(process), "{process} is left");
    }
    Ok(())
}
