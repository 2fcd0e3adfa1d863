//! `!command` in a session.

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn, model_server::Asked};

use crate::{
    redacted::screen,
    run::goose,
    support::Home,
    talk::{self, at_terminal, prompted, say, session_sized},
};

fn model() -> anyhow::Result<ModelServer> {
    ModelServer::answering(|_: &Asked| Turn::text("Seen.").costing(1_200, 10))
}

fn last_text(server: &ModelServer) -> String {
    server.asked().last().and_then(Asked::last_user_text).unwrap_or_default()
}

#[test]
fn output_of_a_command_joins_the_next_message_at_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = Home::with_short_path()?;
        std::fs::write(home.path().join("pond.txt"), "two geese\n")?;
        let server = model()?;
        let terminal = session_sized(&home, &server, size)?;
        say(&terminal, "!cat pond.txt; exit 3", "[exit code 3]")?;
        say(&terminal, "! printf done", "[exit code 0]")?;
        ensure!(server.asked().is_empty(), "a command alone asks nothing");
        say(&terminal, "Why?", "Seen.")?;
        let text = last_text(&server);
        let expected = "<command>\ncat pond.txt; exit 3\n</command>\n<output>\ntwo geese\n[exit code 3]\n</output>\n\
                        <command>\nprintf done\n</command>\n<output>\ndone\n</output>\nWhy?";
        assert_eq!(text, expected);
        insta::assert_snapshot!(format!("shell_command_{}x{}", size.0, size.1), screen(&terminal, &home)?);
        say(&terminal, "/clear", "Cleared")?;
        terminal.send("And now?\r")?;
        terminal.wait_until("no second answer is", |_| server.asked().len() == 2)?;
        assert_eq!(last_text(&server), "And now?");
    }
    Ok(())
}

#[test]
fn output_is_shown_while_the_command_runs_and_ctrl_c_ends_it() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("!echo first; sleep 1; echo second; sleep 600; echo never\r")?;
    terminal.wait_until("the output is not", |screen| {
        let lines: Vec<&str> = screen.lines().collect();
        lines.contains(&"first") && lines.contains(&"second")
    })?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    prompted(&terminal)?;
    say(&terminal, "Why?", "Seen.")?;
    let text = last_text(&server);
    ensure!(text.contains("first\nsecond\n[cancelled by the user]"), "{text}");
    Ok(())
}

#[test]
fn long_output_is_bounded_for_the_model() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "!seq 100000", "[exit code 0]")?;
    say(&terminal, "Why?", "Seen.")?;
    let text = last_text(&server);
    ensure!(text.len() < 60_000 && text.contains("\n100000\n"), "{} bytes", text.len());
    Ok(())
}

#[test]
fn only_typed_lines_are_commands() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    let input = home.path().join("input");
    std::fs::write(&input, "!touch piped\n")?;
    goose(&home, &server, &["session"]).stdin(std::fs::File::open(&input)?).output()?;
    assert_eq!(last_text(&server), "!touch piped");
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "\x1b[200~!touch pasted now\x1b[201~", "Seen.")?;
    say(&terminal, "!", "Type a command after the '!'")?;
    ensure!(!home.path().join("piped").exists() && !home.path().join("pasted").exists(), "it ran");
    Ok(())
}
