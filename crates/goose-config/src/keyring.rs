//! The system's keyring, asked through the system's own programs: `secret-tool` on Linux, `security` on macOS.
//!
//! goose has one entry there (service `goose`, user `secrets`), a JSON mapping of names and values. Texts, numbers and
//! words are secrets; everything else in it stays as it is when goose changes the entry. A keyring can be
//! locked, missing, or waiting for a person at a screen that is not there, so each question has a short time, and
//! where there is no session to ask, it is not asked.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_process::{ProcessSpec, Stream};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use crate::{ConfigError, Secret, Secrets, process_environment::text_variables};

/// Time limit of a question to the keyring.
const PATIENCE: Duration = Duration::from_secs(3);

/// goose's entry.
const SERVICE: &str = "goose";
const USER: &str = "secrets";

/// The largest entry that is read.
const MAX_ENTRY_BYTES: usize = 1024 * 1024;

/// The names and values of the entry.
type Entry = Map<String, Value>;

/// Exit code of `secret-tool` for a missing entry.
const NOT_FOUND: i32 = 1;

/// A keyring that can be asked.
#[derive(Clone)]
pub struct Keyring {
    tool: Tool,
    program: PathBuf,
    environment: BTreeMap<String, String>,
    patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    SecretTool,
    Security,
}

impl Keyring {
    /// The keyring of this system; `None` if there is no program to ask it with, or no session that it belongs to.
    pub fn of_system(environment: &BTreeMap<String, String>) -> Option<Self> {
        let (tool, name) = if cfg!(target_os = "macos") {
            (Tool::Security, "security")
        } else {
            (Tool::SecretTool, "secret-tool")
        };
        if tool == Tool::SecretTool && !has_session(environment) {
            return None;
        }
        let program = in_path(environment.get("PATH")?, name)?;
        Some(Self { tool, program, environment: environment.clone(), patience: PATIENCE })
    }

    /// The keyring of this system for this process, as its environment is now. For programs; everything else is told.
    pub fn of_this_process() -> Option<Self> {
        Self::of_system(&text_variables().collect())
    }

    /// All names and values that goose has there; empty if it has none.
    ///
    /// # Errors
    ///
    /// Fails if the keyring does not answer in time, or with something else.
    pub fn read(&self) -> Result<BTreeMap<String, Secret>, ConfigError> {
        Ok(self.entry()?.into_iter().filter_map(|(name, value)| Some((name, secret(value)?))).collect())
    }

    /// Puts a value beside the others.
    ///
    /// # Errors
    ///
    /// Fails if the entry cannot be read as it is, or not be written. It is as it was then.
    pub fn store(&self, name: &str, value: &Secret) -> Result<(), ConfigError> {
        let mut entry = self.entry_to_change()?;
        entry.insert(name.to_owned(), value.expose().into());
        self.write(&entry)
    }

    /// Takes a value away; whether it was there.
    ///
    /// # Errors
    ///
    /// As those of [`store`](Self::store).
    pub fn remove(&self, name: &str) -> Result<bool, ConfigError> {
        let mut entry = self.entry()?;
        if entry.remove(name).is_none() {
            return Ok(false);
        }
        self.write(&entry)?;
        Ok(true)
    }

    /// Replaces the entry, and looks whether it is there: not every program says so when it fails.
    fn write(&self, entry: &Entry) -> Result<(), ConfigError> {
        let json = serde_json::to_string(entry).map_err(|error| ConfigError::Keyring(error.to_string()))?;
        let (arguments, input) = self.storing(&json);
        let answer = self.ask(&arguments, Some(input))?;
        if answer.code == Some(0) && self.entry()? == *entry {
            return Ok(());
        }
        Err(refused("did not keep the secret", &answer.problem))
    }

    fn entry(&self) -> Result<Entry, ConfigError> {
        let answer = self.ask(&self.lookup(), None)?;
        match answer.output.trim() {
            "" if is_absent(&answer) => Ok(Entry::new()),
            "" => Err(refused("did not answer", &answer.problem)),
            // What serde says could repeat what is in the entry.
            json => serde_json::from_str(json).map_err(|_| {
                ConfigError::Keyring(format!(
                    "has an entry {SERVICE}/{USER} that is no JSON mapping; goose leaves it as it is"
                ))
            }),
        }
    }

    /// The entry, where it is certain that this is all of it: one that is locked looks like none to a question for its
    /// value, and would be replaced.
    fn entry_to_change(&self) -> Result<Entry, ConfigError> {
        let entry = self.entry()?;
        if entry.is_empty() && self.tool == Tool::SecretTool {
            let listed = self.ask(&["search", "service", SERVICE, "username", USER], None)?;
            if listed.code == Some(0) && !listed.output.trim().is_empty() {
                return Err(refused("does not show goose's entry, which is there", ""));
            }
        }
        Ok(entry)
    }

    fn lookup(&self) -> Vec<&'static str> {
        match self.tool {
            Tool::SecretTool => vec!["lookup", "service", SERVICE, "username", USER],
            Tool::Security => vec!["find-generic-password", "-s", SERVICE, "-a", USER, "-w"],
        }
    }

    /// The secret goes through standard input: arguments can be seen by others.
    fn storing(&self, json: &str) -> (Vec<&'static str>, String) {
        match self.tool {
            Tool::SecretTool => {
                (vec!["store", "--label=goose", "service", SERVICE, "username", USER], json.to_owned())
            }
            Tool::Security => {
                let quoted = json.replace('\\', "\\\\").replace('"', "\\\"");
                (vec!["-i"], format!("add-generic-password -U -s {SERVICE} -a {USER} -w \"{quoted}\"\n"))
            }
        }
    }

    fn ask(&self, arguments: &[&str], input: Option<String>) -> Result<Answer, ConfigError> {
        run(&self.program, arguments, &self.environment, input, self.patience)
            .map_err(|error| ConfigError::Keyring(format!("{error} ({})", self.program.display())))
    }
}

/// Secrets in the keyring. It is asked at most once, when something is first looked up there; one that does not answer
/// is an error for every name.
pub struct KeyringSecrets {
    keyring: Option<Keyring>,
    known: Mutex<Option<Result<BTreeMap<String, Secret>, ConfigError>>>,
}

impl KeyringSecrets {
    /// The secrets of a keyring, where there is one.
    pub fn new(keyring: Option<Keyring>) -> Self {
        Self { keyring, known: Mutex::new(None) }
    }
}

impl Secrets for KeyringSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        let Some(keyring) = &self.keyring else { return Ok(None) };
        let mut known = self.known.lock();
        let known = known.get_or_insert_with(|| keyring.read()).as_ref().map_err(Clone::clone)?;
        Ok(known.get(name).cloned())
    }

    fn may_wait(&self) -> bool {
        self.keyring.is_some() && self.known.try_lock().is_none_or(|known| known.is_none())
    }
}

fn refused(what: &str, problem: &str) -> ConfigError {
    let why = if problem.is_empty() { String::new() } else { format!(" ({problem})") };
    ConfigError::Keyring(format!(
        "{what}{why}; unlock it, or set GOOSE_DISABLE_KEYRING=1 to keep secrets in secrets.yaml"
    ))
}

/// A value that can be used as a secret.
fn secret(value: Value) -> Option<Secret> {
    match value {
        Value::String(text) => Some(Secret::new(text)),
        Value::Number(_) | Value::Bool(_) => Some(Secret::new(value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Both programs fail when there is no entry: `secret-tool` without a word, `security` says so. One that was killed
/// says nothing either, and means nothing by it.
fn is_absent(answer: &Answer) -> bool {
    match answer.code {
        Some(0) => true,
        Some(NOT_FOUND) if answer.problem.is_empty() => true,
        Some(_) => answer.problem.contains("could not be found"),
        None => false,
    }
}

/// Without a session bus a question would only wait for one.
fn has_session(environment: &BTreeMap<String, String>) -> bool {
    let runtime_bus =
        || environment.get("XDG_RUNTIME_DIR").is_some_and(|dir| Path::new(dir).join("bus").exists());
    environment.contains_key("DBUS_SESSION_BUS_ADDRESS") || runtime_bus()
}

fn in_path(path: &str, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(&OsString::from(path)).collect::<Vec<_>>();
    folders
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|it| it.is_file())
}

/// Bytes kept of a program's error output.
const MAX_PROBLEM_BYTES: usize = 1024;

/// The program's output.
#[derive(Debug)]
struct Answer {
    /// Its exit code; `None` if it was killed.
    code: Option<i32>,
    output: String,
    problem: String,
}

/// Reason why a program gave no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("could not be asked: {0}")]
    Io(#[from] std::io::Error),
    #[error("could not be asked")]
    Panicked,
    #[error(
        "did not answer within {} seconds; set GOOSE_DISABLE_KEYRING=1 on a machine where it cannot be unlocked",
        .0.as_secs()
    )]
    TimedOut(Duration),
}

/// Runs a program to its end, in a thread and a runtime of its own: the caller may be inside of another one. The
/// error says what went wrong.
fn run(
    program: &Path,
    arguments: &[&str],
    environment: &BTreeMap<String, String>,
    input: Option<String>,
    patience: Duration,
) -> Result<Answer, AskError> {
    let mut command = ProcessSpec::new(program);
    command.args(arguments).env_clear().envs(environment);
    command.stdin(if input.is_some() { Stream::Piped } else { Stream::Null });
    command.stdout(Stream::Piped).stderr(Stream::Piped);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| block_on(command, input, patience));
        asked.join().unwrap_or(Err(AskError::Panicked))
    })
}

fn block_on(command: ProcessSpec, input: Option<String>, patience: Duration) -> Result<Answer, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer(command, input, patience))
}

async fn answer(command: ProcessSpec, input: Option<String>, patience: Duration) -> Result<Answer, AskError> {
    let mut process = goose_process::spawn(&command)?;
    let stdin = process.take_stdin();
    let (stdout, stderr) = (process.take_stdout(), process.take_stderr());
    let talk = async {
        let write = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program that does not read its input says so by its end.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output, problem) =
            tokio::join!(write, read(stdout, MAX_ENTRY_BYTES), read(stderr, MAX_PROBLEM_BYTES));
        (output, problem, process.wait().await)
    };
    let answered = timeout(patience, talk).await;
    let Ok((output, problem, status)) = answered else {
        process.kill_tree();
        return Err(AskError::TimedOut(patience));
    };
    Ok(Answer { code: status?.code(), output, problem: problem.trim().to_owned() })
}

/// The text of a stream, up to a cap.
async fn read(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read until it broke is what there is.
        let _ = stream.take(limit as u64).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
