//! Whole sessions at a terminal, recorded: what a person sees, screen by screen. A change of wording shows here; look
//! at it before it is accepted.

use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use crate::{
    redacted::screen,
    support::Home,
    talk::{self, at_terminal, prompted, say},
};

/// A model that counts about as a real one would, so that its count is believed.
fn model(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<ModelServer> {
    ModelServer::scripted(turns.into_iter().map(|turn| turn.costing(1_200, 10)))
}

#[test]
fn a_run() -> anyhow::Result<()> {
    let home = Home::new()?;
    let answer = "## Found\n\nThere is **one** file, `a.txt`:\n\n```sh\ncat a.txt\n```\n\n| file | lines |\n| --- | --- |\n| a.txt | 3 |\n\n1. read it\n2. done\n";
    let server = model([
        Turn::text("I look around.")
            .and_call("developer__shell", json!({"command": "printf 'one\\ntwo\\n'"})),
        Turn::text(answer),
    ])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["run", "-t", "What is here?"])?;
    assert_eq!(terminal.wait()?.code(), Some(0));

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn an_approval() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([talk::shell("cargo test --workspace"), Turn::text("As you wish.")])?;
    let terminal = at_terminal(&home, &server, "approve", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Test it\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("n not now\r")?;
    terminal.wait_for("As you wish.")?;
    prompted(&terminal)?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_diff() -> anyhow::Result<()> {
    let home = Home::new()?;
    std::fs::write(home.path().join("pond.txt"), "one goose\ntwo geese\nthree geese\n")?;
    let edit = json!({"path": "pond.txt", "before": "two geese", "after": "two ducks"});
    let server = model([Turn::call("developer__edit", edit), Turn::text("Changed.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Ducks, please\r")?;
    terminal.wait_for("Changed.")?;
    prompted(&terminal)?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_cancel() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([talk::shell("echo begun; sleep 600")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("Sleep\r")?;
    terminal.wait_for("begun")?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    prompted(&terminal)?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_resume() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([talk::shell("echo hi"), Turn::text("It said **hi**."), Turn::text("Bye.")])?;
    let mut first = at_terminal(&home, &server, "auto", &["run", "-t", "Say hi"])?;
    assert_eq!(first.wait()?.code(), Some(0));
    let terminal = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    terminal.wait_for("›")?;
    terminal.send("And bye\r")?;
    terminal.wait_for("Bye.")?;
    prompted(&terminal)?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_start() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session", "--name", "pond"])?;
    prompted(&terminal)?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn tool_calls() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([
        talk::shell("seq 1 9"),
        talk::shell("echo 'no such bird' >&2; exit 3"),
        Turn::call("developer__read", json!({"path": "missing.txt"})),
        Turn::text("One worked, two failed."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Try it", "two failed.")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn an_approval_question() -> anyhow::Result<()> {
    let home = Home::new()?;
    std::fs::write(home.path().join("pond.txt"), "one goose\ntwo geese\n")?;
    let edit = json!({"path": "pond.txt", "before": "two geese", "after": "two ducks"});
    let server = model([Turn::call("developer__edit", edit)])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Ducks, please\r")?;
    terminal.wait_for("Allow it?")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_plan() -> anyhow::Result<()> {
    let home = Home::new()?;
    std::fs::write(home.path().join("pond.txt"), "It is deep.\n")?;
    let read = Turn::call("developer__read", json!({"path": "pond.txt"}));
    // The planner has no tools, so its requests are shorter.
    let plan = Turn::text("1. Look for a boat.\n2. Swim otherwise.\n").costing(300, 10);
    let server = ModelServer::scripted([
        read.costing(1_200, 10),
        Turn::text("There is a pond.").costing(1_200, 10),
        plan,
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/plan Cross the pond", "Swim otherwise.")?;
    say(&terminal, "/endplan", "Plan mode ended.")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn a_list_of_tasks() -> anyhow::Result<()> {
    let home = Home::new()?;
    let list = json!({"content": "- [x] find the geese\n- [ ] feed the geese"});
    let server = model([Turn::call("todo__todo_write", list), Turn::text("One is left.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Begin", "One is left.")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn errors_of_the_provider() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([
        Turn::status(401, "Incorrect API key provided: test."),
        Turn::status(400, "This model is not for geese."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Hi", "Incorrect API key")?;
    say(&terminal, "And now?", "not for geese")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn help() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model([])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/help", "Press Ctrl-C")?;

    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}
