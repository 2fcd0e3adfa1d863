//! The shell that runs commands, and its environment.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use goose_extension::{Backend, CommandSpec, StartedCommand, ToolError, ToolResult};

/// The shells where `GOOSE_SHELL` names none: the first that exists. Models write for bash (`[[ ]]`, `<( )`, arrays).
/// Not as a login shell, which takes several times as long to start.
const BASH: &str = "bash";
const DEFAULT_SHELL: &str = "/bin/sh";

/// The variable that names another shell.
const SHELL_VARIABLE: &str = "GOOSE_SHELL";

/// Variables of every command: there is no terminal, so no pagers, no colours, no questions; and the name of goose.
const FIXED: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GOOSE_TERMINAL", "1"),
];

/// Variables that would make `cd` lead elsewhere than its words say, which permissions are judged by.
/// bash would run the file that `BASH_ENV` names before each command.
const REMOVED: [&str; 3] = ["BASH_ENV", "CDPATH", "OLDPWD"];

/// A function of bash that runs `python3` as `python`, in the form in which bash passes functions on. Many systems have
/// only `python3`, and models write `python`.
const PYTHON: (&str, &str) = ("BASH_FUNC_python%%", "() { python3 \"$@\"; }");

/// The shell and the environment of commands.
pub(super) struct Program {
    /// The shell that the user named.
    named: Option<OsString>,
    found: OnceLock<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
    /// The variables, with what depends on the programs of this machine.
    environment: OnceLock<Arc<BTreeMap<OsString, OsString>>>,
}

impl Program {
    /// With these variables, and what they say about the shell.
    pub(super) fn new(variables: &BTreeMap<OsString, OsString>) -> Self {
        let named = variables.get(OsStr::new(SHELL_VARIABLE)).filter(|name| !name.is_empty());
        let fixed = FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let is_kept = |name: &OsString| !REMOVED.iter().any(|removed| name == removed);
        let kept = variables.clone().into_iter().filter(|(name, _)| is_kept(name));
        Self {
            named: named.cloned(),
            found: OnceLock::new(),
            variables: kept.chain(fixed).collect(),
            environment: OnceLock::new(),
        }
    }

    fn environment(&self) -> Arc<BTreeMap<OsString, OsString>> {
        let environment = self.environment.get_or_init(|| {
            let mut environment = self.variables.clone();
            let has = |name: &str| self.in_path(Path::new(name)).is_some();
            if self.name() == BASH && !has("python") && has("python3") {
                environment.insert(PYTHON.0.into(), PYTHON.1.into());
            }
            Arc::new(environment)
        });
        Arc::clone(environment)
    }

    /// Starts a command.
    ///
    /// # Errors
    ///
    /// Fails if the working folder or the shell is missing.
    pub(super) fn start(
        &self,
        backend: &dyn Backend,
        command: &str,
        folder: &Path,
    ) -> ToolResult<StartedCommand> {
        let spec = CommandSpec {
            program: self.path().to_owned(),
            args: vec!["-c".into(), command.into()],
            env: self.environment(),
            working_dir: folder.to_owned(),
        };
        backend.spawn(spec).map_err(|error| self.explain(&error, folder))
    }

    /// The shell's path, looked up once. A program that is named by a path is started faster.
    pub(super) fn path(&self) -> &Path {
        self.found.get_or_init(|| {
            let Some(named) = self.named.as_ref().map(PathBuf::from) else {
                return self.in_path(Path::new(BASH)).unwrap_or_else(|| DEFAULT_SHELL.into());
            };
            match named.components().count() > 1 {
                true => named,
                false => self.in_path(&named).unwrap_or(named),
            }
        })
    }

    /// Returns the name of the shell, for the model.
    pub(super) fn name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn in_path(&self, name: &Path) -> Option<PathBuf> {
        let path = self.variables.get(OsStr::new("PATH"))?;
        std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| path.is_file())
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
