//! The quality of the router on requests that it has not learned from, written by another author than its training examples.
//! `cargo bench -p goose --bench routing` prints each figure with its bar and exits with 1 where a bar is missed.
//!
//! - `route.tsv`: requests for one mode, label and text. Exact matches, a confusion table, a calibration table.
//! - `compound.jsonl`: requests for several modes. Right where the number of tasks, their modes and their order all match.
//! - `single.txt`: requests that must stay whole although some look compound.
//! - `other_languages.tsv`: language, label, text. The label or the default agent are right, another specialist is not.
//!
//! A folder as an argument replaces the set beside this file; `--misses` prints the requests that went wrong.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

#[path = "../services/report.rs"]
mod report;
mod tables;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use goose::agents::{
    catalog::AgentCatalog,
    router::{Route, Router},
};
use report::{Bar, Report, median, percentile};
use serde::Deserialize;
use tables::{Calibration, Confusion};

const DEFAULT: &str = "goose-agent/assistant";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.iter().find(|argument| !argument.starts_with("--"));
    let folder =
        folder.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/routing"), PathBuf::from);
    let catalog = AgentCatalog::builtin();
    let mut bench = Bench {
        router: Router::new(&catalog),
        folder,
        prints_misses: arguments.iter().any(|argument| argument == "--misses"),
        micros: Vec::new(),
        report: Report::default(),
    };
    bench.single_requests()?;
    bench.compound_requests()?;
    bench.whole_requests()?;
    bench.other_languages()?;
    bench.time();
    std::process::exit(i32::from(!bench.report.bars_are_met()));
}

struct Bench<'a> {
    router: Router<'a>,
    folder: PathBuf,
    prints_misses: bool,
    micros: Vec<f64>,
    report: Report,
}

/// A compound request with its tasks.
#[derive(Deserialize)]
struct Compound {
    text: String,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    label: String,
    needs: Vec<usize>,
}

impl Bench<'_> {
    fn lines(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        ensure!(!lines.is_empty(), "{} has no lines", path.display());
        println!("\n{} requests of {}", lines.len(), path.display());
        Ok(lines)
    }

    fn route(&mut self, text: &str) -> Route {
        let start = Instant::now();
        let route = self.router.route(text);
        self.micros.push(start.elapsed().as_secs_f64() * 1e6);
        route
    }

    fn miss(&self, text: &str, wanted: &str, found: &str) {
        if self.prints_misses {
            println!("     wanted {wanted}, found {found}: {text}");
        }
    }

    fn single_requests(&mut self) -> anyhow::Result<()> {
        let (mut confusion, mut calibration) = (Confusion::default(), Calibration::default());
        for line in self.lines("route.tsv")? {
            let (label, text) = line.split_once('\t').with_context(|| format!("no tab in '{line}'"))?;
            let route = self.route(text);
            let found = label_of(&route.agent, &route.mode);
            confusion.add(label, &found);
            calibration.add(route.confidence, label == found);
            if label != found {
                self.miss(text, label, &found);
            }
        }
        confusion.print();
        calibration.print();
        self.report.judge("exact agent and mode", confusion.right_share(), "%", Bar::AtLeast(85.0));
        self.report.judge("expected calibration error", calibration.error(), "%", Bar::Below(15.0));
        Ok(())
    }

    fn compound_requests(&mut self) -> anyhow::Result<()> {
        let lines = self.lines("compound.jsonl")?;
        let (mut right, mut counted, mut named) = (0, 0, 0);
        for line in &lines {
            let wanted: Compound =
                serde_json::from_str(line).with_context(|| format!("cannot read '{line}'"))?;
            let route = self.route(&wanted.text);
            let found: Vec<Task> = route.tasks.iter().map(task).collect::<anyhow::Result<_>>()?;
            let labels = |tasks: &[Task]| tasks.iter().map(|task| task.label.clone()).collect::<Vec<_>>();
            let is_named = labels(&found) == labels(&wanted.tasks);
            let is_right = is_named && order(&found) == order(&wanted.tasks);
            counted += usize::from(found.len() == wanted.tasks.len());
            named += usize::from(is_named);
            right += usize::from(is_right);
            if !is_right {
                self.miss(&wanted.text, &shown(&wanted.tasks), &shown(&found));
            }
        }
        self.report.note("same number of tasks", share(counted, lines.len()), "%");
        self.report.note("same number and modes", share(named, lines.len()), "%");
        self.report.judge("split with modes and order", share(right, lines.len()), "%", Bar::AtLeast(80.0));
        Ok(())
    }

    fn whole_requests(&mut self) -> anyhow::Result<()> {
        let lines = self.lines("single.txt")?;
        let mut whole = 0;
        for text in &lines {
            let tasks = self.route(text).tasks;
            whole += usize::from(tasks.len() == 1);
            if tasks.len() > 1 {
                let parts: Vec<&str> = tasks.iter().map(|task| task.text.as_str()).collect();
                self.miss(text, "one task", &parts.join(" | "));
            }
        }
        self.report.judge("single requests left whole", share(whole, lines.len()), "%", Bar::AtLeast(95.0));
        Ok(())
    }

    fn other_languages(&mut self) -> anyhow::Result<()> {
        let (mut right, mut wrong) = (0, 0);
        let lines = self.lines("other_languages.tsv")?;
        for line in &lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let [_, label, text] = fields.as_slice() else {
                anyhow::bail!("not three fields in '{line}'");
            };
            let route = self.route(text);
            let found = label_of(&route.agent, &route.mode);
            right += usize::from(found == *label);
            if found != *label && found != DEFAULT {
                wrong += 1;
                self.miss(text, label, &found);
            }
        }
        self.report.note("exact agent and mode", share(right, lines.len()), "%");
        self.report.judge("wrong specialists", f64::from(wrong), "requests", Bar::Below(1.0));
        Ok(())
    }

    /// The time per request; the first one reads the word classes.
    fn time(&mut self) {
        println!("\ntime per request");
        let micros = std::mem::take(&mut self.micros);
        self.report.note("first", micros.first().copied().unwrap_or_default(), "µs");
        self.report.judge("median", median(micros.clone()), "µs", Bar::Below(1_000.0));
        self.report.judge("99th percentile", percentile(micros, 0.99), "µs", Bar::Below(1_000.0));
    }
}

fn label_of(agent: &str, mode: &str) -> String {
    format!("{agent}/{mode}")
}

fn task(task: &goose::agents::router::RoutedTask) -> anyhow::Result<Task> {
    let needs: Result<Vec<usize>, _> = task.needs.iter().map(|id| id.parse()).collect();
    Ok(Task { label: label_of(&task.agent, &task.mode), needs: needs? })
}

/// For each task, whether each other one has to end before it begins: needs of needs count, written down or not.
fn order(tasks: &[Task]) -> Vec<Vec<bool>> {
    let mut is_before: Vec<Vec<bool>> =
        tasks.iter().map(|task| (1..=tasks.len()).map(|id| task.needs.contains(&id)).collect()).collect();
    for between in 0..tasks.len() {
        let earlier = is_before[between].clone();
        for row in is_before.iter_mut().filter(|row| row[between]) {
            row.iter_mut().zip(&earlier).for_each(|(own, needed)| *own |= needed);
        }
    }
    is_before
}

fn shown(tasks: &[Task]) -> String {
    let tasks: Vec<String> = tasks.iter().map(|task| format!("{} {:?}", task.label, task.needs)).collect();
    tasks.join(", ")
}

fn share(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}
