//! The cost of judging shell commands. `cargo bench -p goose-permission --bench permission` prints each
//! result with its limit, and exits with 1 if a limit is exceeded.
//!
//! - `everyday`: the everyday commands of the tests, in `smart_approve` without rules and in `auto` with
//!   restricting rules. The baseline is a loop that splits the same commands into words. Prints both medians
//!   and their ratio.
//! - `hostile`: texts of 200 KB, files and repositories that take as long as possible, in the same two modes. Each
//!   takes less than 100 ms, half of a text takes about half of the time, and all of them less than 50 MB.
//!
//! Names as arguments select benchmarks; `--quick` runs fewer rounds.

mod hostile;
#[path = "../../../goose/benches/services/report.rs"]
mod report;

use std::{hint::black_box, path::Path, sync::Arc, time::Instant};

use anyhow::{Context as _, ensure};
use goose_config::Paths;
use goose_extension::{JsonObject, Tool, ToolAction, ToolGroup};
use goose_permission::{CallToJudge, Effect, Mode, Origin, PermissionOptions, Permissions, Rule};
use report::{Bar, Report, median, percentile};
use tempfile::TempDir;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let chosen = arguments.iter().any(|argument| !argument.starts_with("--"));
    let wants = |name: &str| !chosen || has(name);
    let rounds = if has("--quick") { 5 } else { 50 };
    let judges = judges()?;
    let mut report = Report::default();
    if wants("everyday") {
        everyday(&mut report, &judges, rounds)?;
    }
    if wants("hostile") {
        hostile(&mut report, &judges, rounds.min(5))?;
    }
    std::process::exit(i32::from(!report.bars_are_met()));
}

/// Permissions with a working folder.
struct Judge {
    name: &'static str,
    permissions: Arc<Permissions>,
    home: TempDir,
    tool: Tool,
}

fn judges() -> anyhow::Result<Vec<Judge>> {
    let restricting = [
        (Effect::Deny, "shell rm *"),
        (Effect::Ask, "shell git push *"),
        (Effect::Deny, "write ~/.ssh/**"),
        (Effect::Deny, "read ~/secret/**"),
    ];
    let rules: Vec<Rule> =
        restricting.into_iter().map(|(effect, text)| Rule::parse(effect, text)).collect::<Result<_, _>>()?;
    Ok(vec![
        Judge::new("smart_approve", Mode::SmartApprove, Vec::new())?,
        Judge::new("auto", Mode::Auto, rules)?,
    ])
}

impl Judge {
    fn new(name: &'static str, mode: Mode, rules: Vec<Rule>) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        std::fs::create_dir_all(home.path().join("work/src"))?;
        let options = PermissionOptions::new(mode)
            .with_paths(&Paths::under(home.path().join("goose")))
            .with_home(home.path())
            .with_rules(rules);
        let tool = Tool::new("developer__shell", "Runs a command.", JsonObject::new())
            .with_groups([ToolGroup::Command])
            .with_action(ToolAction::command("command"));
        Ok(Self { name, permissions: Permissions::new(options), home, tool })
    }

    /// Judges a command and returns the microseconds that it took.
    fn time(&self, command: &str) -> f64 {
        let mut arguments = JsonObject::new();
        arguments.insert("command".to_owned(), command.into());
        let call = CallToJudge {
            tool: &self.tool,
            bare_name: "shell",
            origin: Origin::Own,
            arguments: &arguments,
            working_dir: &self.home.path().join("work"),
            concern: None,
        };
        let begin = Instant::now();
        black_box(self.permissions.judge(&call));
        micros(begin)
    }
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// Splits a command at blanks, the minimum that any judge has to do.
fn split_words(command: &str) -> f64 {
    let begin = Instant::now();
    black_box(command.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>());
    micros(begin)
}

/// Reads the commands of the tests, without the verdicts and the texts of here-documents.
fn commands() -> anyhow::Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/attacks/data");
    let mut commands = Vec::new();
    for name in ["everyday_common.txt", "everyday.txt"] {
        let text =
            std::fs::read_to_string(folder.join(name)).with_context(|| format!("{name} cannot be read"))?;
        let entries = text.lines().filter_map(|line| {
            let (verdict, command) = line.split_once(' ')?;
            ["allow", "ask"].contains(&verdict).then(|| command.to_owned())
        });
        commands.extend(entries);
    }
    ensure!(commands.len() >= 300, "only {} commands", commands.len());
    Ok(commands)
}

fn everyday(report: &mut Report, judges: &[Judge], rounds: usize) -> anyhow::Result<()> {
    let commands = commands()?;
    for judge in judges {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for command in (0..rounds).flat_map(|_| &commands) {
            ours.push(judge.time(command));
            bare.push(split_words(command));
        }
        let slow = percentile(ours.clone(), 0.99);
        let (ours, bare) = (median(ours), median(bare));
        report.note(&format!("everyday, {}: splitting into words", judge.name), bare, "µs");
        report.note(&format!("everyday, {}: judging / splitting", judge.name), ours / bare, "");
        report.judge(&format!("everyday, {}: judging, median", judge.name), ours, "µs", Bar::Below(100.0));
        report.judge(&format!("everyday, {}: judging, 99 %", judge.name), slow, "µs", Bar::Below(1000.0));
    }
    Ok(())
}

fn hostile(report: &mut Report, judges: &[Judge], rounds: usize) -> anyhow::Result<()> {
    let before = memory("VmRSS")?;
    for judge in judges {
        let texts: Vec<(&str, String)> = hostile::computed();
        let files = hostile::fill(&judge.home.path().join("work"))?;
        let files = files.into_iter().map(|(name, command)| (name, command.to_owned()));
        for (name, text) in texts.into_iter().chain(files) {
            let times = (0..rounds).map(|_| judge.time(&text) / 1000.0).collect();
            report.judge(&format!("hostile, {}: {name}", judge.name), median(times), "ms", Bar::Below(100.0));
        }
        for (name, text) in hostile::texts() {
            let half = &text[..text.floor_char_boundary(text.len() / 2)];
            let (mut whole, mut halves) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                whole.push(judge.time(&text) / 1000.0);
                halves.push(judge.time(half) / 1000.0);
            }
            let (whole, half) = (median(whole), median(halves));
            report.judge(&format!("hostile, {}: {name}", judge.name), whole, "ms", Bar::Below(100.0));
            // Below a few milliseconds, the ratio depends on the clock and the caches.
            if whole > 5.0 {
                let share = half * 2.0 / whole;
                report.judge(
                    &format!("hostile, {}: {name}, twice the half / the whole", judge.name),
                    share,
                    "",
                    Bar::AtLeast(0.6),
                );
            }
        }
    }
    report.judge("hostile: memory", memory("VmHWM")? - before, "MB", Bar::Below(50.0));
    Ok(())
}

/// Returns a size of this process in megabytes.
fn memory(name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(name)).context("no such size")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kilobytes / 1024.0)
}
