//! Hooks, with a `settings.json` as Claude Code has it and real commands.

use std::{fs, path::Path, time::Instant};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::{Value, json};

use crate::{
    run::goose,
    support::{Home, Run},
};

/// A hooks file in the stock form. Each hook writes its input to a file of its event. `guard.sh` is the kind of
/// script that people share: it reads `tool_input.command` and exits with 2.
const STOCK: &str = r#"{
  "permissions": { "allow": ["Bash(ls:*)"] },
  "hooks": {
    "SessionStart": [{ "matcher": "startup|resume", "hooks": [{ "type": "command", "command": "cat > start.json; echo 'The branch is blue.'" }] }],
    "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "cat > prompt.json; echo 'Today is Sunday.'" }] }],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "sh \"$CLAUDE_PROJECT_DIR\"/guard.sh", "timeout": 20 }] },
      { "matcher": "Read|Write|Edit|Grep", "hooks": [{ "type": "command", "command": "cat >> files.json; echo >> files.json" }] }
    ],
    "PostToolUse": [{ "matcher": "Write|Edit", "hooks": [{ "type": "command", "command": "cat >> after.json; echo >> after.json; echo '{\"decision\":\"block\",\"reason\":\"Run the formatter.\"}'" }] }],
    "Stop": [{ "hooks": [{ "type": "command", "command": "cat > stop.json; if grep -q '\"stop_hook_active\":true' stop.json; then exit 0; fi; echo 'Run the tests first.' >&2; exit 2" }] }],
    "SessionEnd": [{ "hooks": [{ "type": "command", "command": "cat > end.json" }] }],
    "Notification": [{ "hooks": [{ "type": "command", "command": "true" }] }]
  }
}"#;

const GUARD: &str = r#"input=$(cat)
printf '%s\n' "$input" >> bash.json
case $input in
  *'"command":"rm '*) echo "Removing is not allowed here." >&2; exit 2 ;;
esac
"#;

/// A home with a user's hooks.
fn with_hooks(settings: &str) -> anyhow::Result<Home> {
    let home = Home::new()?;
    fs::create_dir(home.path().join(".claude"))?;
    fs::write(home.path().join(".claude/settings.json"), settings)?;
    Ok(home)
}

fn hook(event: &str, command: &str, timeout: f64) -> String {
    json!({ "hooks": { event: [{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }] } })
        .to_string()
}

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> anyhow::Result<Run> {
    goose(home, server, arguments).output()?.try_into()
}

/// The documents that a hook wrote, one per line.
fn written(home: &Home, name: &str) -> anyhow::Result<Vec<Value>> {
    let text =
        fs::read_to_string(home.path().join(name)).with_context(|| format!("{name} was not written"))?;
    text.lines().filter(|line| !line.is_empty()).map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn one(home: &Home, name: &str) -> anyhow::Result<Value> {
    written(home, name)?.pop().with_context(|| format!("{name} is empty"))
}

fn body(server: &ModelServer, index: usize) -> String {
    server.asked().get(index).map(|asked| asked.body.to_string()).unwrap_or_default()
}

#[test]
fn a_stock_file_works_hook_by_hook() -> anyhow::Result<()> {
    let home = with_hooks(STOCK)?;
    fs::write(home.path().join("guard.sh"), GUARD)?;
    fs::write(home.path().join("old.txt"), "one\ntwo\n")?;
    let server = ModelServer::scripted([
        Turn::call("developer__shell", json!({ "command": "rm old.txt" })),
        Turn::call("developer__shell", json!({ "command": "echo hello", "timeout_secs": 9 }))
            .and_call("developer__write", json!({ "path": "new.txt", "content": "text" }))
            .and_call("developer__read", json!({ "path": "old.txt" }))
            .and_call("developer__search", json!({ "pattern": "two", "path": "." })),
        Turn::call("developer__edit", json!({ "path": "old.txt", "before": "one", "after": "1" })),
        Turn::text("Done."),
        Turn::text("The tests pass."),
    ])?;
    let run = run(&home, &server, &["run", "-t", "Tidy up"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(home.path().join("old.txt").exists(), "the guard did not block");

    let (start, prompt) = (one(&home, "start.json")?, one(&home, "prompt.json")?);
    assert_eq!((&start["hook_event_name"], &start["source"]), (&json!("SessionStart"), &json!("startup")));
    assert_eq!(
        (&prompt["hook_event_name"], &prompt["prompt"]),
        (&json!("UserPromptSubmit"), &json!("Tidy up"))
    );
    let folder = home.path().canonicalize()?;
    for document in [&start, &prompt] {
        ensure!(document["session_id"].as_str().is_some_and(|id| id.contains('_')), "{document}");
        assert_eq!(Path::new(document["cwd"].as_str().unwrap_or_default()).canonicalize()?, folder);
    }
    let first = body(&server, 0);
    for text in ["The branch is blue.", "Today is Sunday.", "Added by the hook", ".claude/settings.json"] {
        ensure!(first.contains(text), "`{text}` is not in {first}");
    }

    let shell = written(&home, "bash.json")?;
    assert_eq!(shell.len(), 2);
    assert_eq!(
        (&shell[0]["tool_name"], &shell[0]["tool_input"]["command"]),
        (&json!("Bash"), &json!("rm old.txt"))
    );
    assert_eq!(shell[1]["tool_input"]["timeout"], 9000);
    let results = server.asked()[1].tool_results();
    ensure!(results[0].1.contains("Removing is not allowed here."), "{results:?}");

    let mut files = written(&home, "files.json")?;
    files.sort_by_key(|file| file["tool_name"].to_string());
    let names: Vec<_> = files.iter().map(|file| file["tool_name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["Edit", "Grep", "Read", "Write"]);
    let edit = &files[0]["tool_input"];
    assert_eq!((&edit["old_string"], &edit["new_string"]), (&json!("one"), &json!("1")));
    ensure!(
        edit["file_path"].as_str().is_some_and(|path| path.ends_with("/old.txt") && path.starts_with('/'))
    );
    assert_eq!(files[1]["tool_input"]["pattern"], "two");
    assert_eq!(files[3]["tool_input"]["content"], "text");

    let after = written(&home, "after.json")?;
    assert_eq!(after.len(), 2);
    ensure!(
        after
            .iter()
            .all(|it| it["hook_event_name"] == "PostToolUse" && it["tool_response"]["success"] == true)
    );
    let results = server.asked()[2].tool_results();
    ensure!(results.iter().any(|(_, text)| text.contains("Run the formatter.")), "{results:?}");

    ensure!(body(&server, 4).contains("Run the tests first."), "{}", body(&server, 4));
    assert_eq!(one(&home, "stop.json")?["stop_hook_active"], true);
    assert_eq!(one(&home, "end.json")?["hook_event_name"], "SessionEnd");
    ensure!(run.stdout.contains("The tests pass."), "{run:?}");
    Ok(())
}

#[test]
fn a_blocked_message_is_not_sent_and_a_hook_allows_nothing() -> anyhow::Result<()> {
    let home = with_hooks(&hook(
        "UserPromptSubmit",
        "echo '{\"decision\":\"block\",\"reason\":\"It names a customer.\"}'",
        20.0,
    ))?;
    let server = ModelServer::scripted([])?;
    let run = run(&home, &server, &["run", "-t", "hi"])?;
    assert_eq!(run.code, Some(1));
    ensure!(run.stderr.contains("It names a customer.") && server.asked().is_empty(), "{run:?}");

    let allow =
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "allow" } });
    let home = with_hooks(&hook("PreToolUse", &format!("echo '{allow}'"), 20.0))?;
    fs::create_dir_all(home.path().join("config"))?;
    fs::write(home.path().join("config/permission.yaml"), "rules:\n  - deny: shell touch *\n")?;
    let server = ModelServer::scripted([
        Turn::call("developer__shell", json!({ "command": "touch made" })),
        Turn::text("Not possible."),
    ])?;
    let run = self::run(&home, &server, &["run", "-t", "Touch it"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(!home.path().join("made").exists(), "a hook allowed what a rule denies");
    Ok(())
}

/// `ask` asks in every mode; without a terminal, nobody allows it.
#[test]
fn a_hook_can_have_the_user_asked() -> anyhow::Result<()> {
    let ask = json!({ "hookSpecificOutput": { "permissionDecision": "ask", "permissionDecisionReason": "Is it meant?" } });
    let home = with_hooks(&hook("PreToolUse", &format!("echo '{ask}'"), 20.0))?;
    let server = ModelServer::scripted([
        Turn::call("developer__shell", json!({ "command": "touch made" })),
        Turn::text("Fine."),
    ])?;
    let run = run(&home, &server, &["run", "-t", "Touch it"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(!home.path().join("made").exists(), "{run:?}");
    Ok(())
}

#[test]
fn a_hook_that_hangs_floods_or_dies_stops_nothing() -> anyhow::Result<()> {
    for (command, timeout, expected) in [
        ("sleep 600", 0.3, "did not end within 0.3 seconds"),
        ("sleep 600 & sleep 600", 0.3, "did not end within 0.3 seconds"),
        ("head -c 3000000 /dev/zero | tr '\\0' x; exit 1", 30.0, "failed with exit code 1"),
        ("kill -9 $$", 30.0, "was killed by a signal"),
        ("/no/such/program", 30.0, "failed with exit code 127"),
        ("printf '{\"decision\": '", 30.0, "cannot be read"),
    ] {
        let home = with_hooks(&hook("PreToolUse", command, timeout))?;
        let server = ModelServer::scripted([
            Turn::call("developer__shell", json!({ "command": "touch made" })),
            Turn::text("Done."),
        ])?;
        let began = Instant::now();
        let run = run(&home, &server, &["run", "-t", "Touch it"])?;
        assert_eq!(run.code, Some(0), "{command}: {run:?}");
        ensure!(run.stderr.contains(expected), "{command}: {}", run.stderr);
        ensure!(home.path().join("made").exists(), "{command}");
        ensure!(began.elapsed().as_secs() < 60, "{command}");
    }
    Ok(())
}

#[test]
fn what_a_hook_leaves_running_does_not_hold_the_call() -> anyhow::Result<()> {
    let home = with_hooks(&hook("PreToolUse", "sleep 300 & echo started > started", 200.0))?;
    let server = ModelServer::scripted([
        Turn::call("developer__shell", json!({ "command": "touch made" })),
        Turn::text("Done."),
    ])?;
    let began = Instant::now();
    let run = run(&home, &server, &["run", "-t", "Touch it"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(home.path().join("made").exists() && began.elapsed().as_secs() < 60, "{run:?}");
    Ok(())
}

#[test]
fn a_rule_that_denies_the_command_denies_the_hook() -> anyhow::Result<()> {
    let home = with_hooks(&hook("SessionStart", "curl http://127.0.0.1:9/ > fetched; touch ran", 20.0))?;
    fs::create_dir_all(home.path().join("config"))?;
    fs::write(home.path().join("config/permission.yaml"), "rules:\n  - deny: shell curl *\n")?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let run = run(&home, &server, &["run", "-t", "hi"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(!home.path().join("ran").exists() && run.stderr.contains("was not run"), "{run:?}");
    Ok(())
}

/// The hooks of a project run only after it is trusted; those in the configuration as well.
#[test]
fn hooks_of_a_project_need_trust() -> anyhow::Result<()> {
    let home = Home::with_config("hooks:\n  Stop:\n    - hooks: [{type: command, command: touch own}]\n")?;
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".claude"))?;
    fs::write(project.join(".claude/settings.json"), hook("Stop", "touch theirs", 20.0))?;
    fs::write(project.join(".claude/settings.local.json"), hook("Stop", "touch local", 20.0))?;
    let server = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
    let mut command = goose(&home, &server, &["run", "-t", "hi"]);
    let run: Run = command.current_dir(&project).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(run.stderr.contains("not trusted") && !project.join("theirs").exists(), "{run:?}");
    ensure!(!project.join("local").exists(), "{run:?}");
    ensure!(project.join("own").exists(), "{run:?}");

    let listed: Run = home.goose(&["hooks", "list", "--json"]).current_dir(&project).output()?.try_into()?;
    let files = listed.json()?["files"].clone();
    assert_eq!((&files[0]["state"], &files[1]["state"]), (&json!("used"), &json!("not_trusted")), "{files}");
    let commands = [&files[1]["hooks"][0]["command"], &files[2]["hooks"][0]["command"]];
    assert_eq!(commands, ["touch theirs", "touch local"]);

    let mut command = goose(&home, &server, &["run", "--trust-project", "-t", "hi"]);
    let run: Run = command.current_dir(&project).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    ensure!(project.join("theirs").exists() && !run.stderr.contains("not trusted"), "{run:?}");
    ensure!(project.join("local").exists(), "{run:?}");
    Ok(())
}

#[test]
fn hooks_are_listed_and_tested() -> anyhow::Result<()> {
    let home = with_hooks(STOCK)?;
    fs::write(home.path().join("guard.sh"), GUARD)?;
    let list = home.run(&["hooks", "list"])?;
    for text in ["PreToolUse", "guard.sh", "(20 s)", "(60 s)", "not events of goose: Notification"] {
        ensure!(list.stdout.contains(text), "`{text}` is not in {}", list.stdout);
    }
    let test = |input: &str| {
        home.run(&["hooks", "test", "PreToolUse", "--tool", "Bash", "--input", input, "--json"])
    };
    let blocked = test("{\"command\": \"rm x\"}")?.json()?;
    assert_eq!(blocked["reports"][0]["effect"]["block"], "Removing is not allowed here.");
    assert_eq!(blocked["reports"][0]["run"]["exit"], json!({ "code": 2 }));
    let allowed = test("{\"command\": \"ls\"}")?.json()?;
    assert_eq!(allowed["reports"][0]["effect"], json!({ "stops": false }));
    let none = home.run(&["hooks", "test", "PreToolUse", "--tool", "memory__remember_memory"])?;
    ensure!(none.stdout.contains("No hook of PreToolUse matches"), "{none:?}");
    let shown = home.run(&["hooks", "test", "SessionStart"])?;
    ensure!(shown.stdout.contains("The branch is blue."), "{shown:?}");
    assert_eq!(home.run(&["hooks", "test", "Nonsense"])?.code, Some(2));
    Ok(())
}

/// Without hooks, the first request has not a byte more.
#[test]
fn no_hooks_cost_no_byte() -> anyhow::Result<()> {
    let mut bodies = Vec::new();
    for home in [Home::new()?, with_hooks("{\"hooks\": {}}")?] {
        let server = ModelServer::scripted([Turn::text("Hello.")])?;
        let run = run(&home, &server, &["run", "-t", "hi"])?;
        ensure!(run.code == Some(0) && run.stderr.is_empty(), "{run:?}");
        bodies.push(body(&server, 0).replace(&home.path().display().to_string(), "HOME"));
    }
    assert_eq!(bodies[0], bodies[1]);
    Ok(())
}
