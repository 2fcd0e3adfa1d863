//! Everyday commands of developers: the permissions must hold and goose must stay usable.

use anyhow::{Context as _, ensure};
use goose_permission::{Mode, Verdict};

use super::{data, home::Home};
use crate::support::Call;

/// A command with the verdict that a person wants.
struct Everyday {
    is_allowed: bool,
    command: String,
}

/// Commands whose verdict is not the wanted one.
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
    let home = Home::new("true", &[])?;
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
        ensure!(self.allowed.is_empty(), "a change that is not asked: {:#?}", self.allowed);
        Ok(())
    }
}

#[test]
fn everyday_commands_get_the_verdict_that_a_person_wants() -> anyhow::Result<()> {
    judged(&["everyday_common.txt", "everyday.txt"])?.check(300, 97)
}

#[test]
fn none_of_the_most_common_commands_that_only_read_asks() -> anyhow::Result<()> {
    judged(&["everyday_common.txt"])?.check(100, 100)
}

#[test]
fn commands_that_the_judge_was_not_tuned_for_get_the_verdict_that_a_person_wants() -> anyhow::Result<()> {
    judged(&["everyday_held_out.txt"])?.check(100, 95)
}
