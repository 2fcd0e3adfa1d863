//! The quality of the router on requests that it has not learned from, written by other authors than its training
//! examples.
//! `cargo bench -p goose --bench routing` prints each figure with its bar and exits with 1 where a bar is missed.
//!
//! - `everyday*.yaml`: everyday requests, many of them in a session, by seven authors (the first one wrote two sets).
//!   What an agent needs for each, the number of independent jobs, and the specialist if it is clearly the work of one.
//! - `route.tsv`: requests for one mode, label and text. The default agent is no mistake, another specialist is one.
//! - `single.txt`: requests that must stay whole although some look like several.
//! - `other_languages.tsv`: language, label, text. The label or the default agent are right, another specialist is not.
//!
//! A folder as an argument replaces the sets beside this file; `--misses` prints the requests that went wrong.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

mod everyday;
#[path = "../services/report.rs"]
mod report;
mod tables;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use everyday::Everyday;
use goose::agents::{
    catalog::AgentCatalog,
    orchestrator_agent::{Route, RouteSettings, SessionAgent, route},
};
use report::{Bar, Report, median, percentile};
use tables::Confusion;

const DEFAULT: &str = "goose-agent/assistant";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.iter().find(|argument| !argument.starts_with("--"));
    let folder =
        folder.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/routing"), PathBuf::from);
    let catalog = AgentCatalog::builtin();
    let mut bench = Bench {
        catalog: &catalog,
        folder,
        prints_misses: arguments.iter().any(|argument| argument == "--misses"),
        micros: Vec::new(),
        report: Report::default(),
    };
    bench.everyday_requests()?;
    bench.specialists()?;
    bench.whole_requests()?;
    bench.other_languages()?;
    bench.time();
    std::process::exit(i32::from(!bench.report.bars_are_met()));
}

struct Bench<'a> {
    catalog: &'a AgentCatalog,
    folder: PathBuf,
    prints_misses: bool,
    micros: Vec<f64>,
    report: Report,
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

    /// The route of the first request of a session.
    fn route(&mut self, text: &str) -> anyhow::Result<Route> {
        self.route_in(None, text)
    }

    /// The route of a request in a session with an agent.
    fn route_in(&mut self, session: Option<&SessionAgent>, text: &str) -> anyhow::Result<Route> {
        let start = Instant::now();
        let route = route(self.catalog, text, RouteSettings::default(), session)?;
        self.micros.push(start.elapsed().as_secs_f64() * 1e6);
        Ok(route)
    }

    fn miss(&self, text: &str, wanted: &str, found: &str) {
        if self.prints_misses {
            println!("     wanted {wanted}, found {found}: {text}");
        }
    }

    fn everyday_requests(&mut self) -> anyhow::Result<()> {
        let entries = fs::read_dir(&self.folder).context("cannot read the folder")?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        ensure!(!paths.is_empty(), "{} has no sets of everyday requests", self.folder.display());
        let mut counts = Everyday::default();
        for path in paths {
            counts.run(self, &path)?;
        }
        counts.judge(&mut self.report);
        Ok(())
    }

    fn specialists(&mut self) -> anyhow::Result<()> {
        let mut confusion = Confusion::default();
        let (mut right, mut wrong, mut wanted) = (0, 0, 0);
        for line in self.lines("route.tsv")? {
            let (label, text) = line.split_once('\t').with_context(|| format!("no tab in '{line}'"))?;
            let found = self.route(text)?.id();
            confusion.add(label, &found);
            wanted += usize::from(label != DEFAULT);
            right += usize::from(found != DEFAULT && found == label);
            if found != DEFAULT && found != label {
                wrong += 1;
                self.miss(text, label, &found);
            }
        }
        confusion.print();
        self.report.judge("specialists that are right", share(right, right + wrong), "%", Bar::AtLeast(90.0));
        self.report.note("requests for a specialist that reach one", share(right, wanted), "%");
        Ok(())
    }

    fn whole_requests(&mut self) -> anyhow::Result<()> {
        let lines = self.lines("single.txt")?;
        let mut whole = 0;
        for text in &lines {
            let tasks = self.route(text)?.tasks;
            whole += usize::from(tasks.len() == 1);
            if tasks.len() > 1 {
                let parts: Vec<&str> = tasks.iter().map(|task| task.text.as_str()).collect();
                self.miss(text, "one task", &parts.join(" | "));
            }
        }
        self.report.judge("single requests left whole", share(whole, lines.len()), "%", Bar::AtLeast(99.0));
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
            let found = self.route(text)?.id();
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

fn share(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}
