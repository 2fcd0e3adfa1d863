//! Runs a script in a real shell, with a time limit, and waits for all processes that it started.

use std::{
    ffi::OsString,
    io::{self, Read as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum size of the output. Further output is discarded.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// An installed shell that goose may use to run commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RealShell {
    pub(super) name: &'static str,
    program: PathBuf,
    options: &'static [&'static str],
}

/// Environment and limits of a run.
pub(super) struct Surroundings<'a> {
    pub(super) folder: &'a Path,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) limit: Duration,
    /// Variable that only the parent of the shell has.
    pub(super) parent_variable: Option<(&'static str, &'static str)>,
}

/// Returns the installed shells whose syntax is supported.
pub(super) fn shells() -> Vec<RealShell> {
    let known: [(&str, &str, &[&str]); 3] =
        [("dash", "dash", &[]), ("bash", "bash", &[]), ("bash --posix", "bash", &["--posix"])];
    let found = known.into_iter().filter_map(|(name, program, options)| {
        Some(RealShell { name, program: system_program(program)?, options })
    });
    found.collect()
}

/// Returns the path of a system program.
pub(super) fn system_program(name: &str) -> Option<PathBuf> {
    ["/bin", "/usr/bin", "/usr/local/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
}

impl RealShell {
    /// Runs a script and returns its output and errors. Processes that still run at the time limit are
    /// killed. The output ends when background jobs have ended, too.
    pub(super) fn run(&self, script: &str, surroundings: &Surroundings<'_>) -> io::Result<Vec<u8>> {
        let (reader, writer) = io::pipe()?;
        let mut command = match surroundings.parent_variable {
            None => Command::new(&self.program),
            Some(_) => Command::new("sh"),
        };
        command.env_clear();
        if let Some((name, value)) = surroundings.parent_variable {
            command.args(["-c", "env -u \"$0\" \"$@\"; :", name]).arg(&self.program).env(name, value);
        }
        command
            .args(self.options)
            .args(["-c", script])
            .envs(surroundings.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(surroundings.folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        let mut child = command.spawn()?;
        // The command owns the writing ends of the pipe.
        drop(command);
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut output = Vec::new();
            let read = reader.take(MAX_OUTPUT_BYTES).read_to_end(&mut output);
            let _ = sender.send(read.map(|_| output));
        });
        let output = receiver.recv_timeout(surroundings.limit);
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        output.unwrap_or_else(|_| Ok(Vec::new()))
    }
}
