//! One task in a new folder, done by the real program.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    entries::{Entry, entries},
    task::Task,
};

/// The most requests to the model for one task.
const MAX_TURNS: &str = "12";

/// The result of a task.
pub(crate) struct Done {
    /// The folder as it is now.
    pub(crate) folder: PathBuf,
    /// The folder's content before it.
    pub(crate) before: BTreeMap<PathBuf, Entry>,
    /// The last that the model said.
    pub(crate) answer: String,
    /// The facts that goose reports of the run, a line each.
    pub(crate) facts: Vec<String>,
    /// Its steps, one in each line.
    pub(crate) steps: Vec<String>,
    pub(crate) took: Duration,
    _scratch: TempDir,
}

pub(crate) fn run(task: &Task, model: Option<&str>) -> anyhow::Result<Done> {
    let scratch = tempfile::tempdir()?;
    let folder = scratch.path().join("work");
    fs::create_dir(&folder)?;
    for (path, content) in &task.files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, content)?;
    }
    let before = entries(&folder)?;
    let started = Instant::now();
    let config = scratch.path().join("config.yaml");
    fs::write(&config, "")?;
    let output = goose(&folder, model).arg("--config").arg(&config).arg("--text").arg(&task.ask).output()?;
    let took = started.elapsed();
    let lines = String::from_utf8_lossy(&output.stdout);
    let events: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut steps: Vec<String> = events.iter().filter_map(step).collect();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        steps.push(format!("{}: {}", output.status, errors.trim()));
    }
    let (answer, facts) = (answer(&events), facts(&events));
    Ok(Done { folder, before, answer, facts, steps, took, _scratch: scratch })
}

/// The program, as a person with no configuration starts it, but with the model's file and its cache where they are.
fn goose(folder: &Path, model: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goose"));
    command
        .args(["run", "--no-session", "--output-format", "stream-json", "--max-turns", MAX_TURNS])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("GOOSE_PROVIDER", std::env::var("GOOSE_PROVIDER").unwrap_or_else(|_| "local".to_owned()))
        .env("GOOSE_MODE", "auto")
        .env("GOOSE_TEMPERATURE", "0");
    if let Some(model) = model {
        command.env("GOOSE_MODEL", model);
    }
    command
}

/// The text of the last message of the model.
fn answer(events: &[Value]) -> String {
    let said = events.iter().map(|event| &event["message"]).rfind(|message| message["role"] == "assistant");
    let parts = said.and_then(|message| message["content"].as_array()).map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The facts of the last event, in words: of the fields that the JSON formats have, those that tasks ask about.
fn facts(events: &[Value]) -> Vec<String> {
    let reported = events.iter().rev().find_map(|event| event.get("facts"));
    let exit_code = reported.and_then(|facts| facts.get("exit_code")).and_then(Value::as_i64);
    exit_code.map(|code| format!("exit code {code}")).into_iter().collect()
}

/// The part of an event that is worth seeing.
fn step(event: &Value) -> Option<String> {
    match event["type"].as_str()? {
        "message" => Some(format!("{} {}", event["message"]["role"], event["message"]["content"])),
        "error" => Some(event.to_string()),
        _ => None,
    }
}
