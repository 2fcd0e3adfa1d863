//! `goose schedule list` and `goose schedule sessions`.

use std::{io, process::ExitCode};

use goose::session::{
    SessionStore, clock,
    schedule::{Job, JobId, JobOutcome},
};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

use super::explained;
use crate::{
    args::JsonArgs,
    commands::session::session_rows,
    escape,
    output::{BAD, FAINT, GOOD, NAME, Output, WARNING, print},
};

/// Lists the jobs.
pub(super) async fn jobs(store: &SessionStore, form: &JsonArgs, zone: &TimeZone) -> anyhow::Result<ExitCode> {
    // A store that cannot be written is still shown.
    let _ = store.end_interrupted_jobs(clock::now()).await;
    let jobs = store.jobs().await.map_err(explained)?;
    print(
        form,
        || json!({ "jobs": jobs }),
        |out| {
            if jobs.is_empty() {
                return out.line("There are no jobs. `goose schedule add --help` shows how to add one.");
            }
            jobs.iter().try_for_each(|job| show(out, job, zone))
        },
    )
}

/// Lists the sessions of a job.
pub(super) async fn sessions(
    store: &SessionStore,
    id: &JobId,
    limit: Option<u32>,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let sessions = store.job_sessions(id, limit).await.map_err(explained)?;
    if sessions.is_empty() && !form.json {
        return crate::output::say(&format!("The job {id} has no sessions yet."));
    }
    session_rows(&sessions, form)
}

/// Formats a moment in the time zone of the user.
pub(super) fn moment(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

fn show(out: &mut Output, job: &Job, zone: &TimeZone) -> io::Result<()> {
    let name = out.paint(NAME, job.id.as_str().to_owned());
    let state = match (job.running_since, job.paused, job.next_at) {
        (Some(since), ..) => out.paint(GOOD, format!("running since {}", moment(since, zone))),
        (_, true, _) => out.paint(WARNING, "paused".to_owned()),
        (_, _, Some(at)) => out.paint(FAINT, format!("next at {}", moment(at, zone))),
        (_, _, None) => out.paint(WARNING, "never".to_owned()),
    };
    out.line(format_args!("{name}  {}  {state}", escape::line(job.cron.as_str())))?;
    let recipe = escape::path(&job.recipe);
    let folder = escape::path(&job.working_dir);
    let recipe = out.paint(FAINT, format!("{recipe} in {folder}"));
    out.line(format_args!("  {recipe}"))?;
    let Some(last) = &job.last else { return Ok(()) };
    let style = match last.outcome {
        JobOutcome::Done => GOOD,
        JobOutcome::Skipped => FAINT,
        _ => BAD,
    };
    let outcome = out.paint(style, last.outcome.as_str());
    let session = last.session.as_ref().map(|id| format!("  {id}")).unwrap_or_default();
    out.line(format_args!("  last: {}  {outcome}{session}", moment(last.started_at, zone)))?;
    match &last.error {
        Some(error) => out.indented(4, BAD, error),
        None => Ok(()),
    }
}
