//! The keyring of the system, through its own programs: `secret-tool` on Linux, `security` on macOS.
//!
//! goose has one entry there (service `goose`, user `secrets`): a JSON mapping of names to values. Strings,
//! numbers and booleans are secrets; everything else in the entry is kept when goose changes it. A keyring
//! can be locked, missing, or waiting for a prompt on a screen that is not there. So each question has a
//! short time limit, and without a session it is not asked.

use std::{
    collections::BTreeMap,
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
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Service of goose's entry.
const SERVICE: &str = "goose";

/// User of goose's entry.
const USER: &str = "secrets";

/// Maximum size of the entry.
const MAX_ENTRY_BYTES: usize = 1024 * 1024;

/// Names and values of the entry.
type Entry = Map<String, Value>;

/// Exit code of `secret-tool` for a missing entry.
const NOT_FOUND: i32 = 1;

/// Keyring of the system.
#[derive(Clone)]
pub struct Keyring {
    tool: Tool,
    program: PathBuf,
    environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    SecretTool,
    Security,
}

impl Keyring {
    /// Returns the keyring of this system; `None` if there is no program to ask it with, or no session that
    /// it belongs to.
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
        Some(Self { tool, program, environment: environment.clone() })
    }

    /// Returns the keyring for the environment of this process, as it is now. For programs; everything else
    /// gets it as an argument.
    pub fn of_this_process() -> Option<Self> {
        Self::of_system(&text_variables().collect())
    }

    /// Returns all secrets of goose's entry; none if there is no entry.
    ///
    /// # Errors
    ///
    /// Fails if the keyring does not answer in time, or the entry cannot be read.
    pub fn read(&self) -> Result<BTreeMap<String, Secret>, ConfigError> {
        Ok(self.entry()?.into_iter().filter_map(|(name, value)| Some((name, secret(value)?))).collect())
    }

    /// Adds or replaces a value. The others stay.
    ///
    /// # Errors
    ///
    /// Fails if the entry cannot be read or written. It is not changed then.
    pub fn store(&self, name: &str, value: &Secret) -> Result<(), ConfigError> {
        let mut entry = self.entry_to_change()?;
        entry.insert(name.to_owned(), value.expose().into());
        self.write(&entry)
    }

    /// Removes a value. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// Fails as [`store`](Self::store) does.
    pub fn remove(&self, name: &str) -> Result<bool, ConfigError> {
        let mut entry = self.entry()?;
        if entry.remove(name).is_none() {
            return Ok(false);
        }
        self.write(&entry)?;
        Ok(true)
    }

    /// Replaces the entry, and reads it back: not every program reports a failure.
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
            // serde's message could contain values of the entry.
            json => serde_json::from_str(json).map_err(|_| {
                ConfigError::Keyring(format!(
                    "has an entry {SERVICE}/{USER} that is not a JSON mapping; goose leaves it as it is"
                ))
            }),
        }
    }

    /// Returns the entry if it is certain to be complete: `lookup` reports a locked entry as missing, and
    /// writing would replace it.
    fn entry_to_change(&self) -> Result<Entry, ConfigError> {
        let entry = self.entry()?;
        if entry.is_empty() && self.tool == Tool::SecretTool {
            let listed = self.ask(&["search", "service", SERVICE, "username", USER], None)?;
            if listed.code == Some(0) && !listed.output.trim().is_empty() {
                return Err(refused("does not show goose's entry, although it exists", ""));
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

    /// Returns the arguments and the input that store an entry. The secret is passed on standard input,
    /// because other users can see arguments.
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

    /// Runs the program to its end, on a thread with its own runtime, because the caller may be inside of another
    /// one.
    fn ask(&self, arguments: &[&str], input: Option<String>) -> Result<Answer, ConfigError> {
        let mut command = ProcessSpec::new(&self.program);
        command.args(arguments).env_clear().envs(&self.environment);
        command.stdin(if input.is_some() { Stream::Piped } else { Stream::Null });
        command.stdout(Stream::Piped).stderr(Stream::Piped);
        let asked = std::thread::scope(|scope| {
            scope.spawn(|| block_on(command, input)).join().unwrap_or(Err(AskError::Panicked))
        });
        asked.map_err(|error| ConfigError::Keyring(format!("{error} ({})", self.program.display())))
    }
}

/// Secrets in the keyring. It is asked at most once, at the first lookup. If it does not answer, every lookup
/// is an error.
pub struct KeyringSecrets {
    keyring: Option<Keyring>,
    known: Mutex<Option<Result<BTreeMap<String, Secret>, ConfigError>>>,
}

impl KeyringSecrets {
    /// Returns the secrets of a keyring; without one, none.
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

/// Converts a value of the entry into a secret.
fn secret(value: Value) -> Option<Secret> {
    match value {
        Value::String(text) => Some(Secret::new(text)),
        Value::Number(_) | Value::Bool(_) => Some(Secret::new(value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns whether an answer means that the entry does not exist. Both programs fail then: `secret-tool`
/// without a message, `security` with one. A killed program prints nothing either, but that says nothing
/// about the entry.
fn is_absent(answer: &Answer) -> bool {
    match answer.code {
        Some(0) => true,
        Some(NOT_FOUND) if answer.problem.is_empty() => true,
        Some(_) => answer.problem.contains("could not be found"),
        None => false,
    }
}

/// Returns whether there is a session bus. Without one, `secret-tool` would wait until its time limit.
fn has_session(environment: &BTreeMap<String, String>) -> bool {
    let runtime_bus =
        || environment.get("XDG_RUNTIME_DIR").is_some_and(|dir| Path::new(dir).join("bus").exists());
    environment.contains_key("DBUS_SESSION_BUS_ADDRESS") || runtime_bus()
}

fn in_path(path: &str, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Maximum size of a program's error output.
const MAX_PROBLEM_BYTES: usize = 1024;

/// Output of a program.
#[derive(Debug)]
struct Answer {
    /// Exit code; `None` if the program was killed.
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
        "did not answer within {} seconds; set GOOSE_DISABLE_KEYRING=1 if it cannot be unlocked",
        ANSWER_TIMEOUT.as_secs()
    )]
    TimedOut,
}

fn block_on(command: ProcessSpec, input: Option<String>) -> Result<Answer, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer(command, input))
}

async fn answer(command: ProcessSpec, input: Option<String>) -> Result<Answer, AskError> {
    let mut process = goose_process::spawn(&command)?;
    let stdin = process.take_stdin();
    let (stdout, stderr) = (process.take_stdout(), process.take_stderr());
    let talk = async {
        let write = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program that does not read its input fails with an exit code.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output, problem) =
            tokio::join!(write, read(stdout, MAX_ENTRY_BYTES), read(stderr, MAX_PROBLEM_BYTES));
        (output, problem, process.wait().await)
    };
    let Ok((output, problem, status)) = timeout(ANSWER_TIMEOUT, talk).await else {
        process.kill_tree();
        return Err(AskError::TimedOut);
    };
    Ok(Answer { code: status?.code(), output, problem: problem.trim().to_owned() })
}

/// Reads a stream up to a limit.
async fn read(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // If the stream breaks, the text so far is used.
        let _ = stream.take(limit as u64).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
