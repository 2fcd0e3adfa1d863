//! Scheduled jobs in the store. A run belongs to the process that claims it: the claim and the time of the next
//! run change in one transaction, so no run happens twice.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};

use super::{
    SessionStore, StoreError,
    database::Lease,
    dialect::{Row, Statement},
    row::moment,
};
use crate::{
    ListOptions, SessionSummary, clock,
    schedule::{Cron, Job, JobId, JobOutcome, JobRun, MissedRuns, NewJob},
};

macro_rules! job_where {
    ($rest:literal) => {
        concat!(
            "SELECT id, cron, recipe, parameters, working_dir, missed, paused, imported, next_at, owner, \
             owned_until, running_since, last_started_at, last_outcome, last_error, last_session \
             FROM jobs WHERE ",
            $rest
        )
    };
}

const ALL: &str = job_where!("removed = 0 ORDER BY id");

const BY_ID: &str = job_where!("removed = 0 AND id = $1");

const DUE: &str =
    job_where!("removed = 0 AND paused = 0 AND next_at > 0 AND next_at <= $1 ORDER BY next_at, id");

const STALE: &str = job_where!("owner IS NOT NULL AND owned_until < $1");

const NEXT: &str = "SELECT COALESCE(MIN(next_at), 0) AS number FROM jobs \
     WHERE removed = 0 AND paused = 0 AND next_at > 0";

const COUNT_ID: &str = "SELECT COUNT(*) AS number FROM jobs WHERE id = $1";

const INSERT: &str = "INSERT INTO jobs \
     (id, cron, recipe, parameters, working_dir, missed, paused, imported, next_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

const FORGET_REMOVED: &str = "DELETE FROM jobs WHERE id = $1 AND removed = 1";

const FORGET: &str = "DELETE FROM jobs WHERE id = $1 AND (removed = 1 OR imported = 0)";

const MARK_REMOVED: &str = "UPDATE jobs SET removed = 1, owner = NULL WHERE id = $1";

const PAUSE: &str = "UPDATE jobs SET paused = $2, next_at = $3 WHERE id = $1 AND removed = 0";

const CLAIM: &str = "UPDATE jobs SET owner = $2, owned_until = $3, running_since = $4, next_at = $5 \
     WHERE id = $1 AND removed = 0 AND owner IS NULL";

const RENEW: &str = "UPDATE jobs SET owned_until = $3 WHERE id = $1 AND owner = $2";

const SET_NEXT: &str = "UPDATE jobs SET next_at = $2 WHERE id = $1";

const END: &str = "UPDATE jobs SET owner = NULL, owned_until = 0, last_started_at = running_since, \
     running_since = 0, last_outcome = $3, last_error = $4, last_session = $5 WHERE id = $1 AND owner = $2";

const SKIP: &str = "UPDATE jobs SET next_at = $2, last_started_at = $3, last_outcome = 'skipped', \
     last_error = NULL, last_session = NULL WHERE id = $1";

/// Time after which the run of a process that reports nothing counts as interrupted.
pub const JOB_LEASE: Duration = Duration::from_secs(60);

/// Lateness at which a run counts as missed.
const MISSED_AFTER_MILLIS: i64 = 60_000;

/// Maximum length of a stored error.
const MAX_ERROR_CHARS: usize = 2_000;

/// Run of a job that belongs to this process until it is ended.
#[derive(Debug)]
pub struct ClaimedRun {
    store: SessionStore,
    owner: String,
    /// Job as it was when it was claimed.
    pub job: Job,
}

/// Reason why a job cannot be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotClaimed {
    /// It runs already.
    Running,
    /// It does not exist.
    Missing,
}

impl SessionStore {
    /// Returns all jobs, by id.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn jobs(&self) -> Result<Vec<Job>, StoreError> {
        self.database().rows(Statement::new(ALL), job_of).await
    }

    /// Returns a job.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        Ok(self.database().rows(Statement::new(BY_ID).bind(id.as_str()), job_of).await?.pop())
    }

    /// Adds a job. Returns false if its id is taken. An imported job is not added again after it was removed.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn add_job(&self, job: &NewJob, zone: &TimeZone) -> Result<bool, StoreError> {
        let parameters =
            serde_json::to_string(&job.parameters).map_err(|error| StoreError::Other(error.to_string()))?;
        let next = next_of(&job.cron, clock::now(), zone);
        let mut lease = self.database().begin().await?;
        if !job.is_imported {
            lease.change(Statement::new(FORGET_REMOVED).bind(job.id.as_str())).await?;
        }
        if lease.number(Statement::new(COUNT_ID).bind(job.id.as_str())).await? > 0 {
            return Ok(false);
        }
        let insert = Statement::new(INSERT)
            .bind(job.id.as_str())
            .bind(job.cron.as_str())
            .bind(job.recipe.to_string_lossy().into_owned())
            .bind(parameters)
            .bind(job.working_dir.to_string_lossy().into_owned())
            .bind(job.missed.as_str())
            .bind(i64::from(job.is_paused))
            .bind(i64::from(job.is_imported))
            .bind(next);
        lease.change(insert).await?;
        lease.commit().await?;
        Ok(true)
    }

    /// Removes a job. Its sessions stay. Returns false if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn remove_job(&self, id: &JobId) -> Result<bool, StoreError> {
        let mut lease = self.database().begin().await?;
        if read(&mut lease, id).await?.is_none() {
            return Ok(false);
        }
        if lease.change(Statement::new(FORGET).bind(id.as_str())).await? == 0 {
            lease.change(Statement::new(MARK_REMOVED).bind(id.as_str())).await?;
        }
        lease.commit().await?;
        Ok(true)
    }

    /// Pauses or resumes a job. A resumed job continues with its next time. Returns false if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn pause_job(&self, id: &JobId, is_paused: bool, zone: &TimeZone) -> Result<bool, StoreError> {
        let mut lease = self.database().begin().await?;
        let Some(job) = read(&mut lease, id).await? else { return Ok(false) };
        let next = next_of(&job.cron, clock::now(), zone);
        let pause = Statement::new(PAUSE).bind(id.as_str()).bind(i64::from(is_paused)).bind(next);
        lease.change(pause).await?;
        lease.commit().await?;
        Ok(true)
    }

    /// Returns the time of the next run of any job.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn next_job_at(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut lease = self.database().read().await?;
        let next = lease.number(Statement::new(NEXT)).await?;
        lease.give_back();
        Ok((next > 0).then(|| moment(next)))
    }

    /// Claims the runs that are due at a moment, for an owner whose name no other process has. Each run is
    /// claimed by one process only. A job that still runs keeps its next time until it is over.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn claim_due_jobs(
        &self,
        owner: &str,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Vec<ClaimedRun>, StoreError> {
        let mut lease = self.database().begin().await?;
        end_stale(&mut lease, now).await?;
        let due = lease.rows(Statement::new(DUE).bind(now.as_millisecond()), job_of).await?;
        let mut claimed = Vec::new();
        for job in due {
            let next = next_of(&job.cron, now, zone);
            let late = job.next_at.map_or(0, |due| now.as_millisecond() - due.as_millisecond());
            if job.running_since.is_some() {
                lease.change(Statement::new(SET_NEXT).bind(job.id.as_str()).bind(next)).await?;
            } else if job.missed == MissedRuns::Skip && late > MISSED_AFTER_MILLIS {
                let due = job.next_at.map_or(0, Timestamp::as_millisecond);
                lease.change(Statement::new(SKIP).bind(job.id.as_str()).bind(next).bind(due)).await?;
            } else if claim(&mut lease, &job, owner, now, next).await? {
                claimed.push(ClaimedRun { store: self.clone(), owner: owner.to_owned(), job });
            }
        }
        lease.commit().await?;
        Ok(claimed)
    }

    /// Marks the runs of processes that were ended as interrupted.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn end_interrupted_jobs(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut lease = self.database().begin().await?;
        end_stale(&mut lease, now).await?;
        lease.commit().await
    }

    /// Claims a run of a job now. Its next time stays.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn claim_job(
        &self,
        id: &JobId,
        owner: &str,
        now: Timestamp,
    ) -> Result<Result<ClaimedRun, NotClaimed>, StoreError> {
        let mut lease = self.database().begin().await?;
        end_stale(&mut lease, now).await?;
        let Some(job) = read(&mut lease, id).await? else { return Ok(Err(NotClaimed::Missing)) };
        let next = job.next_at.map_or(0, Timestamp::as_millisecond);
        if !claim(&mut lease, &job, owner, now, next).await? {
            return Ok(Err(NotClaimed::Running));
        }
        lease.commit().await?;
        Ok(Ok(ClaimedRun { store: self.clone(), owner: owner.to_owned(), job }))
    }

    /// Returns the sessions of a job, newest first.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn job_sessions(
        &self,
        id: &JobId,
        limit: Option<u32>,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let Ok(parent) = id.parent() else { return Ok(Vec::new()) };
        let options = ListOptions { limit, ..ListOptions::default() };
        self.list(options.of_parent(parent)).await
    }
}

impl ClaimedRun {
    /// Says that the run continues. Returns false if it belongs to this process no longer: it took too long to
    /// say so, or the job was removed.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn renew(&self, now: Timestamp) -> Result<bool, StoreError> {
        let mut lease = self.store.database().write().await?;
        let renew =
            Statement::new(RENEW).bind(self.job.id.as_str()).bind(self.owner.as_str()).bind(until(now));
        let changed = lease.change(renew).await?;
        lease.give_back();
        Ok(changed > 0)
    }

    /// Stores the outcome of the run.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn end(self, run: &JobRun) -> Result<(), StoreError> {
        let mut lease = self.store.database().write().await?;
        end(&mut lease, &self.job.id, &self.owner, run).await?;
        lease.give_back();
        Ok(())
    }
}

async fn read(lease: &mut Lease, id: &JobId) -> Result<Option<Job>, StoreError> {
    Ok(lease.rows(Statement::new(BY_ID).bind(id.as_str()), job_of).await?.pop())
}

async fn claim(
    lease: &mut Lease,
    job: &Job,
    owner: &str,
    now: Timestamp,
    next: i64,
) -> Result<bool, StoreError> {
    let claim = Statement::new(CLAIM)
        .bind(job.id.as_str())
        .bind(owner)
        .bind(until(now))
        .bind(now.as_millisecond())
        .bind(next);
    Ok(lease.change(claim).await? > 0)
}

/// Ends the runs of processes that were ended.
async fn end_stale(lease: &mut Lease, now: Timestamp) -> Result<(), StoreError> {
    let stale = Statement::new(STALE).bind(now.as_millisecond());
    let stale = lease.rows(stale, |row| Ok((job_of(row)?, row.text("owner")?))).await?;
    for (job, owner) in stale {
        let run = JobRun {
            started_at: job.running_since.unwrap_or(now),
            outcome: JobOutcome::Interrupted,
            error: Some("goose was ended during the run".to_owned()),
            session: None,
        };
        end(lease, &job.id, &owner, &run).await?;
    }
    Ok(())
}

async fn end(lease: &mut Lease, id: &JobId, owner: &str, run: &JobRun) -> Result<(), StoreError> {
    let error =
        run.error.as_deref().map(|error| goose_fs::truncate_chars(error, MAX_ERROR_CHARS).into_owned());
    let end = Statement::new(END)
        .bind(id.as_str())
        .bind(owner)
        .bind(run.outcome.as_str())
        .bind(error)
        .bind(run.session.as_ref().map(ToString::to_string));
    lease.change(end).await.map(drop)
}

/// Returns the next time of an expression in milliseconds; 0 if there is none.
fn next_of(cron: &Cron, after: Timestamp, zone: &TimeZone) -> i64 {
    cron.next_after(after, zone).map_or(0, Timestamp::as_millisecond)
}

fn until(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_add(i64::try_from(JOB_LEASE.as_millis()).unwrap_or(i64::MAX))
}

fn job_of(row: &dyn Row) -> Result<Job, sqlx::Error> {
    let broken = |error: &dyn std::fmt::Display| sqlx::Error::Decode(error.to_string().into());
    let optional = |column| Ok::<_, sqlx::Error>(Some(row.integer(column)?).filter(|at| *at > 0).map(moment));
    let last = match row.optional_text("last_outcome")? {
        Some(outcome) => Some(JobRun {
            started_at: moment(row.integer("last_started_at")?),
            outcome: JobOutcome::named(&outcome),
            error: row.optional_text("last_error")?,
            session: row.optional_text("last_session")?.and_then(|id| id.parse().ok()),
        }),
        None => None,
    };
    Ok(Job {
        id: row.text("id")?.parse().map_err(|error: crate::schedule::BadJobId| broken(&error))?,
        cron: row.text("cron")?.parse().map_err(|error: crate::schedule::CronError| broken(&error))?,
        recipe: row.text("recipe")?.into(),
        parameters: serde_json::from_str(&row.text("parameters")?).map_err(|error| broken(&error))?,
        working_dir: row.text("working_dir")?.into(),
        missed: if row.text("missed")? == "skip" { MissedRuns::Skip } else { MissedRuns::Once },
        paused: row.integer("paused")? != 0,
        imported: row.integer("imported")? != 0,
        next_at: optional("next_at")?,
        running_since: optional("running_since")?,
        last,
    })
}
