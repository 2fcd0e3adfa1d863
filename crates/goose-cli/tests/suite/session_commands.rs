//! The slash commands about the session itself, and the choice of a session to resume.

use std::{fs, path::Path, time::Duration};

use anyhow::ensure;
use goose_test_support::{HttpAnswer, Loopback, ModelServer, Terminal, Turn};

use crate::{
    majors::Scene,
    redacted::screen,
    sessions,
    support::{Home, wait_until},
    talk::{SIZES, at_terminal, at_terminal_with, environment, prompted, say},
};

/// `goose session --resume` at a terminal of this size.
fn resuming(home: &Home, server: &ModelServer, size: (u16, u16)) -> anyhow::Result<Terminal> {
    let environment = environment(home, server, "auto")?;
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    Terminal::start_sized(program, ["session", "--resume"], environment, home.path(), size)
}

/// Number of messages in a request.
fn messages(server: &ModelServer, request: usize) -> usize {
    server.asked()[request].body["messages"].as_array().map_or(0, Vec::len)
}

#[test]
fn new_session_leaves_the_earlier_one() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted(["One.", "Two.", "Three."].map(Turn::text))?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "First question", "One.")?;
    say(&terminal, "/mode approve", "Switched to mode approve.")?;
    say(&terminal, "/new", "To go back: /resume")?;
    ensure!(terminal.screen().contains("approve · session"), "{}", terminal.screen());
    say(&terminal, "Second question", "Two.")?;
    assert_eq!(messages(&server, 1), 2, "the system prompt and the question");
    let ids = sessions::ids(&home, &[])?;
    assert_eq!(ids.len(), 2);
    say(&terminal, &format!("/resume {}", ids[1]), "> First question")?;
    say(&terminal, "Third question", "Three.")?;
    assert_eq!(messages(&server, 2), 4);
    say(&terminal, "/resume nothing-like-it", "there is no session")?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

#[test]
fn session_is_renamed_exported_and_copied() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("The answer is **42**.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/export", "There is nothing to export yet.")?;
    say(&terminal, "/copy", "There is no answer to copy yet.")?;
    say(&terminal, "/rename before it begins", "Renamed the session to 'before it begins'.")?;
    say(&terminal, "What is it?", "The answer is 42.")?;
    let listed = home.run(&["session", "list"])?.stdout;
    ensure!(listed.contains("before it begins"), "{listed}");
    say(&terminal, "/rename the answer", "'the answer'.")?;
    ensure!(home.run(&["session", "list"])?.stdout.contains("the answer"));
    say(&terminal, "/export", "goose-session-")?;
    say(&terminal, "/export out.json", "to out.json.")?;
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(home.path().join("out.json"))?)?;
    assert_eq!(json["session"]["given_name"], "the answer");
    say(&terminal, "/export out.json", "exists. Name another file")?;
    let id = json["session"]["id"].as_str().unwrap_or_default();
    let markdown = fs::read_to_string(home.path().join(format!("goose-session-{id}.md")))?;
    ensure!(markdown.starts_with("# the answer") && markdown.contains("**42**"), "{markdown}");
    say(&terminal, "/copy", "Sent the last answer (21 characters)")?;
    Ok(())
}

#[test]
fn state_of_a_session_is_shown() -> anyhow::Result<()> {
    let home = Home::with_config("extensions:\n  sink: {type: stdio, name: sink, cmd: '{kitchen_sink}'}\n")?;
    fs::write(home.path().join("AGENTS.md"), "Run the tests before you commit.\n")?;
    let server = ModelServer::scripted([Turn::text("Hello.").costing(2_000, 10)])?;
    let terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    say(&terminal, "/context", "messages (0)")?;
    say(&terminal, "Hi", "Hello.")?;
    say(&terminal, "/status", "permissions  smart_approve")?;
    let shown = terminal.screen();
    ensure!(shown.contains(" · Hi") && shown.contains(" tokens ("), "{shown}");
    say(&terminal, "/context", "messages (2)")?;
    let shown = terminal.screen();
    ensure!(shown.contains("AGENTS.md") && shown.contains("tools of developer"), "{shown}");
    say(&terminal, "/mode approve", "Switched")?;
    say(&terminal, "/permissions", "Mode: approve  (of this session)")?;
    say(&terminal, "/mcp", "developer")?;
    ensure!(
        terminal.screen().lines().any(|line| line.contains("sink") && line.contains("tools")),
        "{}",
        terminal.screen()
    );
    say(&terminal, "/doctor", "problem")?;
    Ok(())
}

#[test]
fn message_is_written_in_the_editor() -> anyhow::Result<()> {
    let home = Home::new()?;
    let editor = home.path().join("editor.sh");
    goose_test_support::write_program(&editor, "#!/bin/sh\nprintf ' and more\\nlines' >> \"$1\"\n")?;
    let server = ModelServer::scripted(["Read it.", "Written."].map(Turn::text))?;
    let with_editor = [("EDITOR", editor.display().to_string())];
    let terminal = at_terminal_with(&home, &server, "auto", &["session"], &with_editor)?;
    say(&terminal, "/edit Begin", "Read it.")?;
    assert_eq!(server.asked()[0].last_user_text().as_deref(), Some("Begin and more\nlines"));
    say(&terminal, "/init Mention the geese.", "Written.")?;
    let asked = server.asked()[1].last_user_text().unwrap_or_default();
    ensure!(asked.contains("AGENTS.md") && asked.ends_with("Mention the geese."), "{asked}");
    Ok(())
}

/// Records what a command says.
fn view(name: &str, has_colours: bool, play: fn(&Terminal) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let turns = || vec![Turn::text("A pond.")];
    Scene { mode: "smart_approve", turns, play, has_colours, ..Scene::default() }.record(name)
}

#[test]
fn status_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    view("status", false, |terminal| say(terminal, "/status", "extensions "))
}

#[test]
fn context_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    view("context", false, |terminal| {
        say(terminal, "Hello", "A pond.")?;
        say(terminal, "/context", "  free ")
    })
}

#[test]
fn permissions_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    view("permissions", false, |terminal| say(terminal, "/permissions", "permission.yaml"))
}

#[test]
fn extensions_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    view("extensions", true, |terminal| say(terminal, "/mcp", "developer"))
}

#[test]
fn session_is_chosen_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    for size in SIZES {
        let home = sessions::with_two()?;
        let server = ModelServer::scripted([])?;
        let terminal = resuming(&home, &server, size)?;
        terminal.wait_for("Resume:")?;
        insta::assert_snapshot!(format!("resume_{}x{}", size.0, size.1), screen(&terminal, &home)?);
        terminal.send("bird")?;
        terminal.wait_for("Resume: bird")?;
        terminal.wait_for("1 of 1")?;
        terminal.send("\r")?;
        terminal.wait_for("> Which bird is it?")?;
        prompted(&terminal)?;
    }
    Ok(())
}

#[test]
fn choice_of_a_session_can_be_cancelled_and_scripts_get_the_newest() -> anyhow::Result<()> {
    let home = sessions::with_two()?;
    let server = ModelServer::scripted([])?;
    let mut terminal = resuming(&home, &server, (80, 24))?;
    terminal.wait_for("Resume:")?;
    terminal.send("\x1b")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    ensure!(!terminal.screen().contains("Resume:"), "{}", terminal.screen());
    // Without a terminal, only the newest session of the folder is meant, and there is none.
    let run = home.run_with_input(&["session", "--resume"], "")?;
    ensure!(run.code == Some(1) && run.stderr.contains("There is no session in this folder"), "{run:?}");

    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("/resume\r")?;
    terminal.wait_for("Resume:")?;
    terminal.send("\x1b[B\r")?;
    terminal.wait_for("> Which bird is it?")?;
    prompted(&terminal)?;
    Ok(())
}

#[test]
fn fast_model_titles_a_session_and_the_users_name_stays() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| match asked.body["model"].as_str() {
        Some("gpt-4o-mini") => Turn::text("\"Ponds of the North.\""),
        _ => Turn::text("A pond."),
    })?;
    let titled = |name: &str| {
        wait_until(Duration::from_secs(30), name, || {
            Ok(home.run(&["session", "list"])?.stdout.contains(name))
        })
    };
    let fast = [("GOOSE_ACCELERATOR", "openai:gpt-4o-mini".to_owned())];
    let terminal = at_terminal_with(&home, &server, "auto", &["session"], &fast)?;
    say(&terminal, "Where do they live?", "A pond.")?;
    titled("Ponds of the North")?;
    say(&terminal, "/rename my ponds", "'my ponds'.")?;
    say(&terminal, "And then?", "A pond.")?;
    say(&terminal, "/new kept", "session ")?;
    say(&terminal, "Hello?", "A pond.")?;
    let asked = || server.asked().iter().filter(|asked| asked.body["model"] == "gpt-4o-mini").count();
    wait_until(Duration::from_secs(30), "the second title", || Ok(asked() == 2))?;
    let listed = home.run(&["session", "list"])?.stdout;
    ensure!(listed.contains("my ponds") && listed.contains("kept"), "{listed}");
    ensure!(!listed.contains("Ponds of the North"), "{listed}");
    Ok(())
}

#[test]
fn sessions_of_the_store_are_completed() -> anyhow::Result<()> {
    let home = sessions::with_two()?;
    let server = ModelServer::scripted([])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("/resume 20261101\t")?;
    terminal.wait_for("/resume 20261101_1")?;
    terminal.send("\r")?;
    terminal.wait_for("> Which bird is it?")?;
    prompted(&terminal)
}

/// `/model` lists what the service has now; another name can be typed, and Esc keeps the model.
#[test]
fn model_is_chosen_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    for size in SIZES {
        let home = Home::with_short_path()?;
        let server = Loopback::answering(|_| {
            HttpAnswer::new(200, r#"{"data": [{"id": "gpt-4"}, {"id": "gpt-5"}, {"id": "o9\u001b[31m"}]}"#)
        })?;
        let models = ModelServer::scripted([])?;
        let mut environment = environment(&home, &models, "auto")?;
        environment.push(("OPENAI_HOST", server.url()));
        let program = Path::new(env!("CARGO_BIN_EXE_goose"));
        let terminal = Terminal::start_sized(program, ["session"], environment, home.path(), size)?;
        prompted(&terminal)?;
        terminal.send("/model\r")?;
        terminal.wait_for("❯ openai:gpt-4")?;
        insta::assert_snapshot!(format!("model_{}x{}", size.0, size.1), screen(&terminal, &home)?);
        terminal.send("\x1b[B\r")?;
        terminal.wait_for("Switched to openai:gpt-5.")?;
        prompted(&terminal)?;
        terminal.send("/model\r")?;
        terminal.wait_for("❯ openai:gpt-5")?;
        terminal.send("openai:gpt-7\r")?;
        terminal.wait_for("Switched to openai:gpt-7.")?;
        prompted(&terminal)?;
        terminal.send("/model\r")?;
        terminal.wait_for("Model:")?;
        terminal.send("\x1b")?;
        prompted(&terminal)?;
    }
    Ok(())
}
