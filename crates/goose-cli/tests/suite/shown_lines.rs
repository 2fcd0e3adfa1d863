//! Single lines that a person sees at a terminal, and the keys around them.

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn, binary};
use serde_json::json;

use crate::{
    redacted::screen,
    run::goose,
    support::Home,
    talk::{self, at_terminal, at_terminal_with, prompted, say, session_sized, shell},
};

const FAILING: &str = "seq 1 30; echo 'the cause' >&2; exit 3";

#[test]
fn failed_command_shows_its_last_lines_at_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = Home::new()?;
        let server = ModelServer::scripted([
            shell(FAILING).costing(1_200, 10),
            Turn::text("It failed.").costing(1_200, 10),
        ])?;
        let terminal = session_sized(&home, &server, size)?;
        say(&terminal, "Try it", "It failed.")?;
        insta::assert_snapshot!(format!("failed_command_{}x{}", size.0, size.1), screen(&terminal, &home)?);
    }
    Ok(())
}

#[test]
fn same_lines_are_shown_without_colours() -> anyhow::Result<()> {
    let shown = |more: &[(&'static str, String)]| {
        let home = Home::new()?;
        let server = ModelServer::scripted([shell(FAILING), Turn::text("It failed.")])?;
        let terminal = at_terminal_with(&home, &server, "auto", &["session"], more)?;
        say(&terminal, "Try it", "It failed.")?;
        anyhow::Ok((screen(&terminal, &home)?, terminal.styled_screen().contains("\u{1b}[31m")))
    };
    let (coloured, has_red) = shown(&[])?;
    let (plain, plain_has_red) = shown(&[("NO_COLOR", "1".to_owned())])?;
    assert_eq!((coloured, has_red, plain_has_red), (plain, true, false));
    Ok(())
}

#[test]
fn help_fits_terminals_of_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = Home::new()?;
        let server = ModelServer::scripted([])?;
        let terminal = session_sized(&home, &server, size)?;
        say(&terminal, "/help", "to quit.")?;
        let shown = screen(&terminal, &home)?;
        // The emulator joins lines that it had to break.
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        ensure!(widest <= usize::from(size.0), "{shown}");
        insta::assert_snapshot!(format!("help_{}x{}", size.0, size.1), shown);
    }
    Ok(())
}

#[test]
fn search_without_a_match_is_not_reported_as_a_failure() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("echo a | grep b"), Turn::text("None.")])?;
    let run: crate::support::Run = goose(&home, &server, &["run", "-t", "Look"]).output()?.try_into()?;
    assert_eq!(run.stdout, "None.\n");
    ensure!(!run.stderr.contains("The last command ended"), "{}", run.stderr);
    let results = server.asked()[1].tool_results();
    ensure!(results[0].1.contains("exit code 1"), "{results:?}");
    Ok(())
}

#[test]
fn reasoning_can_be_read_afterwards() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::scripted([Turn::thinking("Geese need water.").and_text("A pond."), Turn::text("Hm.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "What do they need?", "A pond.")?;
    say(&terminal, "/reasoning", "Geese need water.")?;
    say(&terminal, "And now?", "Hm.")?;
    say(&terminal, "/reasoning", "The last reply has no reasoning")?;
    Ok(())
}

#[test]
fn resumed_reply_is_shown_without_markup() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Geese **and** `swans` &amp; ducks.")])?;
    let mut first = at_terminal(&home, &server, "auto", &["session"])?;
    say(&first, "Who swims?", "Geese and swans & ducks.")?;
    prompted(&first)?;
    first.send("/exit\r")?;
    ensure!(first.wait()?.success());
    let second = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    prompted(&second)?;
    let shown = second.screen();
    ensure!(shown.contains("> Who swims?") && shown.contains("Geese and swans & ducks."), "{shown}");
    ensure!(shown.contains("2 messages"), "{shown}");
    Ok(())
}

#[test]
fn session_that_has_only_a_question_has_one_message() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::status(401, "no such key")])?;
    ensure!(!goose(&home, &server, &["run", "-t", "Who swims?"]).output()?.status.success());
    let listed = home.run(&["session", "list"])?;
    ensure!(listed.stdout.contains("1 message "), "{listed:?}");
    Ok(())
}

/// A home whose agent `other` is an external one.
fn home_with_external_agent() -> anyhow::Result<Home> {
    let program = binary("foreign_agent")?;
    Home::with_config(&format!(
        "agents:\n  other: {{type: acp, command: '{}', description: Does as it is told}}\n",
        program.display()
    ))
}

/// Branch and model are goose's own, and an external agent uses another model.
#[test]
fn status_line_of_an_external_agent_names_no_model() -> anyhow::Result<()> {
    let home = home_with_external_agent()?;
    let server = ModelServer::scripted([])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session", "--agent", "other"])?;
    say(&terminal, "say Hello from afar", "Hello from afar")?;
    let shown = screen(&terminal, &home)?;
    ensure!(!shown.contains("gpt-4"), "{shown}");
    insta::assert_snapshot!("external_agent", shown);
    Ok(())
}

#[test]
fn refused_call_of_an_external_agent_is_shown_without_advice_for_it() -> anyhow::Result<()> {
    let home = home_with_external_agent()?;
    let server = ModelServer::scripted([])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session", "--agent", "other"])?;
    prompted(&terminal)?;
    terminal.send("run touch made\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("n\r")?;
    terminal.wait_for("Not run: ")?;
    prompted(&terminal)?;
    ensure!(!home.path().join("made").exists());
    insta::assert_snapshot!("external_refusal", screen(&terminal, &home)?);
    Ok(())
}

#[test]
fn progress_of_a_server_is_shown_with_its_total() -> anyhow::Result<()> {
    let config = "extensions:\n  slow: {type: stdio, name: slow, cmd: '{faulty_server}', args: [--progress, echo, '3']}\n";
    let home = Home::with_config(config)?;
    let server =
        ModelServer::scripted([Turn::call("slow__echo", json!({"text": "hi"})), Turn::text("Done.")])?;
    let run = goose(&home, &server, &["run", "-t", "Work", "--output-format", "stream-json"]).output()?;
    let shown = String::from_utf8(run.stdout)?;
    ensure!(shown.contains("1 of 3") && shown.contains("3 of 3"), "{shown}");
    Ok(())
}

#[test]
fn cancel_during_text_starts_a_new_line() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("First line.\nSecond ")
        .and_text("line ")
        .and_text("and")
        .silent_after(3)])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Talk\r")?;
    terminal.wait_for("First")?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    prompted(&terminal)?;
    let shown = terminal.screen();
    ensure!(shown.lines().any(|line| line.starts_with("Cancelling.")), "{shown}");
    ensure!(shown.lines().any(|line| line == "Cancelled."), "{shown}");
    Ok(())
}

#[test]
fn parallel_calls_have_one_title_each() -> anyhow::Result<()> {
    let home = Home::new()?;
    let both = shell("sleep 0.3; echo one").and_call("developer__shell", json!({"command": "echo two"}));
    let server = ModelServer::scripted([both, Turn::text("Both done.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Go", "Both done.")?;
    let shown = terminal.screen();
    assert_eq!(shown.matches("▸ shell").count(), 2, "{shown}");
    ensure!(shown.contains("echo one\n  one") && shown.contains("▸ shell  echo two\n  two"), "{shown}");
    Ok(())
}

#[test]
fn refused_call_shows_its_command() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("touch pond"), Turn::text("Not done.")])?;
    let run = goose(&home, &server, &["run", "-t", "Go"]).env("GOOSE_MODE", "approve").output()?;
    let told = String::from_utf8(run.stderr)?;
    ensure!(told.contains("▸ shell  touch pond"), "{told}");
    Ok(())
}

#[test]
fn exit_says_how_to_resume() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session", "--name", "pond"])?;
    say(&terminal, "Hi", "Hello.")?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    let shown = terminal.screen();
    ensure!(shown.contains("To resume this session: `goose session --session-id "), "{shown}");
    ensure!(shown.contains(" (pond)"), "{shown}");
    Ok(())
}

#[test]
fn plan_mode_is_in_the_status_line() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("There is a pond."), Turn::text("1. Swim.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/plan Cross it", "Swim.")?;
    let shown = terminal.screen();
    assert_eq!(shown.matches(" · auto · plan mode").count(), 1, "{shown}");
    ensure!(!shown.contains("answers."), "{shown}");
    Ok(())
}

#[test]
fn refused_request_names_the_model() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::status(400, "bad field")])?;
    let run: crate::support::Run = goose(&home, &server, &["run", "-t", "Hi"]).output()?.try_into()?;
    ensure!(
        run.stderr.contains("openai:gpt-4: the service refused the request (400): bad field"),
        "{}",
        run.stderr
    );
    Ok(())
}
