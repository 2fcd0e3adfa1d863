//! Whole sessions at a terminal, recorded: what a person sees, screen by screen. A change of wording shows here; look at
//! it before it is accepted.

use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::{
    support::Home,
    talk::{self, at_terminal, prompted},
};

/// A model that counts about as a real one would, so that its count is believed.
fn model(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<ModelServer> {
    ModelServer::scripted(turns.into_iter().map(|turn| turn.costing(1_200, 10)))
}

/// The screen with everything replaced that differs from run to run.
fn screen(terminal: &Terminal, home: &Home) -> String {
    let shown = terminal.screen().replace(&home.path().display().to_string(), "HOME");
    let word = |word: &str| match word.split_once('_') {
        Some((day, number)) if day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("DAY_{number}")
        }
        _ => word.to_owned(),
    };
    let line = |line: &str| {
        let line = line.split_once("last used ").map_or(line, |(before, _)| before);
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    shown.lines().map(line).collect::<Vec<_>>().join("\n")
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
    terminal.wait_for("done")?;

    insta::assert_snapshot!(screen(&terminal, &home));
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

    insta::assert_snapshot!(screen(&terminal, &home));
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

    insta::assert_snapshot!(screen(&terminal, &home));
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

    insta::assert_snapshot!(screen(&terminal, &home));
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

    insta::assert_snapshot!(screen(&terminal, &home));
    Ok(())
}
