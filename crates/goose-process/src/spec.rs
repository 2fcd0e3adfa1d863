//! [`ProcessSpec`]: the description of a program to start. It is data, not a ready `Command`, so that a sandbox can
//! read and rewrite it before it becomes a process.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
};

/// The controlling terminal of the process that opens it.
const TERMINAL: &str = "/dev/tty";

/// A standard stream of a program.
#[derive(Debug, Default)]
pub enum Stream {
    /// Ours.
    #[default]
    Inherit,
    /// Nothing.
    Null,
    /// A pipe, to be taken from the [`Process`](crate::Process).
    Piped,
    /// An open file or pipe. The specification keeps it open until it is dropped.
    Fd(OwnedFd),
}

impl Stream {
    fn stdio(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Piped => Stdio::piped(),
            Self::Fd(fd) => Stdio::from(fd.try_clone()?),
        })
    }
}

/// A program to start, built as a [`Command`] is.
#[derive(Debug)]
pub struct ProcessSpec {
    /// The program, by path or by name.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Changes to the environment; `None` removes a variable.
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// The environment before the changes; `None` for ours.
    pub base_env: Option<Arc<BTreeMap<OsString, OsString>>>,
    /// The working folder; `None` for ours.
    pub cwd: Option<PathBuf>,
    /// Standard input.
    pub stdin: Stream,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// Lets the program open our terminal, where we have one.
    pub has_terminal: bool,
}

impl ProcessSpec {
    /// A program without arguments, with our environment, working folder and streams.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            base_env: None,
            cwd: None,
            stdin: Stream::Inherit,
            stdout: Stream::Inherit,
            stderr: Stream::Inherit,
            has_terminal: true,
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.env.insert(name.as_ref().to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    /// Sets variables.
    pub fn envs(
        &mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> &mut Self {
        for (name, value) in variables {
            self.env(name, value);
        }
        self
    }

    /// Removes a variable.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.env.insert(name.as_ref().to_owned(), None);
        self
    }

    /// Removes all variables: those of before and those that would be inherited.
    pub fn env_clear(&mut self) -> &mut Self {
        self.env.clear();
        self.base_env = Some(Arc::default());
        self
    }

    /// Sets the working folder.
    pub fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets standard input.
    pub fn stdin(&mut self, stream: Stream) -> &mut Self {
        self.stdin = stream;
        self
    }

    /// Sets standard output.
    pub fn stdout(&mut self, stream: Stream) -> &mut Self {
        self.stdout = stream;
        self
    }

    /// Sets standard error.
    pub fn stderr(&mut self, stream: Stream) -> &mut Self {
        self.stderr = stream;
        self
    }

    /// Keeps the program from our terminal: it can neither write on it nor ask there.
    pub fn without_terminal(&mut self) -> &mut Self {
        self.has_terminal = false;
        self
    }

    /// The command that starts it.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door: the one place where a specification becomes a command"
    )]
    pub(crate) fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(base) = &self.base_env {
            command.env_clear().envs(base.as_ref());
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        command.stdin(self.stdin.stdio()?).stdout(self.stdout.stdio()?).stderr(self.stderr.stdio()?);
        Ok(command)
    }

    /// The same, as the leader of a process group of its own: a Ctrl-C in our terminal does not reach it.
    #[expect(unsafe_code, reason = "only a hook between fork and exec can leave the terminal")]
    pub(crate) fn group_command(&self) -> io::Result<Command> {
        let mut command = self.command()?;
        if self.has_terminal || !we_have_a_terminal() {
            // A session of its own costs a fork, which is slow for a large program; without a terminal nothing is
            // gained by it.
            command.process_group(0);
        } else {
            let leave = || rustix::process::setsid().map(drop).map_err(Into::into);
            // SAFETY: it runs between fork and exec, where only one system call is made, and no memory is allocated.
            unsafe { command.pre_exec(leave) };
        }
        Ok(command)
    }
}

/// Looked up once.
fn we_have_a_terminal() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| File::open(TERMINAL).is_ok())
}
