//! The differential fuzzer: a random script that is allowed must not run the marker in any real shell.
//!
//! `GOOSE_FUZZ_CASES` sets the number of cases, `GOOSE_FUZZ_SEED` the first seed. A case depends only on its
//! seed.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_permission::{Effect, Mode, Permissions, Rule, Verdict};
use goose_test_support::write_program;

use super::{
    grammar::{self, HARMLESS, MARKER},
    real_shell::{RealShell, Surroundings, shells, system_program},
};
use crate::support::{Call, TestHome};

/// Default number of cases.
const CASES: usize = 20_000;

/// Time after which a script is killed. Nearly all end within a few milliseconds.
const LIMIT: Duration = Duration::from_secs(1);

/// Every 32nd case is run even if it is not allowed, to measure how many scripts run the marker.
const MEASURED: usize = 32;

/// Minimum percentage of scripts that run the marker in some shell. Below it, a run proves nothing.
const LEAST_RUNNING: usize = 15;

/// Minimum percentage of scripts that are allowed in some mode.
const LEAST_ALLOWED: usize = 4;

/// Number of findings after which a run ends.
const MAX_FINDINGS: usize = 12;

/// A folder to run scripts in, with the permissions that judge them.
struct Scratch {
    home: TestHome,
    modes: Vec<(&'static str, Arc<Permissions>)>,
    shells: Vec<RealShell>,
}

/// A script that ran the marker without approval.
struct Finding {
    script: String,
    mode: &'static str,
    shell: &'static str,
}

#[derive(Default)]
struct Counts {
    next: AtomicUsize,
    allowed: AtomicUsize,
    measured: AtomicUsize,
    running: AtomicUsize,
    findings: Mutex<BTreeMap<usize, Finding>>,
}

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let home = TestHome::new()?;
        let bin = home.path().join("bin");
        fs::create_dir(&bin)?;
        let marker = bin.join(MARKER);
        write_program(&marker, &format!("#!/bin/sh\n: >'{}'\n", home.path().join("ran").display()))?;
        let programs = ["sh", "bash", "env", "xargs", "cat", "ls", "head", "grep", "find", "timeout", "nice"];
        for name in programs {
            symlink(system_program(name).with_context(|| format!("{name} is missing"))?, bin.join(name))?;
        }
        let allow: Vec<Rule> = HARMLESS
            .iter()
            .map(|name| Rule::parse(Effect::Allow, &format!("shell {name} *")))
            .collect::<Result<_, _>>()?;
        let deny = Rule::parse(Effect::Deny, &format!("shell {MARKER} *"))?;
        let modes = vec![
            ("smart_approve", home.permissions(Mode::SmartApprove)),
            (
                "approve, harmless programs allowed",
                Permissions::new(home.options(Mode::Approve).with_rules(allow)),
            ),
            ("auto, marker denied", Permissions::new(home.options(Mode::Auto).with_rules([deny]))),
        ];
        let shells = shells();
        ensure!(!shells.is_empty(), "neither dash nor bash is installed");
        Ok(Self { home, modes, shells })
    }

    /// Returns the first mode that allows a script.
    fn allowed(&self, script: &str) -> Option<&(&'static str, Arc<Permissions>)> {
        self.modes.iter().find(|(_, permissions)| self.allows(permissions, script))
    }

    fn allows(&self, permissions: &Permissions, script: &str) -> bool {
        permissions.judge(&Call::shell(script).in_folder(&self.home.work())) == Verdict::Allow
    }

    /// Runs a script. Returns true if it ran the marker.
    fn runs_marker(&self, shell: &RealShell, script: &str) -> anyhow::Result<bool> {
        let (work, mark) = (self.home.work(), self.mark());
        if fs::read_dir(&work).map_or(true, |mut files| files.nth(1).is_some()) {
            let _ = fs::remove_dir_all(&work);
        }
        fs::create_dir_all(&work)?;
        fs::write(work.join("s"), MARKER)?;
        let variables = vec![
            ("PATH".into(), self.home.path().join("bin").into()),
            // A relative path: no part of it that a script extracts is a path of the system.
            ("HOME".into(), "home".into()),
            ("PWD".into(), work.clone().into()),
        ];
        shell.run(script, &Surroundings { folder: &work, variables, limit: LIMIT, parent_variable: None })?;
        let ran = mark.exists();
        if ran {
            fs::remove_file(mark)?;
        }
        Ok(ran)
    }

    fn mark(&self) -> PathBuf {
        self.home.path().join("ran")
    }

    /// Judges one case, and runs it if it is allowed.
    fn check(&self, case: usize, script: &str, counts: &Counts) -> anyhow::Result<()> {
        if let Some((mode, permissions)) = self.allowed(script) {
            counts.allowed.fetch_add(1, Ordering::Relaxed);
            for shell in &self.shells {
                if self.runs_marker(shell, script)? {
                    let script = self.smaller(script, permissions, shell)?;
                    let finding = Finding { script, mode, shell: shell.name };
                    counts.findings.lock().expect("no thread panics").insert(case, finding);
                    break;
                }
            }
            return Ok(());
        }
        if case.is_multiple_of(MEASURED) {
            counts.measured.fetch_add(1, Ordering::Relaxed);
            let mut runs = false;
            for shell in &self.shells {
                runs = runs || self.runs_marker(shell, script)?;
            }
            counts.running.fetch_add(usize::from(runs), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Removes parts of the script that the finding does not need.
    fn smaller(&self, script: &str, permissions: &Permissions, shell: &RealShell) -> anyhow::Result<String> {
        let mut best: Vec<char> = script.chars().collect();
        let mut size = best.len().div_ceil(2);
        while size > 0 {
            let mut place = 0;
            let mut is_smaller = false;
            while place < best.len() {
                let end = (place + size).min(best.len());
                let rest: Vec<char> = best[..place].iter().chain(&best[end..]).copied().collect();
                let text: String = rest.iter().collect();
                if self.allows(permissions, &text) && self.runs_marker(shell, &text)? {
                    best = rest;
                    is_smaller = true;
                } else {
                    place += size;
                }
            }
            size = if is_smaller && size == 1 { 1 } else { size / 2 };
        }
        Ok(best.into_iter().collect())
    }
}

fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    let text = env::var(variable).ok();
    text.map(|text| text.parse().with_context(|| format!("{variable} must be a number"))).transpose()
}

fn work(counts: &Counts, cases: usize, seed: u64) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    loop {
        let case = counts.next.fetch_add(1, Ordering::Relaxed);
        if case >= cases || counts.findings.lock().expect("no thread panics").len() >= MAX_FINDINGS {
            return Ok(());
        }
        let script = grammar::script(seed.wrapping_add(case as u64));
        scratch.check(case, &script, counts).with_context(|| format!("case {case}: {script:?}"))?;
    }
}

#[test]
fn no_allowed_script_runs_the_marker_in_a_real_shell() -> anyhow::Result<()> {
    let cases = number("GOOSE_FUZZ_CASES")?.map_or(Ok(CASES), usize::try_from)?;
    let seed = number("GOOSE_FUZZ_SEED")?.unwrap_or_default();
    let counts = Counts::default();
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
    let results: Vec<anyhow::Result<()>> = thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(|| work(&counts, cases, seed))).collect();
        started.into_iter().map(|worker| worker.join().expect("workers do not panic")).collect()
    });
    results.into_iter().collect::<anyhow::Result<()>>()?;
    let findings = counts.findings.into_inner()?;
    let load = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    let (allowed, measured, running) = (load(&counts.allowed), load(&counts.measured), load(&counts.running));
    println!(
        "{cases} cases from seed {seed}: {allowed} allowed; {running} of {measured} others run the marker"
    );
    for (case, Finding { script, mode, shell }) in &findings {
        println!("case {case}, {mode}, {shell}: {script:?}");
    }
    ensure!(findings.is_empty(), "{} scripts ran the marker without approval; see above", findings.len());
    ensure!(running * 100 >= measured * LEAST_RUNNING, "too few scripts run the marker at all");
    ensure!(allowed * 100 >= cases * LEAST_ALLOWED, "too few scripts are allowed");
    Ok(())
}
