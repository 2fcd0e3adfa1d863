//! `goose session` at a terminal: what a person sees and types.

use std::{path::Path, time::Duration};

use anyhow::ensure;
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::support::{Home, wait_until};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// `goose` at a terminal, with a scripted model.
pub(crate) fn at_terminal(
    home: &Home,
    server: &ModelServer,
    mode: &str,
    arguments: &[&str],
) -> anyhow::Result<Terminal> {
    at_terminal_with(home, server, mode, arguments, &[])
}

/// The same with more variables.
pub(crate) fn at_terminal_with(
    home: &Home,
    server: &ModelServer,
    mode: &str,
    arguments: &[&str],
    more: &[(&'static str, String)],
) -> anyhow::Result<Terminal> {
    let mut environment = environment(home, server, mode)?;
    environment.extend_from_slice(more);
    Terminal::start(Path::new(env!("CARGO_BIN_EXE_goose")), arguments, environment, home.path())
}

/// Sizes of terminals for snapshots, in columns and rows.
pub(crate) const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (120, 40)];

/// `goose session` at a terminal of a given size.
pub(crate) fn session_sized(home: &Home, server: &ModelServer, size: (u16, u16)) -> anyhow::Result<Terminal> {
    let environment = environment(home, server, "auto")?;
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    Terminal::start_sized(program, ["session"], environment, home.path(), size)
}

/// The variables of `goose` with a scripted model.
pub(crate) fn environment(
    home: &Home,
    server: &ModelServer,
    mode: &str,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let folder = home.path().display().to_string();
    Ok(vec![
        ("OPENAI_HOST", server.url()),
        ("OPENAI_API_KEY", "test".to_owned()),
        ("GOOSE_PROVIDER", "openai".to_owned()),
        ("GOOSE_MODEL", "gpt-4".to_owned()),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("GOOSE_MODE", mode.to_owned()),
        ("GOOSE_PATH_ROOT", folder.clone()),
        ("HOME", folder),
        ("PATH", std::env::var("PATH")?),
    ])
}

/// Waits until goose is ready for the next line.
pub(crate) fn prompted(terminal: &Terminal) -> anyhow::Result<()> {
    terminal.wait_until("no new prompt is", |screen| screen.lines().last() == Some("›"))
}

/// Types a line, and waits until what comes of it is over. The line is sent when the prompt is there, so the screen
/// after it differs from the one before.
pub(crate) fn say(terminal: &Terminal, line: &str, expected: &str) -> anyhow::Result<()> {
    prompted(terminal)?;
    terminal.send(&format!("{line}\r"))?;
    terminal.wait_for(expected)?;
    prompted(terminal)
}

pub(crate) fn shell(command: &str) -> Turn {
    Turn::call("developer__shell", json!({ "command": command }))
}

#[test]
fn a_conversation_has_lines_replies_and_an_end() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::scripted([Turn::text("It is **so**.\n\n- one\n- two\n"), Turn::text("Twice.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Is it?\r")?;
    terminal.wait_for("• two")?;
    ensure!(terminal.screen().contains("It is so."), "{}", terminal.screen());
    terminal.wait_for("tokens")?;
    terminal.send("Several\nlines\r")?;
    terminal.wait_for("Twice.")?;
    ensure!(server.asked()[1].last_user_text().is_some_and(|text| text == "Several\nlines"));
    terminal.send("/cost\r")?;
    terminal.wait_for("tokens read")?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    ensure!(std::fs::read_to_string(home.path().join("state/history.txt"))?.contains("Is it?"));
    Ok(())
}

#[test]
fn what_may_run_is_asked_and_the_answer_counts() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        shell("touch first"),
        Turn::text("One."),
        shell("touch second"),
        Turn::text("Two."),
    ])?;
    let mut terminal = at_terminal(&home, &server, "approve", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Do it\r")?;
    terminal.wait_for("Allow it?")?;
    ensure!(terminal.screen().contains("command: touch first"), "{}", terminal.screen());
    ensure!(!home.path().join("first").exists(), "it ran before it was allowed");
    terminal.send("y\r")?;
    terminal.wait_for("One.")?;
    ensure!(home.path().join("first").exists());
    terminal.wait_for("tokens")?;
    terminal.send("And again\r")?;
    terminal.wait_until("no second question", |screen| screen.matches("Allow it?").count() == 2)?;
    terminal.send("n use rg instead\r")?;
    terminal.wait_for("Two.")?;
    ensure!(!home.path().join("second").exists());
    let results = server.asked()[3].tool_results();
    ensure!(results.iter().any(|(_, text)| text.contains("use rg instead")), "{results:?}");
    terminal.send("\x04")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

/// Ctrl-C once cancels the reply, and the conversation goes on; twice at the prompt leaves.
#[test]
fn ctrl_c_cancels_once_and_leaves_twice() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("touch started; sleep 600"), Turn::text("Here again.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Sleep\r")?;
    let started = home.path().join("started");
    wait_until(LIMIT, "the tool runs", || Ok(started.exists()))?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    terminal.send("Still there?\r")?;
    terminal.wait_for("Here again.")?;
    terminal.wait_until("no prompt", |screen| screen.ends_with('›'))?;
    terminal.send("\x03")?;
    terminal.wait_for("To exit, press Ctrl-C again.")?;
    terminal.wait_until("no new prompt", |screen| screen.ends_with('›'))?;
    terminal.send("\x03")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

/// SIGTERM at the prompt ends it, and the terminal is as it was.
#[test]
fn being_ended_at_the_prompt_is_an_orderly_end() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("half a li")?;
    terminal.wait_for("half a li")?;
    let killed = std::process::Command::new("kill").args(["-TERM", &terminal.id().to_string()]).status()?;
    ensure!(killed.success());
    assert_eq!(terminal.wait()?.code(), Some(143));
    Ok(())
}

#[test]
fn a_resumed_conversation_shows_its_last_words() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("The first answer.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["run", "-t", "The first question"])?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    let mut terminal = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    terminal.wait_for("›")?;
    ensure!(terminal.screen().contains("The first answer."), "{}", terminal.screen());
    ensure!(terminal.screen().contains("> The first question"), "{}", terminal.screen());
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}
