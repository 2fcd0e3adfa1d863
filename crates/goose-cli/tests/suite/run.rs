//! `goose run`, against a scripted model.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::{Value, json};

use crate::{
    sessions,
    support::{Home, Run, wait_until},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// `goose` in a home, with a scripted model.
pub(crate) fn goose(home: &Home, server: &ModelServer, arguments: &[&str]) -> Command {
    let mut command = home.goose(arguments);
    command
        .env("OPENAI_HOST", server.url())
        .env("OPENAI_API_KEY", "test")
        .env("GOOSE_PROVIDER", "openai")
        .env("GOOSE_MODEL", "gpt-4")
        .env("GOOSE_DISABLE_KEYRING", "1")
        .env("GOOSE_MODE", "auto");
    command
}

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> anyhow::Result<Run> {
    goose(home, server, arguments).output()?.try_into()
}

fn shell(command: &str) -> Turn {
    Turn::call("developer__shell", json!({ "command": command }))
}

/// The text of the last message that the model was sent.
fn last_message(server: &ModelServer) -> anyhow::Result<String> {
    let asked = server.asked();
    let body = &asked.last().context("it was asked")?.body;
    Ok(body["messages"].as_array().and_then(|all| all.last()).context("a message")?["content"].to_string())
}

#[test]
fn what_is_missing_is_said_with_what_to_do() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let mut command = goose(&home, &server, &["run", "-t", "hi"]);
    let run: Run = command.env_remove("OPENAI_API_KEY").output()?.try_into()?;
    assert_eq!(run.code, Some(1));
    ensure!(run.stderr.contains("OPENAI_API_KEY is not set"), "{}", run.stderr);
    ensure!(run.stderr.contains("goose configure"), "{}", run.stderr);
    Ok(())
}

/// A configuration as the wizard of goose 1.52 leaves it.
const OTHER_VERSION: &str = "\
active_provider: openai
providers:
  openai: {model: gpt-4o, configured: true}
extensions:
  developer: {enabled: true, type: platform, name: developer, display_name: Developer, bundled: true}
  analyze: {enabled: true, type: platform, name: analyze, display_name: Analyze, bundled: true}
  apps: {enabled: true, type: platform, name: apps, bundled: true}
  chatrecall: {enabled: false, type: platform, name: chatrecall, bundled: true}
  code_execution: {enabled: false, type: platform, name: code_execution, bundled: true}
  extensionmanager: {enabled: true, type: platform, name: extensionmanager, bundled: true}
  orchestrator: {enabled: false, type: platform, name: orchestrator, bundled: true}
  scheduler: {enabled: true, type: platform, name: scheduler, bundled: true}
  skills: {enabled: true, type: platform, name: skills, bundled: true}
  summarize: {enabled: false, type: platform, name: summarize, bundled: true}
  summon: {enabled: true, type: platform, name: summon, bundled: true}
  todo: {enabled: false, type: platform, name: todo, bundled: true}
  tom: {enabled: true, type: platform, name: tom, bundled: true}
";

#[test]
fn a_home_of_goose_1_52_works_without_a_notice() -> anyhow::Result<()> {
    let home = Home::with_config(OTHER_VERSION)?;
    let secrets = home.config().with_file_name("secrets.yaml");
    fs::write(&secrets, "OPENAI_API_KEY: test\n")?;
    fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let server = ModelServer::scripted([Turn::text("ok")])?;
    let mut command = home.goose(&["run", "-t", "hi"]);
    command.env("OPENAI_HOST", server.url()).env("GOOSE_DISABLE_KEYRING", "1");
    let run: Run = command.output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "ok\n", ""), "{run:?}");
    let asked = server.asked();
    let first = asked.first().context("it was asked")?;
    assert_eq!(first.body["model"], "gpt-4o");
    let names = first.tool_names();
    for tool in ["developer__shell", "developer__analyze", "memory__remember_memory"] {
        ensure!(names.contains(&tool), "no {tool} in {names:?}");
    }
    let doctor = home.run(&["doctor"])?;
    ensure!(!doctor.stdout.contains("platform"), "{}", doctor.stdout);
    let agents = home.run(&["agents", "list", "--json"])?.json()?;
    for agent in agents["agents"].as_array().context("a list")? {
        let name = agent["name"].as_str().unwrap_or_default();
        for mode in agent["modes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let server = ModelServer::scripted([Turn::text("ok")])?;
            let agent = format!("{name}/{mode}");
            let mut command = home.goose(&["run", "--agent", &agent, "-t", "hi"]);
            command.env("OPENAI_HOST", server.url()).env("GOOSE_DISABLE_KEYRING", "1");
            let run: Run = command.output()?.try_into()?;
            assert_eq!(
                (run.code, run.stdout.as_str(), run.stderr.as_str()),
                (Some(0), "ok\n", ""),
                "{agent}"
            );
            let has_todo = server.asked()[0].tool_names().contains(&"todo__todo_write");
            assert!(!has_todo, "{agent}: it is switched off");
        }
    }
    Ok(())
}

#[test]
fn the_answer_goes_to_standard_output_as_it_came() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, ModelServer::scripted([Turn::text("It is **bold**\n\n# And more")])?);
    let run = run(&home, &server, &["run", "-t", "Say it"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It is **bold**\n\n# And more\n"), "{run:?}");
    assert_eq!(run.stderr, "", "quiet when nobody looks");
    ensure!(last_message(&server)?.contains("Say it"));
    Ok(())
}

#[test]
fn what_to_do_comes_from_the_line_a_file_and_standard_input() -> anyhow::Result<()> {
    let home = Home::new()?;
    fs::write(home.path().join("task.md"), "From the file\n")?;
    for (arguments, expected) in [
        (vec!["run", "Plain words"], vec!["Plain words"]),
        (vec!["run", "-i", "task.md"], vec!["From the file"]),
        (vec!["run", "-t", "Review:", "-i", "-"], vec!["Review:", "from standard input"]),
    ] {
        let server = ModelServer::scripted([Turn::text("ok")])?;
        let mut child = goose(&home, &server, &arguments).stdin(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().context("its input is ours")?;
        // It may end without reading.
        let _ = std::io::Write::write_all(&mut input, b"from standard input\n");
        drop(input);
        assert_eq!(child.wait_with_output()?.status.code(), Some(0), "{arguments:?}");
        for part in expected {
            ensure!(last_message(&server)?.contains(part), "{arguments:?}: {}", last_message(&server)?);
        }
    }
    Ok(())
}

#[test]
fn a_command_line_that_says_nothing_to_do_exits_with_2() -> anyhow::Result<()> {
    let home = Home::new()?;
    for (arguments, expected) in [
        (vec!["run"], "No task given"),
        (vec!["run", "--params", "a=b"], "--recipe <RECIPE>"),
        (vec!["run", "x", "--output-format", "xml"], "possible values: text, json, stream-json"),
        (vec!["run", "x", "--no-session", "--resume"], "cannot be used with"),
    ] {
        let run = home.run(&arguments)?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?} {run:?}");
        ensure!(run.stderr.contains(expected), "{}", run.stderr);
    }
    Ok(())
}

#[test]
fn tools_run_and_their_results_go_back() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::scripted([shell("echo made-by-the-shell > made.txt; echo told"), Turn::text("Done.")])?;
    let run = run(&home, &server, &["run", "-t", "Make it"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Done.\n"), "{run:?}");
    assert_eq!(fs::read_to_string(home.path().join("made.txt"))?, "made-by-the-shell\n");
    ensure!(last_message(&server)?.contains("told"), "{}", last_message(&server)?);
    Ok(())
}

#[test]
fn one_document_tells_everything() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::scripted([shell("echo out").costing(10, 2), Turn::text("Done.").costing(20, 3)])?;
    let run = run(&home, &server, &["run", "-t", "Do it", "--output-format", "json"])?;
    let document = run.json()?;
    let metadata = &document["metadata"];
    assert_eq!((&metadata["total_tokens"], &metadata["status"]), (&json!(35), &json!("completed")));
    assert_eq!(metadata["session_id"], json!(sessions::ids(&home, &[])?[0]), "{document}");
    let messages = document["messages"].as_array().context("messages")?;
    let kinds: Vec<(&str, &str)> = messages
        .iter()
        .map(|message| {
            let last = message["content"].as_array().and_then(|parts| parts.last());
            (
                message["role"].as_str().unwrap_or_default(),
                last.map_or("", |it| it["type"].as_str().unwrap_or_default()),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [("user", "text"), ("assistant", "toolRequest"), ("user", "toolResponse"), ("assistant", "text")]
    );
    Ok(())
}

#[test]
fn every_event_is_a_line() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("echo out"), Turn::text("Done.\u{1b}[2J")])?;
    let run = run(&home, &server, &["run", "-t", "Do it", "--output-format", "stream-json"])?;
    let lines: Vec<Value> = run.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let kinds: Vec<&str> =
        lines.iter().filter_map(|line| line["type"].as_str()).filter(|it| *it != "notification").collect();
    assert_eq!(kinds, ["message", "message", "message", "complete"], "what the person said they know");
    let messages: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "message").map(|line| &line["message"]).collect();
    let shapes: Vec<(&Value, &Value)> =
        messages.iter().map(|message| (&message["role"], &message["content"][0]["type"])).collect();
    let of = |role: &'static str, part: &'static str| (json!(role), json!(part));
    let expected = [of("assistant", "toolRequest"), of("user", "toolResponse"), of("assistant", "text")];
    assert_eq!(shapes, expected.iter().map(|(role, part)| (role, part)).collect::<Vec<_>>());
    ensure!(messages.iter().all(|message| message["id"].is_string() && message["created"].is_u64()));
    let complete = lines.last().context("a line")?;
    assert_eq!(
        (&complete["total_tokens"], &complete["input_tokens"], &complete["status"]),
        (&json!(220), &json!(200), &json!("completed"))
    );
    ensure!(!run.stdout.contains('\u{1b}'));
    Ok(())
}

#[test]
fn an_error_is_told_with_what_to_do_and_exits_with_1() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::status(401, "unknown account")])?;
    let run = run(&home, &server, &["run", "-t", "x"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    ensure!(run.stderr.starts_with("error: ") && run.stderr.contains("unknown account"), "{}", run.stderr);
    let server = ModelServer::scripted([Turn::status(401, "unknown account")])?;
    let lines = goose(&home, &server, &["run", "-t", "x", "--output-format", "stream-json"]).output()?;
    let lines: Vec<Value> =
        String::from_utf8(lines.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(lines.iter().any(|line| line["type"] == "error"), "{lines:?}");
    Ok(())
}

#[test]
fn too_many_turns_have_an_exit_code_of_their_own() -> anyhow::Result<()> {
    let home = Home::new()?;
    let mut number = 0;
    let server = ModelServer::answering(move |_| {
        number += 1;
        shell(&format!("echo {number}"))
    })?;
    let run = run(&home, &server, &["run", "-t", "x", "--max-turns", "3"])?;
    assert_eq!(run.code, Some(3), "{run:?}");
    ensure!(run.stderr.contains("--max-turns"), "{}", run.stderr);
    assert_eq!(server.asked().len(), 3);
    Ok(())
}

#[test]
fn a_conversation_is_kept_and_goes_on() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("First."), Turn::text("Second."), Turn::text("Third.")])?;
    assert_eq!(run(&home, &server, &["run", "-t", "One", "-n", "talk"])?.code, Some(0));
    assert_eq!(run(&home, &server, &["run", "-t", "Two", "--resume"])?.stdout, "Second.\n");
    let sent = server.asked()[1].body["messages"].to_string();
    ensure!(sent.contains("One") && sent.contains("First.") && sent.contains("Two"), "{sent}");
    assert_eq!(
        run(&home, &server, &["run", "-t", "Three", "--name", "talk", "--resume", "--fork"])?.code,
        Some(0)
    );
    let listed = home.run(&["session", "list", "--json"])?.json()?;
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(2));
    let names = home.run(&["session", "list"])?.stdout;
    ensure!(names.contains("talk (copy)"), "{names}");
    Ok(())
}

#[test]
fn a_conversation_is_not_kept_where_that_is_not_wanted() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, ModelServer::scripted([Turn::text("ok")])?);
    assert_eq!(run(&home, &server, &["run", "-t", "One", "--no-session"])?.code, Some(0));
    ensure!(!home.path().join("data/sessions").exists());
    let none = run(&home, &server, &["run", "-t", "x", "--resume"])?;
    assert_eq!(none.code, Some(1));
    ensure!(none.stderr.contains("no session in this folder"), "{}", none.stderr);
    Ok(())
}

#[test]
fn an_answer_can_be_made_to_fit_a_schema() -> anyhow::Result<()> {
    let home = Home::new()?;
    let schema = json!({"type": "object", "required": ["ports"], "properties": {"ports": {"type": "array"}}});
    fs::write(home.path().join("ports.json"), schema.to_string())?;
    let value = json!({"ports": [80]});
    let server =
        ModelServer::scripted([Turn::text("Here: ").and_call("recipe__final_output", value.clone())])?;
    let run = run(&home, &server, &["run", "-t", "x", "--schema", "ports.json"])?;
    assert_eq!((run.code, run.json()?), (Some(0), value), "{run:?}");
    Ok(())
}

#[test]
fn nobody_at_a_terminal_means_no() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("touch forbidden"), Turn::text("I could not.")])?;
    let run = goose(&home, &server, &["run", "-t", "x", "--mode", "approve"]).output()?;
    let said = String::from_utf8(run.stderr)?;
    assert_eq!((run.status.code(), String::from_utf8(run.stdout)?.as_str()), (Some(0), "I could not.\n"));
    ensure!(said.contains("no terminal to ask for approval") && said.contains("touch forbidden"), "{said}");
    ensure!(!home.path().join("forbidden").exists());
    ensure!(
        last_message(&server)?.contains("There is no user at the terminal"),
        "{}",
        last_message(&server)?
    );
    Ok(())
}

/// One SIGINT cancels; SIGTERM ends in good order; the state is saved, and the history valid.
#[test]
fn a_signal_cancels_the_reply_and_the_state_is_saved() -> anyhow::Result<()> {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let home = Home::new()?;
        let server = ModelServer::scripted([shell("touch started; sleep 600"), Turn::text("Afterwards.")])?;
        let child = goose(&home, &server, &["run", "-t", "Sleep"]).spawn()?;
        let started = home.path().join("started");
        wait_until(LIMIT, "the tool runs", || Ok(started.exists()))?;
        let begun = Instant::now();
        ensure!(Command::new("kill").args([signal, &child.id().to_string()]).status()?.success());
        let output = child.wait_with_output()?;
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        ensure!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());

        let resumed = run(&home, &server, &["run", "-t", "Go on", "--resume"])?;
        assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Afterwards.\n"), "{resumed:?}");
        let sent = &server.asked()[1].body["messages"];
        let results =
            sent.as_array().context("messages")?.iter().filter(|message| message["role"] == "tool").count();
        assert_eq!(results, 1, "{sent}");
    }
    Ok(())
}

/// SIGTERM ends goose also while it judges commands that take long.
#[test]
fn a_signal_ends_goose_while_it_judges() -> anyhow::Result<()> {
    // Each of these paths is looked up. All of them together take longer than the waits below.
    let command = |call: usize| {
        let paths: String = (0..1_900).map(|path| format!(" ../a{call}/b{path}/../c")).collect();
        json!({ "command": format!("true{paths}") })
    };
    for wait in [0, 30, 150, 600] {
        let home = Home::new()?;
        let mut turn = Turn::call("developer__shell", command(0));
        for call in 1..20 {
            turn = turn.and_call("developer__shell", command(call));
        }
        let server = ModelServer::scripted([turn, Turn::text("Afterwards.")])?;
        let child =
            goose(&home, &server, &["run", "-t", "Work"]).env("GOOSE_MODE", "smart_approve").spawn()?;
        wait_until(LIMIT, "the model is asked", || Ok(!server.asked().is_empty()))?;
        std::thread::sleep(Duration::from_millis(wait));
        let begun = Instant::now();
        ensure!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?.success());
        let output = child.wait_with_output()?;
        ensure!(begun.elapsed() < Duration::from_secs(10), "after {wait} ms, it took {:?}", begun.elapsed());
        assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[test]
fn whoever_stops_reading_ends_it_quietly() -> anyhow::Result<()> {
    let home = Home::new()?;
    let long = "word ".repeat(50_000);
    let server = ModelServer::scripted([Turn::text(long)])?;
    let mut child = goose(&home, &server, &["run", "-t", "x"]).spawn()?;
    let mut out = BufReader::new(child.stdout.take().context("its output is ours")?);
    let mut begin = [0; 5];
    out.read_exact(&mut begin)?;
    drop(out);
    let mut said = String::new();
    child.stderr.take().context("its errors are ours")?.read_to_string(&mut said)?;
    assert_eq!((child.wait()?.code(), said.as_str()), (Some(0), ""));
    Ok(())
}

/// A session whose input is no terminal takes lines.
#[test]
fn a_session_takes_lines_from_a_file() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
    let mut child = goose(&home, &server, &["session"]).stdin(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("its input is ours")?;
    std::io::Write::write_all(&mut input, b"first\n/mode\nsecond\n/exit\nnever\n")?;
    drop(input);
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().context("its output is ours")?).lines() {
        lines.push(line?);
    }
    assert_eq!((child.wait()?.code(), lines), (Some(0), vec!["One.".to_owned(), "Two.".to_owned()]));
    assert_eq!(server.asked().len(), 2);
    Ok(())
}

/// The facts that goose knows are said beside the words of the model, and are a field for programs.
#[test]
fn a_failed_command_is_told_after_the_answer() -> anyhow::Result<()> {
    let turns = || {
        let failing = Turn::call("developer__shell", json!({"command": "echo wrong; exit 3"}));
        [failing, Turn::text("The tests pass.")]
    };
    let home = Home::new()?;
    let server = ModelServer::scripted(turns())?;
    let run: Run = goose(&home, &server, &["run", "-t", "Test"]).output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "The tests pass.\n"), "{run:?}");
    ensure!(run.stderr.ends_with("\nThe last command ended with exit code 3.\n"), "{}", run.stderr);
    for format in ["json", "stream-json"] {
        let server = ModelServer::scripted(turns())?;
        let arguments = ["run", "-t", "Test", "--output-format", format];
        let run: Run = goose(&home, &server, &arguments).output()?.try_into()?;
        let facts = match format {
            "json" => run.json()?["metadata"]["facts"].clone(),
            _ => {
                let last = run.stdout.lines().last().context("lines")?;
                serde_json::from_str::<Value>(last)?["facts"].clone()
            }
        };
        assert_eq!(
            facts,
            json!({"exit_code": 3, "files_changed": [], "calls_refused": 0, "commands_run": 1, "calls_run": 1, "other_calls_run": 0})
        );
    }
    let server = ModelServer::scripted([
        Turn::call("developer__write", json!({"path": "new.txt", "content": "x"})),
        Turn::text("Done."),
    ])?;
    let run: Run = goose(&home, &server, &["run", "-t", "Write"]).output()?.try_into()?;
    ensure!(run.stderr.ends_with("\nChanged: new.txt. No command was run.\n"), "{}", run.stderr);
    let server = ModelServer::scripted([Turn::text("Nothing to do.")])?;
    let run: Run = goose(&home, &server, &["run", "-t", "Say"]).output()?.try_into()?;
    assert_eq!(run.stderr, "");
    Ok(())
}

/// Files that a command names are facts as well, if they are different after it.
#[test]
fn files_that_commands_change_are_told() -> anyhow::Result<()> {
    let command = "echo 1 > new.txt && cp new.txt copy.txt && sed -i s/a/b/ old.txt && rm gone.txt && mkdir -p sub && \
                   cat same.txt > /dev/null && touch sub/made.txt && sed -n p same.txt";
    let home = Home::new()?;
    for name in ["old.txt", "gone.txt", "same.txt"] {
        fs::write(home.path().join(name), "a\n")?;
    }
    let server = ModelServer::scripted([shell(command), Turn::text("Done.")])?;
    let arguments = ["run", "-t", "Go", "--output-format", "stream-json"];
    let run: Run = goose(&home, &server, &arguments).output()?.try_into()?;
    let events: Vec<Value> = run.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let expected = json!(["copy.txt", "gone.txt", "new.txt", "old.txt", "sub/made.txt"]);
    assert_eq!(events.last().context("events")?["facts"]["files_changed"], expected, "{run:?}");
    let written = events.iter().find_map(|event| event.get("files_written")).context("no event")?;
    assert_eq!(written["paths"], expected);

    let server =
        ModelServer::scripted([shell("cat same.txt; cp same.txt /no/such/folder"), Turn::text("Done.")])?;
    let run: Run = goose(&home, &server, &["run", "-t", "Go"]).output()?.try_into()?;
    ensure!(!run.stderr.contains("Changed"), "{run:?}");
    Ok(())
}

/// What is piped in is a part of the task, and is cut at a limit that is named.
#[test]
fn piped_input_is_a_part_of_the_task() -> anyhow::Result<()> {
    let piped = |arguments: &[&str], input: &[u8]| -> anyhow::Result<(Run, String)> {
        let home = Home::new()?;
        let server = ModelServer::scripted([Turn::text("Done.")])?;
        let mut command = goose(&home, &server, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = input.to_vec();
        let mut stdin = child.stdin.take().context("stdin")?;
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let run: Run = child.wait_with_output()?.try_into()?;
        let _ = writer.join();
        let asked = server.asked().first().map(|asked| asked.body.to_string()).unwrap_or_default();
        Ok((run, asked))
    };
    let (run, asked) = piped(&["run", "review this"], b"+ added line\n")?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(asked.contains("review this\\n\\n+ added line"), "{asked}");
    let (run, asked) = piped(&["run"], b"say hello\n")?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(asked.contains("say hello"), "{asked}");
    let (run, _) = piped(&["run"], b"")?;
    assert_eq!(run.code, Some(2), "{run:?}");
    let (run, asked) = piped(&[], b"say hello\n")?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Done.\n"), "{run:?}");
    ensure!(asked.contains("say hello"), "{asked}");
    let (run, asked) = piped(&[], b"")?;
    ensure!(run.code == Some(0) && run.stdout.contains("Usage:") && asked.is_empty(), "{run:?}");
    let (run, asked) = piped(&["run", "x"], b"caf\xe9")?;
    ensure!(run.stderr.contains("are not UTF-8 text") && asked.contains("caf"), "{run:?}");
    let (run, asked) = piped(&["run", "x"], &b"y".repeat(600 * 1024))?;
    ensure!(run.stderr.contains("longer than 512 KB"), "{run:?}");
    ensure!(asked.contains("[Cut after 512 KB.]") && asked.len() < 560 * 1024, "{}", asked.len());
    Ok(())
}

/// Without a terminal, calls and results are plain lines on standard error, unless `-q` is given.
#[test]
fn calls_are_plain_lines_without_a_terminal() -> anyhow::Result<()> {
    let turns = || [Turn::call("developer__shell", json!({"command": "echo seen"})), Turn::text("Done.")];
    let home = Home::new()?;
    let server = ModelServer::scripted(turns())?;
    let run: Run = goose(&home, &server, &["run", "-t", "Go"]).output()?.try_into()?;
    assert_eq!(run.stdout, "Done.\n");
    ensure!(run.stderr.contains("shell  echo seen\n") && run.stderr.contains("seen\n"), "{run:?}");
    ensure!(!run.stderr.contains('\u{1b}'), "{run:?}");
    let server = ModelServer::scripted(turns())?;
    let run: Run = goose(&home, &server, &["run", "-q", "-t", "Go"]).output()?.try_into()?;
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("Done.\n", ""));
    Ok(())
}

/// `GOOSE_SHELL` in the configuration is the shell of commands.
#[test]
fn the_shell_is_configured() -> anyhow::Result<()> {
    let home = Home::with_config("GOOSE_SHELL: /bin/sh\n")?;
    let call = Turn::call("developer__shell", json!({"command": "echo shell is $0"}));
    let server = ModelServer::scripted([call, Turn::text("Done.")])?;
    let run: Run = goose(&home, &server, &["run", "-t", "Go"]).output()?.try_into()?;
    ensure!(run.stderr.contains("shell is /bin/sh"), "{run:?}");
    Ok(())
}

/// Variables that look like secrets reach commands only if the user names them, and the model is told when it misses
/// one.
#[test]
fn withheld_variables_are_named_and_can_be_allowed() -> anyhow::Result<()> {
    let developer = "extensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n";
    let keys = format!("{developer}    env_keys: [NPM_TOKEN, NOT_SET_ANYWHERE]\n");
    let remark = "goose does not give NPM_TOKEN to commands";
    for (config, command, expected, has_remark) in [
        ("", "echo \"[$NPM_TOKEN]\"", "[]", true),
        ("", "echo NPM_TOKEN is missing; exit 3", "exit code 3", true),
        ("", "echo plain", "plain", false),
        ("GOOSE_SHELL_ENV: [NPM_TOKEN]\n", "echo \"[$NPM_TOKEN]\"", "[abc]", false),
        ("GOOSE_SHELL_ENV: GH_TOKEN,NPM_TOKEN\n", "echo \"[$NPM_TOKEN]\"", "[abc]", false),
        (keys.as_str(), "echo \"[$NPM_TOKEN]\"", "[abc]", false),
    ] {
        let home = Home::with_config(config)?;
        let server = ModelServer::scripted([shell(command), Turn::text("Done.")])?;
        let run: Run =
            goose(&home, &server, &["run", "-t", "Go"]).env("NPM_TOKEN", "abc").output()?.try_into()?;
        let results = server.asked().last().map(|asked| asked.tool_results()).unwrap_or_default();
        let result = results.first().map(|(_, text)| text.as_str()).unwrap_or_default();
        ensure!(
            result.contains(expected) && result.contains(remark) == has_remark,
            "{config}{command}: {result}\n{run:?}"
        );
    }
    Ok(())
}

/// A text may begin with a dash, as a list item does.
#[test]
fn a_task_may_begin_with_a_dash() -> anyhow::Result<()> {
    for arguments in
        [&["run", "-t", "- fix this"][..], &["run", "--text", "-5 plus 3"], &["run", "-5 plus 3"]]
    {
        let home = Home::new()?;
        let server = ModelServer::scripted([Turn::text("Done.")])?;
        let run = run(&home, &server, arguments)?;
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(server.asked()[0].last_user_text().as_deref(), arguments.last().copied());
    }
    Ok(())
}
