//! One question to a program of the system: bounded in time and in what it may say.

use std::{collections::BTreeMap, path::Path, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

use super::keyring::MAX_ENTRY_BYTES;

/// How much of what a program complains is kept.
const MAX_PROBLEM_BYTES: usize = 1024;

/// What the program said.
#[derive(Debug)]
pub(super) struct Answer {
    /// How it ended; `None` where it was killed.
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) problem: String,
}

/// Runs a program to its end, in a thread and a runtime of its own: whoever asks may be inside of another one. The
/// error says what went wrong.
pub(super) fn run(
    program: &Path,
    arguments: &[&str],
    environment: &BTreeMap<String, String>,
    input: Option<String>,
    patience: Duration,
) -> Result<Answer, String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = program.display().to_string();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| block_on(command, input, patience));
        asked.join().unwrap_or_else(|_| Err("could not be asked".to_owned()))
    })
    .map_err(|why| format!("{why} ({name})"))
}

fn block_on(command: Command, input: Option<String>, patience: Duration) -> Result<Answer, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("could not be asked: {error}"))?;
    runtime.block_on(answer(command, input, patience))
}

async fn answer(mut command: Command, input: Option<String>, patience: Duration) -> Result<Answer, String> {
    let failed = |error: std::io::Error| format!("could not be asked: {error}");
    let mut process = goose_process::spawn(&mut command).map_err(failed)?;
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
        return Err(format!(
            "did not answer within {} seconds; set GOOSE_DISABLE_KEYRING=1 where nobody can unlock it",
            patience.as_secs()
        ));
    };
    Ok(Answer { code: status.map_err(failed)?.code(), output, problem: problem.trim().to_owned() })
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
