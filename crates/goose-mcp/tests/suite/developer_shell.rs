//! Commands as the model runs them, with real processes.

use std::{
    fs,
    time::{Duration, Instant},
};

use goose_extension::{CallContext, Extension as _, RichRenderable, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::developer_support::{Desk, PATIENCE, is_alive, pids, until};

fn arguments(command: &str) -> serde_json::Map<String, Value> {
    serde_json::Map::from_iter([("command".to_owned(), json!(command))])
}

#[tokio::test]
async fn output_comes_back_in_the_order_it_was_written() {
    let desk = Desk::new();
    let script = "for n in 1 2 3; do echo out $n; echo err $n >&2; done";
    let text = desk.ok("shell", json!({ "command": script })).await;
    assert_eq!(text, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3");
    assert_eq!(desk.ok("shell", json!({ "command": "true" })).await, "(no output)");
}

#[tokio::test]
async fn how_a_command_ended_is_said() {
    let desk = Desk::new();
    assert_eq!(desk.err("shell", json!({ "command": "echo no; exit 3" })).await, "no\n[exit code 3]");
    let killed = desk.err("shell", json!({ "command": "kill -9 $$" })).await;
    assert_eq!(killed, "[killed by signal 9 (KILL)]");
    let missing = desk.err("shell", json!({ "command": "no-such-program-here" })).await;
    assert!(missing.ends_with("not found\n[exit code 127: a command was not found]"), "{missing}");
    fs::write(desk.path("tool.sh"), "echo 5").unwrap();
    for command in ["./tool.sh", "tool.sh 7"] {
        let refused = desk.err("shell", json!({ "command": command })).await;
        assert!(refused.ends_with("with its interpreter, such as `sh FILE`]"), "{refused}");
    }
}

#[tokio::test]
async fn exit_code_1_of_a_comparison_is_not_a_failure() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    for command in ["grep two a", "cat a | grep two 2>&1", "cd . && diff a /dev/null >/dev/null", "test -e b"]
    {
        assert_eq!(desk.ok("shell", json!({ "command": command })).await, "[exit code 1]", "{command}");
    }
    for command in ["grep two nowhere", "grep one a; false", "grep() { return 1; }; exit 1"] {
        let message = desk.err("shell", json!({ "command": command })).await;
        assert!(message.contains("[exit code "), "{command}: {message}");
    }
}

#[tokio::test]
async fn each_command_starts_anew_in_the_working_folder() {
    let desk = Desk::new();
    fs::create_dir(desk.path("sub")).unwrap();
    let folder = desk.path("").canonicalize().unwrap();
    for command in ["cd sub && pwd -P", "pwd -P"] {
        let text = desk.ok("shell", json!({ "command": command })).await;
        let expected = if command.starts_with("cd") { folder.join("sub") } else { folder.clone() };
        assert_eq!(text, expected.display().to_string());
    }
}

#[tokio::test]
async fn only_the_given_variables_reach_a_command() {
    let desk = Desk::with_variables(&[("GREETING", "hello")]);
    let text = desk.ok("shell", json!({ "command": "env" })).await;
    assert!(
        text.contains("GREETING=hello\n") && text.contains("TERM=dumb") && text.contains("GIT_PAGER=cat")
    );
    // Cargo gives a test this one, and it is not passed on.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!text.contains("CARGO_MANIFEST_DIR"), "{text}");
}

/// Many systems have `python3` only, and models write `python`.
#[tokio::test]
async fn a_missing_python_is_python3() {
    let folder = tempfile::tempdir().unwrap();
    goose_test_support::write_program(&folder.path().join("python3"), "#!/bin/sh\necho three \"$@\"\n")
        .unwrap();
    for name in ["bash", "env", "xargs"] {
        let program = ["/usr/bin", "/bin"].map(|bin| std::path::Path::new(bin).join(name));
        let program = program.into_iter().find(|program| program.exists()).unwrap();
        std::os::unix::fs::symlink(program, folder.path().join(name)).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let desk = Desk::with_variables(&[("PATH", path)]);
    let text = desk.ok("shell", json!({ "command": "python -m x 'a b' && (python y)" })).await;
    assert_eq!(text, "three -m x a b\nthree y");
    goose_test_support::write_program(&folder.path().join("python"), "#!/bin/sh\necho own\n").unwrap();
    let desk = Desk::with_variables(&[("PATH", path)]);
    assert_eq!(desk.ok("shell", json!({ "command": "python" })).await, "own");
}

#[tokio::test]
async fn another_shell_may_be_named() {
    for shell in ["bash", "/bin/bash"] {
        let desk = Desk::with_variables(&[("GOOSE_SHELL", shell)]);
        let text =
            desk.ok("shell", json!({ "command": "x=(a b); echo ${#x[@]} ${BASH_VERSION:+bash}" })).await;
        assert_eq!(text, "2 bash");
    }
    let desk = Desk::with_variables(&[("GOOSE_SHELL", "/nowhere/sh")]);
    let message = desk.err("shell", json!({ "command": "true" })).await;
    assert!(message.contains("/nowhere/sh") && message.contains("GOOSE_SHELL"), "{message}");
}

#[tokio::test]
async fn terminal_output_becomes_text() {
    let desk = Desk::new();
    let script = r"printf '\033[31mred\033[0m\r\nloading 1%%\rloading 99%%\na\000b\377\n'";
    assert_eq!(desk.ok("shell", json!({ "command": script })).await, "red\nloading 99%\nab\u{FFFD}");
    let binary = desk.ok("shell", json!({ "command": "head -c 5000 /dev/zero" })).await;
    assert!(binary.starts_with("[5000 bytes of binary output"), "{binary}");
}

#[tokio::test]
async fn a_long_output_keeps_its_ends_and_is_whole_in_a_file() {
    let desk = Desk::new();
    let text = desk.ok("shell", json!({ "command": "seq 1 100000" })).await;
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("\n99999\n100000"));
    assert!(text.len() < 50 * 1024);
    let marker = text.lines().find(|line| line.starts_with("[…")).unwrap();
    let file = marker.split("all of it is in ").nth(1).unwrap().trim_end_matches(" …]");
    let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(fs::read_to_string(file).unwrap(), expected);
    let numbers: Vec<u64> = marker.split(' ').filter_map(|word| word.parse().ok()).collect();
    let shown = text.lines().filter(|line| !line.starts_with('[')).count() as u64;
    assert_eq!(numbers[1] + shown, 100_000, "{marker}");
    drop(desk);
    assert!(!fs::exists(file).unwrap(), "the file goes with its owner");
}

/// Where the whole output cannot be kept, the command's result is still there and says so.
#[tokio::test]
async fn a_scratch_folder_that_cannot_be_used_is_said() {
    let desk = Desk::new();
    fs::write(desk.root().join("scratch"), "a file").unwrap();
    let text = desk.ok("shell", json!({ "command": "seq 1 100000" })).await;
    assert!(text.contains("it could not be kept in ") && text.ends_with("100000"), "{}", text.len());
}

/// There is no stdin and no terminal.
#[tokio::test]
async fn no_input_and_no_terminal() {
    let desk = Desk::new();
    let script =
        "cat; read -r line || echo nothing; (read -r line </dev/tty) 2>/dev/null || echo no terminal";
    assert_eq!(desk.ok("shell", json!({ "command": script })).await, "nothing\nno terminal");
}

/// What waits for ever runs out of time, with what it had written.
#[tokio::test]
async fn a_command_that_never_ends_runs_out_of_time() {
    let desk = Desk::new();
    let script = "trap '' TERM; echo $$ >pids; sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' & \
                  echo begun; while :; do sleep 1; done";
    let begin = Instant::now();
    let output = desk.call("shell", json!({ "command": script, "timeout_secs": 1 })).await.unwrap();
    let Some(ToolError::Timeout(text)) = output.failure() else { panic!("{output:?}") };
    assert!(text.starts_with("begun\n[stopped") && text.contains("after 1 s"), "{text}");
    assert!(begin.elapsed() < PATIENCE);
    let pids = pids(&desk.path("pids"));
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|&pid| !is_alive(pid)));
}

/// A job in the background does not hold up the call, lives on, and may go on writing.
#[tokio::test]
async fn a_background_job_does_not_hang_the_call() {
    let desk = Desk::new();
    let script = "(trap 'exit 0' TERM; echo early; while [ ! -e go ]; do sleep 0.05; done; echo late; \
                  echo later; sleep 9999) & echo $! >pids; echo begun";
    let begin = Instant::now();
    let text = desk.ok("shell", json!({ "command": script })).await;
    assert!(begin.elapsed() < PATIENCE);
    assert!(text.contains("begun") && text.contains("may be incomplete"), "{text}");
    let pid = pids(&desk.path("pids"))[0];
    assert!(is_alive(pid));
    let file = text.split("later output goes to ").nth(1).unwrap().trim_end_matches(']').to_owned();
    desk.put("go", "");
    let has_later = || fs::read_to_string(&file).is_ok_and(|text| text.ends_with("late\nlater\n"));
    until("the job's output is in the file", PATIENCE, has_later).await;
    assert!(is_alive(pid), "its output is still open");
    let stop = format!("kill -9 {pid}; pkill -9 -P {pid}");
    desk.call("shell", json!({ "command": stop })).await.unwrap();
}

#[tokio::test]
async fn a_background_job_with_its_own_output_is_not_mentioned() {
    let desk = Desk::new();
    let script = "sleep 9999 >/dev/null 2>&1 & echo $! >pids";
    assert_eq!(desk.ok("shell", json!({ "command": script })).await, "(no output)");
    let pid = pids(&desk.path("pids"))[0];
    assert!(is_alive(pid), "it is the person's, and lives on");
    desk.ok("shell", json!({ "command": format!("kill -9 {pid}") })).await;
}

/// The whole tree gets TERM, and KILL where that does not help; gone in less than three seconds.
#[tokio::test]
async fn a_cancelled_command_ends_with_its_tree() {
    let desk = Desk::new();
    let script = "trap_and_wait='trap \"echo term >>heard\" TERM; echo $$ >>pids; \
                  while :; do sleep 0.1; done'; sh -c \"$trap_and_wait\" & setsid sh -c \"$trap_and_wait\" & \
                  trap '' TERM; echo $$ >>pids; while :; do sleep 1; done";
    let token = CancellationToken::new();
    let context: CallContext = desk.context().with_cancellation(token.clone());
    let call = desk.developer.call("shell", arguments(script), &context);
    let file = desk.path("pids");
    let cancel = async {
        until("all have begun", PATIENCE, || pids(&file).len() == 3).await;
        token.cancel();
    };
    let (ended, ()) = tokio::join!(call, cancel);
    assert!(matches!(ended, Err(ToolError::Cancelled(_))), "{ended:?}");
    let all = pids(&file);
    until("all are gone", Duration::from_secs(3), || !all.iter().any(|&pid| is_alive(pid))).await;
    assert_eq!(desk.text("heard").lines().count(), 2, "they were asked first");
}

/// Nothing runs in a folder that is gone.
#[tokio::test]
async fn a_working_folder_that_is_gone_is_said() {
    let desk = Desk::new();
    fs::remove_dir_all(desk.path("")).unwrap();
    let message = desk.err("shell", json!({ "command": "touch x" })).await;
    assert!(message.contains("working folder") && message.contains("nothing was run"), "{message}");
}

#[tokio::test]
async fn who_watches_sees_the_output_as_it_comes() {
    let desk = Desk::new();
    let script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; sleep 0.3; echo three";
    let watch = async {
        until("the first line is seen", PATIENCE, || !desk.watcher.progress().is_empty()).await;
        desk.put("go", "");
    };
    let (text, ()) = tokio::join!(desk.ok("shell", json!({ "command": script })), watch);
    assert_eq!(text, "one\ntwo\nthree");
    let seen = desk.watcher.progress();
    let told: String = seen.iter().filter_map(|progress| progress.message.clone()).collect();
    assert_eq!(told, "one\ntwo\nthree\n");
    assert!(seen.windows(2).all(|pair| pair[0].done < pair[1].done), "{seen:?}");
}

#[tokio::test]
async fn what_comes_fast_is_told_seldom() {
    let desk = Desk::new();
    let begin = Instant::now();
    desk.ok("shell", json!({ "command": "seq 1 300000" })).await;
    let most = begin.elapsed().as_millis() / 100 + 1;
    assert!(desk.watcher.progress().len() as u128 <= most);
    assert!(desk.watcher.progress().iter().all(|it| it.message.as_ref().is_none_or(|it| it.len() <= 4096)));
}

#[tokio::test]
async fn commands_that_cannot_be_are_refused() {
    let desk = Desk::new();
    for (command, reason) in [("", "empty"), ("a\0b", "NUL"), (&*"x".repeat(200_000), "longer than")] {
        let message = desk.err("shell", json!({ "command": command })).await;
        assert!(message.contains(reason), "{message}");
    }
    assert!(desk.refused("shell", json!({})).await.contains("command"));
    assert!(
        desk.refused("shell", json!({ "command": "true", "timeout_secs": -1 }))
            .await
            .contains("timeout_secs")
    );
    assert!(desk.refused("shell", json!({ "command": "true", "wd": "/" })).await.contains("wd"));
}

#[tokio::test]
async fn commands_run_side_by_side() {
    let desk = Desk::new();
    let wait_for = |own: &str, other: &str| {
        json!({ "command": format!("touch {own}; while [ ! -e {other} ]; do sleep 0.02; done; echo {own}"),
                "timeout_secs": PATIENCE.as_secs() })
    };
    let (a, b) = tokio::join!(desk.ok("shell", wait_for("a", "b")), desk.ok("shell", wait_for("b", "a")));
    assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
}

#[tokio::test]
async fn a_command_is_logged_and_shows_in_the_status_while_it_runs() {
    let desk = Desk::new();
    let command = "touch started; while ! [ -e go ]; do sleep 0.01; done";
    let status = async || desk.developer.status().await.unwrap();
    assert_eq!(status().await["running_commands"], json!([]));
    let shell = status().await["shell"].as_str().unwrap_or_default().to_owned();
    assert!(shell.ends_with("/bash") || shell == "/bin/sh", "{shell}");
    let look = async {
        until("it runs", PATIENCE, || desk.path("started").exists()).await;
        let seen = status().await;
        desk.put("go", "");
        seen
    };
    let (output, seen) = tokio::join!(desk.call("shell", json!({ "command": command })), look);
    assert!(!output.unwrap().is_error);
    assert_eq!(seen["running_commands"], json!([command]));
    assert_eq!(status().await["running_commands"], json!([]));
    let logged = RichRenderable::Code { language: "sh".to_owned(), text: command.to_owned() };
    assert_eq!(desk.watcher.take_logged(), [logged]);
    assert_eq!(desk.watcher.statuses(), ["shell command running"]);
}

/// Models write for bash, and the description says which shell there is.
#[tokio::test]
async fn commands_run_in_bash_where_it_exists() {
    let desk = Desk::new();
    let shell = desk.developer.status().await.unwrap()["shell"].as_str().unwrap_or_default().to_owned();
    if !shell.ends_with("/bash") {
        return;
    }
    let command = "[[ 1 == 1 ]] && echo {1..3}; diff <(echo a) <(echo a) && echo same";
    assert_eq!(desk.ok("shell", json!({ "command": command })).await, "1 2 3\nsame");
    let tool = desk.developer.tools().iter().find(|tool| tool.name() == "shell").unwrap();
    assert!(tool.description().starts_with("Run a command in bash."), "{}", tool.description());
}
