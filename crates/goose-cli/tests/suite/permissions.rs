//! `goose permissions`: the rules, and what becomes of a command.

use std::fs;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::support::{Home, Run};

const RULES: &str = "\
user:
  always_allow: [memory__search_memories]
rules:
  - allow: shell cargo test *
  - ask: shell git push *
  - deny: shell rm *
  - deny: shel mv *
  - allow: gone__tool
";

fn home(rules: &str) -> anyhow::Result<Home> {
    let home = Home::with_config("GOOSE_MODE: smart_approve\n")?;
    fs::write(home.path().join("config/permission.yaml"), rules)?;
    Ok(home)
}

fn test(home: &Home, command: &str) -> anyhow::Result<Value> {
    let run = home.run(&["permissions", "test", "--json", command])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{command}");
    run.json()
}

#[test]
fn programs_get_the_verdict_of_each_mode() -> anyhow::Result<()> {
    let home = home(RULES)?;
    for (command, [auto, smart, approve]) in [
        ("git status", ["allow", "allow", "ask"]),
        ("cargo test --all", ["allow", "allow", "allow"]),
        ("git push origin main", ["ask", "ask", "ask"]),
        ("echo a; rm b", ["deny", "deny", "deny"]),
        ("touch x", ["allow", "ask", "ask"]),
        ("echo \"$(", ["ask", "ask", "ask"]),
    ] {
        let json = test(&home, command)?;
        let expected = json!({"auto": auto, "smart_approve": smart, "approve": approve});
        assert_eq!(json["verdicts"], expected, "{command}: {json:#}");
        ensure!(json["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{json:#}");
        assert_eq!(json["mode"], "smart_approve");
    }
    Ok(())
}

#[test]
fn the_parts_of_a_command_and_the_rules_about_them_are_named() -> anyhow::Result<()> {
    let home = home(RULES)?;
    let json = test(&home, "A=1 sudo rm x > log && git log")?;
    let segments = json["segments"].as_array().cloned().unwrap_or_default();
    let rm = segments.iter().find(|it| it["command"] == "sudo rm x").cloned().unwrap_or_default();
    assert_eq!(rm["runs"], json!(["rm x"]), "{json:#}");
    assert_eq!(rm["variables"], json!(["A"]));
    assert_eq!(rm["rules"], json!(["deny: shell rm *"]));
    ensure!(segments.iter().any(|it| it["command"] == "git log" && it["reads_only"] == true), "{json:#}");
    assert_eq!(json["files"], json!([{"path": "log", "access": "write"}]));
    ensure!(json["reason"].as_str().is_some_and(|it| it.contains("`deny: shell rm *`")), "{json:#}");
    let unclear = test(&home, "eval \"$x\"")?;
    ensure!(unclear["not_understood"].as_array().is_some_and(|it| !it.is_empty()), "{unclear:#}");
    Ok(())
}

#[test]
fn people_get_an_explanation() -> anyhow::Result<()> {
    let home = home(RULES)?;
    let run = home.run(&["permissions", "explain", "cargo test && git push"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for expected in [
        "auto           ask    the rule `ask: shell git push *` requires approval for `git push`\n",
        "\nCommands\n",
        "  cargo test\n    rule allow: shell cargo test *\n",
        "  git push\n    rule ask: shell git push *\n",
        "\nThe mode here is smart_approve (",
    ] {
        ensure!(run.stdout.contains(expected), "no `{expected}` in:\n{}", run.stdout);
    }
    let one = home.run(&["permissions", "explain", "--mode", "approve", "cargo test"])?;
    ensure!(
        one.stdout
            .starts_with("approve        allow  the rule `allow: shell cargo test *` allows `cargo test`\n"),
        "{}",
        one.stdout
    );
    ensure!(!one.stdout.contains("smart_approve"), "{}", one.stdout);
    let chat = home.run(&["permissions", "test", "--mode", "chat", "ls"])?;
    assert_eq!(chat.stdout, "chat           deny\n");
    assert_eq!(home.run(&["permissions", "explain", "--mode", "never", "ls"])?.code, Some(2));
    Ok(())
}

/// The folder decides what relative rules mean, and the shell whether a command can be read at all.
#[test]
fn the_folder_and_the_shell_are_those_of_a_run() -> anyhow::Result<()> {
    let home = home("rules:\n  - deny: write src/**\n")?;
    fs::create_dir_all(home.path().join("project/src"))?;
    let project = home.path().join("project").display().to_string();
    let command = format!("echo x > {project}/src/a");
    let verdict = |dir: &str| -> anyhow::Result<Value> {
        let run = home.run(&["permissions", "test", "--json", "--dir", dir, &command])?;
        Ok(run.json()?["verdicts"]["auto"].clone())
    };
    assert_eq!(verdict(&project)?, "deny");
    assert_eq!(verdict(".")?, "allow");
    let fish: Run = home
        .goose(&["permissions", "test", "--json", "ls"])
        .env("GOOSE_SHELL", "fish")
        .output()?
        .try_into()?;
    assert_eq!(fish.json()?["verdicts"]["smart_approve"], "ask");
    let missing = home.run(&["permissions", "test", "--dir", "/no/such", "ls"])?;
    assert_eq!(missing.code, Some(1));
    ensure!(missing.stderr.contains("--dir"), "{}", missing.stderr);
    Ok(())
}

#[test]
fn a_long_command_comes_on_standard_input() -> anyhow::Result<()> {
    let home = home("")?;
    let long = format!("echo {}; touch x", "a".repeat(150_000));
    let run = home.run_with_input(&["permissions", "test", "--json", "-"], &long)?;
    assert_eq!(run.json()?["verdicts"]["smart_approve"], "ask");
    Ok(())
}

#[test]
fn rules_are_listed_with_those_that_name_no_tool() -> anyhow::Result<()> {
    let home = home(RULES)?;
    let run = home.run(&["permissions", "list"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for expected in [
        "Mode: smart_approve  (",
        "  deny   shell rm *\n",
        "  ask    shell git push *\n",
        "  allow  memory__search_memories\n",
    ] {
        ensure!(run.stdout.contains(expected), "no `{expected}` in:\n{}", run.stdout);
    }
    let (_, unknown) = run.stdout.split_once("name no known tool").unwrap_or_default();
    let unknown = unknown.split("\n\n").next().unwrap_or_default();
    ensure!(unknown.contains("shel mv *") && unknown.contains("gone__tool"), "{}", run.stdout);
    ensure!(!unknown.contains("shell") && !unknown.contains("memory"), "{}", run.stdout);
    let json = home.run(&["permissions", "list", "--json"])?.json()?;
    assert_eq!(json["unknown_tools"], json!(["deny: shel mv *", "allow: gone__tool"]));
    assert_eq!(json["rules"][0]["effect"], "deny");
    let protected = json["protected"].as_array().cloned().unwrap_or_default();
    ensure!(protected.iter().any(|it| it["access"] == "write" && it["path"] != ""), "{json:#}");
    for expected in ["these need approval in every mode\n", "  secrets of projects\n", ".git/**"] {
        ensure!(run.stdout.contains(expected), "no `{expected}` in:\n{}", run.stdout);
    }
    ensure!(protected.iter().all(|it| it["group"] != "" && it["reason"] != ""), "{json:#}");
    Ok(())
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_everything_is_asked() -> anyhow::Result<()> {
    let home = home("rules: [nonsense\n")?;
    let run = home.run(&["permissions", "list"])?;
    ensure!(run.stdout.contains("problem: ") && run.stdout.contains("permission.yaml"), "{}", run.stdout);
    assert_eq!(test(&home, "ls")?["verdicts"]["auto"], "ask");
    Ok(())
}
