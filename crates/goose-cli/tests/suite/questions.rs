//! Questions at a terminal: one at a time has the keyboard, and Ctrl-C means the same at all of them.

use std::{cell::Cell, fs, time::Duration};

use anyhow::ensure;
use goose_test_support::{ModelServer, Terminal, Turn};
#[cfg(target_os = "linux")]
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::json;

use crate::{
    support::{Home, program, wait_until},
    talk::{at_terminal, prompted, shell},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Number of checks that the screen does not change: longer than several frames of an animation.
const LOOKS: u32 = 50;

/// The kitchen_sink under the name of the shell that writes down what it says.
fn recorded_kitchen_sink() -> anyhow::Result<String> {
    Ok(format!("sh -c \"{} | tee said\"", program("kitchen_sink", "")?))
}

fn last_line(screen: &str) -> &str {
    screen.lines().last().unwrap_or_default()
}

/// Sees that the last line stays as it is for a while.
fn stays(terminal: &Terminal, line: &str) -> anyhow::Result<()> {
    let looks = Cell::new(0);
    let changed = Cell::new(false);
    terminal.wait_until("nothing", |screen| {
        changed.set(changed.get() || !last_line(screen).ends_with(line));
        looks.set(looks.get() + 1);
        looks.get() >= LOOKS
    })?;
    ensure!(!changed.get(), "{}", terminal.screen());
    Ok(())
}

/// What is typed goes to the question that is on the screen, and to no other.
#[test]
fn an_extension_cannot_ask_while_an_approval_is_open() -> anyhow::Result<()> {
    let home = Home::new()?;
    let calls = shell("touch forbidden").and_call("sh__ask_name", json!({}));
    let server = ModelServer::scripted([calls, Turn::text("Done.")])?;
    let kitchen_sink = recorded_kitchen_sink()?;
    let terminal = at_terminal(&home, &server, "approve", &["session", "--with-extension", &kitchen_sink])?;
    prompted(&terminal)?;
    terminal.send("Do it\r")?;
    let mut answered = 0;
    while answered < 2 {
        terminal.wait_until("no approval is", |screen| {
            screen.matches("Allow it?").count() > answered && last_line(screen) == "Allow it?"
        })?;
        let screen = terminal.screen();
        let question = screen.rsplit("to run this?").next().unwrap_or_default();
        let asks_for_name = !question.contains("touch forbidden");
        if !asks_for_name && answered == 1 {
            let said = home.path().join("said");
            wait_until(LIMIT, "the extension asks", || {
                Ok(fs::read_to_string(&said).is_ok_and(|said| said.contains("Who are you?")))
            })?;
            stays(&terminal, "Allow it?")?;
        }
        terminal.send(if asks_for_name { "y\r" } else { "n\r" })?;
        answered += 1;
    }
    terminal.wait_for("asks: Who are you?")?;
    terminal.wait_until("no field is", |screen| last_line(screen).starts_with("name ("))?;
    terminal.send("y\r")?;
    terminal.wait_for("Done.")?;
    ensure!(!home.path().join("forbidden").exists(), "{}", terminal.screen());
    let results = server.asked()[1].tool_results();
    ensure!(results.iter().any(|(_, text)| text.contains("Hello, y!")), "{results:?}");
    Ok(())
}

#[test]
fn what_is_typed_at_a_question_stays_on_the_screen() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::call("sh__ask_name", json!({})), Turn::text("Done.")])?;
    let kitchen_sink = recorded_kitchen_sink()?;
    let terminal = at_terminal(&home, &server, "auto", &["session", "--with-extension", &kitchen_sink])?;
    prompted(&terminal)?;
    terminal.send("Ask me\r")?;
    terminal.wait_until("no field is", |screen| last_line(screen).starts_with("name ("))?;
    terminal.send("Alice in")?;
    terminal.wait_until("no echo is", |screen| last_line(screen).ends_with(": Alice in"))?;
    stays(&terminal, ": Alice in")?;
    terminal.send(" Pondland\r")?;
    terminal.wait_for("Done.")?;
    let results = server.asked()[1].tool_results();
    ensure!(results.iter().any(|(_, text)| text.contains("Hello, Alice in Pondland!")), "{results:?}");
    Ok(())
}

/// Ctrl-C cancels the reply, whatever is asked. The question is withdrawn and swallows nothing.
#[test]
fn ctrl_c_at_a_question_cancels_the_reply() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        Turn::call("sh__ask_name", json!({})),
        Turn::text("One."),
        shell("touch forbidden"),
        Turn::text("Two."),
    ])?;
    let kitchen_sink = recorded_kitchen_sink()?;
    let mode = ["session", "--with-extension", &kitchen_sink];
    let mut terminal = at_terminal(&home, &server, "smart_approve", &mode)?;
    prompted(&terminal)?;
    terminal.send("Ask me\r")?;
    terminal.wait_until("no question is", |screen| {
        last_line(screen) == "Allow it?" || last_line(screen).starts_with("name (")
    })?;
    if last_line(&terminal.screen()) == "Allow it?" {
        terminal.send("y\r")?;
    }
    terminal.wait_until("no field is", |screen| last_line(screen).starts_with("name ("))?;
    terminal.send("half a na")?;
    terminal.wait_for("half a na")?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    prompted(&terminal)?;
    terminal.send("First\r")?;
    terminal.wait_for("One.")?;
    prompted(&terminal)?;
    assert_eq!(server.asked()[1].last_user_text().as_deref(), Some("First"));

    terminal.send("Touch it\r")?;
    terminal.wait_until("no approval is", |screen| last_line(screen) == "Allow it?")?;
    terminal.send("\x03")?;
    terminal.wait_until("no second cancel is", |screen| screen.matches("Cancelled.").count() == 2)?;
    prompted(&terminal)?;
    terminal.send("Second\r")?;
    terminal.wait_for("Two.")?;
    ensure!(!home.path().join("forbidden").exists());
    prompted(&terminal)?;
    terminal.send("\x04")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

/// Ctrl-C at a command ends the command, and what works shows that it does.
#[test]
fn ctrl_c_cancels_a_command_and_the_conversation_goes_on() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| match asked.last_user_text() {
        Some(text) if text.contains("quack 1") && text.contains("quack 2") => {
            Turn::text("A summary.").after(Duration::from_secs(600))
        }
        Some(text) if text.contains("Are you there?") => Turn::text("Still here."),
        _ => Turn::text("A long answer. ".repeat(100)).costing(asked.bytes as u64 / 4, 375),
    })?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    for number in 1..=5 {
        terminal.send(&format!("quack {number}\r"))?;
        wait_until(LIMIT, "it is asked", || Ok(server.asked().len() == number))?;
        terminal.wait_until("no new prompt is", |screen| {
            screen.lines().rev().nth(1).is_some_and(|line| line.contains("tokens"))
                && last_line(screen) == "›"
        })?;
    }
    terminal.send("/compact\r")?;
    terminal.wait_for("compacting")?;
    wait_until(LIMIT, "a summary is asked for", || Ok(server.asked().len() == 6))?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    prompted(&terminal)?;
    terminal.send("Are you there?\r")?;
    terminal.wait_for("Still here.")?;
    Ok(())
}

/// Ctrl-C takes a line back; only on an empty one does it leave, the second time.
#[test]
fn ctrl_c_on_a_draft_only_drops_the_draft() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    for draft in ["abc", "a second draft", "a third"] {
        terminal.send(draft)?;
        terminal.wait_until("no draft is", |screen| last_line(screen).ends_with(draft))?;
        terminal.send("\x03")?;
        prompted(&terminal)?;
    }
    terminal.send("\x03")?;
    terminal.wait_for("To exit, press Ctrl-C again.")?;
    prompted(&terminal)?;
    terminal.send("\x03")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

/// A signal counts from the first moment on, also while another program keeps the store locked.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_goose_before_the_conversation_begins() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let store = home.path().join("data/sessions/goose.db");
    fs::create_dir_all(store.parent().unwrap_or(home.path()))?;
    let file = fs::OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&store)?;
    fcntl_lock(&file, FlockOperation::LockExclusive)?;
    let mut terminal = at_terminal(&home, &server, "auto", &["run", "-t", "hi"])?;
    // Signals are waited for before the store is opened, and the store before the model is asked.
    wait_until(LIMIT, "goose listens", || listens(terminal.id()))?;
    terminal.send("\x03")?;
    let begun = std::time::Instant::now();
    assert_eq!(terminal.wait()?.code(), Some(130), "{}", terminal.screen());
    ensure!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    ensure!(server.asked().is_empty());
    Ok(())
}

/// Returns true if a process handles SIGINT itself.
#[cfg(target_os = "linux")]
fn listens(process: u32) -> anyhow::Result<bool> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    Ok(u64::from_str_radix(caught.trim(), 16)? & 0b10 != 0)
}

/// What is trusted is shown whole, and extensions are named where the person looks last.
#[test]
fn a_project_cannot_hide_what_it_starts() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().join(".goose");
    fs::create_dir_all(&folder)?;
    let comments = "# nothing to see here\n".repeat(100);
    let extension = "extensions:\n  evil:\n    type: stdio\n    name: evil\n    cmd: touch\n    args: [x]\n    enabled: true\n";
    let after = "# nothing to see here either\n".repeat(100);
    fs::write(folder.join("config.yaml"), format!("{comments}{extension}{after}"))?;
    let server = ModelServer::scripted([])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("Trust it in this form?")?;
    let screen = terminal.screen();
    ensure!(screen.contains("It adds extensions: evil."), "{screen}");
    ensure!(!screen.contains("more lines"), "{screen}");
    terminal.send("n\r")?;
    terminal.wait_for("is not used")?;
    prompted(&terminal)?;
    Ok(())
}
