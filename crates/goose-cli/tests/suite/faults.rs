//! Faults around a run, as users meet them: `goose run` reports them, ends as it should, and leaves
//! everything whole.

use std::{
    fs,
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, is_alive};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    kept::{integrity, store},
    run::goose,
    support::{Home, Run, program, wait_until},
    talk::{at_terminal_with, prompted, shell},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Limit of the additional memory after a large output.
#[cfg(target_os = "linux")]
const MAX_GROWTH_KB: u64 = 20 * 1024;

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> anyhow::Result<Run> {
    goose(home, server, arguments).output()?.try_into()
}

/// A server that is killed in mid-call is an error for the model, its neighbour works, and it is there again.
#[test]
fn a_server_that_dies_in_a_call_does_not_end_the_run() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        Turn::call("faulty_server__fatal", json!({}))
            .and_call("kitchen_sink__echo", json!({"message": "untouched"})),
        Turn::call("faulty_server__echo", json!({"text": "back"})),
        Turn::text("It is back."),
    ])?;
    let (bad, good) =
        (program("faulty_server", "--die-on-call fatal --die-how kill9")?, program("kitchen_sink", "")?);
    let run = run(&home, &server, &["run", "-t", "Go", "--with-extension", &bad, "--with-extension", &good])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It is back.\n"), "{run:?}");
    let asked = server.asked();
    let first = asked[1].tool_results();
    ensure!(first[0].1.contains("faulty_server") && first[1].1.contains("untouched"), "{first:?}");
    let second = asked[2].tool_results();
    ensure!(second.last().is_some_and(|(_, text)| text.contains("back")), "{second:?}");
    Ok(())
}

/// Goose as a whole, not only its shell, stays small when a command writes 100 MB.
#[cfg(target_os = "linux")]
#[test]
fn a_large_output_costs_little_memory() -> anyhow::Result<()> {
    let home = Home::new()?;
    let (process, peaks) = (Arc::new(OnceLock::<u32>::new()), Arc::new(Mutex::new(Vec::new())));
    let server = ModelServer::answering({
        let (process, peaks) = (Arc::clone(&process), Arc::clone(&peaks));
        move |_| {
            let mut peaks = peaks.lock();
            peaks.push(peak(*process.wait()));
            match peaks.len() {
                1 => shell("seq 1 100000"),
                2 => shell("yes 0123456789abcde | head -c 100000000"),
                _ => Turn::text("Much."),
            }
        }
    })?;
    // A model with room for the results, so that nothing is cut for its sake.
    let child = goose(&home, &server, &["run", "-t", "Go"]).env("GOOSE_MODEL", "gpt-4o").spawn()?;
    process.set(child.id()).ok().context("it is set once")?;
    let run: Run = child.wait_with_output()?.try_into()?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Much.\n"), "{run:?}");
    let asked = server.asked();
    let results = asked[2].tool_results();
    let (_, text) = &results[1];
    ensure!(text.starts_with("0123456789abcde\n") && text.contains("left out"), "{} bytes", text.len());
    let peaks = peaks.lock();
    let (before, after) = (peaks[1].context("its memory")?, peaks[2].context("its memory")?);
    ensure!(after.saturating_sub(before) < MAX_GROWTH_KB, "{before} KB, then {after} KB");
    Ok(())
}

/// The most memory that a process has used so far, in KB.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A tree that does not hear TERM, one of it in a session of its own, is gone in less than three seconds; the call
/// is recorded as cancelled.
#[test]
fn a_cancelled_tree_is_gone_and_recorded() -> anyhow::Result<()> {
    let home = Home::new()?;
    let stubborn = "wait='trap \"\" TERM INT; echo $$ >> tree; while :; do sleep 0.2; done'; \
                    sh -c \"$wait\" & setsid sh -c \"$wait\" & eval \"$wait\"";
    let server = ModelServer::scripted([shell(stubborn)])?;
    let child = goose(&home, &server, &["run", "-t", "Go"]).spawn()?;
    let tree = || fs::read_to_string(home.path().join("tree")).unwrap_or_default();
    wait_until(LIMIT, "the tree grows", || Ok(tree().lines().count() == 3))?;
    let begun = Instant::now();
    ensure!(Command::new("kill").args(["-INT", &child.id().to_string()]).status()?.success());
    wait_until(Duration::from_secs(3), "the tree is gone", || {
        Ok(!tree().lines().filter_map(|process| process.parse().ok()).any(is_alive))
    })?;
    assert_eq!(child.wait_with_output()?.status.code(), Some(130));
    ensure!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let steps = home.run(&["session", "export", "--format", "json"])?.json()?["steps"].clone();
    let results = steps.as_array().into_iter().flatten().filter(|it| it["step"]["step"] == "tool_result");
    let texts: Vec<String> = results.map(|it| it["step"]["output"].to_string()).collect();
    assert_eq!(texts.len(), 1, "{steps}");
    ensure!(texts[0].to_lowercase().contains("cancelled"), "{texts:?}");
    Ok(())
}

/// A disk that is full, at any time of a run: it is said, nothing loops, nothing is damaged, and with room again it
/// goes on.
#[test]
fn a_full_disk_ends_the_run_with_its_reason() -> anyhow::Result<()> {
    let mut failed = 0;
    for blocks in [8, 70, 140, 210, 280, 350] {
        let home = Home::new()?;
        let server = ModelServer::answering(|asked| match asked.tool_results().len() {
            calls @ 0..4 => shell(&format!("echo {calls} {}", "x".repeat(1000))),
            _ => Turn::text("Done."),
        })?;
        let plain = goose(&home, &server, &["run", "-t", "Go"]);
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, "sh"]).arg(plain.get_program()).args(plain.get_args());
        limited.current_dir(home.path()).stdin(Stdio::null());
        limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run: Run = limited.output()?.try_into()?;
        ensure!(server.asked().len() <= 5, "{blocks}: it loops");
        if run.code != Some(0) {
            failed += 1;
            assert_eq!(run.code, Some(1), "{blocks}: {run:?}");
            ensure!(run.stderr.contains("error: ") && run.stderr.contains("goose.db"), "{blocks}: {run:?}");
        }
        let again = goose(&home, &server, &["run", "-t", "Again"]).output()?;
        assert_eq!(again.status.code(), Some(0), "{blocks}: {}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(integrity(&store(&home))?, "ok", "{blocks}");
    }
    ensure!(failed >= 4, "hardly anything has failed");
    Ok(())
}

/// Nobody listens there. The reason is shown while goose waits to try again, and Ctrl-C works meanwhile.
#[test]
fn a_service_that_cannot_be_reached_is_said_and_can_be_cancelled() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let closed = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let more = [("OPENAI_HOST", format!("http://{closed}"))];
    let terminal = at_terminal_with(&home, &server, "auto", &["session"], &more)?;
    prompted(&terminal)?;
    terminal.send("Hi\r")?;
    terminal.wait_for("connection refused")?;
    terminal.wait_for("(attempt 3)")?;
    let begun = Instant::now();
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    ensure!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    prompted(&terminal)?;
    Ok(())
}

/// What the service asks for is waited for; what nobody would wait for is said at once.
#[test]
fn the_service_says_when_to_come_back() -> anyhow::Result<()> {
    let home = Home::new()?;
    let busy = |wait: &str| Turn::status(429, "too many birds").with_header("retry-after", wait);
    let server = ModelServer::scripted([busy("1"), Turn::text("Here.")])?;
    let waited = run(&home, &server, &["run", "-t", "Hi"])?;
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(0), "Here.\n"), "{waited:?}");
    let asked = server.asked();
    let pause = asked[1].at.duration_since(asked[0].at);
    ensure!(pause >= Duration::from_secs(1), "{pause:?}");

    let server = ModelServer::scripted([busy("999999999")])?;
    let absurd = run(&home, &server, &["run", "-t", "Hi"])?;
    assert_eq!((absurd.code, server.asked().len()), (Some(1), 1), "{absurd:?}");
    ensure!(absurd.stderr.contains("too many birds"), "{absurd:?}");
    Ok(())
}

/// What waiting does not fix is said once, with what to do, and not tried again.
#[test]
fn what_waiting_does_not_mend_is_said_once() -> anyhow::Result<()> {
    let home = Home::new()?;
    let too_long =
        json!({"error": {"code": "context_length_exceeded", "message": "maximum context length is 9"}});
    for (turn, expected) in [
        (Turn::status(400, "bad field"), "bad field"),
        (Turn::status(401, "unknown account"), "OPENAI_API_KEY"),
        (Turn::status(402, "no money left"), "no money left"),
        (Turn::raw(400, "application/json", too_long.to_string()), "too long for the model"),
    ] {
        let server = ModelServer::scripted([turn])?;
        let run = run(&home, &server, &["run", "-t", "Hi"])?;
        assert_eq!((run.code, run.stdout.as_str(), server.asked().len()), (Some(1), "", 1), "{run:?}");
        ensure!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
    }
    Ok(())
}

/// Every way to end without an answer has its words and its exit code.
#[test]
fn every_end_without_an_answer_is_said() -> anyhow::Result<()> {
    let home = Home::new()?;
    let cases = [
        (vec![Turn::empty(), Turn::thinking("hm"), Turn::empty()], "", "returned an empty answer"),
        (
            vec![Turn::text("It was a dark and").stopping_with("length")],
            "It was a dark and\n",
            "reached its maximum length",
        ),
        (vec![Turn::text("I").stopping_with("content_filter")], "I\n", "refused to answer"),
    ];
    for (turns, answer, expected) in cases {
        let server = ModelServer::scripted(turns)?;
        let run = run(&home, &server, &["run", "-t", "Hi"])?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), answer), "{run:?}");
        ensure!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    let server = ModelServer::answering(|_| shell("echo again >> again"))?;
    let run = run(&home, &server, &["run", "-t", "Hi", "--max-tool-repetitions", "3"])?;
    assert_eq!(run.code, Some(1), "{run:?}");
    ensure!(run.stderr.contains("the same arguments"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(home.path().join("again"))?.lines().count(), 3);
    Ok(())
}

/// A store that is none, or a newer goose's, is named and left as it is.
#[test]
fn a_store_that_cannot_be_used_is_named_and_left_alone() -> anyhow::Result<()> {
    let home = Home::new()?;
    let file = store(&home);
    fs::create_dir_all(file.parent().context("a folder")?)?;
    let garbage = b"Dear diary, today I was no database. ".repeat(200);
    fs::write(&file, &garbage)?;
    let server = ModelServer::scripted([])?;
    for arguments in [&["run", "-t", "Hi"][..], &["session", "list"]] {
        let run = run(&home, &server, arguments)?;
        assert_eq!(run.code, Some(1), "{run:?}");
        ensure!(run.stderr.contains("goose.db"), "{}", run.stderr);
        ensure!(run.stderr.lines().count() >= 2, "what to do is not said: {}", run.stderr);
    }
    assert_eq!(fs::read(&file)?, garbage);
    assert_eq!(server.asked().len(), 0);
    Ok(())
}

/// Eight goose at once, in one store that is not there yet.
#[test]
fn eight_at_once_share_a_store() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| match asked.tool_results().len() {
        calls @ 0..3 => shell(&format!("echo {calls}")),
        _ => Turn::text("Done."),
    })?;
    let start = |number: usize| goose(&home, &server, &["run", "-t", &format!("Number {number}")]).spawn();
    let children = (0..8).map(start).collect::<Result<Vec<_>, _>>()?;
    for child in children {
        let run: Run = child.wait_with_output()?.try_into()?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Done.\n"), "{run:?}");
        ensure!(!run.stderr.contains("error"), "{run:?}");
    }
    let listed = home.run(&["session", "list", "--json"])?.json()?;
    let sessions = listed["sessions"].as_array().context("sessions")?;
    assert_eq!(sessions.len(), 8);
    for session in sessions {
        let id = session["id"].as_str().context("an id")?;
        let steps = home.run(&["session", "export", "--format", "json", id])?.json()?["steps"].clone();
        let results = steps.as_array().into_iter().flatten().filter(|it| it["step"]["step"] == "tool_result");
        assert_eq!(results.count(), 3, "{steps}");
    }
    assert_eq!(integrity(&store(&home))?, "ok");
    Ok(())
}

/// A configuration that cannot be read is kept as it is, and the error has its line.
#[test]
fn a_corrupt_configuration_is_kept_and_said() -> anyhow::Result<()> {
    let corrupt = "# mine\nGOOSE_MODE: auto\nextensions: [unclosed\n";
    let home = Home::with_config(corrupt)?;
    let server = ModelServer::scripted([Turn::text("Here.")])?;
    let broken = run(&home, &server, &["run", "-t", "Hi"])?;
    assert_eq!((broken.code, server.asked().len()), (Some(1), 0), "{broken:?}");
    ensure!(broken.stderr.contains("config.yaml:"), "no line: {}", broken.stderr);
    assert_eq!(fs::read_to_string(home.config())?, corrupt);
    fs::write(home.config(), "")?;
    assert_eq!(run(&home, &server, &["run", "-t", "Hi"])?.stdout, "Here.\n", "an empty one is none");
    Ok(())
}
