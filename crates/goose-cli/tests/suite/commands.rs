//! The commands of a conversation, at a terminal: each does what `/help` says of it.

use anyhow::{Context as _, ensure};
use goose_test_support::{
    ModelServer, Terminal, Turn,
    model_server::{Asked, Wire},
};
use serde_json::json;

use crate::{
    support::{Home, program},
    talk::{at_terminal, at_terminal_with, prompted, say, session_sized, shell},
};

/// All that users of goose know, and goose's own.
const COMMANDS: [&str; 21] = [
    "/help",
    "/exit",
    "/clear",
    "/compact",
    "/model",
    "/cost",
    "/mode",
    "/r",
    "/reasoning",
    "/extension",
    "/builtin",
    "/prompts",
    "/prompt",
    "/plan",
    "/endplan",
    "/t",
    "/recipe",
    "/skills",
    "/undo",
    "/rewind",
    "/diff",
];

/// The last thing that the model was asked.
fn last(server: &ModelServer) -> anyhow::Result<Asked> {
    server.asked().pop().context("it was not asked")
}

fn offers(asked: &Asked, extension: &str) -> bool {
    asked.tool_names().iter().any(|name| name.starts_with(&format!("{extension}__")))
}

/// The last line that tells where the conversation stands.
fn standing(terminal: &Terminal) -> anyhow::Result<String> {
    let screen = terminal.screen();
    let line = screen.lines().rev().find(|line| line.contains(" · ") && !line.starts_with("goose "));
    Ok(line.context("no such line")?.to_owned())
}

#[test]
fn help_names_every_command() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let mut terminal = session_sized(&home, &server, (100, 80))?;
    say(&terminal, "/help", "Press Ctrl-C to cancel a reply, and again to quit.")?;
    let screen = terminal.screen();
    for command in COMMANDS {
        ensure!(
            screen.lines().any(|line| line.split_whitespace().next() == Some(command)),
            "{command}:\n{screen}"
        );
    }
    for (line, expected) in [
        ("/t", "goose uses the colours of your terminal"),
        ("/recipe", "There is nothing to make a recipe of yet."),
        ("/skills", "There are no skills."),
        ("/frobnicate", "Unknown command /frobnicate."),
        ("/extension", "Usage: /extension CMD"),
        ("/cost", "No usage yet."),
    ] {
        say(&terminal, line, expected)?;
    }
    terminal.send("/quit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    assert_eq!(server.asked().len(), 0, "no command is a message");
    Ok(())
}

/// `/clear`: the model forgets, the session does not.
#[test]
fn clear_forgets_the_conversation_and_the_session_keeps_it() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("I know a pond."), Turn::text("Which pond?")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Remember the pond", "I know a pond.")?;
    say(&terminal, "/clear", "Cleared the model's context.")?;
    say(&terminal, "Where was it?", "Which pond?")?;
    let sent = last(&server)?.body["messages"].to_string();
    ensure!(sent.contains("Where was it?") && !sent.contains("the pond"), "{sent}");
    let kept = home.run(&["session", "export", "--format", "json"])?.stdout;
    ensure!(kept.contains("Remember the pond") && kept.contains("I know a pond."), "{kept}");
    Ok(())
}

/// `/compact`: the model goes on with a summary; the session keeps everything.
#[test]
fn compact_puts_a_summary_in_the_place_of_what_was_said() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| match asked.last_user_text() {
        Some(text) if text.contains("quack 1") && text.contains("quack 2") => {
            Turn::text("They quacked a lot.")
        }
        Some(text) if text.contains("And then?") => Turn::text("Then it was quiet."),
        _ => Turn::text("A long answer. ".repeat(100)).costing(asked.bytes as u64 / 4, 375),
    })?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    for number in 1..=5 {
        prompted(&terminal)?;
        terminal.send(&format!("quack {number}\r"))?;
        terminal.wait_until("no new prompt is", |screen| {
            let lines: Vec<&str> = screen.lines().rev().take(2).collect();
            server.asked().len() == number && lines[0] == "›" && lines[1].contains("tokens")
        })?;
    }
    say(&terminal, "/compact", "Compacted the conversation: about ")?;
    say(&terminal, "And then?", "Then it was quiet.")?;
    let sent = last(&server)?.body["messages"].to_string();
    ensure!(sent.contains("They quacked a lot.") && !sent.contains("quack 2"), "{sent}");
    let kept = home.run(&["session", "export", "--format", "json"])?.stdout;
    ensure!(kept.contains("quack 2"), "the originals are gone");
    Ok(())
}

/// `/mode`: shown, changed from the next call on, and told in the line that says where the conversation stands.
#[test]
fn mode_changes_what_may_be_done_without_asking() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::scripted([Turn::text("Only words."), shell("touch made"), Turn::text("As you wish.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/mode", "auto")?;
    say(&terminal, "/mode chat", "Switched to mode chat.")?;
    ensure!(standing(&terminal)?.ends_with("· chat"), "{}", terminal.screen());
    say(&terminal, "Hi", "Only words.")?;
    assert_eq!(last(&server)?.tool_names(), Vec::<&str>::new());
    ensure!(standing(&terminal)?.ends_with("· chat"), "{}", terminal.screen());
    say(&terminal, "/mode sometimes", "error: ")?;
    say(&terminal, "/mode approve", "Switched to mode approve.")?;
    terminal.send("Make it\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("n\r")?;
    terminal.wait_for("As you wish.")?;
    prompted(&terminal)?;
    ensure!(standing(&terminal)?.ends_with("· approve"), "{}", terminal.screen());
    ensure!(!home.path().join("made").exists());
    Ok(())
}

/// `/model`: shown, and changed for the running conversation, at the same service or at another one.
#[test]
fn model_changes_who_goes_on_with_the_conversation() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")])?;
    let more = [("ANTHROPIC_HOST", server.url()), ("ANTHROPIC_API_KEY", "test".to_owned())];
    let terminal = at_terminal_with(&home, &server, "auto", &["session"], &more)?;
    say(&terminal, "First", "One.")?;
    assert_eq!(last(&server)?.body["model"], "gpt-4");
    say(&terminal, "/model", "openai:gpt-4 · ")?;
    say(&terminal, "/model gpt-4o-mini", "Switched to openai:gpt-4o-mini.")?;
    ensure!(standing(&terminal)?.starts_with("openai:gpt-4o-mini · "), "{}", terminal.screen());
    say(&terminal, "Second", "Two.")?;
    let asked = last(&server)?;
    assert_eq!((asked.wire, &asked.body["model"]), (Wire::Chat, &json!("gpt-4o-mini")));
    ensure!(asked.body.to_string().contains("One."), "it knows what was said: {}", asked.body);
    ensure!(standing(&terminal)?.starts_with("openai:gpt-4o-mini · "), "{}", terminal.screen());

    say(&terminal, "/model anthropic:claude-sonnet-4-5", "Switched to anthropic:claude-sonnet-4-5.")?;
    say(&terminal, "Third", "Three.")?;
    let asked = last(&server)?;
    assert_eq!((asked.wire, &asked.body["model"]), (Wire::Anthropic, &json!("claude-sonnet-4-5")));
    ensure!(asked.body.to_string().contains("Two."), "it knows what was said: {}", asked.body);
    Ok(())
}

/// A model that cannot be asked is not taken, and it is said what is missing.
#[test]
fn a_model_without_its_key_is_not_taken() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Still me.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/model anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY")?;
    say(&terminal, "Who is it?", "Still me.")?;
    assert_eq!(last(&server)?.body["model"], "gpt-4");
    ensure!(standing(&terminal)?.starts_with("openai:gpt-4 · "), "{}", terminal.screen());
    Ok(())
}

/// `/r`: results of tools in full, and folded again.
#[test]
fn results_are_shown_in_full_or_folded() -> anyhow::Result<()> {
    let home = Home::new()?;
    let lines = "printf 'a1\\na2\\na3\\na4\\na5\\nlast-line\\n'";
    let server = ModelServer::scripted([shell(lines), Turn::text("One."), shell(lines), Turn::text("Two.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "Count", "One.")?;
    ensure!(terminal.screen().contains("… 2 more lines"), "{}", terminal.screen());
    say(&terminal, "/r", "Tool results are now shown in full.")?;
    say(&terminal, "Again", "Two.")?;
    let screen = terminal.screen();
    let after = screen.split("shown in full.").nth(1).context("it is said")?;
    ensure!(after.contains("last-line") && !after.contains("more lines"), "{screen}");
    say(&terminal, "/r", "Tool results are now folded.")?;
    Ok(())
}

/// `/extension` and `/builtin`: tools are added to the running conversation.
#[test]
fn extensions_are_added_to_the_running_conversation() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        Turn::text("One."),
        Turn::text("Two."),
        Turn::call("kitchen_sink__echo", json!({"message": "hello from the bench"})),
        Turn::text("Three."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "First", "One.")?;
    ensure!(!offers(&last(&server)?, "kitchen_sink") && !offers(&last(&server)?, "tutorial"));
    say(&terminal, "/builtin tutorial", "Added tutorial")?;
    say(&terminal, "/builtin nonsense", "There is no built-in extension 'nonsense'.")?;
    say(&terminal, "Second", "Two.")?;
    ensure!(offers(&last(&server)?, "tutorial"), "{:?}", last(&server)?.tool_names());
    say(&terminal, &format!("/extension {}", program("kitchen_sink", "")?), "Added kitchen_sink")?;
    say(&terminal, "Third", "Three.")?;
    let asked = last(&server)?;
    ensure!(offers(&asked, "kitchen_sink"), "{:?}", asked.tool_names());
    let results = asked.tool_results();
    ensure!(results.iter().any(|(_, text)| text.contains("hello from the bench")), "{results:?}");
    Ok(())
}

/// `/prompts` and `/prompt`: what extensions have prepared is listed, and sent; one that asks is answered first.
#[test]
fn prompts_of_extensions_are_listed_and_sent() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Hello, Ada Lovelace!"), Turn::text("Hello, Grace!")])?;
    let kitchen_sink = program("kitchen_sink", "")?;
    let terminal = at_terminal(&home, &server, "auto", &["session", "--with-extension", &kitchen_sink])?;
    say(&terminal, "/prompts", "greet_me (kitchen_sink)  Greets you")?;
    say(&terminal, "/prompts kitchen_sink", "greet name=… (kitchen_sink)  Greets somebody")?;
    say(&terminal, "/prompt greet name=\"Ada Lovelace\"", "Hello, Ada Lovelace!")?;
    assert_eq!(last(&server)?.last_user_text().as_deref(), Some("Greet Ada Lovelace."));
    say(&terminal, "/prompt nothing", "error: ")?;
    say(&terminal, "/prompt", "Usage: /prompt NAME")?;
    terminal.send("/prompt greet_me\r")?;
    terminal.wait_until("no question is", |screen| {
        screen.lines().last().is_some_and(|line| line.starts_with("name ("))
    })?;
    terminal.send("Grace\r")?;
    terminal.wait_for("Hello, Grace!")?;
    assert_eq!(last(&server)?.last_user_text().as_deref(), Some("Greet Grace."));
    Ok(())
}

/// `/plan` looks around with the tools that read, then the planner writes the plan without tools, with its own model.
#[test]
fn plans_are_made_without_changes_until_the_plan_ends() -> anyhow::Result<()> {
    let home = Home::with_config("GOOSE_PLANNER_MODEL: gpt-5\n")?;
    let server = ModelServer::scripted([
        Turn::call("developer__shell", json!({"command": "touch changed"})),
        Turn::text("There is a pond."),
        Turn::text("1. Swim."),
        Turn::text("At work."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/plan Cross the pond", "1. Swim.")?;
    let asked = server.asked();
    ensure!(asked[0].tool_names().contains(&"developer__read"), "{:?}", asked[0].tool_names());
    ensure!(!asked[0].tool_names().contains(&"developer__shell") && !home.path().join("changed").exists());
    assert_eq!(
        (asked[0].last_user_text().as_deref(), &asked[0].body["model"]),
        (Some("Cross the pond"), &json!("gpt-4"))
    );
    assert_eq!((asked[2].tool_names(), &asked[2].body["model"]), (Vec::<&str>::new(), &json!("gpt-5")));
    ensure!(asked[2].body.to_string().contains("There is a pond."), "the planner sees what was found");
    say(&terminal, "/endplan", "Plan mode ended.")?;
    say(&terminal, "Go", "At work.")?;
    let asked = last(&server)?;
    ensure!(offers(&asked, "developer") && asked.body["model"] == "gpt-4", "{:?}", asked.tool_names());
    say(&terminal, "/endplan", "Plan mode is not active.")?;
    Ok(())
}
