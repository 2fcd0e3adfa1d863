//! `goose extension call`.

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::support::{Home, program};

const CONFIG: &str = "\
extensions:
  m:
    enabled: true
    type: stdio
    name: m
    cmd: '{faulty_server}'
    args: [--strange-results, --log, count, --progress, pid, '3', --ask, form, env]
  dying:
    enabled: true
    type: stdio
    name: dying
    cmd: '{faulty_server}'
    args: [--stderr, the table is missing, --die-on-call, echo]
  off:
    enabled: false
    type: stdio
    name: off
    cmd: '{faulty_server}'
  memory:
    enabled: false
    type: builtin
    name: memory
";

const HELLO: &str = r#"{"text": "hello"}"#;

#[test]
fn a_tool_is_called_by_its_bare_and_its_full_name() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    for tool in ["echo", "m__echo"] {
        let run = home.run(&["extension", "call", "m", tool, "--args", HELLO])?;
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "hello\n", ""));
    }
    Ok(())
}

#[test]
fn arguments_come_from_standard_input_and_from_files() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run_with_input(&["extension", "call", "m", "echo", "--args", "-"], HELLO)?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "hello\n"));
    std::fs::write(home.path().join("hello.json"), HELLO)?;
    let run = home.run(&["extension", "call", "m", "echo", "--args", "@hello.json"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "hello\n"));
    Ok(())
}

#[test]
fn bad_arguments_are_refused_before_anything_starts() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    for (arguments, expected) in [
        (
            "{\"text\": oops}",
            "error: The arguments in --args are not JSON: expected value at line 1 column 10.",
        ),
        ("{\"a\": 1,", "EOF while parsing"),
        ("[1]", "error: The arguments in --args are an array, not an object."),
        ("@nothing.json", "error: The arguments in nothing.json cannot be read"),
    ] {
        // The extension does not exist, which would be the next error.
        let run = home.run(&["extension", "call", "nope", "echo", "--args", arguments])?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
        ensure!(run.stderr.contains(expected), "no `{expected}` in: {}", run.stderr);
    }
    Ok(())
}

#[test]
fn the_whole_result_as_json() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "call", "m", "echo", "--args", HELLO, "--json"])?;
    assert_eq!(run.json()?, json!({ "content": [{ "type": "text", "text": "hello" }], "isError": false }));
    let run = home.run(&["extension", "call", "dying", "echo", "--args", HELLO, "--json"])?;
    assert_eq!(run.code, Some(1));
    assert_eq!(run.json()?["isError"], json!(true));
    Ok(())
}

#[test]
fn what_is_no_text_is_named() -> anyhow::Result<()> {
    let home = Home::new()?;
    let call = |tool| {
        let server = program("kitchen_sink", "")?;
        home.run(&["extension", "call", "--with-extension", &server, "kitchen_sink", tool])
    };
    let run = call("mixed")?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(run.stdout.contains("[image: image/png, "), "{}", run.stdout);
    let run = call("sound")?;
    ensure!(run.stdout.starts_with("[audio: audio/"), "{}", run.stdout);
    Ok(())
}

#[test]
fn a_tool_that_fails_exits_with_1_and_its_text() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run =
        home.run(&["extension", "call", "tutorial", "load_tutorial", "--args", r#"{"name": "nope"}"#])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    ensure!(run.stdout.contains("nope"), "{}", run.stdout);
    Ok(())
}

#[test]
fn what_was_not_run_is_an_error() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    for (arguments, expected) in [
        (vec!["m", "ecko", "--args", "{}"], "error: There is no tool `ecko`."),
        (vec!["tutorial", "load_tutorial"], "error: Invalid arguments for `tutorial__load_tutorial`"),
        (
            vec!["nope", "echo"],
            "error: There is no extension `nope`. Available: m, dying, off, memory, developer, autovisualiser, tutorial.",
        ),
        (
            vec!["off", "echo"],
            "Set 'enabled: true' there, or use it just for this command with --with-extension 'CMD'.",
        ),
        (vec!["memory", "remember_memory"], "or use it just for this command with --with-builtin memory."),
    ] {
        let run = home.run(&[&["extension", "call"], arguments.as_slice()].concat())?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        ensure!(run.stderr.contains(expected), "no `{expected}` in: {}", run.stderr);
    }
    Ok(())
}

#[test]
fn a_built_in_that_is_off_can_be_used_with_the_flag() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let arguments = r#"{"category": "test", "data": "geese fly", "is_global": true}"#;
    let run = home.run(&[
        "extension",
        "call",
        "memory",
        "remember_memory",
        "--args",
        arguments,
        "--with-builtin",
        "memory",
    ])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(home.path().join("config/memory/test.txt").exists());
    Ok(())
}

#[test]
fn a_server_that_dies_says_what_it_said() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "call", "dying", "echo", "--args", HELLO])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    ensure!(run.stderr.starts_with("error: "), "{}", run.stderr);
    ensure!(
        run.stderr.contains("exit code 1") && run.stderr.contains("the table is missing"),
        "{}",
        run.stderr
    );
    Ok(())
}

#[test]
fn progress_and_logs_are_shown_on_request() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    for (tool, shown) in [("pid", "3 of 3\n"), ("count", "info (faulty_server): something happened\n")] {
        let quiet = home.run(&["extension", "call", "m", tool])?;
        assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
        let verbose = home.run(&["extension", "call", "m", tool, "-v"])?;
        ensure!(verbose.stderr.contains(shown), "no `{shown}` in: {}", verbose.stderr);
    }
    Ok(())
}

#[test]
fn without_a_terminal_nobody_is_asked() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run_with_input(&["extension", "call", "m", "env"], "Ada\n")?;
    ensure!(!run.stdout.contains("Ada"), "{}", run.stdout);
    ensure!(!run.stderr.contains("asks"), "{}", run.stderr);
    Ok(())
}

#[test]
fn text_is_not_changed_on_its_way_into_a_pipe() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let text = "red \u{1b}[31m, \u{202e}turned, \u{7f} and \u{9b}2J";
    let arguments = json!({ "text": text }).to_string();
    let run = home.run(&["extension", "call", "m", "echo", "--args", &arguments])?;
    assert_eq!(run.stdout, format!("{text}\n"));
    let run = home.run(&["extension", "call", "m", "echo", "--args", &arguments, "--json"])?;
    assert_eq!(run.json()?["content"][0]["text"], json!(text));
    let raw = run.stdout.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
    assert_eq!(raw, None, "{:?}", run.stdout);
    Ok(())
}

#[test]
fn the_environment_of_a_server_has_no_secrets_of_others() -> anyhow::Result<()> {
    let home = Home::with_config(&CONFIG.replace(", --ask, form, env", ""))?;
    let arguments = r#"{"name": "OTHER_API_KEY"}"#;
    let output = home
        .goose(&["extension", "call", "m", "env", "--args", arguments])
        .env("OTHER_API_KEY", "very-secret")
        .output()?;
    let stdout = String::from_utf8(output.stdout)?;
    assert_eq!(stdout.lines().next().context("an answer")?, "(unset)");
    Ok(())
}
