//! Scheduled jobs: recipes that run at the times of a cron expression.
//!
//! - `cron`: the expressions; `job`: a job and its state; `old_file`: `schedule.json` of goose 1.52.
//!
//! The store keeps them ([`SessionStore`](crate::SessionStore), `store/jobs.rs`) and gives each run to one
//! process only. This crate runs nothing.

mod cron;
mod job;
mod old_file;

pub use cron::{Cron, CronError};
pub use job::{BadJobId, Job, JobId, JobOutcome, JobRun, MissedRuns, NewJob};
pub use old_file::{OldJobs, read_old_jobs};
