//! Runs of scheduled jobs, by real processes on one store.

use std::{
    fs,
    io::Read as _,
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::{
    run::goose,
    schedule::{add, job, with_recipe},
    support::{Home, Run, wait_until},
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Changes the store as the passing of time would.
fn change(home: &Home, sql: &str) -> anyhow::Result<()> {
    let file = home.path().join("data/sessions/goose.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await?;
        connection.execute(sqlx::AssertSqlSafe(sql.to_owned())).await?;
        connection.close().await?;
        Ok(())
    })
}

fn make_due(home: &Home) -> anyhow::Result<()> {
    change(home, "UPDATE jobs SET next_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000 - 1000")
}

fn start(command: &mut Command) -> anyhow::Result<Child> {
    Ok(command.spawn()?)
}

#[test]
fn a_run_is_a_session_with_the_recipes_own_model() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let server = ModelServer::scripted([Turn::text("The report.")])?;
    let run: Run = goose(&home, &server, &["schedule", "run-now", "report"]).output()?.try_into()?;
    ensure!(run.code == Some(0) && run.stdout.contains("The job report is done."), "{run:?}");
    let asked = server.asked();
    let first = asked.first().context("it was asked")?;
    assert_eq!(first.body["model"], "gpt-4o");
    ensure!(first.last_user_text().is_some_and(|text| text.contains("Write the report about birds")));
    let job = job(&home, "report")?;
    assert_eq!(job["last"]["outcome"], "done");
    let sessions = home.run(&["schedule", "sessions", "report", "--json"])?.json()?;
    let session = &sessions["sessions"][0];
    assert_eq!((&session["kind"], &session["parent"]), (&json!("scheduled"), &json!("job.report")));
    assert_eq!(session["id"], job["last"]["session"]);
    ensure!(!home.run(&["session", "list"])?.stdout.contains("birds"), "it is listed as the user's own");
    Ok(())
}

/// Two schedulers on one store, several times: each run happens once.
#[test]
fn two_schedulers_run_a_job_once() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let server = ModelServer::answering(|_| Turn::text("The report."))?;
    for round in 1..=3 {
        make_due(&home)?;
        let schedulers: Vec<Child> = (0..3)
            .map(|_| start(&mut goose(&home, &server, &["schedule", "run", "--once"])))
            .collect::<anyhow::Result<_>>()?;
        for scheduler in schedulers {
            let run: Run = scheduler.wait_with_output()?.try_into()?;
            assert_eq!(run.code, Some(0), "{run:?}");
        }
        let sessions = home.run(&["schedule", "sessions", "report", "--json"])?.json()?;
        assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(round));
    }
    Ok(())
}

#[test]
fn a_failure_is_visible_and_the_next_run_follows() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let server = ModelServer::scripted([])?;
    let mut command = goose(&home, &server, &["schedule", "run-now", "report"]);
    let run: Run = command.env_remove("OPENAI_API_KEY").output()?.try_into()?;
    assert_eq!(run.code, Some(1), "{run:?}");
    let listed = home.run(&["schedule", "list"])?;
    ensure!(listed.stdout.contains("failed") && listed.stdout.contains("OPENAI_API_KEY"), "{listed:?}");
    fs::remove_file(home.path().join("report.yaml"))?;
    make_due(&home)?;
    let run: Run = goose(&home, &server, &["schedule", "run", "--once"]).output()?.try_into()?;
    ensure!(run.code == Some(1) && run.stderr.contains("failed"), "{run:?}");
    let job = job(&home, "report")?;
    ensure!(job["last"]["outcome"] == "failed" && job["next_at"].is_string(), "{job}");
    Ok(())
}

/// kill -9 of the scheduler ends the run with it. The run is shown as interrupted, and is not repeated.
#[test]
fn a_killed_scheduler_loses_its_run_and_nothing_else() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let sleeps = json!({ "command": "touch begun; sleep 300" });
    let server = ModelServer::answering(move |_| Turn::call("developer__shell", sleeps.clone()))?;
    make_due(&home)?;
    let mut scheduler = start(&mut goose(&home, &server, &["schedule", "run"]))?;
    let begun = home.path().join("begun");
    wait_until(LIMIT, "the run has begun", || Ok(begun.exists()))?;
    ensure!(job(&home, "report")?["running_since"].is_string());
    let second: Run = goose(&home, &server, &["schedule", "run-now", "report"]).output()?.try_into()?;
    ensure!(second.code == Some(1) && second.stderr.contains("running already"), "{second:?}");
    scheduler.kill()?;
    scheduler.wait()?;
    // As after a minute.
    change(&home, "UPDATE jobs SET owned_until = 1 WHERE owner IS NOT NULL")?;
    let once: Run = goose(&home, &server, &["schedule", "run", "--once"]).output()?.try_into()?;
    assert_eq!(once.code, Some(0), "{once:?}");
    let after = job(&home, "report")?;
    assert_eq!((&after["last"]["outcome"], &after["running_since"]), (&json!("interrupted"), &Value::Null));
    let sessions = home.run(&["schedule", "sessions", "report", "--json"])?.json()?;
    ensure!(sessions["sessions"].as_array().is_some_and(|all| all.len() == 1), "{sessions}");
    Ok(())
}

/// A server with --enable-scheduler runs what is due, and ends its runs with itself.
#[cfg(feature = "server")]
#[test]
fn a_server_runs_what_is_due() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let sleeps = json!({ "command": "touch begun; sleep 300" });
    let server = ModelServer::answering(move |asked| match asked.body.to_string().contains("second") {
        true => Turn::call("developer__shell", sleeps.clone()),
        false => Turn::text("The report."),
    })?;
    make_due(&home)?;
    let arguments = ["serve", "--port", "0", "--no-socket", "--enable-scheduler"];
    let mut serving = start(&mut goose(&home, &server, &arguments))?;
    wait_until(LIMIT, "the run is over", || Ok(job(&home, "report")?["last"]["outcome"] == "done"))?;
    add(&home, "second", &["--params", "subject=second"])?;
    make_due(&home)?;
    let begun = home.path().join("begun");
    wait_until(LIMIT, "the second run has begun", || Ok(begun.exists()))?;
    let ended = Command::new("kill").args(["-TERM", &serving.id().to_string()]).status()?;
    ensure!(ended.success());
    assert_eq!(serving.wait()?.code(), Some(0));
    assert_eq!(job(&home, "second")?["last"]["outcome"], "interrupted");
    Ok(())
}

/// A signal ends the scheduler and its runs, and the run is shown as interrupted at once.
#[test]
fn a_stopped_scheduler_ends_its_runs() -> anyhow::Result<()> {
    let home = with_recipe()?;
    add(&home, "report", &["--params", "subject=birds"])?;
    let sleeps = json!({ "command": "touch begun; sleep 300" });
    let server = ModelServer::answering(move |_| Turn::call("developer__shell", sleeps.clone()))?;
    make_due(&home)?;
    let mut scheduler = start(&mut goose(&home, &server, &["schedule", "run"]))?;
    let begun = home.path().join("begun");
    wait_until(LIMIT, "the run has begun", || Ok(begun.exists()))?;
    let ended = Command::new("kill").args(["-INT", &scheduler.id().to_string()]).status()?;
    ensure!(ended.success());
    assert_eq!(scheduler.wait()?.code(), Some(130));
    let mut said = String::new();
    scheduler.stderr.take().context("its output")?.read_to_string(&mut said)?;
    ensure!(said.contains("interrupted"), "{said}");
    assert_eq!(job(&home, "report")?["last"]["outcome"], "interrupted");
    Ok(())
}
