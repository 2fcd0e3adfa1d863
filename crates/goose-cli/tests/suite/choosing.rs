//! The model that is used if none is configured.

use std::{
    fs,
    process::Command,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{HttpAnswer, HttpAsked, Loopback, ModelServer, Terminal, Turn};
use serde_json::Value;

use crate::support::{Home, Run, UNREACHABLE_SERVERS};

/// `goose` in a home without any configuration.
fn goose(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.goose(arguments);
    command.env("GOOSE_DISABLE_KEYRING", "1");
    command
}

/// An answer of OpenAI's chat, in one piece.
fn chat(text: &str) -> HttpAnswer {
    let body = format!(
        "data: {{\"choices\": [{{\"index\": 0, \"delta\": {{\"content\": \"{text}\"}}, \"finish_reason\": \"stop\"}}]}}\n\n\
         data: [DONE]\n\n"
    );
    HttpAnswer::new(200, body).with_header("content-type", "text/event-stream")
}

/// A server with OpenAI's chat and a list of models.
fn lists(models: &'static str) -> anyhow::Result<Loopback> {
    Loopback::answering(move |asked| match asked.path.as_str() {
        "/v1/models" => HttpAnswer::new(200, models),
        "/v1/chat/completions" => chat("From here."),
        _ => HttpAnswer::new(404, ""),
    })
}

/// An Ollama with four models, of which the last can call tools.
fn ollama(asked: &HttpAsked) -> HttpAnswer {
    match asked.path.as_str() {
        "/api/tags" => HttpAnswer::new(
            200,
            r#"{"models": [{"name": "nomic-embed-text:latest"}, {"name": "torn:7b"}, {"name": "old:7b"}, {"name": "qwen3:8b"}]}"#,
        ),
        "/api/show" if asked.body.contains("qwen3:8b") => {
            HttpAnswer::new(200, r#"{"capabilities": ["completion", "tools"]}"#)
        }
        // One that cannot be shown does not stand for the others.
        "/api/show" if asked.body.contains("torn:7b") => HttpAnswer::new(500, ""),
        "/api/show" => HttpAnswer::new(200, r#"{"capabilities": ["completion"]}"#),
        "/api/chat" => HttpAnswer::new(
            200,
            "{\"model\": \"qwen3:8b\", \"message\": {\"role\": \"assistant\", \"content\": \"From Ollama.\"}, \
             \"done\": true, \"done_reason\": \"stop\"}\n",
        ),
        _ => HttpAnswer::new(404, ""),
    }
}

#[test]
fn a_key_in_the_environment_is_used_and_said_in_one_line() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|_| Turn::text("Hello."))?;
    // A server that would answer is not asked.
    let other = Loopback::answering(ollama)?;
    let with_key = |arguments: &[&str]| -> anyhow::Result<Run> {
        let mut command = goose(&home, arguments);
        command.env("OPENAI_API_KEY", "k").env("OPENAI_HOST", server.url()).env("OLLAMA_HOST", other.url());
        command.output()?.try_into()
    };
    let run = with_key(&["run", "-t", "Hi"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Hello.\n"), "{run:?}");
    ensure!(run.stderr.starts_with("Using openai:gpt-"), "{}", run.stderr);
    ensure!(
        run.stderr.ends_with(" (OPENAI_API_KEY is set).\n") && run.stderr.lines().count() == 1,
        "{}",
        run.stderr
    );
    ensure!(other.asked().is_empty());
    Ok(())
}

#[test]
fn the_same_choice_is_said_once_a_day() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|_| Turn::text("Hello."))?;
    let said = |key: &str, arguments: &[&str]| -> anyhow::Result<bool> {
        let run: Run = goose(&home, &[&["run", "-t", "Hi"], arguments].concat())
            .env(key, "k")
            .env("OPENAI_HOST", server.url())
            .env("ANTHROPIC_HOST", server.url())
            .output()?
            .try_into()?;
        Ok(run.stderr.contains("Using "))
    };
    for quiet in [&["-q"][..], &["--output-format", "json"]] {
        ensure!(!said("OPENAI_API_KEY", quiet)?, "{quiet:?}");
    }
    ensure!(said("OPENAI_API_KEY", &[])?, "it was not shown before");
    ensure!(!said("OPENAI_API_KEY", &[])?);
    ensure!(said("ANTHROPIC_API_KEY", &[])?, "it is another one");
    ensure!(!said("ANTHROPIC_API_KEY", &[])?);
    let reported = fs::OpenOptions::new().write(true).open(home.path().join("state/cache/reported-model"))?;
    reported.set_modified(SystemTime::now() - Duration::from_secs(25 * 60 * 60))?;
    ensure!(said("ANTHROPIC_API_KEY", &[])?, "it was yesterday");
    Ok(())
}

#[test]
fn a_server_that_answers_is_used_with_a_model_that_calls_tools() -> anyhow::Result<()> {
    let home = Home::new()?;
    let ollama = Loopback::answering(ollama)?;
    let run: Run =
        goose(&home, &["run", "-t", "Hi"]).env("OLLAMA_HOST", ollama.url()).output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "From Ollama.\n"), "{run:?}");
    let address = ollama.url().replace("http://", "");
    assert_eq!(run.stderr, format!("Using ollama:qwen3:8b (Ollama answers at {address}).\n"));

    for (variable, name) in [("LMSTUDIO_HOST", "lmstudio"), ("LLAMA_CPP_HOST", "llama_cpp")] {
        let server = lists(r#"{"object": "list", "data": [{"id": "text-embedding-a"}, {"id": "org/b"}]}"#)?;
        let run: Run = goose(&home, &["run", "-t", "Hi"]).env(variable, server.url()).output()?.try_into()?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "From here.\n"), "{run:?}");
        ensure!(run.stderr.starts_with(&format!("Using {name}:org/b (")), "{}", run.stderr);
    }
    Ok(())
}

#[test]
fn what_answers_but_is_no_model_server_is_passed_by() -> anyhow::Result<()> {
    let home = Home::new()?;
    let answers: [HttpAnswer; 5] = [
        HttpAnswer::new(200, "<html>It works!</html>"),
        HttpAnswer::new(404, ""),
        HttpAnswer::new(200, r#"{"object": "list", "data": []}"#),
        HttpAnswer::new(200, vec![b' '; 3 * 1024 * 1024]),
        HttpAnswer::new(200, r#"{"data": [{"id": "a"}]}"#).silent_after(5),
    ];
    for answer in answers {
        let server = Loopback::answering({
            let answer = answer.clone();
            move |_| answer.clone()
        })?;
        let json = goose(&home, &["info", "--json"]).env("LLAMA_CPP_HOST", server.url()).output()?;
        let json = Run::try_from(json)?.json()?;
        let expected = if cfg!(feature = "local") { "local:qwen2.5-coder-1.5b".into() } else { Value::Null };
        assert_eq!(json["model"], expected, "{answer:?}");
        ensure!(!server.asked().is_empty());
    }
    Ok(())
}

#[test]
fn who_has_chosen_is_not_kept_waiting() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = lists(r#"{"data": []}"#)?;
    let local = Loopback::answering(ollama)?;
    let mut command = goose(&home, &["run", "-t", "Hi"]);
    command.envs([("GOOSE_PROVIDER", "openai"), ("GOOSE_MODEL", "gpt-4"), ("OPENAI_API_KEY", "k")]);
    for name in ["OLLAMA_HOST", "LMSTUDIO_HOST", "LLAMA_CPP_HOST"] {
        command.env(name, local.url());
    }
    let run: Run = command.env("OPENAI_HOST", server.url()).output()?.try_into()?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    ensure!(local.asked().is_empty());
    // A gateway is not asked what everybody knows of a model.
    let asked = server.asked();
    ensure!(asked.iter().all(|asked| asked.path == "/v1/chat/completions"), "{asked:?}");
    Ok(())
}

#[test]
fn info_and_doctor_show_what_would_be_used_and_why() -> anyhow::Result<()> {
    let home = Home::new()?;
    let key = |arguments: &[&str]| -> anyhow::Result<Run> {
        goose(&home, arguments).env("ANTHROPIC_API_KEY", "k").output()?.try_into()
    };
    let json = key(&["info", "--json"])?.json()?;
    ensure!(json["model"].as_str().is_some_and(|model| model.starts_with("anthropic:claude-")), "{json:#}");
    assert_eq!(json["choice"], "ANTHROPIC_API_KEY is set");
    let text = key(&["info"])?.stdout;
    ensure!(text.contains("(ANTHROPIC_API_KEY is set)\n"), "{text}");
    let checks = key(&["doctor", "--json"])?.json()?;
    let model = of_model(&checks)?;
    assert_eq!(model["state"], "good");
    ensure!(
        model["says"].as_str().is_some_and(|it| it.ends_with("chosen by goose: ANTHROPIC_API_KEY is set")),
        "{model:#}"
    );
    Ok(())
}

fn of_model(doctor: &Value) -> anyhow::Result<&Value> {
    let checks = doctor["checks"].as_array().context("checks")?;
    checks.iter().find(|check| check["name"] == "model").context("no check of the model")
}

#[test]
fn without_anything_the_ways_to_a_model_are_said() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run: Run = goose(&home, &["run", "-t", "Hi"]).output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    for way in ["ANTHROPIC_API_KEY", "`goose configure`", "Ollama"] {
        ensure!(run.stderr.contains(way), "no {way}: {}", run.stderr);
    }
    if cfg!(feature = "local") {
        for way in [
            "Using local:qwen2.5-coder-1.5b (",
            "1.1 GB, Apache-2.0",
            "GOOSE_YES=1",
            "goose models use FILE.gguf",
        ] {
            ensure!(run.stderr.contains(way), "no {way}: {}", run.stderr);
        }
        let json = Run::try_from(goose(&home, &["doctor", "--json"]).output()?)?.json()?;
        let model = of_model(&json)?;
        assert_eq!(model["state"], "warning", "{model:#}");
        ensure!(model["fix"].as_str().is_some_and(|it| it.contains("goose models pull")), "{model:#}");
    }
    Ok(())
}

#[test]
fn configure_begins_with_what_would_be_used() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = lists(r#"{"data": [{"id": "org/b"}]}"#)?;
    let path = home.path().display().to_string();
    let own = [("GOOSE_PATH_ROOT", path.clone()), ("HOME", path), ("GOOSE_DISABLE_KEYRING", "1".to_owned())];
    let nobody = UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned()));
    let environment = nobody.into_iter().chain(own).chain([("LMSTUDIO_HOST", server.url())]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_goose"));
    let mut terminal = Terminal::start(program, ["configure"], environment, home.path())?;
    terminal.wait_for("goose would use lmstudio:org/b (LM Studio answers at")?;
    for prompt in ["❯ lmstudio", "(hidden) [none]:", "❯ org/b", "(y/N):", "❯ auto", "❯ continue"] {
        terminal.wait_for(prompt)?;
        terminal.send("\r")?;
    }
    ensure!(terminal.wait()?.success(), "{}", terminal.screen());
    let config = fs::read_to_string(home.config())?;
    ensure!(config.starts_with("GOOSE_PROVIDER: lmstudio\nGOOSE_MODEL: org/b\n"), "{config}");
    Ok(())
}
