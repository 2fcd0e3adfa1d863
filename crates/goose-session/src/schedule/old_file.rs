//! `schedule.json` of goose 1.52. It is read and never changed.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::{MissedRuns, NewJob};

/// Maximum size of the file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of jobs in the file.
const MAX_JOBS: usize = 1_000;

/// Jobs of a file, and the entries that cannot be used.
#[derive(Debug, Default)]
pub struct OldJobs {
    /// Jobs.
    pub jobs: Vec<NewJob>,
    /// Entries that cannot be used, with the reason.
    pub problems: Vec<String>,
}

/// Entry of the file.
#[derive(Deserialize)]
struct Entry {
    id: String,
    source: PathBuf,
    cron: String,
    #[serde(default)]
    paused: bool,
    #[serde(default)]
    parameters: Vec<(String, String)>,
    #[serde(default)]
    recipe_base_dir: Option<PathBuf>,
}

/// Reads the file, if it exists.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a list. A single broken entry is a problem, not an error.
pub fn read_old_jobs(path: &Path) -> io::Result<OldJobs> {
    let bytes = match goose_fs::read_regular(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OldJobs::default()),
        Err(error) => return Err(error),
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_FILE_BYTES} bytes")));
    }
    let entries: Vec<Value> = serde_json::from_slice(&bytes)?;
    let mut found = OldJobs::default();
    for (index, entry) in entries.into_iter().take(MAX_JOBS).enumerate() {
        match job(&entry, path) {
            Ok(job) => found.jobs.push(job),
            Err(reason) => {
                let name = entry.get("id").and_then(Value::as_str).map(str::to_owned);
                let name = name.unwrap_or_else(|| format!("number {}", index + 1));
                found.problems.push(format!("the job {name}: {reason}"));
            }
        }
    }
    Ok(found)
}

fn job(entry: &Value, path: &Path) -> Result<NewJob, String> {
    let entry = Entry::deserialize(entry).map_err(|error| error.to_string())?;
    let recipe_folder = entry.source.parent().map(Path::to_owned);
    let base = entry.recipe_base_dir.or(recipe_folder).filter(|folder| folder.is_absolute());
    Ok(NewJob {
        id: entry.id.parse().map_err(|error: super::BadJobId| error.to_string())?,
        cron: entry.cron.parse().map_err(|error: super::CronError| error.to_string())?,
        recipe: entry.source,
        parameters: entry.parameters,
        working_dir: base.or_else(|| path.parent().map(Path::to_owned)).unwrap_or_default(),
        missed: MissedRuns::default(),
        is_paused: entry.paused,
        is_imported: true,
    })
}
