//! `goose schedule run` and `run-now`: each run is a process of its own, `goose run --recipe`. So a run has the
//! recipe's own model and extensions, and what goes wrong in it stops nothing else.

use std::{
    env,
    path::PathBuf,
    pin::pin,
    process::{ExitCode, ExitStatus},
    time::Duration,
};

use anyhow::{Context as _, bail};
use goose::session::{
    ClaimedRun, JOB_LEASE, NotClaimed, SessionId, SessionStore, clock,
    schedule::{Job, JobId, JobOutcome, JobRun},
};
use goose_process::{Process, ProcessSpec, Stream, Tail};
use jiff::{Timestamp, tz::TimeZone};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    task::JoinSet,
    time::{Instant, interval_at, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{explained, list::moment};
use crate::{escape, output::say, settings::ConfigArgs, signals::Signals, stderr};

/// Longest pause between two looks at the jobs, which other processes change.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Maximum number of concurrent runs.
const MAX_RUNS: usize = 4;

/// Time for a run to end after Ctrl-C.
const END_TIME: Duration = Duration::from_secs(5);

/// Maximum size of the document that a run prints.
const MAX_OUTPUT_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum number of lines of standard error that a failure shows.
const ERROR_LINES: usize = 5;

/// Ended run of a job.
struct Ended {
    id: JobId,
    run: JobRun,
    stored: anyhow::Result<()>,
}

/// Runs what is due, until a signal comes; with `once` only what is due now.
pub(super) async fn run(
    store: &SessionStore,
    config: &ConfigArgs,
    once: bool,
    zone: &TimeZone,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    if !once {
        stderr::line("Running scheduled jobs. Press Ctrl-C to stop.");
    }
    let mut work = pin!(run_due(store, config, once, zone, &stop));
    match signals.unless_signalled(work.as_mut()).await? {
        Ok(has_failed) => Ok(if has_failed? { ExitCode::FAILURE } else { ExitCode::SUCCESS }),
        Err(signal) => {
            stop.cancel();
            work.await?;
            Ok(signal.code())
        }
    }
}

/// Runs what is due, until `stop` is cancelled, which ends all runs; with `once` only what is due now. Returns true if
/// a run has failed.
pub(super) async fn run_due(
    store: &SessionStore,
    config: &ConfigArgs,
    once: bool,
    zone: &TimeZone,
    stop: &CancellationToken,
) -> anyhow::Result<bool> {
    let owner = owner();
    let mut runs = JoinSet::new();
    let mut has_failed = false;
    loop {
        if runs.len() < MAX_RUNS && !stop.is_cancelled() {
            for claimed in store.claim_due_jobs(&owner, clock::now(), zone).await.map_err(explained)? {
                stderr::line(format_args!("{}  {}  started", moment(clock::now(), zone), claimed.job.id));
                runs.spawn(run_claimed(claimed, config.config.clone(), stop.clone()));
            }
        }
        if (once || stop.is_cancelled()) && runs.is_empty() {
            return Ok(has_failed);
        }
        let pause = if once || stop.is_cancelled() { LONGEST_PAUSE } else { pause(store).await? };
        tokio::select! {
            Some(ended) = runs.join_next(), if !runs.is_empty() => {
                let Ended { id, run, stored } = ended.context("a run ended unexpectedly")?;
                has_failed |= run.outcome != JobOutcome::Done;
                report(&id, &run, zone);
                stored?;
            }
            () = stop.cancelled(), if !stop.is_cancelled() => {}
            () = sleep(pause) => {}
        }
    }
}

/// Runs a job now.
pub(super) async fn run_now(
    store: &SessionStore,
    id: &JobId,
    config: &ConfigArgs,
    zone: &TimeZone,
) -> anyhow::Result<ExitCode> {
    let claimed = store.claim_job(id, &owner(), clock::now()).await.map_err(explained)?;
    let claimed = match claimed {
        Ok(claimed) => claimed,
        Err(NotClaimed::Running) => bail!("The job {id} is running already."),
        Err(NotClaimed::Missing) => bail!("There is no job '{id}'."),
    };
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut work = pin!(run_claimed(claimed, config.config.clone(), stop.clone()));
    let ended = match signals.unless_signalled(work.as_mut()).await? {
        Ok(ended) => ended,
        Err(signal) => {
            stop.cancel();
            work.await.stored?;
            return Ok(signal.code());
        }
    };
    ended.stored?;
    if ended.run.outcome == JobOutcome::Done {
        let session = ended.run.session.map(|id| format!(" Session: {id}.")).unwrap_or_default();
        return say(&format!("The job {id} is done.{session}"));
    }
    report(id, &ended.run, zone);
    Ok(ExitCode::FAILURE)
}

/// Returns the time until the next run, or until the jobs are looked at again.
async fn pause(store: &SessionStore) -> anyhow::Result<Duration> {
    let next = store.next_job_at().await.map_err(explained)?;
    let until = next.map(|next| next.as_millisecond().saturating_sub(clock::now().as_millisecond()).max(0));
    let until = until.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
    // A run that is due and was not claimed belongs to another process; it is looked at a little later.
    Ok(until.unwrap_or(LONGEST_PAUSE).clamp(Duration::from_millis(500), LONGEST_PAUSE))
}

fn report(id: &JobId, run: &JobRun, zone: &TimeZone) {
    let why = run.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let session = run.session.as_ref().map(|id| format!("  {id}")).unwrap_or_default();
    let line = format!("{}  {id}  {}{session}{why}", moment(clock::now(), zone), run.outcome.as_str());
    stderr::line(escape::text(&line));
}

/// Returns a name that no other process has.
fn owner() -> String {
    format!("{}-{}", std::process::id(), clock::now().as_nanosecond())
}

/// Runs a claimed job to its end, and stores the outcome. Meanwhile, the claim is renewed; a run that was lost
/// to another process is ended.
async fn run_claimed(claimed: ClaimedRun, config: Option<PathBuf>, stop: CancellationToken) -> Ended {
    let started_at = clock::now();
    let id = claimed.job.id.clone();
    let period = JOB_LEASE / 4;
    let mut beats = interval_at(Instant::now() + period, period);
    let run = {
        let mut work = pin!(execute(&claimed.job, started_at, config));
        loop {
            tokio::select! {
                run = &mut work => break run,
                () = stop.cancelled() => {
                    let error = Some("the scheduler was stopped".to_owned());
                    break JobRun { started_at, outcome: JobOutcome::Interrupted, error, session: None };
                }
                _ = beats.tick() => {
                    // A store that is locked for a moment is no reason to end the run.
                    if let Ok(false) = claimed.renew(clock::now()).await {
                        break failed(started_at, "the job was removed, or another process runs it".to_owned(), None);
                    }
                }
            }
        }
    };
    let stored = claimed.end(&run).await.map_err(explained);
    Ended { id, run, stored }
}

async fn execute(job: &Job, started_at: Timestamp, config: Option<PathBuf>) -> JobRun {
    match start(job, config) {
        Ok(process) => outcome(process, started_at).await,
        Err(error) => failed(started_at, format!("{error:#}"), None),
    }
}

fn failed(started_at: Timestamp, error: String, session: Option<SessionId>) -> JobRun {
    JobRun { started_at, outcome: JobOutcome::Failed, error: Some(error), session }
}

fn start(job: &Job, config: Option<PathBuf>) -> anyhow::Result<Process> {
    let program = env::current_exe().context("goose cannot find itself")?;
    let mut spec = ProcessSpec::new(program);
    spec.arg("run").arg("--recipe").arg(&job.recipe);
    spec.args(["--quiet", "--output-format", "json", "--scheduled-by", job.id.as_str()]);
    for (key, value) in &job.parameters {
        spec.arg("--params").arg(format!("{key}={value}"));
    }
    if let Some(config) = config {
        spec.arg("--config").arg(config);
    }
    spec.current_dir(&job.working_dir).without_terminal();
    spec.stdin(Stream::Null).stdout(Stream::Piped).stderr(Stream::Piped);
    let folder = job.working_dir.display();
    goose_process::spawn(&spec).with_context(|| format!("the run could not be started in {folder}"))
}

async fn outcome(mut process: Process, started_at: Timestamp) -> JobRun {
    let stderr = process.take_stderr().map(Tail::follow);
    let document = read(process.take_stdout()).await;
    let status = process.wait().await;
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap_or_default();
    let session =
        document.pointer("/metadata/session_id").and_then(|id| id.as_str()).and_then(|id| id.parse().ok());
    if status.as_ref().is_ok_and(ExitStatus::success) {
        return JobRun { started_at, outcome: JobOutcome::Done, error: None, session };
    }
    // Its last words may still be in the pipe.
    let _ = process.stop(END_TIME).await;
    if let Some(stderr) = &stderr {
        let _ = timeout(END_TIME, stderr.ended()).await;
    }
    let said = stderr.map(|stderr| stderr.last_lines(ERROR_LINES)).unwrap_or_default();
    let said = Some(said.trim().to_owned()).filter(|said| !said.is_empty());
    let of_document = document.pointer("/metadata/error").and_then(|error| error.as_str()).map(str::to_owned);
    let by_status = match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    failed(started_at, said.or(of_document).unwrap_or(by_status), session)
}

/// Reads the output up to a limit; the rest is read and dropped.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(mut stream) = stream else { return bytes };
    // What came before an error is used.
    let _ = (&mut stream).take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    bytes
}
