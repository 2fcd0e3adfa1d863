//! Extensions of a session that do not work, start slowly, or are added and removed.

use std::time::Duration;

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn};

use crate::{
    run::goose,
    support::{Home, Run, program},
    talk::{at_terminal, prompted, say, shell},
};

/// Entries that cannot work: a missing secret, a type that is gone, and a typo; and a misspelled key.
pub(crate) const UNUSABLE: &str = "\
GOOSE_MODEE: auto
extensions:
  keyed: {type: stdio, name: keyed, cmd: 'true', env_keys: [NO_SUCH_KEY]}
  old: {type: sse, name: old, uri: 'https://example.com/sse'}
  typo: {type: stdoi, name: typo, cmd: 'true'}
  off: {enabled: false, type: sse, name: off, uri: 'https://example.com/sse'}
";

#[test]
fn unusable_entries_are_named_once_in_a_run() -> anyhow::Result<()> {
    let home = Home::with_config(UNUSABLE)?;
    let server = ModelServer::scripted([shell("true"), Turn::text("Done.")])?;
    let run: Run = goose(&home, &server, &["run", "-t", "Go"]).output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Done.\n"), "{run:?}");
    for name in ["`keyed`", "'old'", "'typo'", "'GOOSE_MODEE'"] {
        let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains(name)).collect();
        assert_eq!(lines.len(), 1, "{name}: {run:?}");
    }
    ensure!(run.stderr.contains("NO_SUCH_KEY") && !run.stderr.contains("'off'"), "{run:?}");
    Ok(())
}

#[test]
fn unusable_entries_are_named_when_a_session_starts() -> anyhow::Result<()> {
    let home = Home::with_config(UNUSABLE)?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    for name in ["`keyed`", "'old'", "'typo'", "'GOOSE_MODEE'"] {
        ensure!(terminal.screen().matches(name).count() == 1, "{name}: {}", terminal.screen());
    }
    say(&terminal, "Hi", "Hello.")?;
    ensure!(terminal.screen().matches("`keyed`").count() == 1, "{}", terminal.screen());
    Ok(())
}

#[test]
fn a_failed_extension_is_reported_once_and_can_be_removed() -> anyhow::Result<()> {
    let home =
        Home::with_config("extensions:\n  gone: {type: stdio, name: gone, cmd: no-such-program-here}\n")?;
    let server = ModelServer::scripted(["One.", "Two.", "Three."].map(Turn::text))?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    for (line, answer) in [("First", "One."), ("Second", "Two."), ("Third", "Three.")] {
        say(&terminal, line, answer)?;
    }
    let screen = terminal.screen();
    assert_eq!(screen.matches("The extension `gone` failed").count(), 1, "{screen}");
    say(&terminal, "/extension remove gone", "Removed gone from this session.")?;
    say(&terminal, "/extension remove gone", "There is no extension `gone`.")
}

#[test]
fn a_program_that_does_not_start_is_not_added() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/extension nope-cmd", "nope-cmd did not start and was not added.")?;
    say(&terminal, "Hi", "Hello.")?;
    ensure!(!terminal.screen().contains("The extension `nope"), "{}", terminal.screen());
    Ok(())
}

#[test]
fn a_second_program_of_the_same_name_gets_a_number() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    let command = program("kitchen_sink", "")?;
    say(&terminal, &format!("/extension {command}"), "Added kitchen_sink with")?;
    say(&terminal, &format!("/extension {command} second"), "Added kitchen_sink_2 with")?;
    say(&terminal, "Hi", "Hello.")?;
    let asked = server.asked();
    let names = asked[0].tool_names();
    for name in ["kitchen_sink__echo", "kitchen_sink_2__echo"] {
        ensure!(names.contains(&name), "{names:?}");
    }
    Ok(())
}

/// The first answer does not wait for a slow server, whose tools come later. Failures of others are shown meanwhile.
#[test]
fn a_slow_start_is_shown_and_left_for_later() -> anyhow::Result<()> {
    let home = Home::with_config(
        "\
extensions:
  slow: {type: stdio, name: slow, cmd: '{faulty_server}', args: [--slow-start, '9']}
  gone: {type: stdio, name: gone, cmd: no-such-program-here}
",
    )?;
    let server = ModelServer::scripted(["Early.", "Late."].map(Turn::text))?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Hi\r")?;
    terminal.wait_for("starting slow (")?;
    ensure!(terminal.screen().contains("The extension `gone` failed"), "{}", terminal.screen());
    terminal.wait_for("The extension `slow` is still starting.")?;
    terminal.wait_for("Early.")?;
    say(&terminal, "/extension remove gone", "Removed gone")?;
    std::thread::sleep(Duration::from_secs(8));
    say(&terminal, "And now?", "Late.")?;
    let asked = server.asked();
    let has_slow = |index: usize| asked[index].tool_names().iter().any(|name| name.starts_with("slow__"));
    assert_eq!((has_slow(0), has_slow(1)), (false, true));
    Ok(())
}
