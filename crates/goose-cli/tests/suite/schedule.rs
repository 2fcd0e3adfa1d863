//! `goose schedule`: jobs that are added, listed, run and removed, by real processes on one store.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::support::{Home, Run};

/// A recipe with a model of its own: the configuration names another one.
const RECIPE: &str = "version: 1.0.0\ntitle: Report\ndescription: Writes a report\n\
    instructions: You write reports.\nprompt: Write the report about {{ subject }}\n\
    parameters:\n  - {key: subject, input_type: string, requirement: required, description: The subject}\n\
    settings: {goose_provider: openai, goose_model: gpt-4o}\n";

pub(crate) fn with_recipe() -> anyhow::Result<Home> {
    let home = Home::new()?;
    fs::write(home.path().join("report.yaml"), RECIPE)?;
    Ok(home)
}

pub(crate) fn add(home: &Home, id: &str, more: &[&str]) -> anyhow::Result<Run> {
    let words =
        ["schedule", "add", "--schedule-id", id, "--cron", "0 3 * * *", "--recipe-source", "report.yaml"];
    home.run(&[&words, more].concat())
}

fn jobs(home: &Home) -> anyhow::Result<Vec<Value>> {
    let listed = home.run(&["schedule", "list", "--json"])?.json()?;
    Ok(listed["jobs"].as_array().context("a list")?.clone())
}

pub(crate) fn job(home: &Home, id: &str) -> anyhow::Result<Value> {
    jobs(home)?.into_iter().find(|job| job["id"] == id).with_context(|| format!("no job {id}"))
}

#[test]
fn jobs_are_added_listed_paused_and_removed() -> anyhow::Result<()> {
    let home = with_recipe()?;
    let added = add(&home, "report", &["--params", "subject=birds", "--missed", "skip"])?;
    ensure!(added.code == Some(0) && added.stdout.contains("It runs next at"), "{added:?}");
    let again = add(&home, "report", &[])?;
    ensure!(again.code == Some(1) && again.stderr.contains("goose schedule remove report"), "{again:?}");
    let job = job(&home, "report")?;
    assert_eq!(
        (&job["cron"], &job["missed"], &job["paused"]),
        (&json!("0 3 * * *"), &json!("skip"), &json!(false))
    );
    assert_eq!(job["parameters"], json!([["subject", "birds"]]));
    ensure!(job["recipe"].as_str().is_some_and(|path| Path::new(path).is_absolute()), "{job}");

    assert_eq!(home.run(&["schedule", "pause", "report"])?.code, Some(0));
    ensure!(home.run(&["sched", "list"])?.stdout.contains("paused"));
    assert_eq!(home.run(&["schedule", "resume", "--schedule-id", "report"])?.code, Some(0));
    ensure!(home.run(&["schedule", "list"])?.stdout.contains("next at"));
    assert_eq!(home.run(&["schedule", "remove", "--schedule-id", "report"])?.code, Some(0));
    ensure!(home.run(&["schedule", "list"])?.stdout.contains("There are no jobs"));
    for command in ["remove", "pause", "resume", "run-now", "sessions"] {
        let run = home.run(&["schedule", command, "report"])?;
        ensure!(run.code == Some(1) && run.stderr.contains("There is no job 'report'"), "{run:?}");
    }
    ensure!(home.run(&["schedule", "cron-help"])?.stdout.contains("MON-FRI"));
    Ok(())
}

#[test]
fn what_cannot_be_a_job_is_refused_with_the_reason() -> anyhow::Result<()> {
    let home = with_recipe()?;
    fs::write(home.path().join("notes.txt"), "no recipe")?;
    let words = |id, cron, recipe| {
        ["schedule", "add", "--schedule-id", id, "--cron", cron, "--recipe-source", recipe]
    };
    for (words, expected) in [
        (words("a b", "@daily", "report.yaml"), "'a b' is not an id of a job"),
        (words("a", "61 * * * *", "report.yaml"), "the minute '61' is not between 0 and 59"),
        (words("a", "@daily", "missing.yaml"), "There is no recipe"),
        (words("a", "@daily", "../missing"), "There is no recipe"),
        (words("a", "@daily", "notes.txt"), "notes.txt"),
    ] {
        let run = home.run(&words)?;
        ensure!(run.code == Some(1) && run.stderr.contains(expected), "{run:?}");
    }
    let run = add(&home, "a", &["--params", "subject"])?;
    ensure!(run.code == Some(1) && run.stderr.contains("write KEY=VALUE"), "{run:?}");
    Ok(())
}

#[test]
fn the_time_zone_of_the_person_counts() -> anyhow::Result<()> {
    if !Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        return Ok(());
    }
    let home = with_recipe()?;
    let words = ["schedule", "add", "--id", "a", "--cron", "0 3 * * *", "--recipe", "report.yaml"];
    let run: Run = home.goose(&words).env("TZ", "Asia/Tokyo").output()?.try_into()?;
    ensure!(run.stdout.contains("03:00 JST"), "{run:?}");
    ensure!(job(&home, "a")?["next_at"].as_str().is_some_and(|at| at.contains("T18:00:00")), "{run:?}");
    Ok(())
}

/// A stock `schedule.json` is read once, and what was removed stays removed.
#[test]
fn jobs_of_goose_1_52_are_read() -> anyhow::Result<()> {
    let home = with_recipe()?;
    fs::create_dir_all(home.path().join("data"))?;
    let recipe = home.path().join("report.yaml");
    let file = json!([
        {"id": "old", "source": recipe, "cron": "0 0 9 * * *", "last_run": null, "currently_running": false,
         "paused": false, "current_session_id": null, "process_start_time": null,
         "parameters": [["subject", "birds"]], "recipe_base_dir": home.path()},
        {"id": "broken", "source": recipe, "cron": "x"},
    ]);
    fs::write(home.path().join("data/schedule.json"), file.to_string())?;
    let listed = home.run(&["schedule", "list"])?;
    ensure!(listed.stdout.contains("old") && listed.stderr.contains("Added jobs from"), "{listed:?}");
    ensure!(listed.stderr.contains("the job broken"), "{listed:?}");
    assert_eq!(home.run(&["schedule", "list"])?.stderr, "");
    assert_eq!(home.run(&["schedule", "remove", "old"])?.code, Some(0));
    ensure!(jobs(&home)?.is_empty());
    assert_eq!(fs::read_to_string(home.path().join("data/schedule.json"))?, file.to_string());
    Ok(())
}
