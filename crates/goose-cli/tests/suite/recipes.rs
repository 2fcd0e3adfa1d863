//! Recipes and skills, as people use them: `goose run --recipe`, `goose recipe`, `goose skills`, `/recipe`, own
//! commands.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use crate::{
    run::goose,
    support::{Home, Run},
    talk::{at_terminal, prompted, say, shell},
};

const TEA: &str = "version: 1.0.0
title: Tea
description: Makes tea
instructions: Be brief.
prompt: Make {{ kind }} tea.
settings: {goose_model: gpt-4o-mini, temperature: 0.5}
parameters:
  - {key: kind, input_type: select, requirement: required, description: Kind of tea, options: [green, black]}
";

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> anyhow::Result<Run> {
    goose(home, server, arguments).output()?.try_into()
}

fn home_with(files: &[(&str, &str)]) -> anyhow::Result<Home> {
    let home = Home::new()?;
    for (name, text) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(home)
}

/// The messages of a request.
fn messages(server: &ModelServer, number: usize) -> anyhow::Result<String> {
    Ok(server.asked().get(number).context("it was asked")?.body["messages"].to_string())
}

#[test]
fn a_recipe_runs_with_its_values_model_and_instructions() -> anyhow::Result<()> {
    let home = home_with(&[("tea.yaml", TEA)])?;
    let server = ModelServer::scripted([Turn::text("Done.")])?;
    let done =
        run(&home, &server, &["run", "--recipe", "tea.yaml", "--params", "kind=green", "-t", "With milk."])?;
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Done.\n"), "{done:?}");
    let asked = &server.asked()[0].body;
    assert_eq!((&asked["model"], &asked["temperature"]), (&json!("gpt-4o-mini"), &json!(0.5)));
    let sent = messages(&server, 0)?;
    ensure!(sent.contains("Make green tea.\\n\\nWith milk.") && sent.contains("Be brief."), "{sent}");

    for (params, expected) in [
        (vec![], "no value for kind. Give it with --params kind=VALUE"),
        (vec!["--params", "kind=mint"], "give one of green, black"),
        (vec!["--params", "kind=green", "--params", "sugar=2"], "no parameter 'sugar'"),
        (vec!["--params", "kind"], "is not KEY=VALUE"),
    ] {
        let arguments = ["run", "--recipe", "tea.yaml"].into_iter().chain(params).collect::<Vec<_>>();
        let failed = run(&home, &server, &arguments)?;
        assert_eq!(failed.code, Some(1), "{failed:?}");
        ensure!(failed.stderr.contains(expected), "{}", failed.stderr);
    }
    Ok(())
}

#[test]
fn a_recipe_is_explained_rendered_and_linked_without_running() -> anyhow::Result<()> {
    let home = home_with(&[("config/recipes/tea.yaml", TEA), ("broken.yaml", "title: T\ndescription: [\n")])?;
    let explained = home.run(&["run", "--recipe", "tea", "--explain"])?;
    ensure!(explained.stdout.contains("kind (select, required: green, black)"), "{explained:?}");
    ensure!(explained.stdout.contains("--params kind=VALUE"), "{explained:?}");
    let rendered = home.run(&["run", "--recipe", "tea", "--params", "kind=black", "--render-recipe"])?;
    ensure!(rendered.stdout.contains("prompt: Make black tea."), "{rendered:?}");
    let link = home.run(&["recipe", "deeplink", "tea", "-p", "kind=green"])?.stdout;
    ensure!(link.starts_with("goose://recipe?config=") && link.ends_with("&kind=green\n"), "{link}");
    let rendered = home.run(&["run", "--recipe", link.trim(), "--render-recipe"])?;
    ensure!(rendered.stdout.contains("prompt: Make green tea."), "{rendered:?}");
    assert_eq!(home.run(&["recipe", "open", "tea"])?.stdout.lines().count(), 1);

    let list = home.run(&["recipe", "list", "--json"])?.json()?;
    assert_eq!((&list[0]["name"], &list[0]["source"]), (&json!("tea"), &json!("user")), "{list}");
    assert_eq!(home.run(&["recipe", "validate", "tea"])?.code, Some(0));
    let broken = home.run(&["recipe", "validate", "broken.yaml"])?;
    assert_eq!(broken.code, Some(1));
    ensure!(broken.stderr.contains("broken.yaml:"), "{broken:?}");
    Ok(())
}

#[test]
fn checks_run_until_they_pass() -> anyhow::Result<()> {
    let recipe = "title: T\ndescription: D\nprompt: Make it\nretry:\n  max_retries: 2\n  checks: [{type: shell, command: test -e made}]\n  \
                  on_failure: touch cleaned\n";
    let home = home_with(&[("make.yaml", recipe)])?;
    let server = ModelServer::scripted([Turn::text("Done."), shell("touch made"), Turn::text("Now it is.")])?;
    let done = run(&home, &server, &["run", "--recipe", "make.yaml"])?;
    assert_eq!(done.code, Some(0), "{done:?}");
    ensure!(done.stderr.contains("`test -e made` failed"), "{}", done.stderr);
    ensure!(done.stderr.contains("The recipe runs these commands:"), "{}", done.stderr);
    ensure!(home.path().join("cleaned").exists());
    let sent = messages(&server, 1)?;
    ensure!(sent.contains("An earlier try did not pass its checks") && !sent.contains("Done."), "{sent}");

    fs::remove_file(home.path().join("made"))?;
    let server = ModelServer::scripted([Turn::text("1"), Turn::text("2"), Turn::text("3")])?;
    let failed = run(&home, &server, &["run", "--recipe", "make.yaml"])?;
    assert_eq!((failed.code, server.asked().len()), (Some(1), 3), "{failed:?}");
    Ok(())
}

#[test]
fn checks_are_repeated_before_the_user_goes_on() -> anyhow::Result<()> {
    let recipe = "title: T\ndescription: D\nprompt: Make it\nretry: {max_retries: 2, checks: [{type: shell, command: test -e made}]}\n";
    let home = home_with(&[("make.yaml", recipe)])?;
    let server = ModelServer::scripted([
        Turn::text("Done."),
        shell("touch made"),
        Turn::text("Now it is."),
        Turn::text("Welcome."),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["run", "--interactive", "--recipe", "make.yaml"])?;
    terminal.wait_for("Now it is.")?;
    say(&terminal, "thanks", "Welcome.")?;
    let sent = messages(&server, 1)?;
    ensure!(sent.contains("An earlier try did not pass its checks") && !sent.contains("Done."), "{sent}");
    ensure!(messages(&server, 3)?.contains("Now it is."), "{}", messages(&server, 3)?);
    Ok(())
}

#[test]
fn a_command_uses_what_a_running_session_can_of_its_recipe() -> anyhow::Result<()> {
    let recipe = "title: T\ndescription: D\nprompt: Make {{ what }}\nsettings: {goose_model: gpt-4o-mini, temperature: 0.5}\n\
                  extensions: [{type: builtin, name: memory}, {type: builtin, name: developer}]\n\
                  retry: {max_retries: 1, checks: [{type: shell, command: test -e made}]}\n\
                  parameters: [{key: what, input_type: string, requirement: user_prompt, description: What to make}]\n";
    let home = home_with(&[("make.yaml", recipe)])?
        .configured("slash_commands:\n  - {command: make, recipe_path: make.yaml}\n")?;
    let server = ModelServer::scripted([
        Turn::text("Hello there."),
        Turn::text("Done."),
        shell("touch made"),
        Turn::text("Now it is."),
        Turn::text("Welcome."),
    ])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session", "--no-profile"])?;
    say(&terminal, "hello", "Hello there.")?;
    terminal.send("/make\r")?;
    terminal.wait_until("it asks", |screen| screen.contains("what (string):"))?;
    terminal.send("tea\r")?;
    terminal.wait_for("Now it is.")?;
    say(&terminal, "thanks", "Welcome.")?;
    prompted(&terminal)?;
    terminal.send("/exit\r")?;
    terminal.wait()?;
    let asked = server.asked();
    let models: Vec<&str> = asked.iter().filter_map(|it| it.body["model"].as_str()).collect();
    assert_eq!(models, ["gpt-4", "gpt-4o-mini", "gpt-4o-mini", "gpt-4o-mini", "gpt-4"]);
    let tools = |number: usize| asked[number].body["tools"].to_string();
    ensure!(!tools(0).contains("remember_memory") && tools(1).contains("remember_memory"), "{}", tools(1));
    // What was said before stays, and the failed try with it.
    let again = messages(&server, 2)?;
    for text in ["Hello there.", "Make tea", "Done.", "`test -e made` failed"] {
        ensure!(again.contains(text), "{text}: {again}");
    }
    Ok(())
}

#[test]
fn checks_pass_the_permissions() -> anyhow::Result<()> {
    let recipe = "title: T\ndescription: D\nprompt: Go\nretry: {max_retries: 1, checks: [{type: shell, command: touch made}]}\n";
    let home = home_with(&[("check.yaml", recipe)])?;
    let server = ModelServer::scripted([Turn::text("1"), Turn::text("2")])?;
    let failed = run(&home, &server, &["run", "--recipe", "check.yaml", "--mode", "approve"])?;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    ensure!(failed.stderr.contains("`touch made` was not run"), "{}", failed.stderr);
    ensure!(!home.path().join("made").exists());
    Ok(())
}

#[test]
fn a_link_starts_no_program_without_consent() -> anyhow::Result<()> {
    let recipe = "title: T\ndescription: D\nprompt: Go\nextensions: [{type: stdio, name: x, cmd: touch, args: [made]}]\n";
    let home = home_with(&[("x.yaml", recipe)])?;
    let server = ModelServer::scripted([Turn::text("Done.")])?;
    let link = home.run(&["recipe", "deeplink", "x.yaml"])?.stdout;
    let refused = run(&home, &server, &["run", "--recipe", link.trim()])?;
    assert_eq!((refused.code, server.asked().len()), (Some(1), 0), "{refused:?}");
    ensure!(
        refused.stderr.contains("touch made") && refused.stderr.contains("--render-recipe"),
        "{}",
        refused.stderr
    );
    ensure!(!home.path().join("made").exists());
    Ok(())
}

#[test]
fn a_sub_recipe_is_a_source_of_delegate() -> anyhow::Result<()> {
    let main = "title: T\ndescription: D\nprompt: Go\nsub_recipes:\n  - {name: brew, path: tea.yaml, values: {kind: black}}\n";
    let home = home_with(&[("main.yaml", main), ("tea.yaml", TEA)])?;
    let server = ModelServer::scripted([
        Turn::call("delegate", json!({"source": "brew", "parameters": {"kind": "green"}})),
        Turn::text("Tea is made."),
        Turn::text("Fine."),
    ])?;
    let done = run(&home, &server, &["run", "--recipe", "main.yaml"])?;
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Fine.\n"), "{done:?}");
    ensure!(messages(&server, 0)?.contains("- brew: Makes tea"), "{}", messages(&server, 0)?);
    let delegate = messages(&server, 1)?;
    ensure!(delegate.contains("Make black tea.") && delegate.contains("Be brief."), "{delegate}");
    assert_eq!(server.asked()[1].body["model"], "gpt-4o-mini");
    Ok(())
}

#[test]
fn missing_values_are_asked_for_at_a_terminal() -> anyhow::Result<()> {
    let home = home_with(&[("tea.yaml", TEA)])?;
    let server = ModelServer::scripted([Turn::text("Done.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["run", "--recipe", "tea.yaml"])?;
    terminal.wait_until("it asks", |screen| screen.contains("kind (select):"))?;
    terminal.send("mint\r")?;
    terminal.wait_until("it asks again", |screen| screen.contains("give one of green, black"))?;
    terminal.send("2\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    ensure!(messages(&server, 0)?.contains("Make black tea."), "{}", messages(&server, 0)?);
    Ok(())
}

#[test]
fn a_conversation_becomes_a_valid_recipe_and_a_command() -> anyhow::Result<()> {
    let home = home_with(&[("tea.yaml", TEA)])?
        .configured("slash_commands:\n  - {command: tea, recipe_path: tea.yaml}\n")?;
    let server = ModelServer::scripted([
        Turn::text("Tea is made."),
        Turn::text("title: Tea\nprompt: Make {{ kind }} tea.\n"),
        Turn::text(format!("```yaml\n{TEA}```")),
    ])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/tea green", "Tea is made.")?;
    ensure!(messages(&server, 0)?.contains("Make green tea."), "{}", messages(&server, 0)?);
    say(&terminal, "/recipe made.yaml", "Wrote 'Tea' to made.yaml")?;
    assert_eq!(fs::read_to_string(home.path().join("made.yaml"))?, TEA);
    ensure!(messages(&server, 2)?.contains("The recipe is not valid"), "{}", messages(&server, 2)?);
    assert_eq!(home.run(&["recipe", "validate", "made.yaml"])?.code, Some(0));
    Ok(())
}

const SKILL: &str = "---\nname: brewing\ndescription: >-\n  How to brew\n  tea\n---\nBoil water.\n";

#[test]
fn skills_are_announced_only_if_there_are_any() -> anyhow::Result<()> {
    let home = home_with(&[
        (".claude/skills/brewing/SKILL.md", SKILL),
        ("bad/SKILL.md", "---\nname: other\n---\n"),
    ])?;
    let server = ModelServer::scripted([
        Turn::call("summon__load", json!({"source": "brewing"})),
        Turn::text("Boiled."),
    ])?;
    let plain = Home::new()?;
    let other = ModelServer::scripted([Turn::text("Hi.")])?;
    assert_eq!(run(&plain, &other, &["run", "Make tea"])?.code, Some(0));
    ensure!(!messages(&other, 0)?.contains("Skills:"), "{}", messages(&other, 0)?);

    // In the home folder itself they are the project's too, which are not trusted.
    let folder = home.path().join("work");
    fs::create_dir(&folder)?;
    let done: Run = goose(&home, &server, &["run", "Make tea"]).current_dir(&folder).output()?.try_into()?;
    assert_eq!(done.code, Some(0), "{done:?}");
    ensure!(messages(&server, 0)?.contains("- brewing: How to brew tea"), "{}", messages(&server, 0)?);
    ensure!(messages(&server, 1)?.contains("Boil water."), "{}", messages(&server, 1)?);

    let list: Run = home.goose(&["skills", "list", "--json"]).current_dir(&folder).output()?.try_into()?;
    assert_eq!((&list.json()?[0]["name"], &list.json()?[0]["problems"]), (&json!("brewing"), &json!([])));
    let checked = home.run(&["skills", "validate", ".claude/skills/brewing", "bad"])?;
    assert_eq!(checked.code, Some(1));
    ensure!(
        checked.stdout.contains("has no 'description'") && checked.stdout.contains("brewing: valid"),
        "{checked:?}"
    );
    Ok(())
}
