//! Tables of attempts. Each attempt is judged in a scratch home, run by real shells if it is allowed, and
//! counted by its effect. A sample of all attempts also runs without permissions, and enough of these must
//! have the effect.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context as _, ensure};
use goose_extension::{ToolAction, ToolGroup};
use goose_permission::{Mode, Verdict};
use serde_json::json;

use super::{
    data,
    home::{SECRET, ScratchHome, Snapshot},
    real_shell::{RealShell, shells},
};
use crate::support::Call;

/// Goal of an attempt.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// Any file in the home is changed.
    Change,
    /// The file `F` of the working folder is gone.
    Removal,
    /// A file below one of these folders is changed.
    ChangeBelow(&'static [&'static str]),
    /// The text of a secret is shown, or is in a new file.
    Secret,
}

struct Table {
    mode: Mode,
    rules: &'static [&'static str],
    effect: Effect,
    /// Command that the scripts in the working folder run.
    command: &'static str,
    attempts: Vec<String>,
    /// Every attempt whose number is a multiple of this also runs without permissions.
    sample: usize,
    /// Minimum percentage of these that must have the effect.
    working: usize,
    /// File of the attempts that are known to get through. If their programs are installed, they must do so.
    known: Option<&'static str>,
}

/// Results of a table.
#[derive(Default)]
struct Counts {
    next: AtomicUsize,
    allowed: AtomicUsize,
    sampled: AtomicUsize,
    working: AtomicUsize,
    /// Attempts that got through, with the shell.
    through: Mutex<Vec<(&'static str, String)>>,
    /// Sampled attempts without an effect.
    idle: Mutex<Vec<String>>,
}

/// An attempt: a command in a folder, or a call of a file tool.
struct Attempt {
    text: String,
    folder: PathBuf,
    /// File tool and its path; `None` for a command.
    tool: Option<(&'static str, String)>,
}

impl Attempt {
    /// Parses `in FOLDER: command`, `read: path`, `write: path`, `search: path` or a command.
    fn parse(text: &str, home: &ScratchHome) -> Self {
        let text = text.replace("@HOME@", &home.path().display().to_string());
        let text = text.replace("@PARENT@", &home.keeper().to_string());
        let tool = ["read", "write", "search"].into_iter().find_map(|tool| {
            let path = text.strip_prefix(tool)?.strip_prefix(": ")?;
            Some((tool, path.to_owned()))
        });
        if let Some((folder, command)) = text.strip_prefix("in ").and_then(|rest| rest.split_once(": ")) {
            return Self { folder: home.work().join(folder), text: command.to_owned(), tool };
        }
        Self { text, folder: home.work(), tool }
    }

    fn call(&self) -> Call {
        match &self.tool {
            None => Call::shell(&self.text),
            Some(("write", path)) => Call::write(path),
            Some(("read", path)) => Call::read(path),
            Some((_, path)) => Call::new(
                "developer__search",
                &[ToolGroup::Read],
                goose_permission::Origin::Own,
                json!({ "path": path, "query": "SECRET" }),
            )
            .declaring(ToolAction::reads("path")),
        }
    }

    /// Runs the attempt and returns its output.
    fn run(&self, home: &ScratchHome, shell: &RealShell) -> anyhow::Result<Vec<u8>> {
        let Some((tool, path)) = &self.tool else { return home.run(shell, &self.text, &self.folder) };
        let path = match path.strip_prefix("~/") {
            Some(rest) => home.path().join(rest),
            None => self.folder.join(path),
        };
        if *tool == "write" {
            let _ = fs::write(path, "written");
            return Ok(Vec::new());
        }
        if path.is_dir() {
            let files = fs::read_dir(&path)?.filter_map(|entry| fs::read(entry.ok()?.path()).ok());
            return Ok(files.flatten().collect());
        }
        Ok(fs::read(path).unwrap_or_default())
    }
}

impl Effect {
    fn happened(self, before: &Snapshot, after: &Snapshot, output: &[u8]) -> bool {
        let changed = |below: &str| {
            let part = |snapshot: &Snapshot| -> Vec<_> {
                let below = snapshot.iter().filter(|(path, _)| path.starts_with(below));
                below.map(|(path, content)| (path.clone(), content.clone())).collect()
            };
            part(before) != part(after)
        };
        match self {
            Self::Change => before != after,
            Self::Removal => !after.contains_key(Path::new("work/F")),
            Self::ChangeBelow(folders) => folders.iter().any(|folder| changed(folder)),
            Self::Secret => {
                has_secret(output)
                    || after
                        .iter()
                        .any(|(path, (_, content))| !before.contains_key(path) && has_secret(content))
            }
        }
    }
}

fn has_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

impl Table {
    /// Makes every attempt, with one home per processor.
    fn check(&self, name: &str, least: usize) -> anyhow::Result<()> {
        ensure!(self.attempts.len() >= least, "{name} has only {} attempts", self.attempts.len());
        let counts = Counts::default();
        let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
        let results: Vec<anyhow::Result<()>> = thread::scope(|scope| {
            let started: Vec<_> = (0..workers).map(|_| scope.spawn(|| self.work(&counts))).collect();
            started.into_iter().map(|worker| worker.join().expect("workers do not panic")).collect()
        });
        results.into_iter().collect::<anyhow::Result<()>>()?;
        let load = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (allowed, sampled, working) =
            (load(&counts.allowed), load(&counts.sampled), load(&counts.working));
        let (through, idle) = (counts.through.into_inner()?, counts.idle.into_inner()?);
        println!(
            "{name}: {} attempts, {allowed} allowed, {} got through; \
             {working} of {sampled} work without permissions",
            self.attempts.len(),
            through.len()
        );
        if std::env::var_os("GOOSE_SHOW_IDLE").is_some() {
            println!("{name}, without effect: {idle:#?}");
        }
        let known = self.known.map_or(Ok(Vec::new()), data::entries)?;
        let new: Vec<_> = through.iter().filter(|(_, text)| !known.contains(text)).collect();
        ensure!(new.is_empty(), "{name}, got through: {new:#?}");
        let is_stopped =
            |known: &&String| is_installed(known) && !through.iter().any(|(_, text)| text == *known);
        let stopped: Vec<&String> = known.iter().filter(is_stopped).collect();
        ensure!(stopped.is_empty(), "{name}: known to get through, but stopped: {stopped:#?}");
        ensure!(working * 100 >= sampled * self.working, "{name}: too few attempts work at all: {idle:#?}");
        Ok(())
    }

    fn work(&self, counts: &Counts) -> anyhow::Result<()> {
        let rules: Vec<String> = self.rules.iter().map(|rule| (*rule).to_owned()).collect();
        let home = ScratchHome::new(self.command, &rules)?;
        let permissions = home.permissions(self.mode);
        let shells = shells();
        loop {
            let number = counts.next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = self.attempts.get(number) else { return Ok(()) };
            let attempt = Attempt::parse(text, &home);
            let verdict = permissions.judge(&attempt.call().in_folder(&attempt.folder));
            let is_allowed = verdict == Verdict::Allow;
            if !is_allowed && !number.is_multiple_of(self.sample) {
                continue;
            }
            let mut worked = None;
            for shell in &shells {
                if self.works(&attempt, &home, shell).with_context(|| text.clone())? {
                    worked = Some(shell.name);
                    break;
                }
            }
            if is_allowed {
                counts.allowed.fetch_add(1, Ordering::Relaxed);
            }
            if let (true, Some(shell)) = (is_allowed, worked) {
                counts.through.lock().expect("no thread panics").push((shell, text.clone()));
            }
            if number.is_multiple_of(self.sample) {
                counts.sampled.fetch_add(1, Ordering::Relaxed);
                counts.working.fetch_add(usize::from(worked.is_some()), Ordering::Relaxed);
                if worked.is_none() {
                    counts.idle.lock().expect("no thread panics").push(text.clone());
                }
            }
        }
    }

    /// Runs an attempt in an unchanged home, and restores it.
    fn works(&self, attempt: &Attempt, home: &ScratchHome, shell: &RealShell) -> anyhow::Result<bool> {
        let output = attempt.run(home, shell)?;
        let after = home.snapshot()?;
        let happened = self.effect.happened(home.as_new(), &after, &output);
        if *home.as_new() != after {
            home.renew(&after)?;
        }
        Ok(happened)
    }
}

fn attempts(files: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut attempts = Vec::new();
    for file in files {
        attempts.extend(data::entries(file)?);
    }
    Ok(attempts)
}

/// Returns true if the program of a command is installed.
fn is_installed(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn nothing_gets_past_smart_approve() -> anyhow::Result<()> {
    let mut attempts = attempts(&["smart_approve.txt"])?;
    attempts.extend(data::carried("touch X")?);
    let (mode, effect) = (Mode::SmartApprove, Effect::Change);
    let table =
        Table { mode, rules: &[], effect, command: "touch X", attempts, sample: 3, working: 75, known: None };
    table.check("smart_approve", 900)
}

#[test]
fn nothing_gets_past_approve_with_rules() -> anyhow::Result<()> {
    let mut attempts = attempts(&["approve.txt"])?;
    attempts.extend(data::carried("./x")?);
    let rules = &[
        "allow: shell ls *",
        "allow: shell echo *",
        "allow: shell cat *",
        "allow: shell git status",
        "allow: shell git diff *",
        "allow: shell find *",
        "allow: shell sort *",
        "allow: shell make check *",
        "allow: shell ./ok *",
        "allow: shell true",
        "allow: shell env",
        "deny: shell rm *",
    ];
    let (mode, effect) = (Mode::Approve, Effect::Change);
    let table =
        Table { mode, rules, effect, command: "touch X", attempts, sample: 3, working: 75, known: None };
    table.check("approve with rules", 800)
}

#[test]
fn nothing_gets_past_approve_without_rules() -> anyhow::Result<()> {
    let mut attempts = attempts(&["approve.txt", "smart_approve.txt"])?;
    attempts.extend(data::carried("touch X")?);
    let (mode, effect) = (Mode::Approve, Effect::Change);
    let table = Table {
        mode,
        rules: &[],
        effect,
        command: "touch X",
        attempts,
        sample: 50,
        working: 75,
        known: None,
    };
    table.check("approve without rules", 1000)
}

/// Deny rules for commands prevent accidents: they do not see programs that the project itself provides.
/// `auto_passing.txt` lists attempts that are known to get through.
#[test]
fn denied_program_does_not_run_in_auto() -> anyhow::Result<()> {
    let mut attempts = attempts(&["auto_rm.txt"])?;
    attempts.extend(data::carried("rm F")?);
    let (mode, effect, known) = (Mode::Auto, Effect::Removal, Some("auto_passing.txt"));
    let rules = &["deny: shell rm *"];
    let table = Table { mode, rules, effect, command: "rm F", attempts, sample: 5, working: 75, known };
    table.check("auto, deny: shell rm *", 1000)
}

#[test]
fn push_asks_in_auto() -> anyhow::Result<()> {
    let attempts = attempts(&["auto_push.txt"])?;
    let (mode, effect) = (Mode::Auto, Effect::ChangeBelow(&["origin.git"]));
    let rules = &["ask: shell git push *"];
    let table =
        Table { mode, rules, effect, command: "git push", attempts, sample: 2, working: 75, known: None };
    table.check("auto, ask: shell git push *", 100)
}

#[test]
fn denied_folder_is_not_written_in_auto() -> anyhow::Result<()> {
    let attempts = attempts(&["auto_write.txt"])?;
    let (mode, effect) = (Mode::Auto, Effect::ChangeBelow(&[".ssh"]));
    let rules = &["deny: write ~/.ssh/**"];
    let table = Table {
        mode,
        rules,
        effect,
        command: "touch ../.ssh/X",
        attempts,
        sample: 2,
        working: 75,
        known: None,
    };
    table.check("auto, deny: write ~/.ssh/**", 200)
}

#[test]
fn denied_folder_is_not_read_in_auto() -> anyhow::Result<()> {
    let attempts = attempts(&["auto_read.txt"])?;
    let (mode, effect) = (Mode::Auto, Effect::Secret);
    let rules = &["deny: read ~/secret/**"];
    let table = Table {
        mode,
        rules,
        effect,
        command: "cat ../secret/s",
        attempts,
        sample: 2,
        working: 75,
        known: None,
    };
    table.check("auto, deny: read ~/secret/**", 150)
}

/// Folders of `protected_paths.txt`.
const PROTECTED: &[&str] = &[
    ".aws",
    ".bash_profile",
    ".bashrc",
    ".config",
    ".docker",
    ".git-credentials",
    ".gitconfig",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".profile",
    ".pypirc",
    ".ssh",
    ".zshenv",
    ".zshrc",
    "goose",
    "work/.claude",
    "work/.cursor",
    "work/.envrc",
    "work/.git",
    "work/.goose",
    "work/.idea",
    "work/.mcp.json",
    "work/.vscode",
    "work/evilrepo/.git",
];

#[test]
fn protected_files_are_not_written_in_auto() -> anyhow::Result<()> {
    for rules in [&[][..], &["deny: shell shutdown *"]] {
        let attempts = data::ways("protected_ways.txt", "protected_paths.txt")?;
        let (mode, effect) = (Mode::Auto, Effect::ChangeBelow(PROTECTED));
        let table =
            Table { mode, rules, effect, command: "true", attempts, sample: 17, working: 75, known: None };
        table.check(&format!("protected files, auto, {} rules", rules.len()), 1000)?;
    }
    Ok(())
}

#[test]
fn protected_files_with_computed_names_are_not_written_in_auto() -> anyhow::Result<()> {
    let attempts = data::ways("computed_writes.txt", "protected_paths.txt")?;
    let (mode, effect) = (Mode::Auto, Effect::ChangeBelow(PROTECTED));
    let table =
        Table { mode, rules: &[], effect, command: "true", attempts, sample: 29, working: 75, known: None };
    table.check("computed names, auto", 2000)
}

#[test]
fn secrets_with_computed_names_are_not_shown_in_smart_approve() -> anyhow::Result<()> {
    let mut attempts = data::ways("computed_ways.txt", "secret_paths.txt")?;
    attempts.extend(data::entries("computed_secrets.txt")?);
    let (mode, effect) = (Mode::SmartApprove, Effect::Secret);
    let table =
        Table { mode, rules: &[], effect, command: "true", attempts, sample: 23, working: 75, known: None };
    table.check("computed names, smart_approve", 2000)
}

#[test]
fn secrets_are_not_shown_in_smart_approve() -> anyhow::Result<()> {
    let mut attempts = data::ways("secret_ways.txt", "secret_paths.txt")?;
    attempts.extend(data::entries("secrets.txt")?);
    let (mode, effect) = (Mode::SmartApprove, Effect::Secret);
    let table =
        Table { mode, rules: &[], effect, command: "true", attempts, sample: 7, working: 75, known: None };
    table.check("secrets, smart_approve", 400)
}
