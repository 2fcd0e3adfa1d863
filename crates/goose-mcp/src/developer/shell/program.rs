//! Which shell runs a command, and in which surroundings.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, PipeReader},
    path::{Path, PathBuf},
    process::Stdio,
    sync::OnceLock,
};

use goose_extension::{ToolError, ToolResult};
use goose_process::Process;
use tokio::process::Command;

/// The shell where `GOOSE_SHELL` names none. Not bash, nor a login shell: on the way to each command, bash takes
/// about twice as long to start as a plain `sh`, and a login shell four times.
const DEFAULT_SHELL: &str = "/bin/sh";

/// The variable that names another shell.
const SHELL_VARIABLE: &str = "GOOSE_SHELL";

/// What commands are told: nobody is at a terminal, so no pagers, no colours, no questions. And who they run under.
const FIXED: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GOOSE_TERMINAL", "1"),
];

/// How commands are run.
pub(super) struct Program {
    named: OsString,
    found: OnceLock<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
}

impl Program {
    /// With these variables, and what they say about the shell.
    pub(super) fn new(variables: &BTreeMap<OsString, OsString>) -> Self {
        let named = variables.get(OsStr::new(SHELL_VARIABLE)).filter(|name| !name.is_empty());
        let fixed = FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Self {
            named: named.cloned().unwrap_or_else(|| DEFAULT_SHELL.into()),
            found: OnceLock::new(),
            environment: variables.clone().into_iter().chain(fixed).collect(),
        }
    }

    /// Starts a command. What it writes, on both of its outputs, comes out of one pipe, in the order it was written.
    ///
    /// # Errors
    ///
    /// Where the working folder or the shell is not there.
    pub(super) fn start(&self, command: &str, folder: &Path) -> ToolResult<(Process, PipeReader)> {
        self.try_start(command, folder).map_err(|error| self.explain(&error, folder))
    }

    fn try_start(&self, command: &str, folder: &Path) -> io::Result<(Process, PipeReader)> {
        let (reader, writer) = io::pipe()?;
        let mut program = Command::new(self.path());
        program
            .args(["-c", command])
            .env_clear()
            .envs(&self.environment)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        if folder.is_absolute() {
            program.env("PWD", folder);
        }
        Ok((goose_process::spawn_without_terminal(&mut program)?, reader))
    }

    /// The shell's path, looked up once. A program that is named by a path is started faster.
    fn path(&self) -> &Path {
        self.found.get_or_init(|| {
            let named = PathBuf::from(&self.named);
            if named.components().count() > 1 {
                return named;
            }
            let path = self.environment.get(OsStr::new("PATH"));
            let folders: Vec<PathBuf> =
                path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
            folders.iter().map(|folder| folder.join(&named)).find(|it| it.is_file()).unwrap_or(named)
        })
    }

    fn explain(&self, error: &io::Error, folder: &Path) -> ToolError {
        if !folder.is_dir() {
            return ToolError::ExecutionError(format!(
                "The working folder {} is not there any more, so nothing was run. Ask the person to bring it back or \
                 to start again in another one.",
                folder.display()
            ));
        }
        ToolError::ExecutionError(format!(
            "The shell {} could not be started in {}: {error}. Nothing was run. Ask the person to check \
             {SHELL_VARIABLE}.",
            self.path().display(),
            folder.display()
        ))
    }
}
