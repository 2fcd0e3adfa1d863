//! Measures the abilities of the small model inside goose:
//! `cargo bench -p goose-cli --bench local -- --model FILE.gguf`, or `just eval-local`. Each task of `tasks.yaml` gets a new folder; `goose run` does it as a person would start it, at
//! temperature 0, without a user to ask; code checks the result. It prints the results by kind, and exits with 1 where
//! fewer than five of six tasks are done, or one with `unchanged` or `facts` is not.
//!
//! More tasks are in files of their own, for `--tasks`: `unseen.yaml` (written without reading the provider),
//! `read_only.yaml` (requests that must change no file) and `failing.yaml` (commands that fail, which goose has to
//! report).
//!
//! - `--model FILE`: a GGUF file, or the name of one in the model store; by default what `GOOSE_MODEL` says, or the
//!   model of the catalogue;
//! - `--only NAME,…`, `--kind KIND`, `--held` (only tasks that were kept apart while the prompt was made), `--open`
//!   (the others), `--tasks FILE` (other tasks; the path starts at the root of the workspace, or in the package's
//!   folder);
//! - `--show`: what the model did, also where it went well.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod check;
mod entries;
mod report;
mod run;
mod task;

use std::path::PathBuf;

use anyhow::Context as _;

use self::{report::Report, task::Task};

/// The options of the command line.
struct Wanted {
    model: Option<String>,
    only: Option<String>,
    kind: Option<String>,
    held: Option<bool>,
    tasks: Option<PathBuf>,
    shows_all: bool,
}

fn main() -> anyhow::Result<()> {
    let wanted = wanted()?;
    let tasks: Vec<Task> =
        Task::all(wanted.tasks.as_deref())?.into_iter().filter(|task| wanted.takes(task)).collect();
    anyhow::ensure!(!tasks.is_empty(), "no task is left");
    let mut report = Report::default();
    for task in &tasks {
        let done =
            run::run(task, wanted.model.as_deref()).with_context(|| format!("the task {}", task.name))?;
        let problems = check::problems(task, &done);
        report.add(task, &done, &problems, wanted.shows_all);
    }
    report.finish()
}

impl Wanted {
    fn takes(&self, task: &Task) -> bool {
        let is_named = |only: &String| only.split(',').any(|name| name == task.name);
        self.only.as_ref().is_none_or(is_named)
            && self.kind.as_ref().is_none_or(|kind| *kind == task.kind)
            && self.held.is_none_or(|held| held == task.held)
    }
}

fn wanted() -> anyhow::Result<Wanted> {
    let mut wanted = Wanted {
        model: std::env::var("GOOSE_MODEL").ok(),
        only: None,
        kind: None,
        held: None,
        tasks: None,
        shows_all: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--model" => wanted.model = Some(value()?),
            "--only" => wanted.only = Some(value()?),
            "--kind" => wanted.kind = Some(value()?),
            "--tasks" => wanted.tasks = Some(value()?.into()),
            "--held" => wanted.held = Some(true),
            "--open" => wanted.held = Some(false),
            "--show" => wanted.shows_all = true,
            // Cargo says so to every bench.
            "--bench" => {}
            other => anyhow::bail!("there is no option {other}"),
        }
    }
    Ok(wanted)
}
