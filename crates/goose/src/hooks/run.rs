//! [`HookRun`]: one run of a hook's command. Whatever the command does, the run ends within the time limit.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::Path,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use goose_process::{ProcessSpec, Stream};
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

/// Maximum size of the output of a hook; the rest is read and dropped.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Size of one read.
const CHUNK_BYTES: usize = 8 * 1024;

/// Time for the rest of the output after the command has ended. A program that it left running may hold the
/// pipe open for longer.
const OUTPUT_GRACE: Duration = Duration::from_millis(250);

/// Variable with the project's folder, under the name that hooks know.
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";

/// Result of one run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HookRun {
    /// End of the run.
    pub exit: HookExit,
    /// Standard output, as far as it is kept.
    pub stdout: String,
    /// Standard error, as far as it is kept.
    pub stderr: String,
    /// True if the command wrote more than is kept.
    pub is_truncated: bool,
    /// Time that it took.
    #[serde(rename = "milliseconds", serialize_with = "as_milliseconds")]
    pub duration: Duration,
}

fn as_milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookExit {
    /// The command ended with this code.
    Code(i32),
    /// The command was killed by a signal.
    Killed,
    /// The command was ended at its time limit.
    TimedOut,
    /// The command could not be started.
    NotStarted(String),
    /// A rule of the permissions denies the command.
    Denied(String),
}

impl HookRun {
    /// Creates the result of a command that did not run.
    pub(super) fn without_start(exit: HookExit) -> Self {
        let (stdout, stderr) = (String::new(), String::new());
        Self { exit, stdout, stderr, is_truncated: false, duration: Duration::ZERO }
    }
}

/// Surroundings of a command.
#[derive(Debug)]
pub(super) struct CommandPlace<'a> {
    pub(super) working_dir: &'a Path,
    pub(super) project_dir: &'a Path,
    pub(super) environment: &'a Arc<BTreeMap<OsString, OsString>>,
}

/// Runs a command with an input. If the future is dropped, the command and everything that it started are
/// killed.
pub(super) async fn run(command: &str, input: &str, place: &CommandPlace<'_>, limit: Duration) -> HookRun {
    let began = Instant::now();
    let mut output = (Kept::default(), Kept::default());
    let ended = timeout(limit, to_end(command, input, place, &mut output)).await;
    let exit = ended.unwrap_or(HookExit::TimedOut);
    let (stdout, stderr) = output;
    HookRun {
        exit,
        is_truncated: stdout.is_truncated || stderr.is_truncated,
        stdout: stdout.text(),
        stderr: stderr.text(),
        duration: began.elapsed(),
    }
}

async fn to_end(
    command: &str,
    input: &str,
    place: &CommandPlace<'_>,
    (stdout, stderr): &mut (Kept, Kept),
) -> HookExit {
    let mut spec = ProcessSpec::new("sh");
    spec.args(["-c", command]).current_dir(place.working_dir).env(PROJECT_DIR, place.project_dir);
    spec.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped).without_terminal();
    spec.base_env = Some(Arc::clone(place.environment));
    let mut process = match goose_process::spawn(&spec) {
        Ok(process) => process,
        Err(error) => return HookExit::NotStarted(error.to_string()),
    };
    let stdin = process.take_stdin();
    let (out, err) = (process.take_stdout(), process.take_stderr());
    let write = async move {
        if let Some(mut stdin) = stdin {
            // A command need not read its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let mut streams = pin!(async {
        tokio::join!(write, stdout.read(out), stderr.read(err));
    });
    let mut are_closed = false;
    let status = loop {
        tokio::select! {
            status = process.wait() => break status,
            () = &mut streams, if !are_closed => are_closed = true,
        }
    };
    if !are_closed {
        // What came until then is used.
        let _ = timeout(OUTPUT_GRACE, streams).await;
    }
    // A program that the command left running, such as a sound, goes on.
    let _ = process.release().await;
    match status {
        Ok(status) => status.code().map_or(HookExit::Killed, HookExit::Code),
        Err(error) => HookExit::NotStarted(error.to_string()),
    }
}

/// Beginning of a stream.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    is_truncated: bool,
}

impl Kept {
    /// Reads a stream to its end, so that the program never waits.
    async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            let room = MAX_OUTPUT_BYTES - self.bytes.len();
            self.bytes.extend_from_slice(&chunk[..count.min(room)]);
            self.is_truncated |= count > room;
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
