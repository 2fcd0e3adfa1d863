//! [`Job`]: a recipe and the times at which it runs.

use std::{fmt, path::PathBuf, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Cron;
use crate::SessionId;

/// Maximum length of an id.
const MAX_BYTES: usize = 56;

/// Prefix of the parent of a job's sessions.
const PARENT: &str = "job.";

/// Id of a job, chosen by the user: letters, digits, `_`, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct JobId(String);

/// Error for a text that cannot be the id of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an id of a job: ids have up to {MAX_BYTES} letters, digits, '_', '-' and '.'")]
pub struct BadJobId(String);

impl JobId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parent of the job's sessions. No session has this id.
    ///
    /// # Errors
    ///
    /// Never fails for a valid id.
    pub fn parent(&self) -> Result<SessionId, crate::BadSessionId> {
        format!("{PARENT}{}", self.0).parse()
    }
}

impl FromStr for JobId {
    type Err = BadJobId;

    fn from_str(text: &str) -> Result<Self, BadJobId> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_fine) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadJobId(text.chars().take(MAX_BYTES).collect()))
    }
}

impl TryFrom<String> for JobId {
    type Error = BadJobId;

    fn try_from(text: String) -> Result<Self, BadJobId> {
        text.parse()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Treatment of a run whose time passed while no scheduler ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedRuns {
    /// One run makes up for all missed ones.
    #[default]
    Once,
    /// Missed runs are left out.
    Skip,
}

impl MissedRuns {
    /// Returns the name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Skip => "skip",
        }
    }
}

/// Job to be added.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Id of the job.
    pub id: JobId,
    /// Times of the runs.
    pub cron: Cron,
    /// Recipe: a file.
    pub recipe: PathBuf,
    /// Parameters of the recipe.
    pub parameters: Vec<(String, String)>,
    /// Folder that the recipe runs in.
    pub working_dir: PathBuf,
    /// Treatment of missed runs.
    pub missed: MissedRuns,
    /// True if the job does not run until it is resumed.
    pub is_paused: bool,
    /// True if it comes from another program's file.
    pub is_imported: bool,
}

/// Job and its state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Job {
    /// Id of the job.
    pub id: JobId,
    /// Times of the runs.
    pub cron: Cron,
    /// Recipe: a file.
    pub recipe: PathBuf,
    /// Parameters of the recipe.
    pub parameters: Vec<(String, String)>,
    /// Folder that the recipe runs in.
    pub working_dir: PathBuf,
    /// Treatment of missed runs.
    pub missed: MissedRuns,
    /// True if the job does not run until it is resumed.
    pub paused: bool,
    /// True if it comes from another program's file.
    pub imported: bool,
    /// Time of the next run; `None` if there is none.
    pub next_at: Option<Timestamp>,
    /// Begin of the current run.
    pub running_since: Option<Timestamp>,
    /// Last run that is over.
    pub last: Option<JobRun>,
}

/// Run of a job that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRun {
    /// Begin of the run.
    pub started_at: Timestamp,
    /// Outcome of the run.
    pub outcome: JobOutcome,
    /// Reason, if the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Session of the run, if it got that far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobOutcome {
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// The program that ran it was ended.
    Interrupted,
    /// Its time passed while no scheduler ran, and it was left out.
    Skipped,
}

impl JobOutcome {
    /// Returns the name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the outcome of this name; an unknown one counts as a failure.
    pub(crate) fn named(name: &str) -> Self {
        [Self::Done, Self::Interrupted, Self::Skipped]
            .into_iter()
            .find(|outcome| outcome.as_str() == name)
            .unwrap_or(Self::Failed)
    }
}
