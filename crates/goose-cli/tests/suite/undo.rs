//! `/undo`, `/rewind` and `/diff`, as a person sees them at three sizes of terminals, and what is left on the disk.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::{
    majors::Scene,
    support::{Home, wait_until},
    talk::{at_terminal, prompted, say, shell},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

fn write(path: &str, content: &str) -> Turn {
    Turn::call("developer__write", json!({"path": path, "content": content}))
}

fn edit(path: &str, before: &str, after: &str) -> Turn {
    Turn::call("developer__edit", json!({"path": path, "before": before, "after": after}))
}

/// Two messages with changes, and one without.
fn three_messages() -> Vec<Turn> {
    vec![
        edit("pond.txt", "old", "new"),
        write("src/heron.rs", "fn heron() {}\n"),
        Turn::text("One."),
        edit("pond.txt", "new", "newest"),
        Turn::text("Two."),
        Turn::text("Three."),
    ]
}

fn pond(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("pond.txt"), "first line\nold\nlast line\n")
}

fn talk(terminal: &Terminal) -> anyhow::Result<()> {
    say(terminal, "Make the pond new", "One.")?;
    say(terminal, "Now make it the newest pond that anyone has ever seen", "Two.")?;
    say(terminal, "Thanks", "Three.")
}

#[test]
fn undo_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    let scene = Scene {
        prepare: pond,
        turns: three_messages,
        play: |terminal| {
            talk(terminal)?;
            say(terminal, "/undo", "restored")?;
            say(terminal, "/undo", "removed")
        },
        ..Scene::default()
    };
    scene.record("undo")
}

#[test]
fn rewind_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    let scene = Scene {
        prepare: pond,
        turns: three_messages,
        play: |terminal| {
            talk(terminal)?;
            terminal.send("/rewind\r")?;
            terminal.wait_for("Go back to before")?;
            terminal.wait_for("message 3")?;
            terminal.send("\x1b[A")?;
            terminal.wait_for("❯ Now make it")?;
            terminal.send("\r")?;
            terminal.wait_for("(b)oth?")?;
            terminal.send("b\r")?;
            terminal.wait_for("The conversation is as it was before")?;
            prompted(terminal)
        },
        ..Scene::default()
    };
    scene.record("rewind")
}

#[test]
fn diff_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    let scene = Scene {
        prepare: pond,
        turns: three_messages,
        play: |terminal| {
            talk(terminal)?;
            prompted(terminal)?;
            terminal.send("/diff\r")?;
            terminal.wait_until("the changes are not there", |screen| {
                // On a small screen, all that was before is gone.
                let shown = screen.rsplit_once("› /diff").map(|(_, shown)| shown);
                let shown = shown.or((!screen.contains("› Thanks")).then_some(screen)).unwrap_or_default();
                shown.contains("fn heron() {}") && shown.ends_with('›')
            })
        },
        ..Scene::default()
    };
    scene.record("diff")
}

/// Files that others changed are asked about, commands are named, and the model is told with the next message.
#[test]
fn undo_asks_about_the_user_s_changes_and_tells_the_model() -> anyhow::Result<()> {
    let home = Home::new()?;
    pond(home.path())?;
    let calls = edit("pond.txt", "old", "new");
    let server = ModelServer::scripted([
        calls,
        write("made.txt", "made\n"),
        shell("echo by a command > built.txt"),
        Turn::text("Changed."),
        Turn::text("Understood."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/undo", "There is nothing to undo")?;
    say(&terminal, "/diff", "goose has not changed any files.")?;
    say(&terminal, "/rewind", "There is no message to go back to.")?;
    say(&terminal, "Change it", "Changed.")?;
    fs::write(home.path().join("pond.txt"), "mine\n")?;
    terminal.send("/undo\r")?;
    terminal.wait_for("pond.txt was changed since goose wrote it.")?;
    terminal.wait_for("(y)es or (n)o:")?;
    terminal.send("n\r")?;
    terminal.wait_for("built.txt")?;
    prompted(&terminal)?;
    assert_eq!(fs::read_to_string(home.path().join("pond.txt"))?, "mine\n");
    ensure!(!home.path().join("made.txt").exists(), "{}", terminal.screen());
    ensure!(home.path().join("built.txt").exists());
    say(&terminal, "Next", "Understood.")?;
    let sent = server.asked().pop().context("it was asked")?.body["messages"].to_string();
    ensure!(sent.contains("The user has taken back your changes") && sent.contains("made.txt"), "{sent}");
    ensure!(!sent.contains("as they were before: pond.txt"), "{sent}");
    Ok(())
}

/// goose is killed with SIGKILL; the session that is resumed can still undo, and a session that is removed leaves no
/// copies.
#[test]
fn undo_after_a_kill_and_resume() -> anyhow::Result<()> {
    let home = Home::new()?;
    pond(home.path())?;
    let server = ModelServer::scripted([
        edit("pond.txt", "old", "new"),
        shell("touch started; sleep 600"),
        Turn::text("?"),
    ])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Change it\r")?;
    let started = home.path().join("started");
    wait_until(LIMIT, "the command runs", || Ok(started.exists()))?;
    let killed = std::process::Command::new("kill").args(["-KILL", &terminal.id().to_string()]).status()?;
    ensure!(killed.success());
    terminal.wait()?;
    ensure!(fs::read_to_string(home.path().join("pond.txt"))?.contains("new"));
    let mut terminal = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    say(&terminal, "/undo", "restored")?;
    ensure!(fs::read_to_string(home.path().join("pond.txt"))?.contains("old"));
    terminal.send("/exit\r")?;
    terminal.wait()?;
    let copies = home.path().join("state/checkpoints");
    let sessions = || -> anyhow::Result<usize> {
        let folders = fs::read_dir(&copies)?.filter_map(Result::ok);
        Ok(folders.filter(|entry| entry.path().is_dir()).count())
    };
    assert_eq!(sessions()?, 1);
    assert_eq!(home.run(&["session", "remove", "--yes", "--regex", "."])?.code, Some(0));
    assert_eq!(sessions()?, 0);
    Ok(())
}

/// `goose run` keeps no copies.
#[test]
fn a_run_keeps_no_copies() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([write("made.txt", "made\n"), Turn::text("Made.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["run", "-t", "Make it"])?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    ensure!(home.path().join("made.txt").exists() && !home.path().join("state/checkpoints").exists());
    Ok(())
}
