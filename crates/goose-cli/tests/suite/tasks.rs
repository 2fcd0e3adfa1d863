//! Requests that goose splits into tasks, with the real program: the plan, the lines, the answer, and kill -9 in the
//! middle.

use std::{
    io::{BufRead as _, BufReader},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, model_server::Asked};
use serde_json::{Value, json};

use crate::{
    kept::exported,
    run::goose,
    support::{Home, Run, wait_until},
    talk::{at_terminal, prompted},
};

/// The time that something may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// A list of two independent jobs for different modes.
const REQUEST: &str = "1. Add a REST endpoint for orders to the Rust backend server\n\
                       2. Restyle the CSS buttons of the React checkout page";

fn text(asked: &Asked) -> String {
    asked.last_user_text().unwrap_or_default()
}

fn is_for(asked: &Asked, part: &str) -> bool {
    let text = text(asked);
    let task = text.strip_prefix("Your task:\n\n").and_then(|task| task.lines().next());
    task.is_some_and(|task| task.contains(part))
}

fn is_join(asked: &Asked) -> bool {
    text(asked).contains("The request was split into tasks")
}

/// Counts the requests that are so.
fn count(server: &ModelServer, is_it: impl Fn(&Asked) -> bool) -> usize {
    server.asked().iter().filter(|asked| is_it(asked)).count()
}

/// The first part is done at once; the second one runs a command first.
fn work(asked: &Asked, command: &str) -> Turn {
    match asked.tool_results().len() {
        _ if is_join(asked) => Turn::text("The backend is done, and so are the tests."),
        _ if is_for(asked, "endpoint") => Turn::text("The endpoint is there."),
        0 => Turn::call("developer__shell", json!({ "command": command })),
        _ => Turn::text("The tests are there."),
    }
}

#[test]
fn a_list_is_one_request_without_a_terminal() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|_| Turn::text("Both are done."))?;
    for arguments in [["run", "-t", REQUEST].as_slice(), &["run", "--no-split", "-t", REQUEST]] {
        let run: Run = goose(&home, &server, arguments).output()?.try_into()?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Both are done.\n"), "{run:?}");
    }
    assert_eq!(server.asked().len(), 2);
    Ok(())
}

#[test]
fn a_list_that_is_split_shows_its_plan_and_a_line_for_each_task() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| work(asked, "echo styled"))?;
    let run: Run = goose(&home, &server, &["run", "--split", "-t", REQUEST]).output()?.try_into()?;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "The backend is done, and so are the tests.\n"),
        "{run:?}"
    );
    for expected in [
        "The request has 2 tasks:",
        "(coding-agent/backend)",
        "Task 1 (coding-agent/backend) done",
        "2 tasks: ",
    ] {
        ensure!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    ensure!(
        !run.stderr.contains("The endpoint is there."),
        "what a task says is not shown raw: {}",
        run.stderr
    );

    let line = run.stderr.lines().find(|line| line.starts_with("2 │ ▸ shell")).unwrap_or_default();
    ensure!(line.contains("echo styled"), "the command is shown: {}", run.stderr);
    ensure!(run.stderr.contains("2 │   styled"), "so is its output: {}", run.stderr);

    let quiet: Run = goose(&home, &server, &["run", "--split", "-q", "-t", REQUEST]).output()?.try_into()?;
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    let arguments = ["run", "--split", "--output-format", "stream-json", "-t", REQUEST];
    let lines: Run = goose(&home, &server, &arguments).output()?.try_into()?;
    let lines: Vec<Value> = lines.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let plan = lines.iter().find_map(|line| line.get("task_plan")).context("a plan")?;
    assert_eq!(plan["tasks"].as_array().map(Vec::len), Some(2), "{plan}");
    let finished: Vec<&Value> = lines.iter().filter_map(|line| line.get("task_finished")).collect();
    ensure!(finished.len() == 2 && finished.iter().all(|task| task["end"] == "done"), "{finished:?}");
    ensure!(finished.iter().all(|task| task["usage"]["input"].as_u64() > Some(0)), "{finished:?}");
    ensure!(lines.iter().any(|line| line.get("tasks_finished").is_some()));
    ensure!(lines.iter().any(|line| line["task_progress"]["event"]["event"] == "tool_started"), "{lines:?}");

    let export: Run = home.run(&["session", "export", "--format", "json"])?;
    let export = export.json()?;
    let tasks = export["tasks"].as_array().context("the export has the tasks")?;
    ensure!(tasks.len() == 2 && tasks[1].to_string().contains("echo styled"), "{tasks:?}");
    let export = home.run(&["session", "export", "--format", "markdown"])?;
    ensure!(export.stdout.contains("echo styled"), "{}", export.stdout);
    Ok(())
}

#[test]
fn killed_in_the_middle_finished_tasks_are_kept_and_none_runs_twice() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server =
        ModelServer::answering(|asked| work(asked, "echo ran >> ran; until [ -e go ]; do sleep 0.05; done"))?;
    let arguments = ["run", "--split", "--output-format", "stream-json", "-t", REQUEST];
    let mut child = goose(&home, &server, &arguments).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output is ours")?).lines();
    let is_finished =
        |line: &std::io::Result<String>| line.as_ref().is_ok_and(|line| line.contains("task_finished"));
    lines.find(is_finished).context("a task is finished")??;
    wait_until(LIMIT, "the command runs", || Ok(home.path().join("ran").exists()))?;
    child.kill()?;
    child.wait()?;
    assert_eq!((count(&server, |asked| is_for(asked, "endpoint")), count(&server, is_join)), (1, 0));

    let steps = exported(&home)?.context("the session is there")?;
    let kinds = |kind: &str| steps.iter().filter(|step| step["step"] == kind).count();
    assert_eq!((kinds("task_plan"), kinds("task_finished")), (1, 1), "{steps:#?}");
    let mut waiting = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    waiting.wait_for("1 of 2 tasks finished. Type `continue` to run the rest.")?;
    waiting.send("/exit\r")?;
    ensure!(waiting.wait()?.success(), "{}", waiting.screen());
    std::fs::write(home.path().join("go"), "")?;
    let resumed: Run = goose(&home, &server, &["run", "--resume"]).output()?.try_into()?;
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "The backend is done, and so are the tests.\n"),
        "{resumed:?}"
    );
    ensure!(resumed.stderr.contains("done before"), "{}", resumed.stderr);
    assert_eq!(count(&server, |asked| is_for(asked, "endpoint")), 1, "a finished task does not run again");
    assert_eq!(std::fs::read_to_string(home.path().join("ran"))?, "ran\n", "the other one goes on, not anew");
    let asked = server.asked();
    let went_on = asked.iter().rfind(|asked| is_for(asked, "Restyle")).context("it goes on")?;
    ensure!(went_on.tool_results()[0].1.contains("Interrupted"), "{:?}", went_on.tool_results());
    let join = asked.iter().find(|asked| is_join(asked)).map(text).context("a join")?;
    ensure!(join.contains("The endpoint is there.") && join.contains("The tests are there."), "{join}");

    // All of it is over: nothing is resumed twice.
    let again: Run = goose(&home, &server, &["run", "--resume", "-t", "Thanks"]).output()?.try_into()?;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!((count(&server, |asked| is_for(asked, "endpoint")), count(&server, is_join)), (1, 1));
    Ok(())
}

#[test]
fn at_a_terminal_the_user_decides_about_the_plan_and_cancels_one_task() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|asked| match is_join(asked) {
        true => Turn::text("Half of it is done."),
        false if is_for(asked, "endpoint") => {
            Turn::text("The endpoint is there.").after(Duration::from_secs(600))
        }
        false => work(asked, "touch begun; until [ -e go ]; do sleep 0.05; done"),
    })?;
    let mut terminal = at_terminal(&home, &server, "smart_approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send(&format!("{}\r", REQUEST.replace('\n', "\\\r")))?;
    terminal.wait_for("as (O)ne request")?;
    let screen = terminal.screen();
    ensure!(screen.contains("This can run as 2 tasks") && screen.contains("--no-split"), "{screen}");
    ensure!(server.asked().is_empty(), "nothing runs before the answer");
    terminal.send("t\r")?;
    terminal.wait_for("(coding-agent/frontend) asks:")?;
    ensure!(terminal.screen().contains("Task 2 (coding-agent/frontend) asks:"), "{}", terminal.screen());
    terminal.wait_for("Allow it?")?;
    terminal.send("y\r")?;
    wait_until(
        LIMIT,
        "the first task thinks",
        || Ok(count(&server, |asked| is_for(asked, "endpoint")) == 1),
    )?;
    // Ctrl-C asks which one.
    terminal.wait_until("the list of tasks is", |screen| screen.contains("2. frontend"))?;
    terminal.send("\x03")?;
    terminal.wait_for("one task (1, 2)")?;
    terminal.send("1\r")?;
    terminal.wait_for("Task 1 (coding-agent/backend) cancelled")?;
    std::fs::write(home.path().join("go"), "")?;
    terminal.wait_for("Half of it is done.")?;
    prompted(&terminal)?;
    terminal.send("/tasks\r")?;
    terminal.wait_for("cancelled")?;
    terminal.send("/tasks 2\r")?;
    terminal.wait_for("until [ -e go ]")?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}
