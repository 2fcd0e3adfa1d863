//! Actions of agents that ask for permission: a clear one is judged by all of its files or its command, any other is
//! asked about in every mode. Agents name the fields of their tools as they like.

use goose::{exchange::Decision, permission::Mode};
use serde_json::{Value, json};

use crate::support::{World, program, say};

const DENY: Decision = Decision::Deny { instead: None };

/// What comes of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed,
    Asked,
    Denied,
}
use Verdict::{Allowed, Asked, Denied};

/// Makes an agent ask for each action, in a session with rules, and compares the verdicts.
async fn check(rules: &str, mode: Mode, cases: Vec<(Value, Verdict)>) -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    std::fs::write(world.manager.settings().paths().config.join("permission.yaml"), rules)?;
    std::fs::write(world.folder().join("a.txt"), "text")?;
    let exchange = world.open("other", mode).await?;
    let folder = world.folder().display().to_string();
    let mut wrong = Vec::new();
    for (action, expected) in cases {
        let action = action.to_string().replace("WORK", &folder);
        let seen = say(&exchange, &format!("action {action}"), DENY).await?;
        let verdict = match (seen.text().as_str(), seen.questions().is_empty()) {
            ("id-allow_once", true) => Allowed,
            ("id-reject_once", true) => Denied,
            ("id-reject_once", false) => Asked,
            (other, _) => anyhow::bail!("{action}: {other}"),
        };
        if verdict != expected {
            wrong.push(format!("{action}: {verdict:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn run(input: Value) -> Value {
    json!({"kind": "execute", "rawInput": input})
}

fn of_kind(kind: &str, input: Value) -> Value {
    json!({"kind": kind, "rawInput": input})
}

fn with_locations(kind: &str, path: &str, input: Value) -> Value {
    json!({"kind": kind, "locations": [{"path": path}], "rawInput": input})
}

/// Ordinary actions, as agents in use describe them.
fn ordinary() -> Vec<Value> {
    vec![
        run(json!({"command": "ls", "description": "List files", "timeout": 1000})),
        run(json!({"command": "git status", "run_in_background": false})),
        run(json!({"command": ["bash", "-lc", "ls"], "cwd": "WORK", "call_id": "1", "reason": null,
                   "started_at_ms": 1, "proposed_execpolicy_amendment": ["ls"], "available_decisions": ["approved"],
                   "parsed_cmd": [{"type": "list_files", "cmd": "ls", "path": null}]})),
        run(json!({"command": "ls", "args": ["-l"], "cwd": "."})),
        run(json!({"command": "ls", "env": {}, "directory": "WORK/"})),
        of_kind("read", json!({"file_path": "WORK/a.txt", "offset": 1, "limit": 20})),
        of_kind("read", json!({"abs_path": "WORK/a.txt"})),
        json!({"kind": "read", "locations": [{"path": "WORK/a.txt", "line": 3}]}),
        of_kind("search", json!({"pattern": "fn main", "path": "WORK", "glob": "*.rs", "-n": true})),
        of_kind("search", json!({"pattern": "**/*.rs", "path": "WORK"})),
        of_kind("edit", json!({"file_path": "WORK/b.txt", "old_string": "/etc/passwd", "new_string": "~/x"})),
        of_kind(
            "edit",
            json!({"file_path": "WORK/b.txt", "edits": [{"old_string": "a", "new_string": "b"}]}),
        ),
        of_kind("edit", json!({"abs_path": "WORK/b.txt", "content": "#!/bin/sh\nrm x\n"})),
        of_kind(
            "edit",
            json!({"call_id": "1", "changes": {"WORK/b.txt": {"type": "update", "unified_diff": "@@",
                               "move_path": null}}}),
        ),
        json!({"kind": "edit", "locations": [{"path": "WORK/b.txt"}],
               "content": [{"type": "diff", "path": "WORK/b.txt", "oldText": null, "newText": "x"}]}),
        of_kind("delete", json!({"path": "WORK/b.txt"})),
        of_kind("move", json!({"source": "WORK/b.txt", "destination": "WORK/c.txt"})),
        of_kind("fetch", json!({"url": "https://example.com/a/b", "prompt": "What is it about?"})),
        of_kind("think", json!({"thought": "Perhaps it is in src/main.rs, or below /etc."})),
        of_kind("think", json!({"todos": [{"content": "Run the tests", "status": "pending"}]})),
        of_kind("switch_mode", json!({"plan": "First look, then change."})),
        of_kind("other", json!({"query": "weather", "count": 3})),
        of_kind("other", json!({"path": "WORK/a.txt", "content": "new"})),
    ]
}

/// Actions of which it is not known what they do.
fn unclear() -> Vec<Value> {
    let mut actions = vec![
        run(json!({"command": "ls", "cwd": "/"})),
        run(json!({"command": "ls", "cwd": "sub"})),
        run(json!({"command": "ls", "workdir": ".."})),
        run(json!({"command": "ls", "working_directory": 7})),
        run(json!({"command": "ls", "env": {"PATH": "/tmp"}})),
        run(json!({"command": "ls", "environment": ["LD_PRELOAD=x"]})),
        run(json!({"command": "ls", "shell": "/tmp/sh"})),
        run(json!({"command": "ls", "stdin": "x"})),
        run(json!({"command": "ls", "cmd": "pwd"})),
        run(json!({"command": "ls", "script": "pwd"})),
        run(json!({"command": "ls", "args": "-l"})),
        run(json!({"command": "ls", "args": [1]})),
        run(json!({"command": "ls", "sudo": true})),
        run(json!({"command": "ls", "sandbox": false})),
        run(json!({"command": "ls", "input": {"command": "pwd"}})),
        run(json!({"input": {"command": "ls"}})),
        run(json!({"command": ""})),
        run(json!({"command": {"line": "ls"}})),
        run(json!({"tool": "ls"})),
        run(json!("ls")),
        run(json!(["ls"])),
        json!({"kind": "execute", "rawInput": {"command": "ls"}, "command": "pwd"}),
        json!({"kind": "execute", "rawInput": {"command": "ls"},
               "content": [{"type": "diff", "path": "WORK/a.txt", "newText": "x"}]}),
        with_locations("read", "WORK/a.txt", json!({"mode": "raw"})),
        with_locations("read", "WORK/a.txt", json!({"command": "pwd"})),
        with_locations("read", "WORK/a.txt", json!({"options": {"follow": true}})),
        with_locations("edit", "WORK/a.txt", json!({"patch": "*** Update File: b"})),
        with_locations("edit", "WORK/a.txt", json!({"command": "create"})),
        with_locations("edit", "WORK/a.txt", json!({"grant_root": "WORK"})),
        with_locations("delete", "WORK/a.txt", json!("b.txt")),
        with_locations("think", "WORK/a.txt", json!({})),
        of_kind("fetch", json!({"url": "file:///etc/hostname"})),
        of_kind("fetch", json!({"url": "https://example.com", "output": "./b.txt"})),
        of_kind("think", json!({"command": "ls"})),
        of_kind("think", json!({"steps": [{"cmd": ["ls"]}]})),
        of_kind("switch_mode", json!({"script": "ls"})),
        json!({"rawInput": {"url": "https://example.com"}}),
        json!({"kind": 7}),
    ];
    for kind in ["other", "OTHER", "EXECUTE", "Execute", " execute", "run", "", "bash"] {
        actions.push(of_kind(kind, json!({"command": "ls"})));
        actions.push(of_kind(kind, json!({"file_path": "a.txt"})));
    }
    actions
}

#[tokio::test]
async fn ordinary_actions_are_clear() -> anyhow::Result<()> {
    let cases = ordinary().into_iter().map(|action| (action, Allowed)).collect();
    check("", Mode::Auto, cases).await
}

#[tokio::test]
async fn unclear_actions_are_asked_about_in_every_mode() -> anyhow::Result<()> {
    for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
        let cases = unclear().into_iter().map(|action| (action, Asked)).collect();
        check("rules:\n  - allow: developer__shell\n", mode, cases).await?;
    }
    Ok(())
}

#[tokio::test]
async fn rules_hold_for_all_that_an_action_names() -> anyhow::Result<()> {
    let rules = "rules:\n  - deny: shell rm *\n  - deny: write secret/**\n  - deny: read hidden/**\n";
    let denied = vec![
        run(json!({"command": "env", "args": ["rm", "-rf", "x"]})),
        run(json!({"command": "rm", "arguments": ["x"]})),
        run(json!({"command": ["env", "rm"], "args": ["x"]})),
        run(json!({"command": "ls", "cmd": "rm x"})),
        run(json!({"command": "ls", "input": {"command": "rm x"}})),
        run(json!({"command": "rm x", "cwd": "/"})),
        of_kind("other", json!({"command": "rm x"})),
        of_kind("think", json!({"script": "rm x"})),
        of_kind("EXECUTE", json!({"command": "rm x"})),
        of_kind("fetch", json!({"steps": [{"cmd": ["rm", "x"]}]})),
        json!({"rawInput": {"command": "rm x"}}),
        with_locations("edit", "WORK/a.txt", json!({"target_file": "secret/a"})),
        with_locations("edit", "WORK/a.txt", json!({"other_file": "secret/a"})),
        with_locations("edit", "WORK/a.txt", json!({"options": {"to": ["WORK/secret/a"]}})),
        with_locations(
            "edit",
            "WORK/a.txt",
            json!({"changes": {"WORK/secret/a": {"type": "add", "content": "x"}}}),
        ),
        with_locations("edit", "WORK/a.txt", json!({"changes": {"a.txt": {"move_path": "secret/a"}}})),
        with_locations("move", "WORK/a.txt", json!({"destination": "secret/a"})),
        with_locations("move", "WORK/a.txt", json!({"new_name": "WORK/secret/a"})),
        with_locations("delete", "WORK/a.txt", json!({"paths": ["a.txt", "secret/a"]})),
        with_locations("read", "WORK/a.txt", json!({"target_file": "hidden/a"})),
        with_locations("search", "WORK/a.txt", json!({"pattern": "WORK/hidden/*"})),
        with_locations("read", "WORK/a.txt", json!({"filters": [{"x": "WORK/hidden/a"}]})),
        of_kind("other", json!({"target": "WORK/secret/a"})),
        of_kind("rename", json!({"file": "secret/a"})),
    ];
    for mode in [Mode::Auto, Mode::SmartApprove] {
        check(rules, mode, denied.iter().map(|action| (action.clone(), Denied)).collect()).await?;
    }
    Ok(())
}
