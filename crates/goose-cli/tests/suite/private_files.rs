//! goose's own files and folders: for their owner alone, whatever the umask says.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use crate::{
    run::goose,
    support::{Home, Run},
};

/// Everything below a folder.
fn all_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(all_below(&entry.path())?);
        }
        found.push(entry.path());
    }
    Ok(found)
}

/// Runs a command under another umask.
fn under(umask: &str, command: &Command) -> anyhow::Result<Run> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.output()?.try_into()
}

#[test]
fn nothing_is_for_others_whatever_the_umask() -> anyhow::Result<()> {
    for umask in ["000", "022"] {
        let home = Home::new()?;
        let remember = |is_global: bool| {
            let memory = json!({ "category": "c", "data": "d", "tags": [], "is_global": is_global });
            Turn::call("memory__remember_memory", memory)
        };
        let long = json!({ "command": "seq 100000" });
        let turns =
            [remember(true), remember(false), Turn::call("developer__shell", long), Turn::text("Done.")];
        let server = ModelServer::scripted(turns)?;
        let steps: [&[&str]; 4] = [
            &["run", "-n", "one", "-t", "hi"],
            &["configure", "set", "GOOSE_MODEL", "m"],
            &["session", "export", "one", "-o", "out.json"],
            &["session", "diagnostics", "one", "-o", "report"],
        ];
        for step in steps {
            let run = under(umask, &goose(&home, &server, step))?;
            assert_eq!(run.code, Some(0), "{step:?}: {run:?}");
        }
        let found = all_below(home.path())?;
        for path in &found {
            let mode = fs::symlink_metadata(path)?.permissions().mode() & 0o777;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            ensure!(mode == expected, "{} has the mode {mode:o} under umask {umask}", path.display());
        }
        for name in ["config/config.yaml", "config/memory/c.txt", "data/sessions/goose.db", "out.json"] {
            ensure!(found.contains(&home.path().join(name)), "{name} is missing in {found:#?}");
        }
    }
    Ok(())
}

#[test]
fn secrets_that_others_can_read_are_warned_of() -> anyhow::Result<()> {
    let home = Home::with_config("")?;
    let secrets = home.path().join("config/secrets.yaml");
    fs::write(&secrets, "A: b\n")?;
    for (mode, is_warned) in [(0o644, true), (0o600, false)] {
        fs::set_permissions(&secrets, fs::Permissions::from_mode(mode))?;
        let server = ModelServer::scripted([Turn::text("Done.")])?;
        let run: Run = goose(&home, &server, &["run", "-t", "hi"]).output()?.try_into()?;
        assert_eq!(run.stderr.matches("chmod 600").count(), usize::from(is_warned), "{}", run.stderr);
    }
    Ok(())
}
