//! A home for `goose`, and what came of running it there.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use goose_test_support::{binary, is_alive};
use serde_json::Value;
use tempfile::TempDir;

/// Interval of checks of a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Addresses of local servers and of the model hub at which nothing listens.
pub(crate) const UNREACHABLE_SERVERS: [(&str, &str); 4] = [
    ("OLLAMA_HOST", "http://127.0.0.1:9"),
    ("LMSTUDIO_HOST", "http://127.0.0.1:9"),
    ("LLAMA_CPP_HOST", "http://127.0.0.1:9"),
    ("HF_ENDPOINT", "http://127.0.0.1:9"),
];

/// A folder that is all that `goose` knows of this machine.
pub(crate) struct Home {
    folder: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    /// A home without any configuration.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    /// A home whose path is short and has the same length on all machines, for commands that wrap their lines.
    pub(crate) fn with_short_path() -> anyhow::Result<Self> {
        Ok(Self { folder: tempfile::tempdir_in("/tmp")? })
    }

    /// A home with a `config.yaml`.
    pub(crate) fn with_config(yaml: &str) -> anyhow::Result<Self> {
        Self::new()?.configured(yaml)
    }

    /// The same home with a `config.yaml`. `{home}`, `{faulty_server}` and `{kitchen_sink}` in it are replaced by
    /// paths.
    pub(crate) fn configured(self, yaml: &str) -> anyhow::Result<Self> {
        let mut yaml = yaml.replace("{home}", &self.path().display().to_string());
        for program in ["faulty_server", "kitchen_sink"] {
            yaml = yaml.replace(&format!("{{{program}}}"), &binary(program)?.display().to_string());
        }
        std::fs::create_dir_all(self.path().join("config"))?;
        std::fs::write(self.config(), yaml)?;
        Ok(self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path().join("config").join("config.yaml")
    }

    /// The command in this home, with nothing of the environment that would change what it prints.
    pub(crate) fn goose(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goose"));
        command.args(arguments).current_dir(self.path());
        command.env("GOOSE_PATH_ROOT", self.path()).env("HOME", self.path());
        for name in ["RUST_LOG", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "GOOSE_YES"] {
            command.env_remove(name);
        }
        let keys = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().ends_with("_API_KEY"));
        for (name, _) in keys {
            command.env_remove(name);
        }
        command.envs(UNREACHABLE_SERVERS);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> anyhow::Result<Run> {
        self.goose(arguments).output()?.try_into()
    }

    /// Runs it to its end with a text on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> anyhow::Result<Run> {
        let mut child = self.goose(arguments).stdin(Stdio::piped()).spawn()?;
        child.stdin.take().context("its input is ours")?.write_all(input.as_bytes())?;
        child.wait_with_output()?.try_into()
    }

    /// A text with this home's path replaced by `HOME`, and times by `N`.
    pub(crate) fn normal(&self, text: &str) -> anyhow::Result<String> {
        let mut text = text.replace(&self.path().display().to_string(), "HOME");
        for program in ["faulty_server", "kitchen_sink"] {
            text = text.replace(&binary(program)?.display().to_string(), program);
        }
        let words = text.split_inclusive(' ').collect::<Vec<_>>();
        let is_time = |index: usize| {
            words.get(index + 1).is_some_and(|next| next.split_whitespace().next() == Some("ms"))
        };
        let is_number = |word: &str| word.trim_end().parse::<u64>().is_ok();
        let normal = |(index, word): (usize, &&str)| {
            if is_number(word) && is_time(index) { "N ".to_owned() } else { (*word).to_owned() }
        };
        Ok(words.iter().enumerate().map(normal).collect())
    }
}

impl TryFrom<Output> for Run {
    type Error = anyhow::Error;

    fn try_from(output: Output) -> anyhow::Result<Self> {
        Ok(Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }
}

impl Run {
    /// Standard output as JSON; an error where there is anything else.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("not one JSON document: {self:?}"))
    }
}

/// Waits until a condition holds.
pub(crate) fn wait_until(
    limit: Duration,
    what: &str,
    mut holds: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !holds()? {
        if begun.elapsed() > limit {
            bail!("waited {limit:?} in vain: {what}");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Waits until a process is over. What is still there then is an error.
pub(crate) fn wait_for_end(process: u32, limit: Duration) -> anyhow::Result<()> {
    wait_until(limit, &format!("process {process} ends"), || Ok(!is_alive(process)))
}

/// A shell command that starts one of the test programs, as `--with-extension` takes it.
pub(crate) fn program(name: &str, arguments: &str) -> anyhow::Result<String> {
    Ok(format!("'{}' {arguments}", binary(name)?.display()))
}
