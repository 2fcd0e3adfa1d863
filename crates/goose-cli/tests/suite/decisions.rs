//! Answers to approval questions: "always", "for this session", and with other arguments.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, write_program};
use serde_json::json;

use crate::{
    support::Home,
    talk::{at_terminal, at_terminal_with, prompted, say, shell},
};

/// The rule as the question names it.
fn rule(screen: &str) -> anyhow::Result<String> {
    let after = screen.split("(a)lways: ").nth(1).context("no rule is offered")?;
    Ok(after.lines().next().context("a rule")?.trim().to_owned())
}

/// `always` stores a rule that a person can read; what it covers is not asked about again, here or in another
/// conversation, and everything else is.
#[test]
fn always_is_remembered_where_a_person_can_read_it() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        shell("touch first"),
        Turn::text("One."),
        shell("touch second"),
        Turn::text("Two."),
        shell("rm first"),
        Turn::text("Three."),
        shell("touch third"),
        Turn::text("Four."),
    ])?;
    let mut terminal = at_terminal(&home, &server, "approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    let rule = rule(&terminal.screen())?;
    terminal.send("always\r")?;
    terminal.wait_for("One.")?;
    ensure!(home.path().join("first").exists());
    let file = fs::read_to_string(home.path().join("config/permission.yaml"))?;
    ensure!(file.contains(&rule), "`{rule}` is not in:\n{file}");

    say(&terminal, "Again", "Two.")?;
    assert_eq!(terminal.screen().matches("Allow it?").count(), 1, "{}", terminal.screen());
    ensure!(home.path().join("second").exists());

    terminal.send("Remove it\r")?;
    terminal.wait_until("no second question is", |screen| screen.matches("Allow it?").count() == 2)?;
    terminal.send("n\r")?;
    terminal.wait_for("Three.")?;
    ensure!(home.path().join("first").exists());
    prompted(&terminal)?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));

    let mut other = at_terminal(&home, &server, "approve", &["run", "-t", "And a third"])?;
    assert_eq!(other.wait()?.code(), Some(0));
    ensure!(!other.screen().contains("Allow it?"), "{}", other.screen());
    ensure!(home.path().join("third").exists());
    Ok(())
}

/// A rule that was stored is named with its file; each command of a line has its own.
#[test]
fn always_is_confirmed_part_by_part() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("mkdir a && touch a/b"), Turn::text("Done.")])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    let offered = rule(&terminal.screen())?;
    ensure!(offered == "allow: shell mkdir *; allow: shell touch *", "{offered}");
    terminal.send("a\r")?;
    terminal.wait_for("Done.")?;
    let screen = terminal.screen();
    ensure!(
        screen.contains("Stored `allow: shell mkdir *` in") && screen.contains("permission.yaml"),
        "{screen}"
    );
    ensure!(home.path().join("a/b").exists());
    Ok(())
}

/// Where no rule is narrow enough, the session can still allow exactly this command. Nothing is stored.
#[test]
fn session_allows_the_same_command_again() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        shell("rm -rf build"),
        Turn::text("One."),
        shell("rm -rf build"),
        Turn::text("Two."),
        shell("rm -rf src"),
        Turn::text("Three."),
    ])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Clean\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("a\r")?;
    terminal.wait_for("There is no rule for this")?;
    terminal.send("s\r")?;
    terminal.wait_for("One.")?;
    say(&terminal, "Again", "Two.")?;
    assert_eq!(terminal.screen().matches("Allow shell to run this?").count(), 1, "{}", terminal.screen());
    terminal.send("And more\r")?;
    // What is typed before the whole question is shown does not answer it.
    terminal.wait_until("no second question is", |screen| screen.trim_end().ends_with("Allow it?"))?;
    terminal.send("n\r")?;
    terminal.wait_for("Three.")?;
    ensure!(!home.path().join("config/permission.yaml").exists());
    Ok(())
}

/// The change is shown before it is allowed, and shown again if the file is another one by then.
#[test]
fn a_change_is_shown_again_if_the_file_has_changed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let file = home.path().join("pond.txt");
    fs::write(&file, "one goose\ntwo geese\n")?;
    let edit = json!({"path": "pond.txt", "before": "two geese", "after": "two ducks"});
    let server = ModelServer::scripted([Turn::call("developer__edit", edit), Turn::text("Ducks.")])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Ducks, please\r")?;
    terminal.wait_for("Allow it?")?;
    let screen = terminal.screen();
    ensure!(
        screen.contains("-two geese") && screen.contains("+two ducks") && !screen.contains("before:"),
        "{screen}"
    );
    fs::write(&file, "one swan\ntwo geese\n")?;
    terminal.send("y\r")?;
    terminal.wait_until("it is not asked again", |screen| screen.matches("Allow it?").count() == 2)?;
    ensure!(terminal.screen().contains(" one swan"), "{}", terminal.screen());
    assert_eq!(fs::read_to_string(&file)?, "one swan\ntwo geese\n");
    terminal.send("y\r")?;
    terminal.wait_for("Ducks.")?;
    assert_eq!(fs::read_to_string(&file)?, "one swan\ntwo ducks\n");
    Ok(())
}

/// A few changed lines of a long file are a short question; a long change is cut, and `d` shows all of it.
#[test]
fn a_long_change_is_cut_and_can_be_seen_whole() -> anyhow::Result<()> {
    let home = Home::new()?;
    let text = |word: &str| (1..=300).map(|line| format!("{word} {line}\n")).collect::<String>();
    fs::write(home.path().join("a.txt"), text("old"))?;
    let few = text("old").replace("old 150\n", "new 150\n");
    let server = ModelServer::scripted([
        Turn::call("developer__read", json!({"path": "a.txt"})),
        Turn::call("developer__write", json!({"path": "a.txt", "content": few})),
        Turn::call("developer__write", json!({"path": "a.txt", "content": text("new")})),
        Turn::text("Done."),
    ])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Change it\r")?;
    terminal.wait_for("Allow it?")?;
    let screen = terminal.screen();
    ensure!(
        screen.contains("+new 150") && !screen.contains("old 146") && !screen.contains("(d)"),
        "{screen}"
    );
    terminal.send("y\r")?;
    terminal.wait_for("(d) show the whole change")?;
    ensure!(!terminal.screen().contains("+new 300"), "{}", terminal.screen());
    terminal.send("d\r")?;
    terminal.wait_for("+new 300")?;
    terminal.send("y\r")?;
    terminal.wait_for("Done.")?;
    assert_eq!(fs::read_to_string(home.path().join("a.txt"))?, text("new"));
    Ok(())
}

/// A call that was never allowed was not carried out, and the model is not told otherwise.
#[test]
fn a_question_that_is_cancelled_ran_nothing() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("rm -rf build"), Turn::text("Never mind.")])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Clean\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("\x03")?;
    terminal.wait_for("It was not run.")?;
    say(&terminal, "Go on", "Never mind.")?;
    let asked = server.asked();
    let told = asked.last().map(|request| request.body.to_string()).unwrap_or_default();
    ensure!(told.contains("It was not run.") && !told.contains("carried out in part"), "{told}");
    Ok(())
}

/// The dangerous line of a command may be its last one.
#[test]
fn a_long_command_is_shown_to_its_end() -> anyhow::Result<()> {
    let home = Home::new()?;
    let command = format!("{}touch the-last-line", "true\n".repeat(400));
    let server = ModelServer::scripted([shell(&command), Turn::text("As you like.")])?;
    let terminal = at_terminal(&home, &server, "approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    ensure!(terminal.screen().contains("touch the-last-line"), "{}", terminal.screen());
    terminal.send("n\r")?;
    terminal.wait_for("As you like.")?;
    ensure!(!home.path().join("the-last-line").exists());
    Ok(())
}

/// The edited arguments are used, and the model is told.
#[test]
fn an_edited_call_runs_as_it_was_edited() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("touch theirs"), Turn::text("As you like.")])?;
    let terminal = at_terminal(&home, &server, "approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("edit\r")?;
    terminal.wait_for("Arguments as JSON: ")?;
    terminal.wait_for("touch theirs\"}")?;
    // To the begin of the line, and away with the rest.
    terminal.send("\x01\x0b")?;
    terminal.send("{\"command\": \"touch mine\"}\r")?;
    terminal.wait_for("As you like.")?;
    ensure!(terminal.screen().contains("command: touch mine"), "{}", terminal.screen());
    ensure!(home.path().join("mine").exists(), "{}", terminal.screen());
    ensure!(!home.path().join("theirs").exists(), "what the model wanted ran as well");
    let asked = server.asked();
    let told = asked[1].tool_results();
    assert_eq!(told.len(), 1, "{told:?}");
    ensure!(told[0].1.contains("changed the arguments") && told[0].1.contains("touch mine"), "{told:?}");
    Ok(())
}

/// Arguments that are none are said to be, and the question stays.
#[test]
fn an_edit_that_makes_no_sense_is_asked_about_again() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("touch theirs"), Turn::text("Well then.")])?;
    let terminal = at_terminal(&home, &server, "approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("e\r")?;
    terminal.wait_for("touch theirs\"}")?;
    terminal.send("\x01\x0b[1]\r")?;
    terminal.wait_for("These arguments cannot be used: they are no object.")?;
    terminal.wait_until("no second question is", |screen| screen.matches("Allow it?").count() == 2)?;
    terminal.send("n\r")?;
    terminal.wait_for("Well then.")?;
    ensure!(!home.path().join("theirs").exists());
    Ok(())
}

/// The user's editor is used if there is one.
#[test]
fn a_call_is_edited_in_the_persons_own_editor() -> anyhow::Result<()> {
    let home = Home::new()?;
    let editor = home.path().join("editor");
    write_program(&editor, "#!/bin/sh\nsed -i.before s/theirs/edited/ \"$1\"\n")?;
    let server = ModelServer::scripted([shell("touch theirs"), Turn::text("As you like.")])?;
    let more = [("EDITOR", editor.display().to_string())];
    let terminal = at_terminal_with(&home, &server, "approve", &["session"], &more)?;
    prompted(&terminal)?;
    terminal.send("Touch it\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("e\r")?;
    terminal.wait_for("As you like.")?;
    ensure!(home.path().join("edited").exists(), "{}", terminal.screen());
    ensure!(!home.path().join("theirs").exists());
    Ok(())
}
