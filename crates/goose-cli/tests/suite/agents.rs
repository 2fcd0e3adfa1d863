//! `goose agents`, `--agent` and `/agent`.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, write_program};
use serde_json::{Value, json};

use crate::{
    run::goose,
    support::{Home, Run},
    talk::{at_terminal, prompted, say},
};

#[test]
fn the_tools_of_a_mode_are_listed_without_a_model() -> anyhow::Result<()> {
    let home = Home::new()?;
    let names = |agent: &str, mode: &str| -> anyhow::Result<Vec<String>> {
        let json = home.run(&["agents", "tools", agent, mode, "--json"])?.json()?;
        assert_eq!((&json["agent"], &json["mode"]), (&json!(agent), &json!(mode)));
        let tools = json["tools"].as_array().context("a list")?.iter();
        Ok(tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect())
    };
    assert_eq!(names("goose-agent", "judge")?, Vec::<String>::new());
    let security = names("coding-agent", "security")?;
    ensure!(security.contains(&"developer__read".to_owned()), "{security:?}");
    ensure!(!security.contains(&"developer__shell".to_owned()), "{security:?}");
    let computer = |names: &[String]| -> Vec<String> {
        let tools = names.iter().filter_map(|name| name.strip_prefix("computercontroller__"));
        tools.map(str::to_owned).collect()
    };
    assert_eq!(computer(&security), ["cache", "docx_tool", "pdf_tool", "web_scrape", "xlsx_tool"]);
    let tested = computer(&names("coding-agent", "qa")?);
    let expected =
        ["automation_script", "computer_control", "docx_tool", "pdf_tool", "web_scrape", "xlsx_tool"];
    assert_eq!(tested, expected);
    assert_eq!(computer(&names("goose-agent", "assistant")?), Vec::<String>::new());
    let judge = home.run(&["agents", "tools", "goose-agent", "judge", "--json"])?.json()?;
    assert_eq!(judge["services"], json!([]));
    let assistant = home.run(&["agents", "tools", "goose-agent", "assistant", "--json"])?.json()?;
    assert_eq!(assistant["services"], json!(["developer", "memory", "summon", "todo"]));
    assert_eq!(assistant.get("problems"), None);
    Ok(())
}

#[test]
fn a_service_that_does_not_start_is_named_beside_the_tools() -> anyhow::Result<()> {
    let home = Home::with_config("extensions:\n  broken: {type: stdio, cmd: no-such-program-of-goose}\n")?;
    let listed = home.run(&["agents", "tools", "goose-agent", "assistant", "--json"])?;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    ensure!(listed.stderr.contains("The tools of broken are missing"), "{}", listed.stderr);
    let json = listed.json()?;
    assert_eq!(json["problems"][0]["name"], "broken");
    let reason = json["problems"][0]["reason"].as_str().context("a reason")?;
    ensure!(reason.contains("no-such-program-of-goose"), "{reason}");
    ensure!(json["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{json}");
    Ok(())
}

#[test]
fn a_new_agent_is_valid_and_can_be_used() -> anyhow::Result<()> {
    let home = Home::new()?;
    let made = home.run(&["agents", "new", "reviewer"])?;
    assert_eq!(made.code, Some(0), "{made:?}");
    let file = home.path().join("config/agents/reviewer.yaml");
    let path = file.to_str().context("a path")?;
    let valid = home.run(&["agents", "validate", path])?;
    assert_eq!(valid.code, Some(0), "{valid:?}");
    assert_eq!(home.run(&["agents", "new", "reviewer"])?.code, Some(1), "nothing is overwritten");
    let listed = home.run(&["agents", "list", "--json"])?.json()?;
    let names: Vec<&str> = listed["agents"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|agent| agent["name"].as_str())
        .collect();
    assert_eq!(names, ["goose-agent", "coding-agent", "orchestrator", "reviewer"]);
    let manifest = home.run(&["agents", "show", "reviewer", "--json"])?.json()?;
    assert_eq!(manifest["modes"][0]["slug"], "main");

    let server = ModelServer::scripted([Turn::text("Reviewed."), Turn::text("Again.")])?;
    let run: Run =
        goose(&home, &server, &["run", "--agent", "reviewer", "-t", "Look"]).output()?.try_into()?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let resumed: Run = goose(&home, &server, &["run", "-r", "-t", "And now?"]).output()?.try_into()?;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    for asked in server.asked() {
        ensure!(!asked.tool_names().contains(&"developer__shell"), "{:?}", asked.tool_names());
        ensure!(asked.tool_names().contains(&"developer__read"));
    }
    let sessions = home.run(&["session", "list", "--json"])?.json()?;
    assert_eq!(sessions["sessions"][0]["agent"], "reviewer/main");
    let id = sessions["sessions"][0]["id"].as_str().context("an id")?;
    let exported = home.run(&["session", "export", id, "--format", "markdown"])?;
    ensure!(exported.stdout.contains("- Agent: `reviewer/main`"), "{exported:?}");

    fs::write(
        &file,
        "name: reviewer\nmodes: [{slug: main, tool_groups: [raed, mcp], dependencies: [developr]}]\n",
    )?;
    let doubtful = home.run(&["agents", "validate", path])?;
    assert_eq!(doubtful.code, Some(0), "what is not here may be installed later");
    ensure!(doubtful.stdout.starts_with("warning"), "{doubtful:?}");
    ensure!(doubtful.stdout.contains("no group and no extension is called 'raed'"), "{doubtful:?}");
    ensure!(doubtful.stdout.contains("no extension and no agent is called 'developr'"), "{doubtful:?}");
    ensure!(!doubtful.stdout.contains("mcp"), "{doubtful:?}");

    fs::write(&file, "name: reviewer\nmodes: []\n")?;
    let bad = home.run(&["agents", "validate", path])?;
    assert_eq!(bad.code, Some(1));
    ensure!(bad.stdout.contains("no modes"), "{bad:?}");
    let gone: Run = goose(&home, &server, &["run", "--agent", "reviewer", "-t", "x"]).output()?.try_into()?;
    assert_eq!(gone.code, Some(1));
    ensure!(gone.stderr.contains("there is no agent 'reviewer'"), "{gone:?}");
    Ok(())
}

#[test]
fn an_agent_of_a_project_needs_trust() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().join(".goose/agents");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("local.md"), "---\nname: local\ndescription: Here\ntools: Read\n---\nBe local.\n")?;
    let server = ModelServer::scripted([Turn::text("Done.")])?;
    let refused: Run = goose(&home, &server, &["run", "--agent", "local", "-t", "x"]).output()?.try_into()?;
    assert_eq!(refused.code, Some(1));
    ensure!(refused.stderr.contains("not trusted"), "{refused:?}");
    let trusted = ["run", "--agent", "local", "--trust-project", "-t", "x"];
    let trusted: Run = goose(&home, &server, &trusted).output()?.try_into()?;
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    ensure!(server.asked()[0].body["messages"][0].to_string().contains("Be local."));
    Ok(())
}

#[test]
fn agents_in_the_configuration_of_a_project_need_trust() -> anyhow::Result<()> {
    let home = Home::new()?;
    fs::create_dir_all(home.path().join(".goose"))?;
    let config = "agents:\n  other: {type: acp, command: cat, description: Not ours}\n";
    fs::write(home.path().join(".goose/config.yaml"), config)?;
    let names = || -> anyhow::Result<Vec<String>> {
        let listed = home.run(&["agents", "list", "--json"])?.json()?;
        let agents = listed["agents"].as_array().context("a list")?.iter();
        Ok(agents.filter_map(|agent| agent["name"].as_str()).map(str::to_owned).collect())
    };
    ensure!(!names()?.contains(&"other".to_owned()), "{:?}", names()?);
    assert_eq!(home.run(&["configure", "trust", "--yes"])?.code, Some(0));
    ensure!(names()?.contains(&"other".to_owned()), "{:?}", names()?);
    assert_eq!(home.run(&["agents", "show", "other", "--json"])?.json()?["description"], "Not ours");
    Ok(())
}

#[test]
fn names_of_agents_are_completed_at_the_beginning_of_a_message() -> anyhow::Result<()> {
    let home = Home::new()?;
    fs::write(home.path().join("security.txt"), "A file\n")?;
    fs::write(home.path().join("notes.txt"), "A file\n")?;
    let server = ModelServer::scripted(["First answer.", "Second answer."].map(Turn::text))?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("@secu\t")?;
    terminal.wait_for("@security")?;
    terminal.send(" look at @secu\t")?;
    terminal.wait_for("@security look at @security.txt")?;
    terminal.send("\r")?;
    terminal.wait_for("First answer.")?;
    prompted(&terminal)?;
    terminal.send("@not\t")?;
    terminal.wait_for("@notes.txt")?;
    terminal.send("\r")?;
    terminal.wait_for("Second answer.")?;
    let asked = server.asked();
    let attached = |path: &str| format!("<file path=\"{path}\">\nA file\n</file>");
    let [first, second] = ["@security look at @security.txt", "@notes.txt"];
    assert_eq!(asked[0].last_user_text(), Some(format!("{first}\n{}", attached("security.txt"))));
    assert_eq!(asked[1].last_user_text(), Some(format!("{second}\n{}", attached("notes.txt"))));
    Ok(())
}

#[test]
fn a_skill_of_a_project_is_trusted_with_the_project() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().join(".goose/skills/tides");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("SKILL.md"), "The moon does it.\n")?;
    let load = || Turn::call("summon__load", json!({"source": "tides"}));
    let server = ModelServer::scripted([load(), Turn::text("No."), load(), Turn::text("Yes.")])?;
    let run = |arguments: &[&str]| -> anyhow::Result<String> {
        let run: Run = goose(&home, &server, arguments).output()?.try_into()?;
        assert_eq!(run.code, Some(0), "{run:?}");
        let asked = server.asked();
        Ok(asked.last().context("asked")?.tool_results().pop().context("a result")?.1)
    };
    let refused = run(&["run", "-t", "x"])?;
    ensure!(refused.contains("is not trusted; the user can run `goose configure trust`"), "{refused}");
    assert_eq!(run(&["run", "--trust-project", "-t", "x"])?.trim(), "The moon does it.");
    Ok(())
}

#[test]
fn a_session_switches_agents() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("First answer."), Turn::text("Second answer.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("›")?;
    terminal.send("/agent nothing\r")?;
    terminal.wait_for("there is no agent 'nothing'")?;
    terminal.send("/agent security\r")?;
    terminal.wait_for("Switched to coding-agent/security.")?;
    prompted(&terminal)?;
    terminal.send("Look\r")?;
    terminal.wait_for("First answer.")?;
    terminal.wait_for("security (pinned) · auto")?;
    prompted(&terminal)?;
    terminal.send("@backend Fix\r")?;
    terminal.wait_for("Second answer.")?;
    prompted(&terminal)?;
    let has_shell = |asked: &Value| asked.to_string().contains("developer__shell");
    let asked = server.asked();
    ensure!(!has_shell(&asked[0].body["tools"]) && has_shell(&asked[1].body["tools"]));
    Ok(())
}

#[test]
fn an_extension_that_is_added_belongs_to_the_session() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted(["First answer.", "Second answer.", "Third answer."].map(Turn::text))?;
    let terminal = at_terminal(&home, &server, "auto", &["session", "--agent", "security"])?;
    say(&terminal, "/builtin tutorial", "Added tutorial. coding-agent/security cannot use it; these can:")?;
    say(&terminal, "/builtin tutorial", "There are two extensions named `tutorial`.")?;
    say(&terminal, "Look", "First answer.")?;
    say(&terminal, "@backend Fix", "Second answer.")?;
    say(&terminal, "/agent assistant", "Switched to goose-agent/assistant.")?;
    say(&terminal, "Go on", "Third answer.")?;
    let asked = server.asked();
    let has_tutorial = asked.iter().map(|asked| asked.body["tools"].to_string().contains("tutorial__"));
    assert_eq!(has_tutorial.collect::<Vec<_>>(), [false, true, true]);
    Ok(())
}

#[test]
fn apps_are_created_changed_shown_and_deleted() -> anyhow::Result<()> {
    let home = Home::new()?;
    let html = |word: &str| {
        format!("<!DOCTYPE html><html><head><title>Tea timer</title></head><body><p>{word}</p></body></html>")
    };
    let server = ModelServer::scripted([
        Turn::call("apps__create_app", json!({"prd": "A timer for tea"})),
        Turn::text(html("Three minutes")),
        Turn::text("Made it."),
        Turn::call("apps__iterate_app", json!({"name": "tea-timer", "feedback": "Five"})),
        Turn::text(html("Five minutes")),
        Turn::text("Changed it."),
    ])?;
    let run = |arguments: &[&str]| -> anyhow::Result<Run> {
        let mut command = goose(&home, &server, arguments);
        command.env_remove("GOOSE_MODE").output()?.try_into()
    };
    let made = run(&["apps", "new", "A timer for tea"])?;
    assert_eq!(made.code, Some(0), "{made:?}");
    let listed = home.run(&["apps", "list", "--json"])?.json()?;
    assert_eq!(listed["apps"][0]["name"], "tea-timer", "{listed}");
    ensure!(home.run(&["apps", "show", "tea-timer"])?.stdout.contains("Three minutes"));
    let changed = run(&["apps", "change", "tea-timer", "Five"])?;
    assert_eq!(changed.code, Some(0), "{changed:?}");
    let shown = home.run(&["apps", "show", "tea-timer"])?.stdout;
    ensure!(shown.contains("Five minutes") && shown.contains("default-src 'none'"), "{shown}");
    let programs = home.path().join("programs");
    let open = || -> anyhow::Result<Run> {
        goose(&home, &server, &["apps", "open", "tea-timer"]).env("PATH", &programs).output()?.try_into()
    };
    let alone = open()?;
    assert_eq!(alone.code, Some(1), "there is no browser");
    ensure!(alone.stderr.contains("Open this file in one: "), "{alone:?}");
    fs::create_dir(&programs)?;
    let (starter, seen) = (programs.join("xdg-open"), programs.join("seen"));
    write_program(&starter, &format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", seen.display()))?;
    let opened = open()?;
    assert_eq!(opened.code, Some(0), "{opened:?}");
    let url = fs::read_to_string(&seen)?;
    let page = fs::read_to_string(url.strip_prefix("file://").context("a file")?)?;
    ensure!(page.contains("Five minutes") && page.contains("<iframe autofocus"), "{page}");
    let (file, export) = (home.path().join("timer.html"), ["apps", "export", "tea-timer", "timer.html"]);
    fs::write(&file, "mine")?;
    let refused = home.run(&export)?;
    ensure!(refused.code == Some(1) && refused.stderr.contains("--force"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file)?, "mine");
    assert_eq!(home.run(&[&export[..], &["--force"]].concat())?.code, Some(0));
    ensure!(fs::read_to_string(&file)?.contains("Five minutes"));
    let unasked = home.run(&["apps", "delete", "tea-timer"])?;
    assert_eq!(unasked.code, Some(1), "{unasked:?}");
    assert_eq!(home.run(&["apps", "delete", "tea-timer", "--yes"])?.code, Some(0));
    let gone = home.run(&["apps", "show", "tea-timer"])?;
    assert_eq!(gone.code, Some(1));
    ensure!(gone.stderr.contains("there is no app `tea-timer`"), "{gone:?}");
    Ok(())
}

#[test]
fn a_command_that_makes_no_app_fails() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("I would rather not.")])?;
    let run: Run = goose(&home, &server, &["apps", "new", "A timer"]).output()?.try_into()?;
    ensure!(run.code == Some(1) && run.stderr.contains("No app was written."), "{run:?}");
    Ok(())
}

#[test]
fn top_of_mind_comes_with_each_request() -> anyhow::Result<()> {
    let home = Home::new()?;
    fs::write(home.path().join("mind.txt"), "The pond is frozen.")?;
    let server = ModelServer::scripted([Turn::text("Brr.")])?;
    let mut command = goose(&home, &server, &["run", "-t", "Swim?"]);
    command.env("GOOSE_MOIM_MESSAGE_TEXT", "Geese first.").env("GOOSE_MOIM_MESSAGE_FILE", "mind.txt");
    let run: Run = command.output()?.try_into()?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let asked = server.asked()[0].body["messages"].to_string();
    ensure!(asked.contains("Geese first.") && asked.contains("The pond is frozen."), "{asked}");
    Ok(())
}

#[test]
fn a_route_is_shown_and_nothing_is_run() -> anyhow::Result<()> {
    let home = Home::new()?;
    let json = home.run(&["agents", "route", "--json", "@security look for holes"])?.json()?;
    let expected = json!({
        "agent": "coding-agent", "mode": "security", "confidence": 1.0, "by": "user", "reason": "the request names it",
        "once": true,
        "tasks": [{"id": "1", "agent": "coding-agent", "mode": "security", "text": "@security look for holes"}],
    });
    assert_eq!(json, expected);
    let keys: Vec<&String> = json.as_object().context("an object")?.keys().collect();
    assert_eq!(keys, ["agent", "mode", "confidence", "by", "reason", "once", "tasks"]);
    let plain = home.run(&["agents", "route", "What is the capital of France?"])?;
    assert_eq!((plain.code, plain.stderr.as_str()), (Some(0), ""), "{plain:?}");
    ensure!(plain.stdout.starts_with("goose-agent/assistant"), "{plain:?}");
    let list = "1. Rename the class Order to Purchase\n2. Add a Dockerfile for the worker";
    let tasks = |config: &str| {
        let route = Home::with_config(config)?.run(&["agents", "route", "--json", list])?.json()?;
        anyhow::Ok((route["tasks"].as_array().map_or(0, Vec::len), route["agent"].clone()))
    };
    assert_eq!(tasks("")?, (2, json!("goose-agent")));
    assert_eq!(tasks("orchestrator: {split: off}\n")?.0, 1);
    assert_eq!(tasks("GOOSE_ORCHESTRATOR_DISABLED: true\n")?.0, 1);
    let unclear = home.run(&["agents", "route", "@coding-agent/nothing do it"])?;
    assert_eq!(unclear.code, Some(1));
    ensure!(unclear.stderr.contains("no mode 'nothing'"), "{unclear:?}");
    assert_eq!(home.run(&["agents", "route", " "])?.code, Some(1));
    ensure!(home.run(&["session", "list", "--json"])?.json()?["sessions"] == json!([]), "no session");
    Ok(())
}

#[test]
fn verbose_says_which_agent_answers_and_why() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Paris."), Turn::text("Fine.")])?;
    let run: Run = goose(&home, &server, &["run", "--verbose", "-t", "What is the capital of France?"])
        .output()?
        .try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(run.stderr.contains("goose-agent/assistant answers: "), "{run:?}");
    let lines = ["run", "--output-format", "stream-json", "-t", "@security is it safe?"];
    let run: Run = goose(&home, &server, &lines).output()?.try_into()?;
    let first: Value = serde_json::from_str(run.stdout.lines().next().context("a line")?)?;
    assert_eq!(
        (&first["type"], &first["routed"]["mode"], &first["routed"]["by"]),
        (&json!("notification"), &json!("security"), &json!("user")),
        "{run:?}"
    );
    Ok(())
}
