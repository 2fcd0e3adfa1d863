//! Everyday commands of developers: changes must ask, and reading must not.

use anyhow::{Context as _, ensure};
use goose_permission::{Mode, Verdict};

use super::{data, home::ScratchHome};
use crate::support::Call;

/// A command with the verdict that users expect.
struct Everyday {
    is_allowed: bool,
    command: String,
}

/// Commands whose verdict is not the expected one.
struct Outcome {
    count: usize,
    asked: Vec<String>,
    allowed: Vec<String>,
}

fn commands(file: &str) -> anyhow::Result<Vec<Everyday>> {
    let parse = |entry: String| {
        let (verdict, command) = entry.split_once(' ').with_context(|| format!("no verdict: {entry}"))?;
        ensure!(["allow", "ask"].contains(&verdict), "neither allow nor ask: {entry}");
        Ok(Everyday { is_allowed: verdict == "allow", command: command.to_owned() })
    };
    data::entries(file)?.into_iter().map(parse).collect()
}

fn judged(files: &[&str]) -> anyhow::Result<Outcome> {
    let home = ScratchHome::new("true", &[])?;
    let (permissions, project) = (home.permissions(Mode::SmartApprove), home.path().join("project"));
    let mut outcome = Outcome { count: 0, asked: Vec::new(), allowed: Vec::new() };
    for file in files {
        for Everyday { is_allowed, command } in commands(file)? {
            outcome.count += 1;
            let verdict = permissions.judge(&Call::shell(&command).in_folder(&project));
            match (is_allowed, verdict == Verdict::Allow) {
                (true, false) => outcome.asked.push(command),
                (false, true) => outcome.allowed.push(command),
                _ => {}
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn check(&self, least: usize, percent: usize) -> anyhow::Result<()> {
        let agreed = self.count - self.asked.len() - self.allowed.len();
        println!("{agreed} of {} agree; asked: {:#?}; allowed: {:#?}", self.count, self.asked, self.allowed);
        ensure!(self.count >= least, "only {} commands", self.count);
        ensure!(agreed * 100 >= self.count * percent, "{agreed} of {} is less than {percent} %", self.count);
        ensure!(self.allowed.is_empty(), "changes without approval: {:#?}", self.allowed);
        Ok(())
    }
}

#[test]
fn everyday_commands_get_the_expected_verdict() -> anyhow::Result<()> {
    judged(&["everyday_common.txt", "everyday.txt"])?.check(300, 97)
}

#[test]
fn all_common_commands_get_the_expected_verdict() -> anyhow::Result<()> {
    judged(&["everyday_common.txt"])?.check(100, 100)
}

#[test]
fn held_out_commands_get_the_expected_verdict() -> anyhow::Result<()> {
    judged(&["everyday_held_out.txt"])?.check(100, 95)
}

/// Judges the commands of a file in a project with a secret, and returns those that ask and those that run.
fn judged_in_project(file: &str, mode: Mode) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let home = ScratchHome::new("true", &[])?;
    let (permissions, project) = (home.permissions(mode), home.path().join("mixed"));
    let is_asked =
        |command: &String| permissions.judge(&Call::shell(command).in_folder(&project)) != Verdict::Allow;
    Ok(data::entries(file)?.into_iter().partition(is_asked))
}

fn reading_does_not_ask(file: &str) -> anyhow::Result<()> {
    let (asked, run) = judged_in_project(file, Mode::SmartApprove)?;
    println!("{file}: {} of {} ask: {asked:#?}", asked.len(), asked.len() + run.len());
    ensure!(asked.len() + run.len() >= 136 && asked.len() <= 12, "{file}: {} ask: {asked:#?}", asked.len());
    let (asked, _) = judged_in_project(file, Mode::Auto)?;
    ensure!(asked.is_empty(), "{file}, auto: {asked:#?}");
    Ok(())
}

fn changing_asks(file: &str) -> anyhow::Result<()> {
    let (asked, run) = judged_in_project(file, Mode::SmartApprove)?;
    // Commands do not get the variables that hold secrets.
    let shows_variables = ["env |", "echo \"$AWS_", "printenv", "ENVIRON"];
    let is_open = |command: &&String| !shows_variables.iter().any(|text| command.contains(text));
    let open: Vec<&String> = run.iter().filter(is_open).collect();
    ensure!(asked.len() + run.len() >= 98 && open.is_empty(), "{file}: {open:#?}");
    let (asked, run) = judged_in_project(file, Mode::Auto)?;
    println!("{file}, auto: {} of {} ask: {asked:#?}", asked.len(), asked.len() + run.len());
    Ok(())
}

#[test]
fn everyday_reading_does_not_ask() -> anyhow::Result<()> {
    reading_does_not_ask("everyday_reading.txt")
}

#[test]
fn everyday_changes_ask() -> anyhow::Result<()> {
    changing_asks("everyday_changing.txt")
}

#[test]
fn more_reading_does_not_ask() -> anyhow::Result<()> {
    reading_does_not_ask("everyday_reading_2.txt")
}

#[test]
fn more_changes_ask() -> anyhow::Result<()> {
    changing_asks("everyday_changing_2.txt")
}

#[test]
fn held_out_reading_does_not_ask() -> anyhow::Result<()> {
    reading_does_not_ask("held_out_reading.txt")
}

#[test]
fn held_out_changes_ask() -> anyhow::Result<()> {
    changing_asks("held_out_changing.txt")
}
