//! The days of three developers in `smart_approve`: how often goose asks, and how much the rules allow that it offers.
//!
//! Each list has thirty ordinary commands (`read` or `run`), and others that must ask even after the user has answered
//! all questions about the thirty with "always" (`still`).

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, ensure};
use goose_permission::{Mode, Permissions, Verdict};

use crate::{
    approvals::track,
    support::{Call, TestHome},
};

/// Number of ordinary commands in a list.
const COMMANDS: usize = 30;

/// Questions of the second round that are acceptable.
const MAX_ASKED_AGAIN: usize = 2;

/// A developer: the files of a project, and a list.
struct Developer {
    files: &'static [&'static str],
    list: &'static str,
}

const PYTHON: Developer = Developer {
    files: &[
        ".venv/bin/pip",
        "README.md",
        "pyproject.toml",
        "requirements.txt",
        "scripts/load_data.py",
        "src/calc.py",
        "src/util.py",
        "tests/other.py",
        "tests/test_calc.py",
    ],
    list: include_str!("python.txt"),
};

const NODE: Developer = Developer {
    files: &[
        "node_modules/.bin/prettier",
        "node_modules/.bin/tsc",
        "package.json",
        "packages/api/package.json",
        "scripts/other.js",
        "scripts/seed.js",
        "src/components/order.js",
        "src/index.js",
        "test/index.test.js",
    ],
    list: include_str!("node.txt"),
};

const RUST: Developer = Developer {
    files: &[
        "Cargo.toml",
        "crates/cli/src/main.rs",
        "crates/core/Cargo.toml",
        "crates/core/src/lib.rs",
        "crates/core/src/old.rs",
    ],
    list: include_str!("rust.txt"),
};

impl Developer {
    fn commands<'a>(&'a self, kinds: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let lines = self.list.lines().filter_map(|line| line.split_once(" | "));
        lines.filter(|(kind, _)| kinds.contains(kind)).map(|(_, command)| command)
    }

    /// Goes through the list twice, with "always" where it is offered.
    fn works(&self) -> anyhow::Result<()> {
        let home = TestHome::new()?;
        track(&home.work(), self.files)?;
        let permissions = home.permissions(Mode::SmartApprove);
        let judge = |permissions: &Permissions, command: &str| {
            permissions.judge(&Call::shell(command).in_folder(&home.work()))
        };
        let all: Vec<&str> = self.commands(&["read", "run"]).collect();
        ensure!(all.len() == COMMANDS, "{} commands", all.len());
        for command in self.commands(&["read"]) {
            ensure!(judge(&permissions, command) == Verdict::Allow, "a read asks: {command}");
        }
        let mut shown = BTreeSet::new();
        for command in &all {
            if let Verdict::Ask { always, .. } = judge(&permissions, command) {
                for rule in &always {
                    permissions.remember(rule)?;
                    shown.insert(rule.to_string());
                }
            }
        }
        // A new process reads what was stored.
        let stored = fs::read_to_string(home.file()).context("no rule was stored")?;
        let stored = stored.lines().filter_map(|line| line.trim().strip_prefix("- ")).map(str::to_owned);
        assert_eq!(stored.collect::<BTreeSet<_>>(), shown);
        let permissions = home.permissions(Mode::SmartApprove);
        let again: Vec<&&str> =
            all.iter().filter(|command| judge(&permissions, command) != Verdict::Allow).collect();
        ensure!(again.len() <= MAX_ASKED_AGAIN, "asked again: {again:#?}\nrules: {shown:#?}");
        for command in self.commands(&["still"]) {
            ensure!(judge(&permissions, command) != Verdict::Allow, "allowed: {command}\nrules: {shown:#?}");
        }
        Ok(())
    }
}

#[test]
fn python_developer_is_asked_once() -> anyhow::Result<()> {
    PYTHON.works()
}

#[test]
fn node_developer_is_asked_once() -> anyhow::Result<()> {
    NODE.works()
}

#[test]
fn rust_developer_is_asked_once() -> anyhow::Result<()> {
    RUST.works()
}
