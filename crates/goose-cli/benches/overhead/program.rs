//! [`Program`]: something that is measured, and how it is started.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use goose_test_support::{
    ModelServer, Turn,
    model_server::{Asked, Wire},
};
use serde_json::json;
use tempfile::TempDir;

/// The way to start a program.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Files in its home, as path and text.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Text on standard input.
    pub(crate) input: &'static str,
}

/// Stands for the server's address in arguments, environment and files.
pub(crate) const URL: &str = "{url}";

pub(crate) fn floor() -> anyhow::Result<Program> {
    Ok(Program {
        name: "floor",
        path: std::env::current_exe()?,
        arguments: vec!["--floor".into(), URL.into()],
        environment: Vec::new(),
        files: Vec::new(),
        input: "",
    })
}

/// This project's binary, with its store and all its tools.
pub(crate) fn goose() -> Program {
    Program {
        name: "goose",
        path: env!("CARGO_BIN_EXE_goose").into(),
        arguments: ["run", "-t", "Say hi using the shell."].map(String::from).to_vec(),
        environment: openai(),
        files: Vec::new(),
        input: "",
    }
}

/// This project's binary in a session, which keeps copies of the files that it changes.
pub(crate) fn session() -> Program {
    Program {
        name: "goose session",
        arguments: vec!["session".into()],
        input: "Say hi using the shell.\n",
        ..goose()
    }
}

pub(crate) fn openai() -> Vec<(&'static str, String)> {
    vec![
        ("GOOSE_PROVIDER", "openai".into()),
        ("GOOSE_MODEL", "gpt-4o".into()),
        ("GOOSE_MODE", "auto".into()),
        ("OPENAI_HOST", URL.into()),
        ("OPENAI_API_KEY", "x".into()),
        ("GOOSE_DISABLE_KEYRING", "1".into()),
        ("GOOSE_MAX_TURNS", "2000".into()),
    ]
}

/// A home and a folder to work in, for all rounds of one program.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let home = Self(tempfile::tempdir()?);
        fs::create_dir(home.folder())?;
        fs::write(home.folder().join("README.md"), "# A small project\n")?;
        Ok(home)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn complaints(&self) -> PathBuf {
        self.0.path().join("stderr")
    }

    /// Fails with what the program complained of, unless it ended well.
    pub(crate) fn check(&self, program: &Program, status: ExitStatus) -> anyhow::Result<()> {
        let complaints = fs::read_to_string(self.complaints()).unwrap_or_default();
        ensure!(status.success(), "{} failed: {status}\n{complaints}", program.name);
        Ok(())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A program that was started.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) started: Instant,
}

impl Program {
    pub(crate) fn start(&self, home: &Home, server: &ModelServer) -> anyhow::Result<Running> {
        let fill = |text: &str| text.replace(URL, &server.url());
        for (name, text) in &self.files {
            let file = home.path().join(name);
            fs::create_dir_all(file.parent().context("a folder")?)?;
            fs::write(file, fill(text))?;
        }
        let mut command = Command::new(&self.path);
        command
            .args(self.arguments.iter().map(|argument| fill(argument)))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("TERM", "dumb")
            .env("LANG", "C.UTF-8")
            .envs(self.environment.iter().map(|(name, value)| (name, fill(value))))
            .current_dir(home.folder())
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::null())
            .stderr(fs::File::create(home.complaints())?);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| self.name)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(self.input.as_bytes())?;
        }
        Ok(Running { child, started })
    }
}

/// A server that asks for the shell a given number of times, then is done. Requests that offer no shell are answered
/// with a word.
pub(crate) fn server(turns: usize) -> anyhow::Result<ModelServer> {
    ModelServer::answering(move |asked| {
        let Some(shell) = shell(asked) else { return Turn::text("hi") };
        let done = asked.tool_results().len();
        match done < turns {
            true => Turn::empty().and_call_with_id(
                &format!("call_{done}"),
                shell,
                &json!({argument(asked.wire): format!("echo hi {done}")}).to_string(),
            ),
            false => Turn::text("done"),
        }
    })
}

/// The name of the shell tool that a request offers.
pub(crate) fn shell(asked: &Asked) -> Option<&str> {
    let names = asked.tool_names();
    ["shell", "developer__shell", "exec_command", "shell_command"]
        .into_iter()
        .find_map(|known| names.iter().copied().find(|name| *name == known))
}

/// The name of the command: codex, which alone is asked over Responses, has a name of its own for it.
fn argument(wire: Wire) -> &'static str {
    if wire == Wire::Responses { "cmd" } else { "command" }
}
