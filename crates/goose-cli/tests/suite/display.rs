//! Display of problems during a reply, and input of several lines.

use std::{
    cell::Cell,
    io::Write as _,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::{Value, json};

use crate::{
    kept,
    run::goose,
    support::{Home, wait_for_end, wait_until},
    talk::{at_terminal, environment, prompted, say, shell},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// What is tried again is said, with the reason; an answer that begins again is told from the first.
#[test]
fn what_is_tried_again_is_said() -> anyhow::Result<()> {
    let home = Home::new()?;
    let broken = Turn::text("The first ").and_text("answer, ").and_text("cut").cut_after(3);
    let server = ModelServer::scripted([
        Turn::status(503, "busy with other birds"),
        Turn::text("Hello."),
        broken,
        Turn::text("Another answer, whole."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Hi", "Hello.")?;
    let screen = terminal.screen();
    ensure!(screen.contains("busy with other birds") && screen.contains("; retrying in "), "{screen}");

    say(&terminal, "And?", "Another answer, whole.")?;
    let screen = terminal.screen();
    let restarted =
        screen.find("(The answer was interrupted and starts again:)").context("it is not said")?;
    let (before, after) = screen.split_at(restarted);
    ensure!(before.contains("The first") && after.contains("Another answer, whole."), "{screen}");
    Ok(())
}

/// The same in a log: on standard error, and the answer alone on standard output.
#[test]
fn what_is_tried_again_is_a_line_without_a_terminal() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::status(503, "busy with other birds"), Turn::text("Hello.")])?;
    let output = goose(&home, &server, &["run", "-t", "Hi"]).output()?;
    let told = String::from_utf8(output.stderr)?;
    let is_retry = |line: &str| line.contains("busy with other birds") && line.contains("; retrying in ");
    ensure!(told.lines().any(is_retry), "{told}");
    assert_eq!(String::from_utf8(output.stdout)?, "Hello.\n");
    Ok(())
}

/// The same, for programs.
#[test]
fn what_is_tried_again_is_a_notification() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::status(503, "busy with other birds"), Turn::text("Hello.")])?;
    let output = goose(&home, &server, &["run", "-t", "Hi", "--output-format", "stream-json"]).output()?;
    let lines: Vec<Value> =
        String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(kinds, ["notification", "notification", "message", "complete"], "{lines:#?}");
    assert_eq!(lines[1]["text_delta"], "Hello.", "{lines:#?}");
    let session = lines[0]["session_id"].as_str().unwrap_or_default();
    ensure!(!session.is_empty() && lines.iter().all(|line| line["session_id"] == session), "{lines:#?}");
    ensure!(
        lines[0]["log"]["message"].as_str().is_some_and(|text| text.contains("other birds")),
        "{lines:#?}"
    );
    Ok(())
}

/// Ctrl-C twice in a reply leaves, though the reply cannot end (here because another program keeps the store
/// locked, and every step is stored), and the session goes on later.
#[test]
fn ctrl_c_twice_in_a_reply_leaves() -> anyhow::Result<()> {
    let home = Home::new()?;
    let stubborn = "trap '' TERM INT; echo $$ > started; while :; do sleep 1; done";
    let server = ModelServer::scripted([shell(stubborn), Turn::text("Afterwards.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Sleep\r")?;
    let started = home.path().join("started");
    let shell = || std::fs::read_to_string(&started).ok().and_then(|id| id.trim().parse::<u32>().ok());
    wait_until(LIMIT, "the tool runs", || Ok(shell().is_some()))?;
    let locked = kept::lock(&kept::store(&home))?;
    let begun = Instant::now();
    terminal.send("\x03")?;
    terminal.wait_for("Cancelling. Press Ctrl-C again to exit.")?;
    terminal.send("\x03")?;
    assert_eq!(terminal.wait()?.code(), Some(130), "{}", terminal.screen());
    ensure!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    drop(locked);
    wait_for_end(shell().context("it has started")?, Duration::from_secs(5))?;

    let resumed: crate::support::Run =
        goose(&home, &server, &["run", "--resume", "-t", "Go on"]).output()?.try_into()?;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Afterwards.\n"), "{resumed:?}");
    assert_eq!(server.asked()[1].tool_results().len(), 1);
    Ok(())
}

/// Log entries of tools are stored with the session and shown again on resume, shortened and in full.
#[test]
fn log_entries_are_shown_again_on_resume() -> anyhow::Result<()> {
    let home = Home::new()?;
    let plan = Turn::call("todo__todo_write", json!({"content": "- [ ] feed the geese"}));
    let server = ModelServer::scripted([plan, Turn::text("Planned.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Begin", "Planned.")?;
    let screen = terminal.screen();
    ensure!(screen.contains("feed the geese"), "{screen}");
    terminal.send("\x04")?;
    terminal.wait()?;
    for arguments in [&["session", "--resume"][..], &["session", "--resume", "--history"]] {
        let terminal = at_terminal(&home, &server, "auto", arguments)?;
        prompted(&terminal)?;
        let screen = terminal.screen();
        let (shown, said) = (screen.find("feed the geese"), screen.find("Planned."));
        ensure!(shown.is_some() && said > shown, "{arguments:?}: {screen}");
    }
    Ok(())
}

/// Nothing moves on a screen that another program writes the answer to.
#[test]
fn nothing_moves_while_the_answer_goes_through_a_pipe() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("sleep 1"), Turn::text("It is done.")])?;
    let piped = format!("{} run -t Work | cat; echo over", env!("CARGO_BIN_EXE_goose"));
    let environment = environment(&home, &server, "auto")?;
    let terminal = Terminal::start(Path::new("/bin/sh"), ["-c", &piped], environment, home.path())?;
    let moved = Cell::new(false);
    terminal.wait_until("the end is", |screen| {
        moved.set(moved.get() || screen.contains("thinking") || screen.contains("runs"));
        screen.contains("over")
    })?;
    let screen = terminal.screen();
    ensure!(
        !moved.get() && screen.contains("▸ shell  sleep 1") && screen.contains("It is done."),
        "{screen}"
    );
    Ok(())
}

/// A backslash at the end of a line lets the message go on, and is no part of it. What is pasted stays as it is.
#[test]
fn a_message_may_have_several_lines() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("first\\\r")?;
    terminal.wait_until("no new line is", |screen| screen.ends_with("\n…"))?;
    terminal.send("second\\\r")?;
    terminal.wait_until("no new line is", |screen| screen.ends_with("… second\\\n…"))?;
    terminal.send("third\r")?;
    terminal.wait_for("One.")?;
    prompted(&terminal)?;
    terminal.send("\x1b[200~make a \\\nb\x1b[201~")?;
    terminal.wait_for("make a \\")?;
    terminal.send("\r")?;
    terminal.wait_for("Two.")?;
    say(&terminal, "A path: C:\\ ", "Three.")?;
    let asked: Vec<Option<String>> = server.asked().iter().map(|asked| asked.last_user_text()).collect();
    let expected = ["first\nsecond\nthird", "make a \\\nb", "A path: C:\\"];
    assert_eq!(asked, expected.map(|text| Some(text.to_owned())));
    Ok(())
}

/// Ctrl-C takes all lines of a message back.
#[test]
fn ctrl_c_drops_all_lines_of_a_message() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("never\\\r")?;
    terminal.wait_until("no new line is", |screen| screen.ends_with("\n…"))?;
    terminal.send("\x03")?;
    say(&terminal, "Only this", "One.")?;
    assert_eq!(server.asked()[0].last_user_text().as_deref(), Some("Only this"));
    Ok(())
}

/// Text that is typed ahead is used for the next lines, at any speed.
#[test]
fn what_is_typed_ahead_is_not_lost() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("first\r/mode\rsecond\rthird\r/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0), "{}", terminal.screen());
    let asked: Vec<Option<String>> = server.asked().iter().map(|asked| asked.last_user_text()).collect();
    assert_eq!(asked, ["first", "second", "third"].map(|text| Some(text.to_owned())));
    Ok(())
}

/// The same where lines come from a file.
#[test]
fn a_line_of_a_file_goes_on_as_well() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
    let mut child = goose(&home, &server, &["session"]).stdin(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("its input is ours")?;
    input.write_all(b"first\\\nsecond\nthird\n")?;
    drop(input);
    assert_eq!(child.wait_with_output()?.status.code(), Some(0));
    let asked: Vec<Option<String>> = server.asked().iter().map(|asked| asked.last_user_text()).collect();
    assert_eq!(asked, ["first\nsecond", "third"].map(|text| Some(text.to_owned())));
    Ok(())
}
