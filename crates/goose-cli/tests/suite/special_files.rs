//! A pipe, a device or a folder in the place of a file is an error, or is left out; nothing waits for it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};

use crate::{
    run::goose,
    support::{Home, Run},
};

/// Time limit for a run on a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// Interval of checks whether a run has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Something that is not a regular file.
#[derive(Debug, Clone, Copy)]
enum Special {
    Pipe,
    Device,
    Folder,
}

const ALL: [Special; 3] = [Special::Pipe, Special::Device, Special::Folder];

impl Special {
    fn make(self, path: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(path.parent().context("it has a folder")?)?;
        match self {
            Self::Pipe => ensure!(Command::new("mkfifo").arg(path).status()?.success()),
            // A link: devices themselves are made by root only.
            Self::Device => symlink("/dev/zero", path)?,
            Self::Folder => fs::create_dir(path)?,
        }
        Ok(())
    }
}

/// Runs a command to its end, which must come within the limit.
fn bounded(mut command: Command) -> anyhow::Result<Run> {
    let mut child = command.spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > LIMIT {
            child.kill()?;
            anyhow::bail!("it hangs: {:?}", child.wait_with_output()?);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    child.wait_with_output()?.try_into()
}

#[test]
fn special_files_are_not_imported() -> anyhow::Result<()> {
    let home = Home::new()?;
    for name in ["pipe.json", "pipe.db"] {
        Special::Pipe.make(&home.path().join(name))?;
    }
    Special::Device.make(&home.path().join("zero.json"))?;
    fs::File::create(home.path().join("large.json"))?.set_len(1 << 33)?;
    for (name, reason) in [
        ("pipe.json", "not a regular file"),
        ("pipe.db", "not a regular file"),
        ("zero.json", "not a regular file"),
        ("large.json", "it is larger than 134217728 bytes"),
    ] {
        let run = bounded(home.goose(&["session", "import", name]))?;
        assert_eq!(run.code, Some(1), "{name}: {run:?}");
        ensure!(run.stderr.contains(reason), "{name}: {}", run.stderr);
    }
    Ok(())
}

#[test]
fn special_files_as_settings_are_named() -> anyhow::Result<()> {
    for special in ALL {
        for name in ["config.yaml", "secrets.yaml"] {
            let home = Home::new()?;
            let path = home.path().join("config").join(name);
            special.make(&path)?;
            let server = ModelServer::scripted([Turn::text("hello")])?;
            let mut run = goose(&home, &server, &["run", "-t", "hi"]);
            run.env_remove("OPENAI_API_KEY");
            for command in [run, home.goose(&["doctor"])] {
                let run = bounded(command)?;
                assert_eq!(run.code, Some(1), "{special:?} {name}: {run:?}");
                let all = format!("{}{}", run.stdout, run.stderr);
                ensure!(all.contains("not a regular file"), "{special:?} {name}: {all}");
            }
        }
    }
    Ok(())
}

/// Files that are left out when they cannot be read do not stop goose.
#[test]
fn special_files_beside_a_project_do_not_stop_a_run() -> anyhow::Result<()> {
    for special in ALL {
        let home = Home::new()?;
        for name in [
            ".goosehints",
            "AGENTS.md",
            ".goose/agents/a.md",
            ".goose/skills/s/SKILL.md",
            ".goose/recipes/r.yaml",
            "config/.goosehints",
            "config/agents/b.md",
            "config/memory/c.txt",
            "config/recipes/d.yaml",
            "config/custom_providers/e.json",
            "state/history.txt",
        ] {
            special.make(&home.path().join(name))?;
        }
        let server = ModelServer::scripted([Turn::text("hello")])?;
        let run = bounded(goose(&home, &server, &["run", "-t", "hi"]))?;
        assert_eq!(run.code, Some(0), "{special:?}: {run:?}");
        ensure!(run.stdout.contains("hello"), "{special:?}: {run:?}");
        for arguments in [&["agents"][..], &["doctor"], &["extension", "list"], &["session", "list"]] {
            bounded(home.goose(arguments)).with_context(|| format!("{special:?} {arguments:?}"))?;
        }
    }
    Ok(())
}
