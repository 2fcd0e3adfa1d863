//! Scheduled jobs in the store: claims, leases, missed runs, and jobs of goose 1.52.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, ensure};
use goose_session::{
    ClaimedRun, JOB_LEASE, NewSession, NotClaimed, SessionKind, SessionStore, Step,
    schedule::{Job, JobId, JobOutcome, JobRun, MissedRuns, NewJob, read_old_jobs},
};
use jiff::{SignedDuration, Timestamp, ToSpan as _, tz::TimeZone};

fn new_job(id: &str, cron: &str) -> anyhow::Result<NewJob> {
    Ok(NewJob {
        id: id.parse()?,
        cron: cron.parse()?,
        recipe: "/r.yaml".into(),
        parameters: vec![("a".to_owned(), "1".to_owned())],
        working_dir: "/w".into(),
        missed: MissedRuns::Once,
        is_paused: false,
        is_imported: false,
    })
}

async fn with_job(folder: &Path, missed: MissedRuns) -> anyhow::Result<(SessionStore, JobId)> {
    let store = SessionStore::at(folder.join("goose.db"));
    let job = NewJob { missed, ..new_job("nightly", "0 3 * * *")? };
    ensure!(store.add_job(&job, &TimeZone::UTC).await?);
    Ok((store, job.id))
}

async fn job(store: &SessionStore, id: &JobId) -> anyhow::Result<Job> {
    store.job(id).await?.context("the job is there")
}

fn done(run: &ClaimedRun, at: Timestamp) -> JobRun {
    let session = run.job.id.parent().ok();
    JobRun { started_at: at, outcome: JobOutcome::Done, error: None, session }
}

fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

#[tokio::test]
async fn each_run_is_claimed_by_one_of_many_schedulers() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, id) = with_job(folder.path(), MissedRuns::Once).await?;
    let mut due = job(&store, &id).await?.next_at.context("a time")?;
    let mut runs = BTreeSet::new();
    for _ in 0..20 {
        // Each with a connection of its own, as processes have.
        let claims = (0..6).map(|number| {
            let (file, zone) = (folder.path().join("goose.db"), TimeZone::UTC);
            tokio::spawn(async move {
                SessionStore::at(file).claim_due_jobs(&format!("scheduler {number}"), due, &zone).await
            })
        });
        let claimed = futures::future::try_join_all(claims).await?;
        let claimed: Vec<ClaimedRun> =
            claimed.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let [run] =
            <[ClaimedRun; 1]>::try_from(claimed).map_err(|all| anyhow::anyhow!("{} runs", all.len()))?;
        ensure!(runs.insert(due), "{due} ran twice");
        let ended = done(&run, due);
        run.end(&ended).await?;
        let job = job(&store, &id).await?;
        assert_eq!(job.last.context("it ran")?.outcome, JobOutcome::Done);
        due = job.next_at.context("a next time")?;
    }
    Ok(())
}

/// A fake clock over a year, in a zone whose clocks change twice, with two schedulers that look every few hours and at
/// the time itself: each day has its run once.
#[tokio::test]
async fn two_schedulers_run_a_job_once_on_each_day_of_a_year() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3")?;
    let schedulers = [SessionStore::at(file.clone()), SessionStore::at(file)];
    // A time that does not exist on one day, and comes twice on another one.
    let new = new_job("nightly", "30 2 * * *")?;
    ensure!(schedulers[0].add_job(&new, &zone).await?);
    let mut now = job(&schedulers[0], &new.id).await?.next_at.context("a time")?;
    let begin = now.to_zoned(zone.clone()).date();
    let mut days = Vec::new();
    while days.len() < 365 {
        let (one, other) = tokio::join!(
            schedulers[0].claim_due_jobs("one", now, &zone),
            schedulers[1].claim_due_jobs("other", now, &zone)
        );
        for run in one?.into_iter().chain(other?) {
            days.push(now.to_zoned(zone.clone()).date());
            let ended = done(&run, now);
            run.end(&ended).await?;
        }
        let next = job(&schedulers[1], &new.id).await?.next_at.context("a next time")?;
        now = (now + hours(13)).min(next);
    }
    let expected: Vec<_> = begin.series(1.day()).take(365).collect();
    assert_eq!(days, expected);
    Ok(())
}

#[tokio::test]
async fn a_killed_run_is_interrupted_and_not_repeated() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, id) = with_job(folder.path(), MissedRuns::Once).await?;
    let due = job(&store, &id).await?.next_at.context("a time")?;
    let killed = store.claim_due_jobs("killed", due, &TimeZone::UTC).await?.pop().context("a run")?;
    let later = due + SignedDuration::try_from(JOB_LEASE)? - SignedDuration::from_secs(1);
    ensure!(store.claim_due_jobs("other", later, &TimeZone::UTC).await?.is_empty());
    assert_eq!(store.claim_job(&id, "other", later).await?.err(), Some(NotClaimed::Running));
    // A sign of life keeps it.
    ensure!(killed.renew(later).await?);
    let later = later + SignedDuration::try_from(JOB_LEASE)? + SignedDuration::from_secs(1);
    ensure!(store.claim_due_jobs("other", later, &TimeZone::UTC).await?.is_empty(), "it ran twice");
    let after = job(&store, &id).await?;
    assert_eq!(after.last.clone().context("it is known")?.outcome, JobOutcome::Interrupted);
    assert_eq!((after.running_since, after.next_at), (None, Some(due + hours(24))));
    // Its process, if it lives after all, has lost the run.
    ensure!(!killed.renew(later).await?);
    let run = done(&killed, due);
    killed.end(&run).await?;
    assert_eq!(job(&store, &id).await?.last.context("it is known")?.outcome, JobOutcome::Interrupted);
    ensure!(store.claim_job(&id, "other", later).await?.is_ok());
    Ok(())
}

#[tokio::test]
async fn missed_runs_are_made_up_for_once_or_skipped() -> anyhow::Result<()> {
    for missed in [MissedRuns::Once, MissedRuns::Skip] {
        let folder = tempfile::tempdir()?;
        let (store, id) = with_job(folder.path(), missed).await?;
        let due = job(&store, &id).await?.next_at.context("a time")?;
        let late = due + hours(24 * 10 + 2);
        let mut claimed = store.claim_due_jobs("one", late, &TimeZone::UTC).await?;
        assert_eq!(claimed.len(), usize::from(missed == MissedRuns::Once), "{missed:?}");
        if let Some(run) = claimed.pop() {
            let ended = done(&run, late);
            run.end(&ended).await?;
        }
        ensure!(store.claim_due_jobs("one", late, &TimeZone::UTC).await?.is_empty());
        let job = job(&store, &id).await?;
        assert_eq!(job.next_at, Some(due + hours(24 * 11)));
        let outcome = if missed == MissedRuns::Once { JobOutcome::Done } else { JobOutcome::Skipped };
        assert_eq!(job.last.context("it is known")?.outcome, outcome);
        // A scheduler that is a little late has missed nothing.
        let next = job.next_at.context("a time")? + SignedDuration::from_secs(50);
        assert_eq!(store.claim_due_jobs("one", next, &TimeZone::UTC).await?.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn jobs_are_paused_replaced_and_removed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, id) = with_job(folder.path(), MissedRuns::Once).await?;
    let zone = TimeZone::UTC;
    ensure!(!store.add_job(&new_job("nightly", "@hourly")?, &zone).await?, "the id is taken");
    ensure!(store.pause_job(&id, true, &zone).await?);
    let due = job(&store, &id).await?.next_at.context("a time")?;
    ensure!(store.claim_due_jobs("one", due + hours(99), &zone).await?.is_empty());
    assert_eq!(store.next_job_at().await?, None);
    ensure!(store.pause_job(&id, false, &zone).await?);
    assert_eq!(store.next_job_at().await?, Some(due));
    ensure!(store.remove_job(&id).await? && !store.remove_job(&id).await?);
    ensure!(!store.pause_job(&id, true, &zone).await?);
    assert_eq!(store.claim_job(&id, "one", due).await?.err(), Some(NotClaimed::Missing));
    ensure!(store.add_job(&new_job("nightly", "@hourly")?, &zone).await?);
    for id in ["", "a b", "../x", &"x".repeat(57)] {
        ensure!(id.parse::<JobId>().is_err(), "{id}");
    }
    Ok(())
}

#[tokio::test]
async fn sessions_of_a_job_are_listed_apart() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, id) = with_job(folder.path(), MissedRuns::Once).await?;
    let new = NewSession::in_folder("/w").scheduled_by(id.parent()?);
    let session = store.create(new).await?;
    session.append(&Step::Message { message: goose_extension::Message::user("hi") }).await?;
    let listed = store.job_sessions(&id, Some(5)).await?;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].kind, &listed[0].parent), (&SessionKind::Scheduled, &id.parent().ok()));
    ensure!(store.list(goose_session::ListOptions::default()).await?.is_empty());
    ensure!(store.job_sessions(&"other".parse()?, None).await?.is_empty());
    Ok(())
}

/// The file as goose 1.52 writes it, with entries that only a person writes.
const OLD_FILE: &str = r#"[
  {"id": "b1", "source": "/data/scheduled_recipes/b1.yaml", "cron": "0 0 9 * * *", "last_run": null,
   "currently_running": false, "paused": true, "current_session_id": null, "process_start_time": null,
   "parameters": [["x", "1"]], "recipe_base_dir": "/project"},
  {"id": "old", "source": "/recipes/old.yaml", "cron": "0 9 * * MON-FRI"},
  {"id": "bad id", "source": "/x", "cron": "* * * * *"},
  {"id": "bad-cron", "source": "/x", "cron": "61 * * * *"},
  7
]"#;

#[tokio::test]
async fn an_old_file_is_read_once_and_removed_jobs_stay_removed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("schedule.json");
    ensure!(read_old_jobs(&file)?.jobs.is_empty());
    fs::write(&file, OLD_FILE)?;
    let old = read_old_jobs(&file)?;
    assert_eq!(old.problems.len(), 3, "{:?}", old.problems);
    let store = SessionStore::at(folder.path().join("goose.db"));
    for job in &old.jobs {
        ensure!(store.add_job(job, &TimeZone::UTC).await?);
    }
    let jobs = store.jobs().await?;
    assert_eq!(jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["b1", "old"]);
    assert_eq!((jobs[0].paused, jobs[0].working_dir.as_path()), (true, Path::new("/project")));
    assert_eq!(jobs[0].parameters, [("x".to_owned(), "1".to_owned())]);
    assert_eq!(jobs[1].working_dir, Path::new("/recipes"));
    ensure!(store.remove_job(&jobs[1].id).await?);
    for job in &old.jobs {
        ensure!(!store.add_job(job, &TimeZone::UTC).await?);
    }
    assert_eq!(store.jobs().await?.len(), 1);
    let again = NewJob { is_imported: false, ..new_job("old", "@daily")? };
    ensure!(store.add_job(&again, &TimeZone::UTC).await?);
    for broken in ["{", "{}", "null", ""] {
        fs::write(&file, broken)?;
        ensure!(read_old_jobs(&file).is_err(), "{broken}");
    }
    Ok(())
}
